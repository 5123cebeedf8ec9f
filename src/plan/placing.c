/* SPDX-License-Identifier: MIT */
/* See placing.h. */
#include "plan/placing.h"

#include "core/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDES 2

typedef struct locus_side_source {
    const locus_positions *positions;
    size_t coordinate;
    const int64_t *values;
    const double *reals; /* of both sides, or NULL */
    locus_token_side *side;
} locus_side_source;

/* ---- tokens in use ---- */

static locus_status collect_runs(locus_side_source source, size_t sequences, locus_owned *memory, locus_error *error) {
    locus_token_run *runs = locus_owned_get(memory, sequences, sizeof *runs);
    if (!runs)
        return locus_owned_fail(error, sequences, sizeof *runs);
    locus_token_side *side = source.side;
    side->values = source.values;
    side->reals = source.reals;
    side->tokens = locus_positions_tokens(source.positions);
    side->runs = runs;
    side->consecutive = !source.reals;
    for (size_t s = 0; s < sequences; s++) {
        locus_positions_run run = locus_positions_sequence(source.positions, s);
        side->consecutive =
            side->consecutive && (run.count < 2 || locus_positions_consecutive(source.positions, source.coordinate, s));
        if (run.count == 0)
            continue;
        locus_token_run *last = side->run_count ? &runs[side->run_count - 1] : NULL;
        if (last && last->first + last->count == run.first)
            last->count += run.count;
        else
            runs[side->run_count++] = (locus_token_run){run.first, run.count, side->used};
        side->used += run.count;
    }
    return LOCUS_OK;
}

/* How far positions rise by one from each token; never across a sequence's end. Real ones are taken one by one. */
static locus_status measure_ahead(locus_side_source source, size_t sequences, locus_owned *memory, locus_error *error) {
    locus_token_side *side = source.side;
    if (side->consecutive)
        return LOCUS_OK;
    uint32_t *ahead = locus_owned_get(memory, side->tokens, sizeof *ahead);
    if (!ahead)
        return locus_owned_fail(error, side->tokens, sizeof *ahead);
    for (size_t s = 0; s < sequences; s++) {
        locus_positions_run run = locus_positions_sequence(source.positions, s);
        for (size_t i = run.count; i-- > 0;) {
            size_t t = run.first + i;
            bool follows = !side->reals && i + 1 < run.count && side->values[t + 1] - side->values[t] == 1;
            ahead[t] = follows && ahead[t + 1] < UINT32_MAX ? ahead[t + 1] + 1 : 1;
        }
    }
    side->ahead = ahead;
    return LOCUS_OK;
}

typedef struct locus_extent {
    int64_t low, high;
    double real_low, real_high; /* of real positions */
} locus_extent;

static locus_extent extent_of(const locus_token_side *side, size_t first, size_t count) {
    const int64_t *values = side->values + first;
    locus_extent extent = {.low = values[0], .high = values[side->consecutive ? count - 1 : 0]};
    for (size_t i = 1; i < count && !side->consecutive; i++) {
        extent.low = values[i] < extent.low ? values[i] : extent.low;
        extent.high = values[i] > extent.high ? values[i] : extent.high;
    }
    if (!side->reals)
        return extent;
    extent.real_low = extent.real_high = side->reals[first];
    for (size_t i = first + 1; i < first + count; i++) {
        extent.real_low = fmin(extent.real_low, side->reals[i]);
        extent.real_high = fmax(extent.real_high, side->reals[i]);
    }
    return extent;
}

/* Distances of real positions are rounded outwards. */
static void measure_span(const locus_sequence_span *span, locus_placement *placement, bool *any) {
    if (span->query_count == 0 || span->key_count == 0)
        return;
    const locus_extent query = extent_of(&placement->query, span->query_first, span->query_count);
    const locus_extent key = extent_of(&placement->key, span->key_first, span->key_count);
    const bool real = placement->query.reals != NULL;
    const int64_t nearest = real ? (int64_t)floor(key.real_low - query.real_high) : key.low - query.high;
    const int64_t farthest = real ? (int64_t)ceil(key.real_high - query.real_low) : key.high - query.low;
    placement->nearest_apart = *any && placement->nearest_apart < nearest ? placement->nearest_apart : nearest;
    placement->farthest_apart = *any && placement->farthest_apart > farthest ? placement->farthest_apart : farthest;
    *any = true;
}

