/* SPDX-License-Identifier: MIT */
/* See levels.h. */
#include "spec/levels.h"

#include "core/error.h"

#include <stdlib.h>
#include <string.h>

#define SIDES 2

/* ---- whole positions ---- */

static int compare_blocks(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* The tokens of one side, as stretches on which positions rise by one. */
typedef struct locus_stretches {
    const locus_token_side *side;
    const locus_placement *placement;
    bool keys;
} locus_stretches;

typedef struct locus_stretch {
    size_t sequence, first, count; /* count 0: the end; starts as zeros */
} locus_stretch;

static bool next_stretch(const locus_stretches *of, locus_stretch *at) {
    at->first += at->count;
    for (; at->sequence < of->placement->sequences; at->sequence++) {
        const locus_sequence_span *span = &of->placement->spans[at->sequence];
        const size_t begin = of->keys ? span->key_first : span->query_first;
        const size_t end = begin + (of->keys ? span->key_count : span->query_count);
        at->first = at->first < begin ? begin : at->first;
        if (at->first < end) {
            at->count = of->side->consecutive ? end - at->first : of->side->ahead[at->first];
            return true;
        }
    }
    return false;
}

/* Candidates for the list of blocks: neighbours that repeat are left out, so consecutive positions give one in 64. */
static size_t list_candidates(const locus_stretches *of, int64_t *blocks) {
    size_t count = 0;
    for (locus_stretch at = {0, 0, 0}; next_stretch(of, &at);) {
        const int64_t value = of->side->values[at.first];
        const int64_t last = locus_block_of(value + (int64_t)at.count - 1);
        for (int64_t block = locus_block_of(value); block <= last; block++)
            if (count == 0 || blocks[count - 1] != block)
                blocks[count++] = block;
    }
    return count;
}

size_t locus_blocks_sort(int64_t *blocks, size_t count) {
    bool sorted = true;
    for (size_t i = 1; i < count && sorted; i++)
        sorted = blocks[i - 1] < blocks[i];
    if (sorted)
        return count;
    qsort(blocks, count, sizeof *blocks, compare_blocks);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (blocks[i] != blocks[kept - 1])
            blocks[kept++] = blocks[i];
    return kept;
}

uint32_t locus_blocks_find(const int64_t *blocks, size_t count, int64_t block) {
    size_t low = 0, high = count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (blocks[middle] < block)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

static void split_stretch(const locus_stretches *of, locus_stretch at, uint32_t *index, uint32_t *coarse,
                          uint32_t *fine) {
    const locus_placement *placement = of->placement;
    for (size_t done = 0, piece; done < at.count; done += piece) {
        const int64_t value = of->side->values[at.first + done], block = locus_block_of(value);
        const uint32_t step = (uint32_t)(value - block * LOCUS_FINE);
        const size_t left = at.count - done, inside = LOCUS_FINE - step;
        if (placement->coarse[*index] != block)
            *index = *index + 1 < placement->coarse_count && placement->coarse[*index + 1] == block
                         ? *index + 1
                         : locus_blocks_find(placement->coarse, placement->coarse_count, block);
        piece = left < inside ? left : inside;
        for (size_t i = 0; i < piece; i++) {
            coarse[at.first + done + i] = *index;
            fine[at.first + done + i] = step + (uint32_t)i;
        }
    }
}

static locus_status split_side(const locus_stretches *of, locus_token_side *side, locus_owned *memory,
                               locus_error *error) {
    void *(*take)(locus_owned *, size_t, size_t) = side->used < side->tokens ? locus_owned_get : locus_owned_take;
    uint32_t *coarse = take(memory, side->tokens, sizeof *coarse); /* zeros in gaps */
    uint32_t *fine = take(memory, side->tokens, sizeof *fine);
    uint32_t index = 0;
    if (!coarse || !fine)
        return locus_owned_fail(error, side->tokens, sizeof *fine);
    for (locus_stretch at = {0, 0, 0}; next_stretch(of, &at);)
        split_stretch(of, at, &index, coarse, fine);
    side->coarse = coarse;
    side->fine = fine;
    return LOCUS_OK;
}

static locus_status collect_blocks(locus_placement *placement, const locus_stretches *sides, bool shared,
                                   locus_owned *memory, locus_error *error) {
    locus_owned passing = {0};
    size_t most = placement->query.used + (shared ? 0 : placement->key.used);
    int64_t *blocks = locus_owned_take(&passing, most + 1, sizeof *blocks);
    if (!blocks)
        return locus_owned_fail(error, most + 1, sizeof *blocks);
    size_t count = list_candidates(&sides[0], blocks);
    if (!shared)
        count += list_candidates(&sides[1], blocks + count);
    if (count == 0)
        blocks[count++] = 0; /* so that tables are never empty */
    count = locus_blocks_sort(blocks, count);
    int64_t *kept = locus_owned_take(memory, count, sizeof *kept);
    if (kept)
        memcpy(kept, blocks, count * sizeof *kept);
    placement->coarse = kept;
    placement->coarse_count = count;
    locus_owned_release(&passing);
    return kept ? LOCUS_OK : locus_owned_fail(error, count, sizeof *kept);
}

static locus_status split_integers(locus_placement *placement, bool shared, locus_owned *memory, locus_error *error) {
    const locus_stretches sides[SIDES] = {{&placement->query, placement, false}, {&placement->key, placement, true}};
    locus_status status = collect_blocks(placement, sides, shared, memory, error);
    if (status == LOCUS_OK)
        status = split_side(&sides[0], &placement->query, memory, error);
    if (status == LOCUS_OK && !shared)
        status = split_side(&sides[1], &placement->key, memory, error);
    return status;
}

/* ---- real positions ---- */

static int compare_reals(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static size_t list_reals(const locus_token_side *side, double *reals) {
    size_t count = 0;
    uint32_t fine;
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t i = 0; i < side->runs[r].count; i++)
            reals[count++] = locus_real_split(side->reals[side->runs[r].first + i], &fine);
    return count;
}

/* In rising order; 0 where there are no tokens, so that tables are never empty. */
static locus_status collect_reals(locus_placement *placement, bool shared, locus_owned *memory, locus_error *error) {
    const size_t most = placement->query.used + (shared ? 0 : placement->key.used);
    double *reals = locus_owned_get(memory, most + 1, sizeof *reals);
    if (!reals)
        return locus_owned_fail(error, most + 1, sizeof *reals);
    size_t count = list_reals(&placement->query, reals), kept = 1;
    if (!shared)
        count += list_reals(&placement->key, reals + count);
    qsort(reals, count, sizeof *reals, compare_reals);
    for (size_t i = 1; i < count; i++)
        if (reals[i] != reals[kept - 1])
            reals[kept++] = reals[i];
    placement->coarse_reals = reals;
    placement->coarse_count = kept;
    return LOCUS_OK;
}

static locus_status number_reals(locus_token_side *side, const locus_placement *placement, locus_owned *memory,
                                 locus_error *error) {
    uint32_t *coarse = locus_owned_get(memory, side->tokens, sizeof *coarse);
    uint32_t *fine = locus_owned_get(memory, side->tokens, sizeof *fine);
    if (!coarse || !fine)
        return locus_owned_fail(error, side->tokens, sizeof *fine);
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t t = side->runs[r].first; t < side->runs[r].first + side->runs[r].count; t++) {
            const double own = locus_real_split(side->reals[t], &fine[t]);
            const double *found =
                bsearch(&own, placement->coarse_reals, placement->coarse_count, sizeof *found, compare_reals);
            coarse[t] = (uint32_t)(found - placement->coarse_reals);
        }
    side->coarse = coarse;
    side->fine = fine;
    return LOCUS_OK;
}

static locus_status split_reals(locus_placement *placement, bool shared, locus_owned *memory, locus_error *error) {
    locus_status status = collect_reals(placement, shared, memory, error);
    if (status == LOCUS_OK)
        status = number_reals(&placement->query, placement, memory, error);
    if (status == LOCUS_OK && !shared)
        status = number_reals(&placement->key, placement, memory, error);
    return status;
}

/* ---- all coordinates ---- */

static locus_status split(locus_placement *placement, bool shared, locus_owned *memory, locus_error *error) {
    const locus_status status =
        (placement->query.reals ? split_reals : split_integers)(placement, shared, memory, error);
    if (status == LOCUS_OK && shared) {
        placement->key.coarse = placement->query.coarse;
        placement->key.fine = placement->query.fine;
    }
    return status;
}

typedef struct locus_levels {
    const locus_placement *items;
} locus_levels;

static locus_status make(const void *request, void *table, locus_owned *memory, locus_error *error) {
    const locus_places *places = request;
    locus_placement *items = locus_owned_get(memory, places->count, sizeof *items);
    if (!items)
        return locus_owned_fail(error, places->count, sizeof *items);
    memcpy(items, places->items, places->count * sizeof *items);
    ((locus_levels *)table)->items = items;
    locus_status status = LOCUS_OK;
    for (size_t c = 0; c < places->count && status == LOCUS_OK; c++)
        if (items[c].coordinate.kind != LOCUS_COORDINATE_TREE)
            status = split(&items[c], places->shared, memory, error);
    return status;
}

static const locus_table_kind levels_kind = {sizeof(locus_levels), make};

locus_status locus_levels_get(const locus_places *places, const locus_placement **items, locus_owned *memory,
                              locus_error *error) {
    *items = places->items;
    if (places->grows)
        return LOCUS_OK;
    const locus_table_asked asked = {&levels_kind, NULL, 0, places};
    const void *found = NULL;
    const locus_status status = locus_tables_get(places->tables, &asked, memory, &found, error);
    if (status == LOCUS_OK)
        *items = ((const locus_levels *)found)->items;
    return status;
}
