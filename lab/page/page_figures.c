/* SPDX-License-Identifier: MIT */
/* The page's score kernels. */
#include "figures/kernel.h"
#include "io/fail.h"
#include "page/chart_draw.h"
#include "page/page.h"
#include "page/report.h"

#include "train/train.h"

#include <ctype.h>
#include <locus/pattern.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 460 };

/* "Rotary …. Bias …"; neighbours of one kind are told once. */
static void describe_terms(lab_page *page, const locus_pattern *pattern) {
    const char *told = NULL;
    for (size_t i = 0; i < locus_pattern_size(pattern); i++) {
        const locus_encoding *encoding = locus_pattern_encoding(pattern, i);
        for (size_t t = 0; t < locus_encoding_term_count(encoding); t++) {
            const char *summary = locus_encoding_term(encoding, t)->summary;
            if (summary == told)
                continue;
            const char first[2] = {(char)toupper((unsigned char)summary[0]), '\0'};
            fputs(told != NULL ? ". " : "", page->file);
            lab_page_text(page, first);
            lab_page_text(page, summary + 1);
            told = summary;
        }
    }
}

/* A fixed factor for each step of distance, of the first layer's encoding. */
static void describe_decay(lab_page *page, const locus_encoding *encoding) {
    char decay[32];
    for (size_t t = 0; t < locus_encoding_term_count(encoding); t++)
        if (locus_encoding_option(encoding, t, "decay", decay, sizeof decay) != SIZE_MAX && strtod(decay, NULL) > 0)
            fprintf(page->file, "The score is multiplied by %s to the power of the distance. ", decay);
}

/* A spec that a later version wrote is left alone. */
static locus_status describe_encoding(lab_page *page, const char *spec, locus_error *error) {
    locus_pattern *pattern = NULL;
    const locus_status status = locus_pattern_parse(spec, &pattern, error);
    if (status != LOCUS_OK)
        return status == LOCUS_ERROR_MEMORY ? status : LOCUS_OK;
    describe_terms(page, pattern);
    fputs(". ", page->file);
    if (locus_pattern_size(pattern) > 1)
        fputs("Drawn is the first layer's encoding. ", page->file);
    describe_decay(page, locus_pattern_encoding(pattern, 0));
    locus_pattern_destroy(&pattern);
    return LOCUS_OK;
}

static locus_status describe_kernel(lab_page *page, const lab_kernel *kernel, const char *spec, locus_error *error) {
    size_t middle = kernel->count / 2, half = 0;
    fputs("<p>", page->file);
    const locus_status status = describe_encoding(page, spec, error);
    if (kernel->embedding)
        fputs("Acts on the embedding only: drawn is the cosine between two rows of its table. ", page->file);
    for (size_t i = middle; i < kernel->count && !half; i++)
        half = kernel->mean[i] < 0.5 * kernel->mean[middle] ? i - middle : 0;
    if (half > 0)
        fprintf(page->file, "Falls below half at distance %zu.", half);
    else
        fprintf(page->file, "Stays above half up to distance %zu.", kernel->count - 1 - middle);
    fputs("</p>", page->file);
    return status;
}

static locus_status draw_kernel(lab_page *page, const lab_summary_row *row, const lab_kernel *kernel, const char *id,
                                size_t width, locus_error *error) {
    bool band = false;
    double lowest = 0, highest = 1;
    for (size_t i = 0; i < kernel->count; i++) {
        band = band || kernel->high[i] - kernel->low[i] > 1e-6;
        lowest = fmin(lowest, kernel->low[i]);
        highest = fmax(highest, kernel->high[i]);
    }
    const lab_series series = {.name = row->encoding,
                               .colour = row->colour,
                               .mark = row->mark,
                               .count = kernel->count,
                               .x = kernel->distance,
                               .y = kernel->mean,
                               .low = band ? kernel->low : NULL,
                               .high = band ? kernel->high : NULL};
    const lab_chart chart = {.id = id,
                             .title = "Score of identical query and key against distance",
                             .x_label = "distance n − m",
                             .y_label = "score",
                             .width = width,
                             .height = 240,
                             .x_low = kernel->distance[0],
                             .x_high = kernel->distance[kernel->count - 1],
                             .y_low = lowest - 0.06 * (highest - lowest),
                             .y_high = highest + 0.06 * (highest - lowest),
                             .series = &series,
                             .series_count = 1};
    fputc('\n', page->file);
    const locus_status status = lab_chart_draw(&chart, page->file, error);
    return status == LOCUS_OK ? describe_kernel(page, kernel, row->encoding, error) : status;
}

