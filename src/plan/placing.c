/* SPDX-License-Identifier: MIT */
/* See placing.h. */
#include "plan/placing.h"

#include "core/error.h"

#include <math.h>
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
        return locus_owned_fail(error);
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
        return locus_owned_fail(error);
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
        return locus_owned_fail(error);
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
        return locus_owned_fail(error);
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
    locus_status status = map && values ? LOCUS_OK : locus_owned_fail(error);
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
    return status == LOCUS_OK ? collect_spans(placement, queries, keys, memory, error) : status;
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
            return locus_owned_fail(error);
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
        return locus_owned_fail(error);
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
