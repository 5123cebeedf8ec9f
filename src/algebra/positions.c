/* SPDX-License-Identifier: MIT */
/* Packed positions on any group: one block of memory with the sequences' runs and, for each coordinate, a column over
 * the tokens; trees have a trie besides, and their columns hold its nodes.
 *
 *   block   | record | runs [sequences] | columns [coordinates] | values [coordinates][tokens] |
 *           | consecutive [coordinates][sequences]                                             |
 *
 * Real-valued positions (positions_real.c) have a second block, reals [coordinates][tokens], beside their values, which
 * are rounded down.
 *
 * Everything that later code relies on is checked here, once: runs are in order, inside the buffer and do not overlap;
 * integers are at most 2^62 in size, so that a neighbour plus one is one, too; residues are reduced; branches
 * exist. Time and memory are linear in tokens, coordinates and letters. */
#include <locus/memory.h>

#include "algebra/group_access.h"
#include "algebra/positions_inside.h"
#include "core/error.h"
#include "core/sized.h"
#include <string.h>

/* ---- checks of the packing ---- */

static size_t run_length(const locus_packing *packing, size_t s) {
    return packing->lengths ? packing->lengths[s] : packing->offsets[s + 1] - packing->offsets[s];
}

static locus_status read_packing(const locus_packing *given, locus_packing *packing, locus_error *error) {
    static const locus_sized kind = {sizeof *packing, sizeof *packing, "packing"};
    *packing = (locus_packing){.size = sizeof *packing};
    const locus_status status = locus_sized_read(packing, &kind, given, error);
    if (status != LOCUS_OK || packing->offsets)
        return status;
    return locus_fail(error, LOCUS_ERROR_ARGUMENT, "packing", "packing %s NULL: give the sequences' offsets",
                      given ? "has offsets that are" : "is");
}

static locus_status check_packing(const locus_packing *packing, locus_error *error) {
    if (packing->sequences > SIZE_MAX / sizeof(locus_positions_run) / 2)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "packing",
                          "packing has %zu sequences: more than memory can hold", packing->sequences);
    for (size_t s = 0; s < packing->sequences; s++) {
        size_t begin = packing->offsets[s], end = packing->offsets[s + 1];
        if (end < begin)
            return locus_fail(error, LOCUS_ERROR_ARGUMENT, "offsets",
                              "offsets[%zu] = %zu is less than offsets[%zu] = %zu: offsets may not decrease", s + 1,
                              end, s, begin);
        if (packing->lengths && packing->lengths[s] > end - begin)
            return locus_fail(error, LOCUS_ERROR_ARGUMENT, "lengths",
                              "lengths[%zu] = %zu is more than the %zu tokens from offsets[%zu] to offsets[%zu]", s,
                              packing->lengths[s], end - begin, s, s + 1);
    }
    return LOCUS_OK;
}

/* ---- memory ---- */

/* Adds count × size to *bytes; false if that overflows. */
static bool add_bytes(size_t *bytes, size_t count, size_t size) {
    if (size && count > (SIZE_MAX - *bytes) / size)
        return false;
    *bytes += count * size;
    return true;
}

static void lay_out(locus_positions *positions) {
    size_t coordinates = positions->coordinates, tokens = positions->tokens, sequences = positions->sequences;
    positions->runs = (locus_positions_run *)(positions + 1);
    positions->columns = (locus_position_values *)(positions->runs + sequences);
    int64_t *values = (int64_t *)(positions->columns + coordinates);
    bool *consecutive = (bool *)(values + coordinates * tokens);
    for (size_t c = 0; c < coordinates; c++)
        positions->columns[c] = (locus_position_values){.values = values + c * tokens,
                                                        .consecutive = consecutive + c * sequences,
                                                        .minimum = INT64_MAX,
                                                        .maximum = INT64_MIN};
}

static locus_status allocate(locus_positions **positions, const locus_group *group, const locus_packing *packing,
                             locus_error *error) {
    size_t coordinates = locus_group_coordinates(group), tokens = packing->offsets[packing->sequences];
    size_t bytes = sizeof(locus_positions), values = 0, flags = 0;
    if (!add_bytes(&values, coordinates, tokens) || !add_bytes(&flags, coordinates, packing->sequences) ||
        !add_bytes(&bytes, packing->sequences, sizeof(locus_positions_run)) ||
        !add_bytes(&bytes, coordinates, sizeof(locus_position_values)) || !add_bytes(&bytes, values, sizeof(int64_t)) ||
        !add_bytes(&bytes, flags, sizeof(bool)))
        return locus_fail_memory(error, SIZE_MAX);
    locus_positions *fresh = locus_allocate(bytes);
    if (!fresh)
        return locus_fail_memory(error, bytes);
    *fresh = (locus_positions){.group = locus_group_retain(group),
                               .bytes = bytes,
                               .sequences = packing->sequences,
                               .tokens = tokens,
                               .coordinates = coordinates};
    atomic_init(&fresh->owners, 1);
    lay_out(fresh);
    *positions = fresh;
    return LOCUS_OK;
}

