/* SPDX-License-Identifier: MIT */
/* See levels.h. */
#include "spec/levels.h"

#include "core/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- whole positions ---- */

static int compare_blocks(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Candidates for the list of blocks: neighbours that repeat are left out, so consecutive positions give one in 64. */
static size_t list_candidates(const locus_token_side *side, int64_t *blocks) {
    size_t count = 0;
    for (size_t i = 0; i < side->sequences; i++) {
        const locus_token_sequence sequence = locus_token_side_sequence(side, i);
        for (size_t t = sequence.first; t < sequence.end; t++) {
            const int64_t block = locus_block_of(side->values[t]);
            if (count == 0 || blocks[count - 1] != block)
                blocks[count++] = block;
            if (side->consecutive) { /* on to the block's last token */
                const int64_t left = block * LOCUS_FINE + LOCUS_FINE - 1 - side->values[t];
                t += (uint64_t)left < sequence.end - 1 - t ? (size_t)left : sequence.end - 1 - t;
            }
        }
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

static uint32_t find_block(const locus_placement *placement, uint32_t index, int64_t block) {
    const int64_t *blocks = placement->coarse;
    if (blocks[index] == block)
        return index;
    return index + 1 < placement->coarse_count && blocks[index + 1] == block
               ? index + 1
               : locus_blocks_find(blocks, placement->coarse_count, block);
}

/* Tokens [first, end) of one sequence; those of a block that rise by one all at once. Returns the last one's block. */
static uint32_t split_tokens(const locus_placement *placement, const locus_token_side *side, size_t first, size_t end,
                             uint32_t index, uint32_t *coarse, uint32_t *fine) {
    for (size_t t = first; t < end; t++) {
        const int64_t value = side->values[t], block = locus_block_of(value);
        uint32_t step = (uint32_t)(value - block * LOCUS_FINE);
        index = find_block(placement, index, block);
        for (; side->consecutive && step + 1 < LOCUS_FINE && t + 1 < end; t++) {
            coarse[t] = index;
            fine[t] = step++;
        }
        coarse[t] = index;
        fine[t] = step;
    }
    return index;
}

static locus_status split_side(const locus_placement *placement, locus_token_side *side, locus_owned *memory,
                               locus_error *error) {
    void *(*take)(locus_owned *, size_t, size_t) = side->used < side->tokens ? locus_owned_get : locus_owned_take;
    uint32_t *coarse = take(memory, side->tokens, sizeof *coarse); /* zeros in gaps */
    uint32_t *fine = take(memory, side->tokens, sizeof *fine);
    uint32_t index = 0;
    if (!coarse || !fine)
        return locus_owned_fail(error);
    for (size_t i = 0; i < side->sequences; i++) {
        const locus_token_sequence sequence = locus_token_side_sequence(side, i);
        index = split_tokens(placement, side, sequence.first, sequence.end, index, coarse, fine);
    }
    side->coarse = coarse;
    side->fine = fine;
    return LOCUS_OK;
}

static locus_status collect_blocks(locus_placement *placement, bool shared, locus_owned *memory, locus_error *error) {
    locus_owned passing = {0};
    size_t most = placement->query.used + (shared ? 0 : placement->key.used);
    int64_t *blocks = locus_owned_take(&passing, most + 1, sizeof *blocks);
    if (!blocks)
        return locus_owned_fail(error);
    size_t count = list_candidates(&placement->query, blocks);
    if (!shared)
        count += list_candidates(&placement->key, blocks + count);
    if (count == 0)
        blocks[count++] = 0; /* so that tables are never empty */
    count = locus_blocks_sort(blocks, count);
    int64_t *kept = locus_owned_take(memory, count, sizeof *kept);
    if (kept)
        memcpy(kept, blocks, count * sizeof *kept);
    placement->coarse = kept;
    placement->coarse_count = count;
    locus_owned_release(&passing);
    return kept ? LOCUS_OK : locus_owned_fail(error);
}

static locus_status split_integers(locus_placement *placement, bool shared, locus_owned *memory, locus_error *error) {
    locus_status status = collect_blocks(placement, shared, memory, error);
    if (status == LOCUS_OK)
        status = split_side(placement, &placement->query, memory, error);
    if (status == LOCUS_OK && !shared)
        status = split_side(placement, &placement->key, memory, error);
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
        return locus_owned_fail(error);
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
        return locus_owned_fail(error);
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
        return locus_owned_fail(error);
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
