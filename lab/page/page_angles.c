/* SPDX-License-Identifier: MIT */
/* The angles that trained encodings turn by: one panel for each generator (an axis, a branch), one line for each head,
 * and rope's ladder for as many pairs in grey. */
#include "figures/figure.h"
#include "io/fail.h"
#include "model/architecture.h"
#include "page/chart_draw.h"
#include "page/page.h"
#include "page/report.h"

#include <math.h>

enum { WIDTH = 460, HEIGHT = 260, MOST_PANELS = 8, MOST_HEADS = 16, MOST_PAIRS = 512 };
#define ROPE_BASE 10000.0
#define FLOOR 1e-5 /* smaller angles stand on the lower edge */

/* Panels of an encoding share their axes. */
static lab_spectrum_range axes_of(const lab_spectrum *spectrum) {
    lab_spectrum_range axes = lab_spectrum_extent(spectrum, FLOOR);
    for (size_t i = 0; i < spectrum->count; i++) /* rope's slowest pair */
        axes.low = fmin(axes.low, pow(ROPE_BASE, 1 / fmax((double)spectrum->panels[i].count, 1) - 1));
    axes.low = pow(10, floor(log10(axes.low) + 1e-9));
    axes.high *= 1.3;
    return axes;
}

/* One line stands for heads that agree. */
static size_t shown_heads(const lab_spectrum_panel *panel) {
    const size_t heads = lab_spectrum_agrees(panel) ? 1 : panel->heads;
    return heads < MOST_HEADS ? heads : MOST_HEADS;
}

static locus_status draw_panel(lab_page *page, const lab_spectrum_panel *panel, const lab_summary_row *row,
                               const lab_spectrum_range *axes, const char *id, locus_error *error) {
    double x[MOST_PAIRS], ladder[MOST_PAIRS], y[MOST_HEADS][MOST_PAIRS];
    lab_series series[MOST_HEADS + 1];
    char names[MOST_HEADS][32];
    const size_t count = panel->count < MOST_PAIRS ? panel->count : MOST_PAIRS, heads = shown_heads(panel);
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)i + 1;
        ladder[i] = fmax(pow(ROPE_BASE, -(double)i / (double)panel->count), axes->low);
        for (size_t h = 0; h < heads; h++)
            y[h][i] = fmax(panel->angles[h * panel->count + i], axes->low);
    }
    series[0] = (lab_series){.name = "rope", .count = count, .x = x, .y = ladder, .reference = true};
    for (size_t h = 0; h < heads; h++) {
        snprintf(names[h], sizeof names[h], "head %zu", h + 1);
        series[h + 1] = (lab_series){.name = names[h],
                                     .colour = row->colour,
                                     .count = count,
                                     .x = x,
                                     .y = y[h],
                                     .mark = h,
                                     .points = count == 1};
    }
    const lab_chart chart = {.id = id,
                             .title = "Angles of the trained encoding by size, head by head",
                             .x_label = "pair of dimensions, by size",
                             .y_label = "radians in one step",
                             .width = WIDTH,
                             .height = HEIGHT,
                             .x_low = 0.5,
                             .x_high = axes->pairs + 0.5,
                             .y_low = axes->low,
                             .y_high = axes->high,
                             .log_y = true,
                             .whole_x = true,
                             .series = series,
                             .series_count = heads + 1};
    fputs("<div class=\"cell\"><h4>", page->file);
    lab_page_text(page, panel->title);
    fputs("</h4>\n", page->file);
    locus_status status = lab_chart_draw(&chart, page->file, error);
    fputs("</div>\n", page->file);
    return status;
}

/* A legend of its own: lines are heads, whatever marks encodings have. */
static void put_heads(lab_page *page, const lab_spectrum *spectrum, const lab_summary_row *row) {
    size_t heads = 1;
    for (size_t i = 0; i < spectrum->count; i++) {
        const size_t own = shown_heads(&spectrum->panels[i]);
        heads = own > heads ? own : heads;
    }
    fputs("<ul class=\"legend\">", page->file);
    for (size_t h = 0; h < heads; h++) {
        fprintf(page->file, "<li data-mark=\"%zu\">", h);
        lab_chart_swatch(page->file, row->colour, h);
        if (heads == 1)
            fputs("all heads</li>", page->file);
        else
            fprintf(page->file, "head %zu</li>", h + 1);
    }
    fputs("<li>", page->file);
    lab_chart_reference_swatch(page->file);
    fputs("rope’s frequencies</li></ul>\n", page->file);
}