static locus_status build(locus_positions **positions, const locus_group *group, const locus_packing *packing,
                          locus_position_source *from, locus_error *error) {
    locus_positions *fresh = NULL;
    locus_status status = allocate(&fresh, group, packing, error);
    for (size_t s = 0; status == LOCUS_OK && s < packing->sequences; s++)
        fresh->runs[s] = (locus_positions_run){packing->offsets[s], run_length(packing, s)};
    for (size_t c = 0; status == LOCUS_OK && c < fresh->coordinates; c++)
        status = locus_positions_fill(fresh, from, c, error);
    if (status != LOCUS_OK)
        locus_positions_destroy(&fresh);
    *positions = fresh;
    return status;
}

/* ---- what callers give ---- */

locus_status locus_positions_check(locus_positions **positions, const locus_group *group, const locus_packing *given,
                                   locus_packing *packing, locus_error *error) {
    if (!positions)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "positions", "positions is NULL: give a place for the result");
    *positions = NULL;
    locus_status status = locus_group_check_size(group, error);
    if (status == LOCUS_OK)
        status = read_packing(given, packing, error);
    return status == LOCUS_OK ? check_packing(packing, error) : status;
}

static locus_status fail_for_group(locus_error *error, const char *argument, const locus_group *group,
                                   const char *rest) {
    char text[64];
    size_t length = locus_group_text(group, text, sizeof text);
    return locus_fail(error, LOCUS_ERROR_ARGUMENT, argument, "'%s%s' %s", text, length >= sizeof text ? "…" : "", rest);
}

locus_status locus_positions_create(locus_positions **positions, const locus_group *group, const locus_packing *packing,
                                    const int64_t *values, locus_error *error) {
    locus_packing own;
    locus_status status = locus_positions_check(positions, group, packing, &own, error);
    if (status != LOCUS_OK)
        return status;
    if (locus_group_has_tree(group))
        return fail_for_group(error, "group", group,
                              "has a tree, whose positions are words: use locus_positions_create_columns or _paths");
    if (!values && locus_group_coordinates(group) > 1)
        return fail_for_group(error, "values", group,
                              "has several coordinates: positions cannot be counted, give values");
    return build(positions, group, &own, &(locus_position_source){.rows = values}, error);
}

static locus_status check_nodes(const locus_position_column *given, int64_t size, locus_error *error) {
    if (given->node_count == 0 || !given->values)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "columns",
                          "a tree's column has neither starts (words) nor values and nodes: give one of them");
    for (size_t i = 1; i < given->node_count; i++) {
        if (given->parents[i] >= i)
            return locus_fail(error, LOCUS_ERROR_ARGUMENT, "parents",
                              "parents[%zu] = %zu: a parent must stand before its child, so that no node is its own "
                              "ancestor",
                              i, given->parents[i]);
        if (!has_branch(size, given->branches[i]))
            return locus_fail(error, LOCUS_ERROR_POSITION, "branches",
                              "branch %lld to node %zu does not exist: tree:%lld has branches 1 to %lld and their "
                              "inverses -1 to -%lld",
                              (long long)given->branches[i], i, (long long)size, (long long)size, (long long)size);
    }
    return LOCUS_OK;
}

static locus_status check_column(const locus_position_column *given, locus_coordinate coordinate, size_t c,
                                 size_t tokens, locus_error *error) {
    if (coordinate.kind != LOCUS_COORDINATE_TREE)
        return given->values || tokens == 0
                   ? LOCUS_OK
                   : locus_fail(error, LOCUS_ERROR_ARGUMENT, "columns",
                                "columns[%zu] has no values: an axis or a cycle needs one for each token", c);
    if (given->starts) {
        if (given->branches || given->starts[0] == given->starts[tokens])
            return LOCUS_OK;
    } else if (given->node_count <= 1 || (given->parents && given->branches)) {
        return check_nodes(given, coordinate.size, error);
    }
    return locus_fail(error, LOCUS_ERROR_ARGUMENT, "columns",
                      "columns[%zu] is a tree without %s: give words (starts, branches) or nodes (values, parents, "
                      "branches)",
                      c, given->branches ? "parents" : "branches");
}

locus_status locus_positions_create_columns(locus_positions **positions, const locus_group *group,
                                            const locus_packing *packing, const locus_position_column *columns,
                                            locus_error *error) {
    locus_packing own;
    locus_position_column column;
    locus_status status = locus_positions_check(positions, group, packing, &own, error);
    if (status == LOCUS_OK && !columns)
        status = locus_fail(error, LOCUS_ERROR_ARGUMENT, "columns", "columns is NULL: give one for each coordinate");
    for (size_t c = 0; status == LOCUS_OK && c < locus_group_coordinates(group); c++) {
        status = locus_positions_column(columns, c, &column, error);
        if (status == LOCUS_OK)
            status = check_column(&column, locus_group_coordinate(group, c), c, own.offsets[own.sequences], error);
    }
    return status == LOCUS_OK ? build(positions, group, &own, &(locus_position_source){.columns = columns}, error)
                              : status;
}

