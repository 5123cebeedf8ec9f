/* SPDX-License-Identifier: MIT */
/* See growing.h. Work is proportional to the new tokens and the sequences; memory that a step needs is that of the step
 * before, unless more tokens come at once than ever before. */
#include "plan/growing_inside.h"

#include "algebra/group_access.h"
#include "core/error.h"

#include <string.h>

#define LEAST_ROOM 16

/* ---- making ---- */

static locus_status take_fixed(locus_growing *g, locus_error *error) {
    locus_owned *memory = &g->memory;
    const size_t keys = g->sequences * g->capacity;
    g->lengths = locus_owned_get(memory, g->sequences, sizeof *g->lengths);
    g->runs = locus_owned_get(memory, g->sequences, sizeof *g->runs);
    g->token_runs = locus_owned_get(memory, g->sequences, sizeof *g->token_runs);
    g->key_runs = locus_owned_get(memory, g->sequences, sizeof *g->key_runs);
    g->kept_spans = locus_owned_get(memory, g->sequences, sizeof *g->kept_spans);
    g->columns = locus_owned_get(memory, g->coordinates, sizeof *g->columns);
    g->kept_items = locus_owned_get(memory, g->coordinates, sizeof *g->kept_items);
    if (!g->lengths || !g->runs || !g->token_runs || !g->key_runs || !g->kept_spans || !g->columns || !g->kept_items)
        return locus_owned_fail(error);
    for (size_t c = 0; c < g->coordinates; c++) {
        locus_growing_column *column = &g->columns[c];
        *column = (locus_growing_column){
            .coordinate = locus_group_coordinate(g->group, c), .lowest = INT64_MAX, .highest = INT64_MIN};
        column->keys = locus_owned_get(memory, keys, sizeof *column->keys);
        if (!column->keys)
            return locus_owned_fail(error);
        locus_status status = LOCUS_OK;
        if (column->coordinate.kind == LOCUS_COORDINATE_TREE)
            status = locus_trie_create(&column->trie, error);
        if (status != LOCUS_OK)
            return status;
    }
    return LOCUS_OK;
}

static void begin_kept(locus_growing *g) {
    g->kept.holder = &g->holder;
    g->kept.binding = g->binding;
    g->kept.term_count = g->binding->encoding->term_count;
    g->kept.places = (locus_places){.group = g->group,
                                    .count = g->coordinates,
                                    .items = g->kept_items,
                                    .length = g->length,
                                    .workspace = locus_plan_options_default().workspace,
                                    .grows = true,
                                    .left_out = ~(unsigned)LOCUS_SITE_SCORE};
}

/* ---- room ---- */

static locus_status take_room(locus_growing *g, size_t tokens, locus_error *error) {
    if (tokens <= g->room)
        return LOCUS_OK;
    size_t room = g->room ? g->room : LEAST_ROOM;
    while (room < tokens)
        room *= 2;
    locus_owned memory = {0};
    bool all = true;
    for (size_t c = 0; c < g->coordinates; c++) {
        locus_growing_column *column = &g->columns[c];
        locus_growing_column taken = *column;
        taken.queries = locus_owned_get(&memory, room, sizeof *taken.queries);
        taken.query_reals = locus_owned_get(&memory, room, sizeof *taken.query_reals);
        all = all && taken.queries && taken.query_reals;
        *column = taken;
    }
    locus_owned_release(&g->room_memory);
    g->room_memory = memory;
    g->room = all ? room : 0;
    g->placed = false;
    return all ? LOCUS_OK : locus_owned_fail(error);
}

locus_status locus_growing_turn_real(locus_growing *g, locus_error *error) {
    const size_t keys = g->sequences * g->capacity;
    for (size_t c = 0; c < g->coordinates && !g->real; c++) {
        double *reals = locus_owned_get(&g->real_memory, keys, sizeof *reals);
        if (!reals)
            return locus_owned_fail(error);
        for (size_t i = 0; i < keys; i++)
            reals[i] = (double)g->columns[c].keys[i];
        g->columns[c].key_reals = reals;
    }
    g->real = true;
    g->placed = false;
    return LOCUS_OK;
}

