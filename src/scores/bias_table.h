/* SPDX-License-Identifier: MIT */
/* Biases that a head makes of the distance alone (t5, kerple): tabulated for each head, so that a row of consecutive
 * positions is a pointer into a table.
 *
 *   by cell       where distances have cells (score_row.h)
 *   by distance   0, 1, 2, … up to the longest, where these are whole and the list is short
 *   none          else values are made for each pair
 *
 * All three give the same bits: floats are rounded from the double. */
#ifndef LOCUS_BIAS_TABLE_H
#define LOCUS_BIAS_TABLE_H

#include "scores/score_row.h"

typedef struct locus_bias_table {
    /* Given: the bias of a head at a distance (with a sign if `directed`). */
    double (*value)(const void *own, size_t head, double distance);
    const void *own;
    size_t heads;
    bool directed; /* positions are on `seq`: distances are key − query */
    size_t more;   /* numbers that the term keeps for each cell besides */
    /* Made. */
    locus_score_rows rows;
    size_t count;       /* numbers for a head, or 0 */
    const double *wide; /* [heads, count] */
    const float *narrow;
} locus_bias_table;

locus_status locus_bias_table_create(locus_bias_table *table, const locus_places *places, locus_owned *memory,
                                     locus_error *error);

/* As data, of the form begun: cells and their distances, and "values" [heads, cells]. */
locus_score_form locus_bias_table_form(const locus_bias_table *table, locus_form_writer *writer);

/* As locus_score_class.row. */
const void *locus_bias_table_row(const locus_bias_table *table, const locus_score_call *call, void *scratch);

#endif
