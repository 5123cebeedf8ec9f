/* SPDX-License-Identifier: MIT */
/* Similarity in a picture: a curve on a sequence; elsewhere the points of a group in colours, fields on a grid. */
#include "figures/figure.h"

#include "figures/axes.h"
#include "figures/panels.h"
#include "io/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEFT 24.0
#define TOP 64.0
#define WIDTH 620.0
#define BAR 92.0 /* of the colours, at the right */

typedef struct similarity_figure {
    const lab_similarity *similarity;
    lab_element *elements; /* [similarity->count], and behind them the origin */
    lab_layout layout;
    lab_drawing *drawing;
    double low, high; /* where the colours end: if nothing has another sign, they serve the values there are */
    bool both;        /* signs: white is 0 */
} similarity_figure;

static void put_title(lab_drawing *drawing, const lab_similarity *similarity, const locus_path *origin,
                      const char *title) {
    char text[400], *at = lab_path_text(origin);
    if (!at)
        lab_drawing_lacks(drawing);
    snprintf(text, sizeof text, "%.90s", title);
    lab_draw_text(drawing, (lab_point){LEFT, 26}, (lab_label){.size = 15, .colour = LAB_INK, .bold = true}, text);
    snprintf(text, sizeof text,
             similarity->embedding ? "cosine between the vectors of each position and of %.60s"
                                   : "score of q = k, |q| = 1, mean over heads and directions, "
                                     "between each position and %.60s",
             at ? at : "");
    lab_draw_text(drawing, (lab_point){LEFT, 45}, (lab_label){.size = 12, .colour = LAB_MUTED}, text);
    free(at);
}

/* ---- a curve ---- */

typedef struct curve_point {
    double x, mean, deviation;
} curve_point;

static int by_x(const void *a, const void *b) {
    double x = ((const curve_point *)a)->x, y = ((const curve_point *)b)->x;
    return (x > y) - (x < y);
}

static void draw_curve(lab_drawing *drawing, const lab_axes *axes, const curve_point *points, size_t count,
                       double origin, bool band) {
    lab_point *line = calloc(2 * count + 1, sizeof *line);
    if (!line) {
        lab_drawing_lacks(drawing);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        line[i] = lab_axes_point(axes, points[i].x, points[i].mean + points[i].deviation);
        line[2 * count - 1 - i] = lab_axes_point(axes, points[i].x, points[i].mean - points[i].deviation);
    }
    if (band)
        lab_draw_polygon(drawing, line, 2 * count, 0xdbe6fb);
    lab_draw_segment(drawing, lab_axes_point(axes, origin, axes->y_low), lab_axes_point(axes, origin, axes->y_high),
                     (lab_stroke){.colour = LAB_ACCENT, .width = 1, .dashed = true});
    for (size_t i = 0; i < count; i++)
        line[i] = lab_axes_point(axes, points[i].x, points[i].mean);
    lab_draw_line(drawing, line, count, (lab_stroke){.colour = LAB_TO, .width = 2});
    for (size_t i = 0; i < count && count <= 80; i++)
        lab_draw_disc(drawing, line[i], 2.6, LAB_TO, LAB_PAPER, 0.8);
    free(line);
}

static locus_status draw_line(similarity_figure *figure, locus_error *error) {
    const size_t count = figure->similarity->count;
    curve_point *points = calloc(count + 1, sizeof *points);
    if (!points)
        return lab_fail_memory(error, "a curve");
    lab_axes axes = {.corner = {LEFT + 52, TOP + 10}, .opposite = {LEFT + 52 + WIDTH, TOP + 330}};
    for (size_t i = 0; i < count; i++) {
        const double value = (double)figure->elements[i].parts[0].value;
        points[i] = (curve_point){value, figure->similarity->mean[i], figure->similarity->deviation[i]};
        double low = points[i].mean - points[i].deviation, high = points[i].mean + points[i].deviation;
        axes.x_low = i && axes.x_low < value ? axes.x_low : value;
        axes.x_high = i && axes.x_high > value ? axes.x_high : value;
        axes.y_low = i && axes.y_low < low ? axes.y_low : low;
        axes.y_high = i && axes.y_high > high ? axes.y_high : high;
    }
    const double room = fmax(0.05 * (axes.y_high - axes.y_low), 1e-6);
    axes.y_low -= room;
    axes.y_high += room;
    axes.x_high += axes.x_high > axes.x_low ? 0 : 1;
    axes.x_label = "position";
    axes.y_label = figure->similarity->embedding ? "cosine" : "score";
    figure->drawing = lab_drawing_create(axes.opposite.x + 28, axes.opposite.y + 52);
    qsort(points, count, sizeof *points, by_x);
    if (figure->drawing) {
        const double origin = fmin(fmax((double)figure->elements[count].parts[0].value, axes.x_low), axes.x_high);
        lab_axes_draw(&axes, figure->drawing);
        draw_curve(figure->drawing, &axes, points, count, origin, !figure->similarity->embedding);
    }
    free(points);
    return figure->drawing ? LOCUS_OK : lab_fail_memory(error, "a drawing");
}

