/* SPDX-License-Identifier: MIT */
/* Cells of pairs, for scores that are known by asking for each pair once: where a query and a key stand, and how far
 * apart, for every cell that attention may read. A table over cells then serves rows as in score_row.h.
 *
 *   by difference   only of scores that promise to depend on it: one cell for each, wherever the pair stands
 *   by place        one for each distinct position of a query and of a key
 *   by pair         one for each query and key of a sequence; sequences that stand where their left neighbour stands
 *                   share its cells
 *
 * Whichever has the fewest cells is taken. The pair that speaks for a cell is one of the plan's own, or, by difference,
 * two positions within the reach of its queries and keys. In a cache, whose tokens change, cells by difference are
 * found from where a token stands; cells by pair are those of the moment. */
#ifndef LOCUS_PAIR_CELLS_H
#define LOCUS_PAIR_CELLS_H

#include "scores/score_row.h"

#include <locus/extension.h>

typedef struct locus_pair_cells {
    locus_score_rows rows;      /* cells, and where they begin; no distances */
    const locus_places *living; /* cells are found from these as they stand (a cache's, by difference); else NULL */
    size_t count;               /* cells that are read */
    const uint32_t *cell;       /* [count] which; NULL: all of them, in order */
    const double *query, *key;  /* [count, coordinates] */
    const locus_extension_word *query_words, *key_words; /* [count, coordinates]; NULL on groups without trees */
    const double *distance;                              /* [count] */
} locus_pair_cells;

typedef struct locus_pair_asked {
    const char *name; /* of the encoding, for messages */
    bool relative;    /* its scores depend on differences alone */
    size_t bytes;     /* that a term keeps for each cell */
} locus_pair_asked;

/* UNSUPPORTED where tables would be larger than the places' workspace. */
locus_status locus_pair_cells_create(locus_pair_cells *cells, const locus_places *places, const locus_pair_asked *asked,
                                     locus_owned *memory, locus_error *error);

/* A call's row out of a table over cells, [cells] of its dtype: a pointer into the table, or `scratch`. */
const void *locus_pair_cells_row(const locus_pair_cells *cells, const locus_score_call *call, const void *table,
                                 void *scratch);

/* sums[cell of key j] += gradient[j] of dtype. */
void locus_pair_cells_add(const locus_pair_cells *cells, const locus_score_call *call, const void *gradient,
                          double *sums);

#endif
