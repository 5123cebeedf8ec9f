/* SPDX-License-Identifier: MIT */
/* Charts: gnuplot draws them as SVG, which is then made fit for a page that is light or dark: colours become CSS
 * variables (--axis, --grid, --text, --s1 … --s8, --page), sizes become the view box's only, and point shapes are
 * shared. */
#ifndef LAB_PLOT_H
#define LAB_PLOT_H

#include <locus/status.h>
#include <stdbool.h>
#include <stdio.h>

#define LAB_PLOT_COLOURS 8

typedef struct lab_series {
    const char *name;
    size_t colour; /* 0 …; taken modulo LAB_PLOT_COLOURS */
    size_t count;
    const double *x, *y;
    const double *low, *high; /* of a band, or of error bars with `points`; NULL: none */
    bool points;
    unsigned dash;  /* pattern of the line, modulo LAB_PLOT_DASHES; 0: solid */
    bool reference; /* grey and thin, for comparison */
} lab_series;

#define LAB_PLOT_DASHES 6
/* The pattern as lengths drawn and left out, "" for a solid line. */
const char *lab_plot_dash(unsigned dash);

typedef struct lab_chart {
    const char *id; /* unique in the page: letters, digits, underscores */
    const char *title, *x_label, *y_label;
    size_t width, height;
    double x_low, x_high, y_low, y_high; /* x_low == x_high: chosen by the data; y likewise */
    bool log_y;                          /* with ticks at 1, 2, 5 of every decade */
    bool count_x;                        /* ticks as 500, 1k, 20k */
    bool whole_x;                        /* ticks at whole numbers only */
    const char *const *x_names;          /* at 0, 1, 2, … instead of numbers, '\n' between lines; NULL: numbers */
    size_t x_name_count;
    const lab_series *series;
    size_t series_count;
} lab_chart;

/* Draws into `page`. UNSUPPORTED if gnuplot is not there; IO if it fails. */
locus_status lab_chart_draw(const lab_chart *chart, FILE *page, locus_error *error);

/* The shapes that charts refer to; once, before the first chart. */
void lab_chart_shapes(FILE *page);

#endif
