/* SPDX-License-Identifier: MIT */
/* What a page draws of runs, as pictures that stand alone. */
#ifndef LAB_RUN_FIGURE_H
#define LAB_RUN_FIGURE_H

#include "train/store/store.h"

typedef enum lab_run_figure {
    LAB_FIGURE_CURVES = 0,  /* learning curves */
    LAB_FIGURE_LENGTHS = 1, /* scores against the size of test samples */
    LAB_FIGURE_COSTS = 2    /* speed, time, memory, parameters */
} lab_run_figure;

/* Of the runs with these ids, which stand together as on a page: section by section, one line for each encoding, over
 * its seeds. Only finished runs count. Written as lab_svg_write does; ARGUMENT where there is nothing to draw, and for
 * costs of a run beside which another one ran on the same machine. */
locus_status lab_run_figure_write(lab_store *store, const int64_t *runs, size_t count, lab_run_figure figure,
                                  const char *path, locus_error *error);

#endif
