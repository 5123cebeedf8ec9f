/* SPDX-License-Identifier: MIT */
/* The page: one self-contained HTML file with tables, learning curves, accuracy against test length, cost, and the
 * score kernel of each encoding. It fetches nothing, and all of it is there without a script; its own one (page.js)
 * shows values, switches, sorts and saves. Written whole or not at all. */
#ifndef LAB_REPORT_H
#define LAB_REPORT_H

#include "report/tables/summary.h"

typedef struct lab_report_options {
    lab_summary_filter filter;
    const char *title;   /* NULL: made from the tasks */
    const char *command; /* the exact command line that made the page; NULL: left out */
    const char *folder;  /* of checkpoints, for score kernels and learned angles; NULL: these are left out */
} lab_report_options;

/* ARGUMENT if no run matches. */
locus_status lab_report_write(lab_store *store, const lab_report_options *options, const char *path,
                              locus_error *error);

#endif