/* ---- checks ---- */

static locus_status check_group(const locus_growing *g, const locus_positions *positions, locus_error *error) {
    char have[96], want[96];
    if (g->any_group || locus_group_equal(locus_positions_group(positions), g->group))
        return LOCUS_OK;
    (void)locus_group_text(locus_positions_group(positions), have, sizeof have);
    (void)locus_group_text(g->group, want, sizeof want);
    return locus_fail(error, LOCUS_ERROR_POSITION, "positions",
                      "the positions are on '%s', the encoding acts on '%s': give positions of that group", have, want);
}

static locus_status check_room(const locus_growing *g, size_t sequence, size_t count, locus_error *error) {
    const size_t left = g->capacity - g->lengths[sequence];
    if (count <= left)
        return LOCUS_OK;
    return locus_fail(
        error, LOCUS_ERROR_ARGUMENT, "positions",
        "sequence %zu would have %zu tokens, but the cache's capacity is %zu: evict or truncate first, or "
        "create a larger cache",
        sequence, g->lengths[sequence] + count, g->capacity);
}

static locus_status check_reach(const locus_growing *g, const locus_positions *positions, locus_error *error) {
    for (size_t c = 0; c < g->coordinates && !g->any_group; c++)
        if (g->columns[c].coordinate.kind == LOCUS_COORDINATE_AXIS &&
            (locus_positions_maximum(positions, c) > LOCUS_POSITION_MAX ||
             locus_positions_minimum(positions, c) < -LOCUS_POSITION_MAX))
            return locus_fail(error, LOCUS_ERROR_POSITION, "positions",
                              "a position is out of range for an encoding: use -2^40 to 2^40");
    return LOCUS_OK;
}

static int64_t last_position(const locus_growing *g, size_t sequence) {
    const size_t length = g->lengths[sequence];
    return length > 0 ? g->columns[0].keys[locus_growing_row(g, sequence, length - 1)] : -1;
}

static locus_status check_counted(const locus_growing *g, bool keep, locus_error *error) {
    char text[64];
    if (g->coordinates > 1 || g->columns[0].coordinate.kind == LOCUS_COORDINATE_TREE) {
        (void)locus_group_text(g->group, text, sizeof text);
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "positions",
                          "positions is NULL, but on '%s' they cannot be counted: give the new tokens' positions",
                          text);
    }
    for (size_t s = 0; s < g->sequences; s++) {
        locus_status status = keep ? check_room(g, s, 1, error) : LOCUS_OK;
        if (status == LOCUS_OK && g->columns[0].coordinate.kind == LOCUS_COORDINATE_AXIS &&
            last_position(g, s) >= LOCUS_POSITION_MAX)
            status = locus_fail(error, LOCUS_ERROR_POSITION, "positions",
                                "sequence %zu has reached position 2^40, the last that an encoding takes", s);
        if (status != LOCUS_OK)
            return status;
    }
    return LOCUS_OK;
}

locus_status locus_growing_check(const locus_growing *g, const locus_positions *positions, bool keep,
                                 locus_error *error) {
    if (!positions)
        return check_counted(g, keep, error);
    locus_status status = check_group(g, positions, error);
    if (status == LOCUS_OK && locus_positions_sequences(positions) != g->sequences)
        status = locus_fail(error, LOCUS_ERROR_ARGUMENT, "positions",
                            "the positions have %zu sequences, the cache %zu: give as many (they may be empty)",
                            locus_positions_sequences(positions), g->sequences);
    for (size_t s = 0; status == LOCUS_OK && keep && s < g->sequences; s++)
        status = check_room(g, s, locus_positions_sequence(positions, s).count, error);
    if (status == LOCUS_OK && !g->any_group && locus_positions_reals(positions, 0))
        status = locus_plan_check_reals(g->binding->encoding, error);
    return status == LOCUS_OK ? check_reach(g, positions, error) : status;
}

/* ---- new tokens' positions ---- */

static void set_runs(locus_growing *g, const locus_positions *positions) {
    g->tokens = positions ? locus_positions_tokens(positions) : g->sequences;
    for (size_t s = 0; s < g->sequences; s++)
        g->runs[s] = positions ? locus_positions_sequence(positions, s) : (locus_positions_run){s, 1};
}

