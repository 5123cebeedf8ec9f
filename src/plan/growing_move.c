/* SPDX-License-Identifier: MIT */
/* Positions of kept keys that go, move and are copied. A shift is composed on the left, p → a + p: relative paths stay
 * as they are, −(a + p) + (a + q) = −p + q, whether the group is abelian or not. */
#include "plan/growing_inside.h"

#include "algebra/path_access.h"
#include "core/error.h"

#include <string.h>

/* ---- shifts ---- */

static locus_status check_axis(const locus_growing *g, size_t c, size_t row, size_t count, int64_t by,
                               locus_error *error) {
    const locus_growing_column *column = &g->columns[c];
    for (size_t i = 0; i < count; i++) {
        const int64_t value = column->keys[row + i];
        if (by > LOCUS_POSITION_MAX - value || by < -LOCUS_POSITION_MAX - value)
            return locus_fail(error, LOCUS_ERROR_POSITION, "shift",
                              "position %lld would move by %lld, out of range for an encoding: use -2^40 to 2^40",
                              (long long)value, (long long)by);
    }
    return LOCUS_OK;
}

locus_status locus_growing_check_shift(const locus_growing *g, size_t sequence, size_t first, size_t count,
                                       const locus_path *shift, locus_error *error) {
    if (!shift || g->any_group)
        return LOCUS_OK;
    if (!locus_group_equal(shift->group, g->group)) {
        char have[96], want[96];
        (void)locus_group_text(shift->group, have, sizeof have);
        (void)locus_group_text(g->group, want, sizeof want);
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "shift",
                          "the shift is of '%s', the encoding acts on '%s': give a path of that group", have, want);
    }
    locus_status status = LOCUS_OK;
    for (size_t c = 0; c < g->coordinates && status == LOCUS_OK; c++)
        if (g->columns[c].coordinate.kind == LOCUS_COORDINATE_AXIS)
            status = check_axis(g, c, locus_growing_row(g, sequence, first), count, shift->parts[c].value, error);
    return status;
}

/* Nodes of a + p; `view` is of the trie that the keys' nodes are of. */
static locus_status shift_nodes(locus_growing_column *column, const locus_trie *from, const int64_t *keys, size_t count,
                                const locus_path_part *part, const int64_t *letters, int64_t *nodes,
                                locus_error *error) {
    uint32_t at = LOCUS_TRIE_ROOT;
    locus_status status = LOCUS_OK;
    for (int64_t i = 0; part && i < part->value && status == LOCUS_OK; i++)
        status = locus_trie_step(column->trie, at, letters[part->start + (size_t)i], &at, error);
    for (size_t i = 0; i < count && status == LOCUS_OK; i++) {
        const locus_trie_view view = locus_trie_look(from); /* it may be the trie that grows */
        status = locus_growing_word(&view, (uint32_t)keys[i], column->trie, at, &nodes[i], error);
    }
    return status;
}

static void shift_values(const locus_growing_column *column, int64_t by, int64_t *keys, double *reals, size_t count) {
    const bool cycle = column->coordinate.kind == LOCUS_COORDINATE_CYCLE;
    for (size_t i = 0; i < count; i++)
        keys[i] = cycle ? locus_residue(keys[i] - column->coordinate.size + by, column->coordinate.size) : keys[i] + by;
    for (size_t i = 0; reals && i < count; i++)
        reals[i] += (double)by;
}

/* Values of some keys of `from`, shifted, into `values` [coordinates, count] and, if they are real, `reals`. */
static locus_status take_values(locus_growing *g, const locus_growing_part *part, int64_t *values, double *reals,
                                locus_error *error) {
    const size_t row = locus_growing_row(part->from, part->sequence, part->first), count = part->count;
    locus_status status = LOCUS_OK;
    for (size_t c = 0; c < g->coordinates && status == LOCUS_OK; c++) {
        const locus_growing_column *from = &part->from->columns[c];
        const locus_path_part *by = part->shift && !g->any_group ? &part->shift->parts[c] : NULL;
        int64_t *to = values + c * count;
        double *real = reals ? reals + c * count : NULL;
        if (from->trie) {
            status = shift_nodes(&g->columns[c], from->trie, from->keys + row, count, by,
                                 by ? part->shift->letters : NULL, to, error);
            continue;
        }
        if (count > 0)
            memcpy(to, from->keys + row, count * sizeof *to);
        for (size_t i = 0; real && i < count; i++)
            real[i] = part->from->real ? from->key_reals[row + i] : (double)to[i];
        if (by)
            shift_values(from, by->value, to, real, count);
    }
    return status;
}

