/* SPDX-License-Identifier: MIT */
/* What a chart of a page shows (chart_draw.h draws it), and its field: where values stand in its picture, and its
 * ticks. Each series has a dash and markers of its own besides its colour, at other places than its neighbours', so
 * that lines are told apart without colour and where they lie on each other. */
#ifndef LAB_CHART_FRAME_H
#define LAB_CHART_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct lab_series {
    const char *name;
    size_t colour; /* below LAB_COLOURS */
    size_t mark;   /* dash and markers; the page's legend switches series of the same mark together */
    size_t count;
    const double *x, *y;      /* x ascending */
    const double *low, *high; /* of a band, or of error bars with `points`; NULL: none */
    bool points;              /* markers at every point */
    bool reference;           /* grey, thin and unmarked, for comparison */
} lab_series;

typedef struct lab_chart {
    const char *id; /* unique in the page: letters, digits, underscores */
    const char *title, *x_label, *y_label;
    size_t width, height;
    double x_low, x_high, y_low, y_high; /* x_low == x_high: chosen by the data; y likewise */
    bool log_y;                          /* with ticks at 1, 2, 5 of every decade; what is not positive is left out */
    bool whole_x;                        /* ticks at whole numbers only */
    bool dodge;                          /* series are drawn side by side, so that their bars do not cover each other */
    double trained;                      /* the x up to which was trained: it is marked, and what is beyond; 0: none */
    const char *const *x_names;          /* at 0, 1, 2, … instead of numbers, '\n' between two lines; NULL: numbers */
    size_t x_name_count;
    const lab_series *series;
    size_t series_count;
} lab_chart;

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
