/* SPDX-License-Identifier: MIT */
/* A pair of axes in a drawing: ticks at round numbers, a faint grid, labels. */
#ifndef LAB_AXES_H
#define LAB_AXES_H

#include "figures/drawing.h"

typedef struct lab_axes {
    lab_point corner, opposite; /* upper left and lower right of the field */
    double x_low, x_high, y_low, y_high;
    bool log_y;                            /* y_low, y_high are powers of ten, ticks at each */
    const char *x_label, *y_label, *title; /* may be NULL */
} lab_axes;

void lab_axes_draw(const lab_axes *axes, lab_drawing *drawing);
lab_point lab_axes_point(const lab_axes *axes, double x, double y);

/* The round number nearest to a `count`th of the range: 1, 2 or 5 times a power of ten. */
double lab_round_step(double range, double count);

#endif