/* Tokens of an image stand at (row, column). */
static void name_axes(lab_spectrum *spectrum) {
    static const char *const names[] = {"axis 1: down the rows", "axis 2: along a row"};
    for (size_t i = 0; i < spectrum->count && spectrum->count == 2; i++)
        snprintf(spectrum->panels[i].title, sizeof spectrum->panels[i].title, "%s", names[i]);
}

static locus_status draw_encoding(lab_page *page, const lab_spectrum *spectrum, const lab_summary_row *row,
                                  const char *id, locus_error *error) {
    const lab_spectrum_range axes = axes_of(spectrum);
    locus_status status = LOCUS_OK;
    fputs("<h4 class=\"scheme\"><code>", page->file);
    lab_page_text(page, row->encoding);
    fputs("</code></h4>\n", page->file);
    put_heads(page, spectrum, row);
    fputs("<div class=\"grid\">\n", page->file);
    for (size_t i = 0; i < spectrum->count && status == LOCUS_OK; i++) {
        char own[80];
        snprintf(own, sizeof own, "%s_%zu", id, i);
        if (spectrum->panels[i].count > 0)
            status = draw_panel(page, &spectrum->panels[i], row, &axes, own, error);
    }
    fputs("</div>\n", page->file);
    return status;
}

/* Angles of the first layer's encoding, if it turns queries and keys; a count of 0 else. */
static locus_status trained_angles(lab_spectrum *spectrum, const lab_model *model, locus_error *error) {
    const locus_encoding *encoding = lab_model_encoding(model, 0);
    const lab_model_config *sizes = lab_model_get_config(model);
    const locus_shape shape = {.heads = sizes->heads,
                               .head_dim = sizes->dim / sizes->heads,
                               .model_dim = sizes->dim,
                               .kv_heads = sizes->kv_heads};
    const lab_figure_subject subject = {encoding, lab_model_binding(model), &shape, 0};
    if (!(locus_encoding_sites(encoding) & LOCUS_SITE_QUERY_KEY) || !locus_encoding_group(encoding))
        return LOCUS_OK;
    return lab_spectrum_compute(spectrum, &subject, MOST_PANELS, error);
}

/* Adds what a row has to the figure, which its first picture opens. A lost checkpoint was told with the kernels. */
static locus_status put_row(lab_page *page, const lab_summary_row *row, const char *id, size_t *shown,
                            locus_error *error) {
    lab_spectrum spectrum = {0};
    lab_model *model = NULL;
    locus_status drawn = LOCUS_OK;
    locus_error reason = {0};
    locus_status status = row->done > 0 ? lab_page_model(page, row, &model, &reason) : LOCUS_ERROR_IO;
    if (status == LOCUS_OK)
        status = trained_angles(&spectrum, model, &reason);
    if (lab_page_may_pass(status, &reason)) {
        drawn = lab_fail(error, status, NULL, "%s", reason.message);
    } else if (status == LOCUS_OK && spectrum.count > 0) {
        fputs((*shown)++ == 0 ? "<figure data-save=\"charts\">\n" : "", page->file);
        if (lab_model_get_config(model)->architecture->images)
            name_axes(&spectrum);
        drawn = draw_encoding(page, &spectrum, row, id, error);
    }
    lab_spectrum_free(&spectrum);
    lab_model_destroy(&model);
    return drawn;
}

locus_status lab_page_angles(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error) {
    locus_status status = LOCUS_OK;
    size_t shown = 0;
    if (section->class->turns == NULL || page->options->folder == NULL)
        return LOCUS_OK;
    for (size_t i = 0; i < section->row_count && status == LOCUS_OK; i++) {
        char id[40];
        snprintf(id, sizeof id, "angles%zu_%zu", number, i);
        status = put_row(page, &section->rows[i], id, &shown, error);
    }
    if (shown > 0) {
        lab_page_figure(page);
        fprintf(page->file,
                "The angles by which the trained encodings turn queries and keys in one "
                "step %s, each head’s by size, logarithmic; those below 1e-5 stand on the lower edge. Grey: rope’s "
                "frequencies for as many pairs. Best checkpoint of the first finished seed.</figcaption></figure>\n",
                section->class->turns);
    }
    return status;
}