locus_status lab_page_model(lab_page *page, const lab_summary_row *row, lab_model **model, locus_error *error) {
    const lab_run *run = row->runs[0];
    lab_train_config config;
    *model = NULL;
    for (size_t i = 0; i < row->run_count && run->state != LAB_RUN_DONE; i++)
        run = row->runs[i];
    return lab_train_load(run, page->options->folder, &config, model, error);
}

bool lab_page_may_pass(locus_status status, const locus_error *reason) {
    return status == LOCUS_ERROR_MEMORY || (status == LOCUS_ERROR_IO && strcmp(reason->argument, LAB_FAIL_THERE) == 0);
}

/* Of a pattern, the first layer's. */
static locus_status trained_kernel(lab_kernel *kernel, const lab_model *model, size_t reach, locus_error *error) {
    const lab_model_config *sizes = lab_model_get_config(model);
    const locus_shape shape = {.heads = sizes->heads,
                               .head_dim = sizes->dim / sizes->heads,
                               .model_dim = sizes->dim,
                               .kv_heads = sizes->kv_heads};
    const unsigned sites = locus_encoding_sites(lab_model_encoding(model, 0));
    return lab_kernel_compute(kernel, lab_model_binding(model), sites, &shape, reach, error);
}

/* Distances are those of a sequence: trees and grids have other figures. */
static bool on_sequence(const lab_model *model) {
    const locus_group *group = locus_encoding_group(lab_model_encoding(model, 0));
    return !group ||
           (locus_group_coordinates(group) == 1 && locus_group_coordinate(group, 0).kind != LOCUS_COORDINATE_TREE);
}

/* How the cells of kernels look; the first one opens the figure. */
typedef struct kernel_cells {
    size_t shown, reach, width;
    const char *opening;
} kernel_cells;

/* One cell; nothing for an encoding that is not on a sequence. */
static locus_status put_kernel(lab_page *page, const lab_summary_row *row, kernel_cells *cells, const char *id,
                               locus_error *error) {
    lab_model *model = NULL;
    lab_kernel kernel = {0};
    locus_error reason = {0};
    locus_status status = lab_page_model(page, row, &model, &reason), drawn = LOCUS_OK;
    if (status == LOCUS_OK && !on_sequence(model)) {
        lab_model_destroy(&model);
        return LOCUS_OK;
    }
    if (status == LOCUS_OK)
        status = trained_kernel(&kernel, model, cells->reach, &reason);
    fprintf(page->file, "%s<div class=\"cell\"><h4><code>", cells->shown++ == 0 ? cells->opening : "");
    lab_page_text(page, row->encoding);
    fputs("</code></h4>", page->file);
    if (lab_page_may_pass(status, &reason)) {
        drawn = lab_fail(error, status, NULL, "%s", reason.message);
    } else if (status == LOCUS_OK) {
        drawn = draw_kernel(page, row, &kernel, id, cells->width, error);
    } else {
        fputs("<p>No picture: ", page->file);
        lab_page_text(page, reason.message);
        fputs("</p>", page->file);
    }
    fputs("</div>\n", page->file);
    lab_kernel_free(&kernel);
    lab_model_destroy(&model);
    return drawn;
}

locus_status lab_page_kernels(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error) {
    const bool ordered = section->class->ordered;
    const double longest = !ordered ? 16 : section->class->size != NULL ? fmax(section->trained_length, 16) : 64;
    const bool pairs = section->row_count == 2 || section->row_count == 4; /* two columns of panels, else three */
    kernel_cells cells = {.reach = (size_t)fmin(2 * longest, 128),
                          .width = pairs ? WIDTH : 380,
                          .opening = pairs ? "<figure data-save=\"charts\"><div class=\"grid\">\n"
                                           : "<figure data-save=\"charts\"><div class=\"grid three\">\n"};
    locus_status status = LOCUS_OK;
    for (size_t i = 0; page->options->folder != NULL && i < section->row_count && status == LOCUS_OK; i++) {
        char id[32];
        snprintf(id, sizeof id, "kernel%zu_%zu", number, i);
        if (section->rows[i].done > 0)
            status = put_kernel(page, &section->rows[i], &cells, id, error);
    }
    if (cells.shown == 0)
        return status;
    fputs("</div>", page->file);
    lab_page_figure(page);
    fprintf(page->file,
            "The score kernel <i>q</i>ᵀ⌈−<i>m</i>+<i>n</i>⌉<i>k</i> of the trained "
            "encodings against the distance <i>n</i>−<i>m</i>, factors and biases included, for <i>q</i> = <i>k</i> of "
            "length 1 and scale 1: without positions it is 1 everywhere. Line and band: mean and ± one deviation over "
            "heads and random directions; first finished seed.%s</figcaption></figure>\n",
            ordered ? "" : " Of encodings on the flat order; the others have no such distance.");
    return status;
}
