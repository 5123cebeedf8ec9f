/* SPDX-License-Identifier: MIT */
/* Places the two plans of growing.h on what the columns hold: `fresh` on the new tokens, each time; `kept` on all keys,
 * when it has to be. */
#include "plan/growing_inside.h"
#include "plan/placing.h"

#include "core/error.h"

#include <math.h>
#include <string.h>

#define LEAST_BOUND 64 /* of several coordinates, whose distances are dearer the further they reach */

enum { TURNING_SITES = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE | LOCUS_SITE_EMBEDDING | LOCUS_SITE_ENCODED };

/* ---- placing the new tokens ---- */

/* `view` may be of `to` itself: all letters are read before a node is added. */
locus_status locus_growing_word(const locus_trie_view *view, uint32_t node, locus_trie *to, uint32_t at,
                                int64_t *result, locus_error *error) {
    const size_t count = view->depth[node], bytes = (count + 1) * sizeof(int64_t);
    int64_t *letters = locus_allocate(bytes);
    if (!letters)
        return locus_fail_memory(error, bytes);
    for (size_t i = count; i-- > 0; node = view->parent[node])
        letters[i] = view->branch[node];
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < count && status == LOCUS_OK; i++)
        status = locus_trie_step(to, at, letters[i], &at, error);
    *result = at;
    locus_release(letters, bytes);
    return status;
}

static locus_status make_fresh_trie(locus_growing *g, locus_growing_column *column, locus_error *error) {
    const locus_trie_view view = locus_trie_look(column->trie);
    locus_trie_destroy(&column->fresh_trie);
    locus_status status = locus_trie_create(&column->fresh_trie, error);
    memset(column->fresh, 0, g->tokens * sizeof *column->fresh);
    for (size_t s = 0; s < g->sequences; s++)
        for (size_t i = 0; i < g->runs[s].count && status == LOCUS_OK; i++) {
            const size_t t = g->runs[s].first + i;
            status = locus_growing_word(&view, (uint32_t)column->queries[t], column->fresh_trie, LOCUS_TRIE_ROOT,
                                        &column->fresh[t], error);
        }
    return status;
}

/* Returns the number of blocks, at least one so that tables are never empty. */
static size_t split_values(const locus_growing *g, locus_growing_column *column) {
    size_t count = 0;
    for (size_t s = 0; s < g->sequences; s++)
        for (size_t i = 0; i < g->runs[s].count; i++) {
            const int64_t block = locus_block_of(column->queries[g->runs[s].first + i]);
            if (count == 0 || column->blocks[count - 1] != block)
                column->blocks[count++] = block;
        }
    if (count == 0)
        column->blocks[count++] = 0;
    count = locus_blocks_sort(column->blocks, count);
    uint32_t last = 0;
    for (size_t s = 0; s < g->sequences; s++)
        for (size_t i = 0; i < g->runs[s].count; i++) {
            const size_t t = g->runs[s].first + i;
            const int64_t block = locus_block_of(column->queries[t]);
            if (column->blocks[last] != block)
                last = locus_blocks_find(column->blocks, count, block);
            column->coarse[t] = last;
            column->fine[t] = (uint32_t)(column->queries[t] - block * LOCUS_FINE);
        }
    return count;
}

/* Real positions: each token has a row of its own, whole ones that of their block. */
static size_t number_reals(const locus_growing *g, locus_growing_column *column) {
    for (size_t t = 0; t < g->tokens; t++) {
        column->coarse[t] = (uint32_t)t;
        column->coarse_reals[t] = locus_real_split(column->query_reals[t], &column->fine[t]);
    }
    return g->tokens > 0 ? g->tokens : 1;
}

static void measure_ahead(const locus_growing *g, locus_growing_column *column) {
    for (size_t s = 0; s < g->sequences; s++)
        for (size_t i = g->runs[s].count; i-- > 0;) {
            const size_t t = g->runs[s].first + i;
            const bool follows = i + 1 < g->runs[s].count && column->queries[t + 1] - column->queries[t] == 1;
            column->ahead[t] = follows && column->ahead[t + 1] < UINT32_MAX ? column->ahead[t + 1] + 1 : 1;
        }
}