static void count_values(locus_growing *g) {
    locus_growing_column *column = &g->columns[0];
    for (size_t s = 0; s < g->sequences; s++) {
        const size_t length = g->lengths[s];
        int64_t next = last_position(g, s) + 1;
        if (column->coordinate.kind == LOCUS_COORDINATE_CYCLE && next == column->coordinate.size)
            next = 0;
        column->queries[s] = next;
        if (g->real)
            column->query_reals[s] = length ? column->key_reals[locus_growing_row(g, s, length - 1)] + 1 : 0;
    }
}

/* Where positions don't matter: numbers within the sequence. */
static void number_values(locus_growing *g) {
    for (size_t s = 0; s < g->sequences; s++)
        for (size_t i = 0; i < g->runs[s].count; i++)
            g->columns[0].queries[g->runs[s].first + i] = (int64_t)(g->lengths[s] + i);
}

static locus_status join_values(locus_growing_column *column, const locus_positions *positions, size_t c,
                                locus_error *error) {
    const locus_trie *own = locus_positions_trie(positions, c);
    const size_t bytes = locus_trie_look(own).count * sizeof(uint32_t);
    uint32_t *map = locus_allocate(bytes);
    if (!map)
        return locus_fail_memory(error, bytes);
    locus_status status = locus_trie_join(column->trie, own, map, error);
    for (size_t t = 0; status == LOCUS_OK && t < locus_positions_tokens(positions); t++)
        column->queries[t] = map[locus_positions_values(positions, c)[t]];
    locus_release(map, bytes);
    return status;
}

static locus_status copy_values(locus_growing *g, const locus_positions *positions, locus_error *error) {
    for (size_t c = 0; c < g->coordinates; c++) {
        locus_growing_column *column = &g->columns[c];
        const int64_t *values = locus_positions_values(positions, c);
        const double *reals = locus_positions_reals(positions, c);
        locus_status status = column->trie ? join_values(column, positions, c, error) : LOCUS_OK;
        if (status != LOCUS_OK)
            return status;
        if (!column->trie)
            memcpy(column->queries, values, g->tokens * sizeof *values);
        for (size_t t = 0; g->real && t < g->tokens; t++)
            column->query_reals[t] = reals ? reals[t] : (double)values[t];
    }
    return LOCUS_OK;
}

static locus_status set_values(locus_growing *g, const locus_positions *positions, locus_error *error) {
    if (positions && g->any_group)
        number_values(g);
    else if (positions)
        return copy_values(g, positions, error);
    else
        count_values(g);
    return LOCUS_OK;
}

/* ---- entering and leaving ---- */

static void keep_values(locus_growing *g) {
    for (size_t s = 0; s < g->sequences; s++) {
        const size_t row = locus_growing_row(g, s, g->lengths[s]);
        const locus_positions_run run = g->runs[s];
        for (size_t c = 0; c < g->coordinates; c++) {
            const locus_growing_column *column = &g->columns[c];
            memcpy(column->keys + row, column->queries + run.first, run.count * sizeof *column->keys);
            if (g->real)
                memcpy(column->key_reals + row, column->query_reals + run.first, run.count * sizeof *column->key_reals);
        }
        g->lengths[s] += run.count;
    }
}

locus_status locus_growing_enter(locus_growing *g, const locus_positions *positions, bool keep, locus_error *error) {
    const bool real = positions && !g->any_group && locus_positions_reals(positions, 0);
    locus_growing_forget(g);
    locus_status status = real && !g->real ? locus_growing_turn_real(g, error) : LOCUS_OK;
    if (status == LOCUS_OK)
        status = take_room(g, (positions ? locus_positions_tokens(positions) : g->sequences) + 1, error);
    if (status == LOCUS_OK) {
        set_runs(g, positions);
        status = set_values(g, positions, error);
    }
    g->keeps = keep && status == LOCUS_OK;
    if (g->keeps)
        keep_values(g);
    if (status == LOCUS_OK)
        status = locus_growing_place(g, g->any_group ? NULL : positions, error);
    if (status != LOCUS_OK)
        locus_growing_leave(g);
    g->entered = status == LOCUS_OK;
    return status;
}