static locus_status collect_spans(locus_placement *placement, const locus_positions *queries,
                                  const locus_positions *keys, locus_owned *memory, locus_error *error) {
    locus_sequence_span *spans = locus_owned_get(memory, placement->sequences, sizeof *spans);
    if (!spans)
        return locus_owned_fail(error, placement->sequences, sizeof *spans);
    bool any = false;
    for (size_t s = 0; s < placement->sequences; s++) {
        locus_positions_run query = locus_positions_sequence(queries, s), key = locus_positions_sequence(keys, s);
        spans[s] = (locus_sequence_span){query.first, query.count, key.first, key.count};
        measure_span(&spans[s], placement, &any);
    }
    placement->spans = placement->query.spans = placement->key.spans = spans;
    placement->query.sequences = placement->key.sequences = placement->sequences;
    placement->key.keys = true;
    return LOCUS_OK;
}

/* ---- two levels ---- */

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

/* ---- either of them ---- */

static locus_status split_positions(locus_placement *placement, bool shared, locus_owned *memory, locus_error *error) {
    const locus_status status =
        (placement->query.reals ? split_reals : split_integers)(placement, shared, memory, error);
    if (status == LOCUS_OK && shared) {
        placement->key.coarse = placement->query.coarse;
        placement->key.fine = placement->query.fine;
    }
    return status;
}

/* max |p| and max p, of tokens in use. */
static void measure_reach(locus_placement *placement, const locus_side_source *source) {
    double low = (double)locus_positions_minimum(source->positions, source->coordinate);
    double high = (double)locus_positions_maximum(source->positions, source->coordinate);
    const locus_token_side *side = source->side;
    for (size_t r = 0; source->reals && r < side->run_count; r++)
        for (size_t t = side->runs[r].first; t < side->runs[r].first + side->runs[r].count; t++)
            high = fmax(high, source->reals[t]); /* low is rounded down: enough for a bound */
    placement->reach = fmax(placement->reach, fmax(fabs(low), fabs(high)));
    placement->highest = fmax(placement->highest, high);
}

/* ---- limits ---- */

static locus_status fail_far(const locus_side_source *source, locus_error *error) {
    for (size_t s = 0; s < locus_positions_sequences(source->positions); s++) {
        locus_positions_run run = locus_positions_sequence(source->positions, s);
        for (size_t t = run.first; t < run.first + run.count; t++)
            if (source->values[t] > LOCUS_POSITION_MAX || source->values[t] < -LOCUS_POSITION_MAX)
                return locus_fail(error, LOCUS_ERROR_POSITION, "positions",
                                  "position %lld of token %zu (sequence %zu) is out of range for an encoding: use "
                                  "-2^40 to 2^40",
                                  (long long)source->values[t], t, s);
    }
    return LOCUS_OK;
}

static locus_status check_reach(const locus_side_source *source, locus_coordinate coordinate, locus_error *error) {
    bool far = locus_positions_maximum(source->positions, source->coordinate) > LOCUS_POSITION_MAX ||
               locus_positions_minimum(source->positions, source->coordinate) < -LOCUS_POSITION_MAX;
    return far && coordinate.kind == LOCUS_COORDINATE_AXIS ? fail_far(source, error) : LOCUS_OK;
}

/* ---- one trie of queries and keys ---- */

static locus_status copy_trie(const locus_trie *trie, locus_trie_view *view, locus_owned *memory, locus_error *error) {
    const locus_trie_view from = locus_trie_look(trie);
    uint32_t *parent = locus_owned_get(memory, from.count, sizeof *parent);
    int64_t *branch = locus_owned_get(memory, from.count, sizeof *branch);
    uint32_t *depth = locus_owned_get(memory, from.count, sizeof *depth);
    if (!parent || !branch || !depth)
        return locus_owned_fail(error, from.count, sizeof *branch);
    memcpy(parent, from.parent, from.count * sizeof *parent);
    memcpy(branch, from.branch, from.count * sizeof *branch);
    memcpy(depth, from.depth, from.count * sizeof *depth);
    *view = (locus_trie_view){from.count, parent, branch, depth};
    return LOCUS_OK;
}

