/* SPDX-License-Identifier: MIT */
/* Numbers that a head makes of the distance alone (biases of alibi, t5, kerple; factors of a decay; logarithms of
 * fire): tabulated for each head, so that a row of consecutive positions is a pointer into a table.
 *
 *   by cell       where distances have cells (score_row.h)
 *   by distance   0, 1, 2, … up to the longest, or to where they no longer change, where these are whole and the list
 *                 is short
 *   none          else numbers are made for each pair
 *
 * All three give the same bits: floats are rounded from the double. */
#ifndef LOCUS_DISTANCE_TABLE_H
#define LOCUS_DISTANCE_TABLE_H

#include "scores/score_row.h"

/* The numbers of a head at some distances (with a sign if they are directed). */
typedef void locus_distance_fill(const void *own, size_t head, size_t count, const double *distance, double *values);

typedef struct locus_distance_table {
    /* Given. */
    locus_distance_fill *fill;
    const void *own;
    const double *slopes; /* [heads] instead: numbers are −slope · distance, neither directed nor settled; these are
                             quickly made, so that floats by cell are all that is kept */
    size_t heads;         /* 1: all heads are alike */
    bool directed;        /* positions are on `seq`: distances are key − query */
    double settled;       /* at whole distances from here on they are all the same; 0: there is no such distance */
    size_t more;          /* numbers that the term keeps for each cell besides */
    locus_score_term *term; /* whose `apart` is set; or NULL */
    /* Made. */
    locus_score_rows rows;
    size_t count;       /* numbers for a head, or 0 */
    const double *wide; /* [heads, count], or NULL */
    const float *narrow;
} locus_distance_table;

locus_status locus_distance_table_create(locus_distance_table *table, const locus_places *places, locus_owned *memory,
                                         locus_error *error);

/* As locus_score_class.row. */
const void *locus_distance_table_row(const locus_distance_table *table, const locus_score_call *call, void *scratch);

/* A term's row: out of its table, or what its class says. */
static inline const void *locus_score_term_row(const locus_score_term *term, const locus_score_call *call,
                                               void *scratch) {
    return term->table ? locus_distance_table_row(term->table, call, scratch) : term->class->row(term, call, scratch);
}

/* Other numbers by cell, [heads, cells]. NULL: no memory. */
const double *locus_distance_table_beside(const locus_distance_table *table, locus_distance_fill *fill,
                                          locus_owned *memory, locus_error *error);

/* As data, of the form begun: cells and their distances, and the numbers by cell, [heads, cells]: added as "values", or
 * returned. */
locus_score_form locus_distance_table_form(const locus_distance_table *table, locus_form_writer *writer);
const double *locus_distance_table_values(const locus_distance_table *table, const locus_score_form *form,
                                          locus_form_writer *writer);

#endif