void locus_growing_leave(locus_growing *g) {
    for (size_t s = 0; s < g->sequences && g->keeps; s++)
        g->lengths[s] -= g->runs[s].count;
    locus_growing_forget(g);
}

void locus_growing_forget(locus_growing *g) {
    g->keeps = g->entered = false;
    g->tokens = 0;
    memset(g->runs, 0, g->sequences * sizeof *g->runs);
}

/* ---- life ---- */

/* The holder stands first. */
static void destroy_held(locus_plan_holder *holder) {
    locus_growing *old = (locus_growing *)holder;
    for (size_t c = 0; old->columns && c < old->coordinates; c++)
        locus_trie_destroy(&old->columns[c].trie);
    locus_fresh_release(old->fresh);
    locus_plan_release_terms(&old->kept);
    locus_tables_release(&old->held);
    locus_owned_release(&old->room_memory);
    locus_owned_release(&old->real_memory);
    locus_owned_release(&old->memory);
    locus_group_destroy(&old->group);
    locus_binding_destroy(&old->binding);
    locus_release(old, sizeof *old);
}

locus_status locus_growing_create(locus_growing **growing, const locus_binding *binding,
                                  const locus_growing_options *options, locus_error *error) {
    locus_growing *fresh = locus_allocate(sizeof *fresh);
    *growing = NULL;
    if (!fresh)
        return locus_fail_memory(error, sizeof *fresh);
    const locus_group *group = binding->encoding->group;
    memset(fresh, 0, sizeof *fresh);
    fresh->holder.destroy = destroy_held;
    atomic_init(&fresh->holder.owners, 1);
    fresh->binding = locus_binding_retain(binding);
    fresh->any_group = !group;
    fresh->group = locus_group_retain(group);
    fresh->sequences = options->sequences;
    fresh->capacity = options->capacity;
    fresh->coordinates = locus_group_coordinates(fresh->group);
    fresh->length = options->length;
    locus_status status = take_fixed(fresh, error);
    if (status == LOCUS_OK)
        status = take_room(fresh, LEAST_ROOM, error);
    if (status == LOCUS_OK) {
        begin_kept(fresh);
        status = locus_growing_place(fresh, NULL, error);
    }
    if (status != LOCUS_OK)
        locus_growing_destroy(&fresh);
    *growing = fresh;
    return status;
}

void locus_growing_destroy(locus_growing **growing) {
    if (!growing || !*growing)
        return;
    locus_growing *old = *growing;
    *growing = NULL;
    if (atomic_fetch_sub(&old->holder.owners, 1) == 1)
        old->holder.destroy(&old->holder);
}

size_t locus_growing_bytes(const locus_growing *growing) {
    size_t bytes = sizeof *growing + growing->memory.bytes + growing->room_memory.bytes + growing->real_memory.bytes +
                   locus_plan_term_bytes(&growing->kept) + locus_tables_bytes(&growing->held) +
                   locus_fresh_bytes(growing->fresh);
    for (size_t c = 0; c < growing->coordinates; c++)
        bytes += growing->columns[c].trie ? locus_trie_bytes(growing->columns[c].trie) : 0;
    return bytes;
}

/* ---- questions ---- */

size_t locus_growing_length(const locus_growing *growing, size_t sequence) {
    return growing->lengths[sequence];
}

bool locus_growing_entered(const locus_growing *growing) {
    return growing->entered;
}

size_t locus_growing_tokens(const locus_growing *growing) {
    return growing->tokens;
}

locus_positions_run locus_growing_run(const locus_growing *growing, size_t sequence) {
    return growing->runs[sequence];
}

const locus_plan *locus_growing_fresh(const locus_growing *growing) {
    return &growing->fresh->plan;
}

const locus_plan *locus_growing_kept(const locus_growing *growing) {
    return &growing->kept;
}

void locus_growing_stretch(locus_growing *growing, bool full) {
    for (size_t s = 0; s < growing->sequences; s++)
        growing->kept_spans[s].key_count = full ? growing->capacity : growing->lengths[s];
}