/* ---- points in colours ---- */

static unsigned colour_of(const similarity_figure *figure, double value) {
    double range = figure->high - figure->low;
    if (figure->both)
        return lab_diverging_colour(value / figure->high);
    return lab_diverging_colour(range > 0 ? (value - figure->low) / range : 1);
}

static double disc_radius(const lab_layout *layout) {
    return fmin(10, 2.4 * lab_panels_radius(layout));
}

static void draw_mark(const similarity_figure *figure, const lab_element *element, double value) {
    const lab_layout *layout = &figure->layout;
    double values[LAB_COORDINATES_MAX], nearness = 1;
    const unsigned colour = colour_of(figure, value);
    lab_layout_values(layout, element, values);
    lab_point at = lab_layout_point(layout, values, &nearness);
    if (layout->kind == LAB_PANEL_GRID) {
        double half = layout->step / 2 + 0.25; /* no seams */
        lab_draw_box(figure->drawing, (lab_point){at.x - half, at.y - half}, (lab_point){at.x + half, at.y + half},
                     colour);
    } else {
        double radius = disc_radius(layout);
        lab_draw_disc(figure->drawing, at, radius * (0.75 + 0.25 * nearness), colour,
                      lab_panels_shade(LAB_MUTED, nearness), radius > 3 ? 0.8 : 0.3);
    }
}

static void mark_origin(const similarity_figure *figure, const lab_element *element) {
    const lab_layout *layout = &figure->layout;
    double values[LAB_COORDINATES_MAX];
    lab_layout_values(layout, element, values);
    lab_point at = lab_layout_point(layout, values, NULL);
    if (layout->kind == LAB_PANEL_GRID) {
        double h = layout->step / 2;
        const lab_point frame[5] = {{at.x - h, at.y - h},
                                    {at.x + h, at.y - h},
                                    {at.x + h, at.y + h},
                                    {at.x - h, at.y + h},
                                    {at.x - h, at.y - h}};
        lab_draw_line(figure->drawing, frame, 5, (lab_stroke){.colour = LAB_ACCENT, .width = 2});
        return;
    }
    lab_point ring[41];
    double radius = disc_radius(layout) + 3;
    for (size_t i = 0; i < 41; i++) {
        double angle = (double)i * 3.14159265358979 / 20;
        ring[i] = (lab_point){at.x + radius * cos(angle), at.y + radius * sin(angle)};
    }
    lab_draw_line(figure->drawing, ring, 41, (lab_stroke){.colour = LAB_ACCENT, .width = 2});
}

static void draw_bar(const similarity_figure *figure, double x, double y, double height) {
    enum { STEPS = 60, TICKS = 4 };
    const double low = figure->low, range = figure->high - low, piece = height / STEPS;
    for (size_t i = 0; i < STEPS; i++) {
        double value = figure->high - range * ((double)i + 0.5) / STEPS;
        lab_draw_box(figure->drawing, (lab_point){x, y + (double)i * piece},
                     (lab_point){x + 16, y + (double)(i + 1) * piece + 0.3}, colour_of(figure, value));
    }
    for (size_t i = 0; i <= TICKS && range > 0; i++) {
        char text[32];
        double value = low + range * (double)i / TICKS;
        int digits = (int)fmax(0, ceil(1 - log10(range / TICKS)));
        snprintf(text, sizeof text, "%s%.*f", value < 0 ? "−" : "", digits > 9 ? 9 : digits, fabs(value));
        lab_draw_text(figure->drawing, (lab_point){x + 22, y + height - (double)i * height / TICKS + 4},
                      (lab_label){.size = 11, .colour = LAB_MUTED}, text);
    }
}