static void put_values(locus_growing *g, size_t row, size_t count, const int64_t *values, const double *reals) {
    for (size_t c = 0; count > 0 && c < g->coordinates; c++) {
        locus_growing_column *column = &g->columns[c];
        memcpy(column->keys + row, values + c * count, count * sizeof *values);
        if (reals)
            memcpy(column->key_reals + row, reals + c * count, count * sizeof *reals);
        for (size_t i = 0; i < count && !column->trie; i++)
            locus_growing_reach(column, column->keys[row + i]);
    }
}

/* Keys of a part, shifted, to row `row`. */
static locus_status move_values(locus_growing *g, const locus_growing_part *part, size_t row, locus_error *error) {
    const size_t numbers = g->coordinates * part->count;
    locus_owned passing = {0};
    int64_t *values = locus_owned_get(&passing, numbers, sizeof *values);
    double *reals = g->real ? locus_owned_get(&passing, numbers, sizeof *reals) : NULL;
    locus_status status = values && (reals || !g->real) ? LOCUS_OK : locus_owned_fail(error);
    if (status == LOCUS_OK)
        status = take_values(g, part, values, reals, error);
    if (status == LOCUS_OK)
        put_values(g, row, part->count, values, reals);
    locus_owned_release(&passing);
    return status;
}

/* ---- new tokens that stay ---- */

static size_t new_of(const locus_growing *g, size_t sequence) {
    return g->keeps ? g->runs[sequence].count : 0;
}

/* Keys have moved, and the queries of new tokens with them. Without memory the new tokens are given up: attention then
 * waits for the next ones. */
static void follow(locus_growing *g, size_t sequence) {
    const locus_positions_run run = g->runs[sequence];
    const size_t count = new_of(g, sequence);
    for (size_t c = 0; c < g->coordinates && count > 0; c++) {
        locus_growing_column *column = &g->columns[c];
        const size_t row = locus_growing_row(g, sequence, g->lengths[sequence] - count);
        memcpy(column->queries + run.first, column->keys + row, count * sizeof *column->keys);
        if (g->real)
            memcpy(column->query_reals + run.first, column->key_reals + row, count * sizeof *column->key_reals);
    }
    if (g->tokens > 0 && locus_growing_place(g, NULL, NULL) != LOCUS_OK)
        locus_growing_forget(g);
}

/* ---- the three moves ---- */

void locus_growing_truncate(locus_growing *g, size_t sequence, size_t length) {
    const bool cuts = length < g->lengths[sequence];
    g->lengths[sequence] = length;
    if (cuts && new_of(g, sequence) > 0)
        locus_growing_forget(g);
    else if (cuts)
        follow(g, sequence);
}

static void close_gap(locus_growing *g, size_t sequence, size_t first, size_t count) {
    const size_t behind = g->lengths[sequence] - first - count, row = locus_growing_row(g, sequence, first);
    for (size_t c = 0; c < g->coordinates; c++) {
        locus_growing_column *column = &g->columns[c];
        memmove(column->keys + row, column->keys + row + count, behind * sizeof *column->keys);
        if (g->real)
            memmove(column->key_reals + row, column->key_reals + row + count, behind * sizeof *column->key_reals);
    }
}

locus_status locus_growing_evict(locus_growing *g, size_t sequence, size_t first, size_t count, const locus_path *shift,
                                 locus_error *error) {
    const size_t length = g->lengths[sequence], behind = length - first - count;
    const bool goes = first + count > length - new_of(g, sequence) && count > 0;
    const locus_growing_part part = {g, sequence, first + count, behind, shift};
    if (shift) {
        locus_status status = move_values(g, &part, locus_growing_row(g, sequence, first + count), error);
        if (status != LOCUS_OK)
            return status;
    }
    close_gap(g, sequence, first, count);
    g->lengths[sequence] = length - count;
    if (goes)
        locus_growing_forget(g);
    else
        follow(g, sequence);
    return LOCUS_OK;
}

locus_status locus_growing_insert(locus_growing *g, size_t sequence, const locus_growing_part *part,
                                  locus_error *error) {
    locus_status status = part->from->real && !g->real ? locus_growing_turn_real(g, error) : LOCUS_OK;
    if (status == LOCUS_OK)
        status = move_values(g, part, locus_growing_row(g, sequence, g->lengths[sequence]), error);
    if (status != LOCUS_OK)
        return status;
    g->lengths[sequence] += part->count;
    locus_growing_forget(g);
    return LOCUS_OK;
}
