/* SPDX-License-Identifier: MIT */
/* The vectors that an encoding adds to tokens as a field of colours: a row for each position, a column for each
 * dimension, red below 0, blue above. */
#include "figures/figure.h"

#include "figures/axes.h"
#include "io/fail.h"

#include <math.h>
#include <stdio.h>

#define LEFT 76.0
#define TOP 62.0
#define WIDTH 560.0
#define HEIGHT 300.0
#define BAR 18.0

static double extreme(const double *values, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(values[i]));
    return most > 0 ? most : 1;
}

/* Neighbours of one colour are one box: tables have long stretches without change. */
static void draw_row(lab_drawing *drawing, const double *row, size_t columns, double most, const double *y) {
    const double step = WIDTH / (double)columns;
    for (size_t first = 0, next = 0; first < columns; first = next) {
        const unsigned colour = lab_diverging_colour(row[first] / most);
        next = first + 1;
        while (next < columns && lab_diverging_colour(row[next] / most) == colour)
            next++;
        lab_draw_box(drawing, (lab_point){LEFT + step * (double)first, y[0]},
                     (lab_point){LEFT + step * (double)next + 0.25, y[1] + 0.25}, colour);
    }
}

static void draw_bar(lab_drawing *drawing, double most) {
    enum { STEPS = 40 };
    const double x = LEFT + WIDTH + 18, piece = HEIGHT / STEPS;
    char text[32];
    for (size_t i = 0; i < STEPS; i++) {
        lab_draw_box(drawing, (lab_point){x, TOP + piece * (double)i},
                     (lab_point){x + BAR, TOP + piece * (double)(i + 1) + 0.3},
                     lab_diverging_colour(1 - 2 * ((double)i + 0.5) / STEPS));
    }
    for (int at = -1; at <= 1; at++) {
        snprintf(text, sizeof text, "%s%.3g", at < 0 ? "−" : "", at ? most : 0.0);
        lab_draw_text(drawing, (lab_point){x + BAR + 5, TOP + HEIGHT * (1 - at) / 2 + 4},
                      (lab_label){.size = 11, .colour = LAB_MUTED}, text);
    }
}

locus_status lab_figure_table(const lab_table_values *table, const char *title, const char *path, locus_error *error) {
    lab_drawing *drawing = lab_drawing_create(LEFT + WIDTH + 96, TOP + HEIGHT + 56);
    if (!drawing)
        return lab_fail_memory(error, "a drawing");
    const double most = extreme(table->values, table->rows * table->columns);
    const lab_axes axes = {.corner = {LEFT, TOP},
                           .opposite = {LEFT + WIDTH, TOP + HEIGHT},
                           .x_high = (double)table->columns,
                           .y_low = 0,
                           .y_high = (double)table->rows,
                           .x_label = "dimension",
                           .y_label = "position, by number"};
    lab_axes_draw(&axes, drawing);
    for (size_t r = 0; r < table->rows; r++) {
        const double y[2] = {lab_axes_point(&axes, 0, (double)r + 1).y, lab_axes_point(&axes, 0, (double)r).y};
        draw_row(drawing, table->values + r * table->columns, table->columns, most, y);
    }
    draw_bar(drawing, most);
    lab_draw_text(drawing, (lab_point){24, 28}, (lab_label){.size = 15, .colour = LAB_INK, .bold = true}, title);
    locus_status status = lab_drawing_write(drawing, path, error);
    lab_drawing_free(drawing);
    return status;
}
