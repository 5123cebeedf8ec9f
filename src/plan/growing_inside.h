/* SPDX-License-Identifier: MIT */
/* The inside of locus_growing, for growing_enter.c, growing_fresh.c, growing_place.c and growing_move.c. */
#ifndef LOCUS_GROWING_INSIDE_H
#define LOCUS_GROWING_INSIDE_H

#include "plan/growing.h"

/* ---- new tokens, placed ---- */

/* One coordinate of the group; arrays over tokens are [room]. */
typedef struct locus_fresh_column {
    int64_t *values; /* of a tree: nodes of `trie` */
    double *reals, *coarse_reals;
    uint32_t *coarse, *fine, *ahead;
    int64_t *blocks;
    locus_trie *trie; /* trees: of the new tokens alone */
} locus_fresh_column;

/* What turns new tokens. Caches of one binding share it where their new tokens stand on the same positions, as those of
 * a model's layers do: positions know what was placed on them, without keeping it alive, as they know their grounds. */
typedef struct locus_fresh {
    locus_plan_holder holder;   /* of the plan: owners are caches, and those who retain the plan */
    locus_binding *binding;     /* a share */
    locus_positions *positions; /* a share, while others may find it; else NULL */
    struct locus_fresh *next;   /* of those on the same positions */
    struct locus_fresh *idle;   /* one that nobody has, or NULL: for the tokens that come next */
    bool real;
    size_t length; /* locus_growing_options.length */
    size_t room;
    locus_token_run *runs;       /* [sequences] */
    locus_sequence_span *spans;  /* [sequences] */
    locus_fresh_column *columns; /* [coordinates] */
    locus_placement *items;      /* [coordinates] */
    locus_plan plan;
    size_t coordinates;
    locus_owned memory;      /* of fixed size */
    locus_owned room_memory; /* arrays over tokens */
    locus_tables held;       /* locus_placement.held */
} locus_fresh;

/* ---- all of a cache ---- */

/* One coordinate of the group. */
typedef struct locus_growing_column {
    locus_coordinate coordinate;
    int64_t *keys;     /* [sequences · capacity]; of a tree: nodes of `trie` */
    double *key_reals; /* the same, once real positions were met */
    int64_t *queries;  /* [room] */
    double *query_reals;
    locus_trie *trie;        /* trees: of all that was ever kept */
    int64_t lowest, highest; /* of all values since the beginning; lowest > highest: none */
    int64_t bound;           /* `kept` is placed for values no further apart, nor from 0 */
} locus_growing_column;

struct locus_growing {
    locus_plan_holder holder; /* of `kept` */
    locus_binding *binding;   /* a share */
    locus_group *group;
    size_t sequences, capacity, coordinates, length;
    bool real, any_group;
    bool placed;                 /* `kept` is */
    bool entered;                /* there are new tokens */
    bool keeps;                  /* the new tokens are keys */
    size_t room, tokens;         /* for and of new tokens */
    size_t *lengths;             /* [sequences] */
    locus_positions_run *runs;   /* [sequences] of the new tokens */
    locus_token_run *token_runs; /* [sequences] the same, for placements */
    locus_token_run *key_runs;   /* [sequences] of keys */
    locus_sequence_span *kept_spans;
    locus_growing_column *columns; /* [coordinates] */
    locus_placement *kept_items;
    locus_fresh *fresh; /* a share */
    locus_plan kept;
    locus_owned memory;      /* of fixed size */
    locus_owned room_memory; /* arrays over new tokens */
    locus_owned real_memory;
    locus_tables held; /* locus_placement.held */
};

/* Places both plans for the new tokens, which stand in the columns' queries and in the runs: as `positions` have them,
 * so that what others have placed there serves, or NULL. */
locus_status locus_growing_place(locus_growing *growing, const locus_positions *positions, locus_error *error);

/* New tokens, placed, into growing->fresh (growing_fresh.c). */
locus_status locus_fresh_place(locus_growing *growing, const locus_positions *positions, locus_error *error);
void locus_fresh_release(locus_fresh *fresh); /* a share; accepts NULL */
size_t locus_fresh_bytes(const locus_fresh *fresh);

/* The new tokens as unbroken runs [sequences]: the runs of a side that has nothing else yet. */
locus_token_side locus_growing_runs(const locus_growing *growing, locus_token_run *runs);

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
