/* SPDX-License-Identifier: MIT */
/* The angles of generators by size, on a logarithmic scale, one panel for each generator and one line for each head;
 * rope's frequencies for as many pairs are drawn beside them. */
#include "figures/figure.h"

#include "figures/axes.h"
#include "io/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEFT 24.0
#define TOP 62.0
#define PANEL_WIDTH 300.0
#define PANEL_HEIGHT 220.0
#define GAP_X 66.0
#define GAP_Y 74.0
#define COLUMNS 3
#define LEGEND_ITEM 82.0
#define FLOOR 1e-6 /* smaller angles stand on the lower edge */
#define ROPE_BASE 10000.0

/* All heads of all panels are alike: one line stands for them. */
static bool heads_agree(const lab_spectrum *spectrum) {
    for (size_t i = 0; i < spectrum->count; i++)
        if (!lab_spectrum_agrees(&spectrum->panels[i]))
            return false;
    return true;
}

static void find_range(const lab_spectrum *spectrum, lab_axes *axes) {
    const lab_spectrum_range range = lab_spectrum_extent(spectrum, FLOOR);
    axes->x_low = 1;
    axes->x_high = range.pairs;
    axes->log_y = true;
    axes->y_low = pow(10, floor(log10(range.low) + 1e-9));
    axes->y_high = pow(10, ceil(log10(range.high) - 1e-9));
}

static void draw_rope(lab_drawing *drawing, const lab_axes *axes, size_t count) {
    lab_point points[256];
    size_t used = 0, shown = count > 256 ? 256 : count;
    for (size_t i = 0; i < shown; i++) {
        double at = shown > 1 ? (double)i * (double)(count - 1) / (double)(shown - 1) : 0;
        double angle = pow(ROPE_BASE, -at / (double)count);
        if (angle >= axes->y_low)
            points[used++] = lab_axes_point(axes, 1 + at, angle);
    }
    lab_draw_line(drawing, points, used, (lab_stroke){.colour = LAB_MUTED, .width = 1.2, .dashed = true});
}

static locus_status draw_heads(lab_drawing *drawing, const lab_axes *axes, const lab_spectrum_panel *panel,
                               size_t heads, locus_error *error) {
    lab_point *points = calloc(panel->count + 1, sizeof *points);
    if (!points)
        return lab_fail_memory(error, "a spectrum");
    for (size_t h = 0; h < heads; h++) {
        for (size_t i = 0; i < panel->count; i++)
            points[i] = lab_axes_point(axes, (double)i + 1, fmax(panel->angles[h * panel->count + i], axes->y_low));
        lab_draw_line(drawing, points, panel->count, (lab_stroke){.colour = lab_series_colour(h), .width = 1.5});
        for (size_t i = 0; i < panel->count && panel->count <= 64; i++)
            lab_draw_disc(drawing, points[i], 2.4, lab_series_colour(h), LAB_PAPER, 0.6);
    }
    free(points);
    return LOCUS_OK;
}

static void draw_legend(lab_drawing *drawing, size_t heads, bool alike, double y) {
    double x = LEFT + 46;
    char text[48];
    for (size_t h = 0; h < heads && h < 8; h++) {
        snprintf(text, sizeof text, alike ? "all heads" : "head %zu", h);
        lab_draw_segment(drawing, (lab_point){x, y - 4}, (lab_point){x + 18, y - 4},
                         (lab_stroke){.colour = lab_series_colour(h), .width = 2});
        lab_draw_text(drawing, (lab_point){x + 23, y}, (lab_label){.size = 11.5, .colour = LAB_INK}, text);
        x += LEGEND_ITEM;
    }
    if (heads > 8) {
        lab_draw_text(drawing, (lab_point){x, y}, (lab_label){.size = 11.5, .colour = LAB_INK}, "…");
        x += 24;
    }
    lab_draw_segment(drawing, (lab_point){x, y - 4}, (lab_point){x + 18, y - 4},
                     (lab_stroke){.colour = LAB_MUTED, .width = 1.2, .dashed = true});
    lab_draw_text(drawing, (lab_point){x + 23, y}, (lab_label){.size = 11.5, .colour = LAB_INK}, "rope's frequencies");
}

locus_status lab_figure_spectrum(const lab_spectrum *spectrum, const char *title, const char *path,
                                 locus_error *error) {
    const size_t columns = spectrum->count < COLUMNS ? spectrum->count : COLUMNS;
    const size_t rows = columns ? (spectrum->count + columns - 1) / columns : 1;
    const bool alike = heads_agree(spectrum);
    const size_t heads = alike || !spectrum->count ? 1 : spectrum->panels[0].heads;
    const double width = LEFT + (double)columns * (PANEL_WIDTH + GAP_X);
    const double legend = LEFT + 46 + LEGEND_ITEM * (double)(heads > 8 ? 8 : heads) + 24 + 150;
    lab_axes axes = {0};
    char text[200];
    lab_drawing *drawing =
        lab_drawing_create(fmax(width, legend) + 12, TOP + (double)rows * (PANEL_HEIGHT + GAP_Y) + 30);
    locus_status status = drawing ? LOCUS_OK : lab_fail_memory(error, "a drawing");
    find_range(spectrum, &axes);
    for (size_t i = 0; i < spectrum->count && status == LOCUS_OK; i++) {
        const size_t column = i % columns, row = i / columns;
        const double x = LEFT + 52 + (double)column * (PANEL_WIDTH + GAP_X);
        const double y = TOP + 14 + (double)row * (PANEL_HEIGHT + GAP_Y);
        axes.corner = (lab_point){x, y};
        axes.opposite = (lab_point){x + PANEL_WIDTH, y + PANEL_HEIGHT};
        axes.title = spectrum->panels[i].title;
        axes.x_label = "pair, by size";
        axes.y_label = i % columns == 0 ? "radians in one step" : NULL;
        lab_axes_draw(&axes, drawing);
        draw_rope(drawing, &axes, spectrum->panels[i].count);
        status = draw_heads(drawing, &axes, &spectrum->panels[i], heads, error);
    }
    if (status == LOCUS_OK) {
        snprintf(text, sizeof text, "%.100s", title);
        lab_draw_text(drawing, (lab_point){LEFT, 28}, (lab_label){.size = 15, .colour = LAB_INK, .bold = true}, text);
        draw_legend(drawing, heads, alike, TOP + (double)rows * (PANEL_HEIGHT + GAP_Y) + 12);
        status = lab_drawing_write(drawing, path, error);
    }
    lab_drawing_free(drawing);
    return status;
}
