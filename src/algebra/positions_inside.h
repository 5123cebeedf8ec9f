/* SPDX-License-Identifier: MIT */
/* The inside of positions, for positions.c and positions_fill.c. */
#ifndef LOCUS_POSITIONS_INSIDE_H
#define LOCUS_POSITIONS_INSIDE_H

#include "algebra/path_access.h"
#include "algebra/positions_access.h"

#include <stdatomic.h>

typedef struct locus_position_values {
    int64_t *values;   /* [tokens] */
    bool *consecutive; /* [sequences] */
    int64_t minimum, maximum;
    locus_trie *trie; /* of a tree, else NULL */
} locus_position_values;

struct locus_positions {
    atomic_size_t owners;
    locus_group *group; /* a share */
    size_t bytes, sequences, tokens, coordinates;
    locus_positions_run *runs;      /* [sequences] */
    locus_position_values *columns; /* [coordinates] */
    double *reals;                  /* [coordinates][tokens], or NULL */
    void *attached, *placed;
};

/* Where values come from: one of rows, columns and paths; with none of them, positions are counted. */
typedef struct locus_position_source {
    const int64_t *rows;                  /* [tokens, coordinates] */
    const locus_position_column *columns; /* [coordinates], as the caller has them: read one with _column */
    locus_position_column column;         /* the one at work, where there are columns */
    const locus_path *const *paths;       /* [tokens] */
    uint32_t *nodes;                      /* the trie's node for each given node, of the column at work */
} locus_position_source;

static inline bool has_branch(int64_t size, int64_t branch) {
    return branch != 0 && branch >= -size && branch <= size;
}

/* Column `index` of the caller's, at its size. */
locus_status locus_positions_column(const locus_position_column *columns, size_t index, locus_position_column *column,
                                    locus_error *error);

/* Fills one coordinate of all sequences, whose runs are there; the paths, rows or columns have been checked, their
 * numbers have not. */
locus_status locus_positions_fill(locus_positions *positions, locus_position_source *from, size_t coordinate,
                                  locus_error *error);

#endif
