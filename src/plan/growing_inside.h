/* SPDX-License-Identifier: MIT */
/* The inside of locus_growing, for growing_enter.c, growing_place.c and growing_move.c. */
#ifndef LOCUS_GROWING_INSIDE_H
#define LOCUS_GROWING_INSIDE_H

#include "plan/growing.h"

/* One coordinate of the group. */
typedef struct locus_growing_column {
    locus_coordinate coordinate;
    int64_t *keys;     /* [sequences · capacity]; of a tree: nodes of `trie` */
    double *key_reals; /* the same, once real positions were met */
    int64_t *queries;  /* [room] */
    double *query_reals, *coarse_reals;
    int64_t *fresh; /* [room] nodes of fresh_trie; of other coordinates `queries` itself */
    uint32_t *coarse, *fine, *ahead;
    int64_t *blocks;
    locus_trie *trie, *fresh_trie; /* trees: of all that was ever kept, and of the new tokens alone */
    int64_t lowest, highest;       /* of all values since the beginning; lowest > highest: none */
    int64_t bound;                 /* `kept` is placed for values no further apart, nor from 0 */
} locus_growing_column;

struct locus_growing {
    locus_plan_holder holder; /* of both plans */
    locus_binding *binding;   /* a share */
    locus_group *group;
    size_t sequences, capacity, coordinates;
    bool real, any_group;
    bool placed;                 /* `kept` is */
    bool entered;                /* there are new tokens */
    bool keeps;                  /* the new tokens are keys */
    size_t room, tokens;         /* for and of new tokens */
    size_t *lengths;             /* [sequences] */
    locus_positions_run *runs;   /* [sequences] of the new tokens */
    locus_token_run *token_runs; /* [sequences] the same, for placements */
    locus_token_run *key_runs;   /* [sequences] of keys */
    locus_sequence_span *fresh_spans, *kept_spans;
    locus_growing_column *columns; /* [coordinates] */
    locus_placement *fresh_items, *kept_items;
    locus_plan fresh, kept;
    locus_owned memory;      /* of fixed size */
    locus_owned room_memory; /* arrays over new tokens */
    locus_owned real_memory;
    locus_tables held; /* locus_placement.held */
};

/* Places both plans for the new tokens, which stand in the columns' queries and in the runs. */
locus_status locus_growing_place(locus_growing *growing, locus_error *error);

/* Gives the new tokens up; those that were kept stay. */
void locus_growing_forget(locus_growing *growing);

/* Real positions from now on: whole ones become real. */
locus_status locus_growing_turn_real(locus_growing *growing, locus_error *error);

/* `node` of one trie as a node of another, behind the node `at`. */
locus_status locus_growing_word(const locus_trie_view *view, uint32_t node, locus_trie *to, uint32_t at,
                                int64_t *result, locus_error *error);

/* Extremes take in a value. */
static inline void locus_growing_reach(locus_growing_column *column, int64_t value) {
    column->lowest = value < column->lowest ? value : column->lowest;
    column->highest = value > column->highest ? value : column->highest;
}

static inline size_t locus_growing_row(const locus_growing *growing, size_t sequence, size_t index) {
    return sequence * growing->capacity + index;
}

#endif
