/* SPDX-License-Identifier: MIT */
/* The page: one self-contained HTML file (inline CSS and SVG, no script, no network) with tables, learning curves,
 * accuracy against test length, cost, and the score kernel of each encoding. Plots are drawn by gnuplot, through
 * files in a temporary folder. Written whole or not at all. */
#ifndef LAB_REPORT_H
#define LAB_REPORT_H

#include "report/summary.h"

typedef struct lab_report_options {
    lab_summary_filter filter;
    const char *title;   /* NULL: made from the tasks */
    const char *command; /* the exact command line that made the page; NULL: left out */
    const char *folder;  /* of checkpoints, for the score kernels; NULL: kernels are drawn from initial parameters */
} lab_report_options;

/* UNSUPPORTED with a clear line if gnuplot is missing; ARGUMENT if no run matches. */
locus_status lab_report_write(lab_store *store, const lab_report_options *options, const char *path,
                              locus_error *error);

#endif
