/* SPDX-License-Identifier: MIT */
/* Places the two plans of growing.h on what the columns hold: `fresh` on the new tokens (growing_fresh.c), `kept` on
 * all keys, when it has to be. */
#include "plan/growing_inside.h"

#define LEAST_BOUND 64 /* of several coordinates, whose distances are dearer the further they reach */

/* ---- placing all keys ---- */

static void set_kept_spans(locus_growing *g) {
    for (size_t s = 0; s < g->sequences; s++)
        g->kept_spans[s] =
            (locus_sequence_span){g->runs[s].first, g->runs[s].count, locus_growing_row(g, s, 0), g->lengths[s]};
}

/* The smallest power of two that serves, of what has been met. */
static int64_t bound_for(const locus_growing *g, const locus_growing_column *column) {
    int64_t bound = LEAST_BOUND;
    const int64_t low = column->lowest, high = column->highest;
    if (g->coordinates == 1)
        while ((uint64_t)bound < (uint64_t)g->capacity && bound < LOCUS_POSITION_MAX)
            bound *= 2;
    while (low <= high && bound <= INT64_MAX / 2 && (bound < high - low || bound < high || bound < -low))
        bound *= 2;
    return bound <= INT64_MAX / 2 ? bound : INT64_MAX;
}

static bool leaves_bounds(const locus_growing *g) {
    const locus_encoding *encoding = g->binding->encoding;
    bool leaves = !g->placed;
    for (size_t i = 0; i < encoding->term_count && !leaves; i++) {
        const locus_term *term = &encoding->terms[i];
        leaves = term->class->follows && term->class->follows(term, g->real);
    }
    for (size_t c = 0; c < g->coordinates && !leaves; c++) {
        const locus_growing_column *column = &g->columns[c];
        leaves = column->trie || bound_for(g, column) > column->bound;
    }
    return leaves;
}

/* No operator acts here, so tokens are not split into two levels. */
static locus_token_side query_side(const locus_growing *g, const locus_growing_column *column) {
    locus_token_side side = locus_growing_runs(g, g->token_runs);
    side.values = column->queries;
    side.reals = g->real ? column->query_reals : NULL;
    side.spans = g->kept_spans;
    return side;
}

static locus_token_side key_side(const locus_growing *g, const locus_growing_column *column) {
    const size_t tokens = g->sequences * g->capacity;
    locus_token_side side = {.values = column->keys,
                             .reals = g->real ? column->key_reals : NULL,
                             .tokens = tokens,
                             .used = tokens,
                             .runs = g->key_runs,
                             .spans = g->kept_spans,
                             .sequences = g->sequences,
                             .keys = true};
    size_t before = 0;
    for (size_t s = 0; s < g->sequences && column->trie; s++) {
        if (g->lengths[s] == 0)
            continue;
        g->key_runs[side.run_count++] = (locus_token_run){locus_growing_row(g, s, 0), g->lengths[s], before};
        before += g->lengths[s];
    }
    return side;
}

/* Operators find nothing to turn here; on trees they find the tokens that distances need. */
static void set_kept_item(locus_growing *g, size_t c) {
    static const int64_t origin[1] = {0};
    locus_growing_column *column = &g->columns[c];
    locus_placement *item = &g->kept_items[c];
    *item = (locus_placement){.coordinate = column->coordinate,
                              .sequences = g->sequences,
                              .spans = g->kept_spans,
                              .held = &g->held,
                              .query = query_side(g, column),
                              .key = key_side(g, column),
                              .coarse = origin,
                              .coarse_count = 1};
    item->query.run_count = column->trie ? item->query.run_count : 0;
    column->bound = bound_for(g, column);
    item->reach = (double)column->bound;
    item->nearest_apart = -column->bound;
    item->farthest_apart = column->bound;
    if (column->trie)
        item->trie = locus_trie_look(column->trie);
}

static locus_status place_kept(locus_growing *g, locus_error *error) {
    set_kept_spans(g);
    for (size_t c = 0; c < g->coordinates; c++) /* buffers of other sizes, at the same place */
        g->kept_items[c].query.tokens = g->tokens;
    if (!leaves_bounds(g))
        return LOCUS_OK;
    for (size_t c = 0; c < g->coordinates; c++)
        set_kept_item(g, c);
    g->placed = false;
    locus_status status = locus_plan_place(&g->kept, error);
    g->kept.query_key = g->kept.value = NULL; /* keys are kept turned */
    g->kept.query_key_whole = g->kept.value_whole = NULL;
    g->placed = status == LOCUS_OK;
    return status;
}

locus_status locus_growing_place(locus_growing *g, const locus_positions *positions, locus_error *error) {
    int64_t lowest[LOCUS_COORDINATES_MAX], highest[LOCUS_COORDINATES_MAX]; /* what is refused was never met */
    for (size_t c = 0; c < g->coordinates; c++) {
        lowest[c] = g->columns[c].lowest;
        highest[c] = g->columns[c].highest;
    }
    for (size_t c = 0; c < g->coordinates; c++)
        for (size_t s = 0; s < g->sequences && !g->columns[c].trie; s++)
            for (size_t i = 0; i < g->runs[s].count; i++)
                locus_growing_reach(&g->columns[c], g->columns[c].queries[g->runs[s].first + i]);
    locus_status status = locus_fresh_place(g, positions, error);
    status = status == LOCUS_OK ? place_kept(g, error) : status;
    for (size_t c = 0; status != LOCUS_OK && c < g->coordinates; c++) {
        // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): there are as many coordinates as above
        g->columns[c].lowest = lowest[c];
        g->columns[c].highest = highest[c];
    }
    return status;
}
