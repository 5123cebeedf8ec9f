/* SPDX-License-Identifier: MIT */
/* Several curves over one axis, each with its name: the frequencies of several encodings, on a logarithmic scale. */
#include "figures/figure.h"

#include "figures/axes.h"
#include "io/fail.h"

#include <math.h>
#include <stdlib.h>

#define LEFT 76.0
#define TOP 60.0
#define WIDTH 600.0
#define HEIGHT 300.0
#define LEGEND_LINE 18.0

static lab_axes axes_of(const lab_curve *curves, size_t count, const lab_curve_labels *labels) {
    lab_axes axes = {.corner = {LEFT, TOP},
                     .opposite = {LEFT + WIDTH, TOP + HEIGHT},
                     .x_label = labels->x,
                     .y_label = labels->y,
                     .x_high = 1,
                     .log_y = true};
    double low = INFINITY, high = -INFINITY;
    for (size_t c = 0; c < count; c++) {
        axes.x_high = fmax(axes.x_high, (double)curves[c].count - 1);
        for (size_t i = 0; i < curves[c].count; i++) {
            low = curves[c].values[i] > 0 ? fmin(low, curves[c].values[i]) : low;
            high = fmax(high, curves[c].values[i]);
        }
    }
    axes.y_low = isfinite(low) ? pow(10, floor(log10(low) + 1e-9)) : 1e-3;
    axes.y_high = high > 0 ? pow(10, ceil(log10(high) - 1e-9)) : 1;
    axes.y_high = axes.y_high > axes.y_low ? axes.y_high : 10 * axes.y_low;
    return axes;
}

static locus_status draw_curve(lab_drawing *drawing, const lab_axes *axes, const lab_curve *curve, unsigned colour,
                               locus_error *error) {
    lab_point *points = calloc(curve->count + 1, sizeof *points);
    if (!points)
        return lab_fail_memory(error, "a curve");
    for (size_t i = 0; i < curve->count; i++)
        points[i] = lab_axes_point(axes, (double)i, fmax(curve->values[i], axes->y_low));
    lab_draw_line(drawing, points, curve->count, (lab_stroke){.colour = colour, .width = 1.8});
    free(points);
    return LOCUS_OK;
}

static void draw_legend(lab_drawing *drawing, const lab_curve *curves, size_t count) {
    for (size_t c = 0; c < count; c++) {
        const double y = TOP + HEIGHT + 60 + LEGEND_LINE * (double)c;
        lab_draw_segment(drawing, (lab_point){LEFT, y - 4}, (lab_point){LEFT + 22, y - 4},
                         (lab_stroke){.colour = lab_series_colour(c), .width = 2.2});
        lab_draw_text(drawing, (lab_point){LEFT + 30, y}, (lab_label){.size = 12, .colour = LAB_INK}, curves[c].name);
    }
}

locus_status lab_figure_curves(const lab_curve *curves, size_t count, const lab_curve_labels *labels, const char *path,
                               locus_error *error) {
    const lab_axes axes = axes_of(curves, count, labels);
    lab_drawing *drawing = lab_drawing_create(LEFT + WIDTH + 28, TOP + HEIGHT + 60 + LEGEND_LINE * (double)count + 8);
    locus_status status = drawing ? LOCUS_OK : lab_fail_memory(error, "a drawing");
    if (status == LOCUS_OK) {
        lab_axes_draw(&axes, drawing);
        lab_draw_text(drawing, (lab_point){24, 28}, (lab_label){.size = 15, .colour = LAB_INK, .bold = true},
                      labels->title);
        draw_legend(drawing, curves, count);
    }
    for (size_t c = 0; c < count && status == LOCUS_OK; c++)
        status = draw_curve(drawing, &axes, &curves[c], lab_series_colour(c), error);
    if (status == LOCUS_OK)
        status = lab_drawing_write(drawing, path, error);
    lab_drawing_free(drawing);
    return status;
}