static locus_status check_paths(const locus_group *group, const locus_packing *packing, const locus_path *const *paths,
                                locus_error *error) {
    const locus_group *last = NULL; /* most paths share their group: equal pointers need no comparison */
    for (size_t s = 0; s < packing->sequences; s++)
        for (size_t t = packing->offsets[s]; t < packing->offsets[s] + run_length(packing, s); t++) {
            if (!paths || !paths[t])
                return locus_fail(error, LOCUS_ERROR_ARGUMENT, "paths",
                                  "the path of token %zu (sequence %zu) is NULL: give one for each token", t, s);
            if (paths[t]->group != last && !locus_group_equal(paths[t]->group, group)) {
                char text[48];
                locus_group_text(paths[t]->group, text, sizeof text);
                return locus_fail(error, LOCUS_ERROR_ARGUMENT, "paths",
                                  "the path of token %zu is of the group '%s', the positions of another one", t, text);
            }
            last = paths[t]->group;
        }
    return LOCUS_OK;
}

locus_status locus_positions_create_paths(locus_positions **positions, const locus_group *group,
                                          const locus_packing *packing, const locus_path *const *paths,
                                          locus_error *error) {
    locus_packing own;
    locus_status status = locus_positions_check(positions, group, packing, &own, error);
    if (status == LOCUS_OK)
        status = check_paths(group, &own, paths, error);
    if (status != LOCUS_OK)
        return status;
    static const locus_path *const none[1] = {NULL};
    return build(positions, group, &own, &(locus_position_source){.paths = paths ? paths : none}, error);
}

/* ---- real-valued positions ---- */

static size_t real_bytes(const locus_positions *positions) {
    return (positions->coordinates * positions->tokens + 1) * sizeof *positions->reals;
}

locus_status locus_positions_keep_reals(locus_positions *positions, const double *rows, locus_error *error) {
    const size_t coordinates = positions->coordinates, tokens = positions->tokens, bytes = real_bytes(positions);
    positions->reals = locus_allocate(bytes);
    if (!positions->reals)
        return locus_fail_memory(error, bytes);
    memset(positions->reals, 0, bytes);
    for (size_t s = 0; s < positions->sequences; s++) {
        const locus_positions_run run = positions->runs[s];
        for (size_t c = 0; c < coordinates; c++)
            for (size_t t = run.first; t < run.first + run.count; t++)
                positions->reals[c * tokens + t] = rows[t * coordinates + c];
    }
    return LOCUS_OK;
}

const double *locus_positions_reals(const locus_positions *positions, size_t coordinate) {
    return positions->reals ? positions->reals + coordinate * positions->tokens : NULL;
}

/* ---- ownership and questions ---- */

void locus_positions_destroy(locus_positions **positions) {
    if (!positions || !*positions)
        return;
    locus_positions *gone = *positions;
    *positions = NULL;
    if (atomic_fetch_sub(&gone->owners, 1) != 1)
        return;
    for (size_t c = 0; c < gone->coordinates; c++)
        locus_trie_destroy(&gone->columns[c].trie);
    if (gone->reals)
        locus_release(gone->reals, real_bytes(gone));
    locus_group_destroy(&gone->group);
    locus_release(gone, gone->bytes);
}

/* The count of owners is the one thing about positions that changes; blocks from the allocator are never read-only
 * memory. */
locus_positions *locus_positions_retain(const locus_positions *positions) {
    locus_positions *shared = (locus_positions *)(uintptr_t)positions;
    if (shared)
        atomic_fetch_add(&shared->owners, 1);
    return shared;
}

size_t locus_positions_tokens(const locus_positions *positions) {
    return positions->tokens;
}

size_t locus_positions_sequences(const locus_positions *positions) {
    return positions->sequences;
}

const locus_group *locus_positions_group(const locus_positions *positions) {
    return positions->group;
}

locus_positions_run locus_positions_sequence(const locus_positions *positions, size_t sequence) {
    return positions->runs[sequence];
}

const int64_t *locus_positions_values(const locus_positions *positions, size_t coordinate) {
    return positions->columns[coordinate].values;
}

bool locus_positions_consecutive(const locus_positions *positions, size_t coordinate, size_t sequence) {
    return positions->columns[coordinate].consecutive[sequence];
}

int64_t locus_positions_minimum(const locus_positions *positions, size_t coordinate) {
    return positions->columns[coordinate].minimum;
}

int64_t locus_positions_maximum(const locus_positions *positions, size_t coordinate) {
    return positions->columns[coordinate].maximum;
}

const locus_trie *locus_positions_trie(const locus_positions *positions, size_t coordinate) {
    return positions->columns[coordinate].trie;
}

void **locus_positions_attached(const locus_positions *positions) {
    return &((locus_positions *)(uintptr_t)positions)->attached;
}

void **locus_positions_placed(const locus_positions *positions) {
    return &((locus_positions *)(uintptr_t)positions)->placed;
}

size_t locus_positions_bytes(const locus_positions *positions) {
    size_t bytes = positions->bytes + (positions->reals ? real_bytes(positions) : 0);
    for (size_t c = 0; c < positions->coordinates; c++)
        if (positions->columns[c].trie)
            bytes += locus_trie_bytes(positions->columns[c].trie);
    return bytes;
}
