/* SPDX-License-Identifier: MIT */
/* Rows of scores that depend on the distance of two positions only. Where it is cheap, distances stand in cells, so
 * that a term tabulates its values once and a row is a pointer to them, whatever the head:
 *
 *   cell(query, key) = query[m] + key[n]  (mod 2^32)
 *
 *   by difference   sequences, cycles, grids and their products: a cell for each difference (Toeplitz), strides as in
 *                   an array of all differences
 *   by pair         any group: a cell for each query and key of a sequence; sequences that stand where their left
 *                   neighbour stands (images) share its cells
 *
 * A run of keys whose cells are neighbours has its row in one piece. Cells by pair are taken as long as all tables
 * together stay linear in the tokens, and for real-valued positions; else rows are computed: distances as whole
 * numbers, values looked up. */
#ifndef LOCUS_SCORE_ROW_H
#define LOCUS_SCORE_ROW_H

#include "scores/distance.h"

#define LOCUS_SCORE_RUN 128 /* keys of a computed row at a time: as attention asks */

typedef struct locus_score_rows {
    size_t cells;           /* 0: none */
    const uint32_t *query;  /* [query tokens] */
    const uint32_t *key;    /* [key tokens] */
    const uint32_t *ahead;  /* [key tokens] how many keys from here on, this one included, have neighbouring cells */
    bool scattered;         /* few keys have neighbouring cells */
    bool line;              /* cells are the differences of one axis in rising order */
    int64_t origin;         /* then: the cell of difference 0, which need not be one of them */
    bool directed;          /* `distance` is key − query, on `seq` */
    bool whole;             /* distances are whole numbers */
    const double *distance; /* [cells] */
    const locus_distances *distances; /* NULL if there are cells */
    double most;                      /* no distance is longer */
} locus_score_rows;

/* `tables`: how many numbers a term keeps for each cell. `directed` is for positions on `seq`: distances with a sign.
 * What rows point to is in the places' tables, or in `memory` where they have none. */
locus_status locus_score_rows_create(locus_score_rows *rows, const locus_places *places, size_t tables, bool directed,
                                     locus_owned *memory, locus_error *error);

/* Longest list of values by distance that a term should keep, which keeps so many numbers for each. */
double locus_score_list_most(const locus_places *places, size_t tables);

/* An earlier cell of the same distance, if that is easily known, else the cell itself: what is dear to compute of a
 * distance needs to be computed once. */
static inline size_t locus_score_rows_twin(const locus_score_rows *rows, size_t cell) {
    const int64_t mirrored = 2 * rows->origin - (int64_t)cell;
    return rows->line && !rows->directed && mirrored >= 0 && mirrored < (int64_t)cell ? (size_t)mirrored : cell;
}

/* Where the row of a call begins in a table over cells, or SIZE_MAX if it does not lie there in one piece. */
static inline size_t locus_score_rows_at(const locus_score_rows *rows, const locus_score_call *call) {
    if (rows->cells == 0 || call->count == 0 || rows->ahead[call->key_first] < call->count)
        return SIZE_MAX;
    return (uint32_t)(rows->query[call->query] + rows->key[call->key_first]);
}

/* Goes through a call in pieces of at most LOCUS_SCORE_RUN keys: what stands before the first, and then one after
 * another while there are any. */
static inline locus_score_call locus_score_before(const locus_score_call *call) {
    return (locus_score_call){call->dtype, call->head, call->query, call->key_first, 0, call->steps};
}
static inline bool locus_score_next(const locus_score_call *call, locus_score_call *piece) {
    piece->key_first += piece->count;
    if (piece->steps)
        piece->steps += piece->count;
    const size_t left = call->key_first + call->count - piece->key_first;
    piece->count = left < LOCUS_SCORE_RUN ? left : LOCUS_SCORE_RUN;
    return left > 0;
}

/* Element j of a row's gradient. */
static inline double locus_score_gradient(locus_dtype dtype, const void *gradient, size_t j) {
    return dtype == LOCUS_FLOAT32 ? (double)((const float *)gradient)[j] : ((const double *)gradient)[j];
}

/* ---- for those who make cells ---- */

/* cells[t] += what a query or a key adds to the cells by difference: Σ (value − nearest difference) · stride with minus
 * for queries; the last coordinate's stride is 1. */
void locus_score_rows_strides(const locus_places *places, bool keys, uint32_t *cells);

/* Fills `ahead` in from `key`. Returns whether the pieces are so short that keys had better go one by one. */
bool locus_score_rows_ahead(const locus_placement *first, const uint32_t *key, uint32_t *ahead);

/* Whether a sequence stands where the one before it stands. */
bool locus_score_rows_repeat(const locus_places *places, size_t sequence);

/* ---- rows ---- */

/* Row of a call from a table over cells, piece by piece; needs cells. */
void locus_score_rows_copy_float32(const locus_score_rows *rows, const locus_score_call *call, const float *table,
                                   float *out);
void locus_score_rows_copy_float64(const locus_score_rows *rows, const locus_score_call *call, const double *table,
                                   double *out);

/* Distances of a call, with cells or without. */
void locus_score_rows_distance(const locus_score_rows *rows, const locus_score_call *call, double *out);

/* Cells as data: adds "query_cell", "key_cell" and "distance", by cell, and returns it. Where rows are computed, cells
 * by pair are made. Without distances: refused. */
typedef struct locus_score_form {
    const double *distance; /* [cells] */
    size_t cells;
    bool made; /* the cells are not the rows' own */
} locus_score_form;
locus_score_form locus_score_rows_form(const locus_score_rows *rows, locus_form_writer *writer);

/* Calls visit for every query with all keys of its sequence, whose cells by pair begin at `cell`. Returns the number of
 * pairs. `visit` may be NULL. */
typedef void locus_score_visit(void *context, const locus_score_call *call, size_t cell);
size_t locus_score_pairs(const locus_places *places, locus_score_visit *visit, void *context);

/* Adds "query_cell" and "key_cell" of cells by pair. */
void locus_score_pairs_form(locus_form_writer *writer);

/* Σ gradient[j], and Σ gradient[j]·weight[j], in double, always in the same order. `gradient` is of dtype. */
double locus_score_sum(locus_dtype dtype, const void *gradient, size_t first, size_t count);
double locus_score_dot(locus_dtype dtype, const void *gradient, size_t first, size_t count, const double *weight);

#endif