static locus_status show_all(similarity_figure *figure, const locus_group *group, locus_error *error) {
    locus_status status = lab_layout_open(&figure->layout, group, error);
    if (figure->layout.kind == LAB_PANEL_TORUS || figure->layout.kind == LAB_PANEL_TUBE)
        figure->layout.kind = LAB_PANEL_GRID; /* unrolled: nothing lies behind */
    for (size_t c = 0; c < figure->layout.count; c++) {
        lab_range *range = &figure->layout.ranges[c]; /* axes begin where the positions do */
        if (range->coordinate.kind == LOCUS_COORDINATE_AXIS)
            range->low = range->high = figure->elements[0].parts[c].value;
    }
    for (size_t i = 0; i <= figure->similarity->count && status == LOCUS_OK; i++)
        status = lab_layout_show(&figure->layout, &figure->elements[i], error);
    return status == LOCUS_OK ? lab_layout_measure(&figure->layout, WIDTH, error) : status;
}

static locus_status draw_points(similarity_figure *figure, const locus_group *group, locus_error *error) {
    const locus_status status = show_all(figure, group, error);
    if (status != LOCUS_OK)
        return status;
    const double width = fmax(lab_layout_width(&figure->layout), 420), height = lab_layout_height(&figure->layout);
    figure->drawing = lab_drawing_create(width + LEFT + BAR, TOP + fmax(height, 200) + 16);
    if (!figure->drawing)
        return lab_fail_memory(error, "a drawing");
    figure->layout.origin = (lab_point){LEFT + (width - lab_layout_width(&figure->layout)) / 2 - 8, TOP};
    if (figure->layout.kind != LAB_PANEL_GRID)
        lab_panels_edges(&figure->layout, figure->drawing);
    for (size_t i = 0; i < figure->similarity->count; i++)
        draw_mark(figure, &figure->elements[i], figure->similarity->mean[i]);
    mark_origin(figure, &figure->elements[figure->similarity->count]);
    lab_panels_labels(&figure->layout, figure->drawing, disc_radius(&figure->layout));
    double bar = fmin(fmax(height, 200) - 40, 260);
    draw_bar(figure, width + LEFT + 14, TOP + (fmax(height, 200) - bar) / 2, bar);
    return LOCUS_OK;
}

/* ---- all of it ---- */

static locus_status read_elements(similarity_figure *figure, const locus_path *const *paths, const locus_path *origin,
                                  locus_error *error) {
    const size_t count = figure->similarity->count;
    figure->elements = calloc(count + 1, sizeof *figure->elements);
    locus_status status = figure->elements ? LOCUS_OK : lab_fail_memory(error, "a path");
    for (size_t i = 0; i <= count && status == LOCUS_OK; i++)
        status = lab_element_read(&figure->elements[i], i < count ? paths[i] : origin, error);
    return status;
}

static void find_range(similarity_figure *figure) {
    const double *values = figure->similarity->mean;
    figure->low = figure->high = values[0];
    for (size_t i = 0; i < figure->similarity->count; i++) {
        figure->low = fmin(figure->low, values[i]);
        figure->high = fmax(figure->high, values[i]);
    }
    figure->both = figure->low < 0 && figure->high > 0;
    if (figure->both) {
        figure->high = fmax(figure->high, -figure->low);
        figure->low = -figure->high;
    }
}

locus_status lab_figure_similarity(const lab_similarity *similarity, const locus_path *const *paths,
                                   const locus_path *origin, const char *title, const char *path, locus_error *error) {
    similarity_figure figure = {.similarity = similarity};
    const locus_group *group = locus_path_group(origin);
    find_range(&figure);
    const bool line =
        locus_group_coordinates(group) == 1 && locus_group_coordinate(group, 0).kind == LOCUS_COORDINATE_AXIS;
    locus_status status = read_elements(&figure, paths, origin, error);
    if (status == LOCUS_OK)
        status = line ? draw_line(&figure, error) : draw_points(&figure, group, error);
    if (status == LOCUS_OK) {
        put_title(figure.drawing, similarity, origin, title);
        status = lab_drawing_write(figure.drawing, path, error);
    }
    for (size_t i = 0; figure.elements && i <= similarity->count; i++)
        lab_element_free(&figure.elements[i]);
    free(figure.elements);
    lab_drawing_free(figure.drawing);
    lab_layout_close(&figure.layout);
    return status;
}