static locus_token_side new_side(const locus_growing *g, const locus_growing_column *column, bool fresh) {
    locus_token_side side = {.values = fresh ? column->fresh : column->queries,
                             .reals = g->real ? column->query_reals : NULL,
                             .tokens = g->tokens,
                             .runs = g->token_runs,
                             .ahead = column->ahead,
                             .coarse = column->coarse,
                             .fine = column->fine,
                             .spans = fresh ? g->fresh_spans : g->kept_spans,
                             .sequences = g->sequences};
    for (size_t s = 0; s < g->sequences; s++) {
        const locus_positions_run run = g->runs[s];
        if (run.count == 0)
            continue;
        g->token_runs[side.run_count++] = (locus_token_run){run.first, run.count, side.used};
        side.used += run.count;
    }
    return side;
}

/* Of the new tokens alone; of a tree 0. */
static void measure_fresh(const locus_growing *g, const locus_growing_column *column, locus_placement *item) {
    int64_t low = 0, high = 0;
    bool any = false;
    for (size_t s = 0; s < g->sequences && !column->trie; s++)
        for (size_t i = 0; i < g->runs[s].count; i++) {
            const int64_t value = column->queries[g->runs[s].first + i];
            low = any && low < value ? low : value;
            high = any && high > value ? high : value;
            any = true;
        }
    item->reach = fmax(fabs((double)low), fabs((double)high)) + (double)g->real;
    item->highest = fmax(0, (double)high);
    item->nearest_apart = low - high;
    item->farthest_apart = high - low;
}

static locus_status place_fresh_column(locus_growing *g, size_t c, locus_error *error) {
    locus_growing_column *column = &g->columns[c];
    locus_placement *item = &g->fresh_items[c];
    locus_status status = column->trie ? make_fresh_trie(g, column, error) : LOCUS_OK;
    if (status != LOCUS_OK)
        return status;
    *item = (locus_placement){.coordinate = column->coordinate,
                              .sequences = g->sequences,
                              .spans = g->fresh_spans,
                              .held = &g->held,
                              .query = new_side(g, column, true)};
    item->key = item->query;
    measure_fresh(g, column, item);
    if (column->trie) {
        item->trie = locus_trie_look(column->fresh_trie);
        item->query.coarse = item->query.fine = item->key.coarse = item->key.fine = NULL;
        return LOCUS_OK;
    }
    measure_ahead(g, column);
    item->coarse_count = g->real ? number_reals(g, column) : split_values(g, column);
    item->coarse = column->blocks;
    item->coarse_reals = g->real ? column->coarse_reals : NULL;
    return LOCUS_OK;
}

static locus_status place_fresh(locus_growing *g, locus_error *error) {
    for (size_t s = 0; s < g->sequences; s++) {
        const locus_positions_run run = g->runs[s];
        g->fresh_spans[s] = (locus_sequence_span){run.first, run.count, run.first, run.count};
    }
    for (size_t c = 0; c < g->coordinates; c++) {
        locus_status status = place_fresh_column(g, c, error);
        if (status != LOCUS_OK)
            return status;
    }
    return locus_plan_place(&g->fresh, TURNING_SITES, error);
}

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
                              .query = new_side(g, column, false),
                              .key = key_side(g, column),
                              .coarse = origin,
                              .coarse_count = 1};
    item->query.run_count = column->trie ? item->query.run_count : 0;
    column->bound = bound_for(g, column);
    item->reach = item->highest = (double)column->bound;
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
    locus_status status = locus_plan_place(&g->kept, LOCUS_SITE_SCORE, error);
    g->kept.query_key = g->kept.value = NULL; /* keys are kept turned */
    g->kept.query_key_whole = g->kept.value_whole = NULL;
    g->placed = status == LOCUS_OK;
    return status;
}

locus_status locus_growing_place(locus_growing *g, locus_error *error) {
    for (size_t c = 0; c < g->coordinates; c++)
        for (size_t s = 0; s < g->sequences && !g->columns[c].trie; s++)
            for (size_t i = 0; i < g->runs[s].count; i++)
                locus_growing_reach(&g->columns[c], g->columns[c].queries[g->runs[s].first + i]);
    locus_status status = place_fresh(g, error);
    return status == LOCUS_OK ? place_kept(g, error) : status;
}