/* The values of `source` as nodes of `trie`, which takes in the nodes that it lacks. */
static locus_status join_side(locus_trie *trie, locus_side_source *source, locus_owned *memory, locus_error *error) {
    const locus_trie *own = locus_positions_trie(source->positions, source->coordinate);
    const size_t count = locus_trie_look(own).count, tokens = locus_positions_tokens(source->positions);
    locus_owned passing = {0};
    uint32_t *map = locus_owned_get(&passing, count, sizeof *map);
    int64_t *values = locus_owned_get(memory, tokens, sizeof *values);
    locus_status status = map && values ? LOCUS_OK : locus_owned_fail(error, tokens, sizeof *values);
    if (status == LOCUS_OK)
        status = locus_trie_join(trie, own, map, error);
    for (size_t t = 0; status == LOCUS_OK && t < tokens; t++)
        values[t] = map[source->values[t]];
    source->values = values;
    locus_owned_release(&passing);
    return status;
}

static locus_status join_tries(locus_placement *placement, locus_side_source *sources, bool shared, locus_owned *memory,
                               locus_error *error) {
    locus_trie *trie = NULL;
    if (shared) {
        placement->trie = locus_trie_look(locus_positions_trie(sources[0].positions, sources[0].coordinate));
        return LOCUS_OK;
    }
    locus_status status = locus_trie_create(&trie, error);
    for (size_t i = 0; i < SIDES && status == LOCUS_OK; i++)
        status = join_side(trie, &sources[i], memory, error);
    if (status == LOCUS_OK)
        status = copy_trie(trie, &placement->trie, memory, error);
    locus_trie_destroy(&trie);
    return status;
}

/* ---- all coordinates ---- */

static locus_status create_placement(locus_placement *placement, locus_side_source *sources, locus_owned *memory,
                                     locus_error *error) {
    const locus_positions *queries = sources[0].positions, *keys = sources[1].positions;
    const bool shared = keys == queries, tree = placement->coordinate.kind == LOCUS_COORDINATE_TREE;
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < SIDES && status == LOCUS_OK; i++)
        status = check_reach(&sources[i], placement->coordinate, error);
    if (status == LOCUS_OK && tree)
        status = join_tries(placement, sources, shared, memory, error);
    for (size_t i = 0; i < (shared ? 1u : 2u) && status == LOCUS_OK; i++) {
        status = collect_runs(sources[i], placement->sequences, memory, error);
        if (status == LOCUS_OK)
            status = measure_ahead(sources[i], placement->sequences, memory, error);
    }
    if (shared)
        placement->key = placement->query;
    for (size_t i = 0; i < SIDES && status == LOCUS_OK; i++)
        measure_reach(placement, &sources[i]);
    if (status == LOCUS_OK)
        status = collect_spans(placement, queries, keys, memory, error);
    return status == LOCUS_OK && !tree ? split_positions(placement, shared, memory, error) : status;
}

/* Whole positions beside real ones are real, too. */
static locus_status take_reals(locus_side_source *sources, bool shared, locus_owned *memory, locus_error *error) {
    for (size_t i = 0; i < SIDES; i++)
        sources[i].reals = locus_positions_reals(sources[i].positions, sources[i].coordinate);
    for (size_t i = 0; i < SIDES && !shared; i++) {
        if (sources[i].reals || !sources[1 - i].reals)
            continue;
        const size_t tokens = locus_positions_tokens(sources[i].positions);
        double *reals = locus_owned_get(memory, tokens, sizeof *reals);
        if (!reals)
            return locus_owned_fail(error, tokens, sizeof *reals);
        for (size_t t = 0; t < tokens; t++)
            reals[t] = (double)sources[i].values[t];
        sources[i].reals = reals;
    }
    return LOCUS_OK;
}

locus_status locus_places_create(locus_places *places, const locus_positions *queries, const locus_positions *keys,
                                 locus_owned *memory, locus_error *error) {
    const locus_group *group = locus_positions_group(queries);
    const size_t count = locus_group_coordinates(group);
    locus_placement *items = locus_owned_get(memory, count, sizeof *items);
    if (!items)
        return locus_owned_fail(error, count, sizeof *items);
    *places = (locus_places){.group = group, .count = count, .items = items, .shared = keys == queries};
    for (size_t c = 0; c < count; c++) {
        items[c] = (locus_placement){.coordinate = locus_group_coordinate(group, c),
                                     .sequences = locus_positions_sequences(queries)};
        locus_side_source sources[SIDES] = {{queries, c, locus_positions_values(queries, c), NULL, &items[c].query},
                                            {keys, c, locus_positions_values(keys, c), NULL, &items[c].key}};
        locus_status status = take_reals(sources, places->shared, memory, error);
        if (status == LOCUS_OK)
            status = create_placement(&items[c], sources, memory, error);
        if (status != LOCUS_OK)
            return status;
    }
    return LOCUS_OK;
}
