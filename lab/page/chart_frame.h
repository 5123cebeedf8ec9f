/* SPDX-License-Identifier: MIT */
/* The field of a chart: where values stand in its picture, and its ticks. */
#ifndef LAB_CHART_FRAME_H
#define LAB_CHART_FRAME_H

#include "page/chart.h"

#include <stdio.h>

typedef struct lab_frame {
    double left, top, right, bottom; /* of the field, in the picture's units, y downward */
    double x_low, x_high, y_low, y_high;
    bool log_y;
} lab_frame;

/* Ranges that the chart leaves open are chosen by its data. */
lab_frame lab_frame_of(const lab_chart *chart);

/* Whether a value has a place: it is finite, and positive on a logarithmic axis. */
bool lab_frame_has(const lab_frame *frame, double y);
double lab_frame_x(const lab_frame *frame, double x);
double lab_frame_y(const lab_frame *frame, double y); /* on the edge what is beyond it */

/* Grid, axes, ticks and labels. */
void lab_frame_draw(const lab_frame *frame, const lab_chart *chart, FILE *page);

#endif
