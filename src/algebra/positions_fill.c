/* SPDX-License-Identifier: MIT */
/* Values of positions, coordinate by coordinate: integers and residues, words on a trie, nodes that callers number
 * themselves; with their extremes, and whether a sequence rises by one. */
#include "algebra/positions_inside.h"

#include <locus/memory.h>

#include "algebra/group_access.h"
#include "core/error.h"
#include "core/sized.h"

#include <string.h>

#define MOST_POSITION ((int64_t)1 << 62)
#define UNUSED_NODE UINT32_MAX

/* ---- integers ---- */

static void take_integers(const locus_positions *positions, const locus_position_source *from, size_t c,
                          locus_positions_run run, int64_t *values) {
    const size_t first = run.first, stride = positions->coordinates;
    const int64_t *next = from->columns ? from->column.values + first : from->rows;
    if (from->paths)
        for (size_t i = 0; i < run.count; i++)
            values[i] = from->paths[first + i]->parts[c].value;
    else if (from->columns || (from->rows && stride == 1))
        memcpy(values, from->columns ? next : next + first, run.count * sizeof *values);
    else if (from->rows)
        for (size_t i = 0; i < run.count; i++)
            values[i] = next[(first + i) * stride + c];
    else
        for (size_t i = 0; i < run.count; i++)
            values[i] = (int64_t)i;
}

/* With |MOST_POSITION| = 2^62: v + 2^62 is at most 2^63, so that without its own top bit it has none. */
static bool in_range(const int64_t *values, size_t count) {
    uint64_t top = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t moved = (uint64_t)values[i] + (uint64_t)MOST_POSITION;
        top |= moved - (moved >> 63);
    }
    return top >> 63 == 0;
}

static locus_status fill_integers(locus_positions *positions, const locus_position_source *from, size_t c, size_t s,
                                  locus_error *error) {
    const locus_coordinate coordinate = locus_group_coordinate(positions->group, c);
    const locus_positions_run run = positions->runs[s];
    int64_t *values = positions->columns[c].values + run.first;
    if (run.count == 0)
        return LOCUS_OK;
    take_integers(positions, from, c, run, values);
    if (coordinate.kind == LOCUS_COORDINATE_CYCLE) {
        for (size_t i = 0; i < run.count; i++)
            values[i] = locus_residue(values[i], coordinate.size);
        return LOCUS_OK;
    }
    if (in_range(values, run.count))
        return LOCUS_OK;
    size_t far = 0;
    while (values[far] <= MOST_POSITION && values[far] >= -MOST_POSITION)
        far++;
    return locus_fail(error, LOCUS_ERROR_POSITION, "values",
                      "position %lld of token %zu (sequence %zu) is out of range: use -2^62 to 2^62",
                      (long long)values[far], run.first + far, s);
}

/* ---- words ---- */

/* Walks one word from the root: the end is its normal form. */
static locus_status walk(locus_trie *trie, const int64_t *letters, size_t count, int64_t *node, locus_error *error) {
    uint32_t at = LOCUS_TRIE_ROOT;
    for (size_t i = 0; i < count; i++) {
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): they are missing only where there are none
        locus_status status = locus_trie_step(trie, at, letters[i], &at, error);
        if (status != LOCUS_OK)
            return status;
    }
    *node = at;
    return LOCUS_OK;
}

static locus_status fill_given_word(locus_positions *positions, const locus_position_source *from, size_t c,
                                    size_t token, locus_error *error) {
    const locus_position_column *given = &from->column;
    const int64_t size = locus_group_coordinate(positions->group, c).size;
    size_t first = given->starts[token], end = given->starts[token + 1];
    if (end < first)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "starts",
                          "starts[%zu] = %zu is less than starts[%zu] = %zu: starts may not decrease", token + 1, end,
                          token, first);
    if (end > first && !given->branches)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "branches", "branches is NULL, but starts count %zu of them",
                          end);
    for (size_t i = first; i < end; i++)
        if (!has_branch(size, given->branches[i]))
            return locus_fail(error, LOCUS_ERROR_POSITION, "branches",
                              "branch %lld in the word of token %zu does not exist: tree:%lld has branches 1 to %lld "
                              "and their inverses -1 to -%lld",
                              (long long)given->branches[i], token, (long long)size, (long long)size, (long long)size);
    locus_position_values *to = &positions->columns[c];
    return walk(to->trie, end > first ? given->branches + first : NULL, end - first, &to->values[token], error);
}

static locus_status fill_given_node(locus_positions *positions, const locus_position_source *from, size_t c,
                                    size_t token, locus_error *error) {
    const locus_position_column *given = &from->column;
    int64_t node = given->values[token];
    if (node < 0 || (uint64_t)node >= given->node_count)
        return locus_fail(error, LOCUS_ERROR_POSITION, "values",
                          "node %lld of token %zu does not exist: the tree has nodes 0 to %zu", (long long)node, token,
                          given->node_count - 1);
    positions->columns[c].values[token] = from->nodes[node];
    return LOCUS_OK;
}

static locus_status fill_words(locus_positions *positions, const locus_position_source *from, size_t c, size_t s,
                               locus_error *error) {
    const locus_positions_run run = positions->runs[s];
    locus_position_values *to = &positions->columns[c];
    locus_status status = LOCUS_OK;
    for (size_t t = run.first; status == LOCUS_OK && t < run.first + run.count; t++) {
        if (from->paths) {
            const locus_path_part *part = &from->paths[t]->parts[c];
            status = walk(to->trie, from->paths[t]->letters + part->start, (size_t)part->value, &to->values[t], error);
        } else if (from->column.starts) {
            status = fill_given_word(positions, from, c, t, error);
        } else {
            status = fill_given_node(positions, from, c, t, error);
        }
    }
    return status;
}

/* ---- nodes ---- */

/* Marks the nodes on the way to a token; the others need no place in the trie. Values out of range are reported when
 * they are filled in. */
static void mark_used(const locus_positions *positions, const locus_position_column *given, uint32_t *nodes) {
    for (size_t i = 1; i < given->node_count; i++)
        nodes[i] = UNUSED_NODE;
    nodes[0] = LOCUS_TRIE_ROOT;
    for (size_t s = 0; s < positions->sequences; s++)
        for (size_t i = 0; i < positions->runs[s].count; i++) {
            int64_t node = given->values[positions->runs[s].first + i];
            if (node > 0 && (uint64_t)node < given->node_count)
                nodes[node] = 0;
        }
    for (size_t i = given->node_count; i-- > 1;)
        if (nodes[i] != UNUSED_NODE)
            nodes[given->parents[i]] = 0;
}

static locus_status place_nodes(locus_positions *positions, const locus_position_column *given, size_t c,
                                uint32_t *nodes, locus_error *error) {
    mark_used(positions, given, nodes);
    locus_status status = LOCUS_OK;
    for (size_t i = 1; status == LOCUS_OK && i < given->node_count; i++)
        if (nodes[i] != UNUSED_NODE)
            status = locus_trie_step(positions->columns[c].trie, nodes[given->parents[i]], given->branches[i],
                                     &nodes[i], error);
    return status;
}

/* ---- columns ---- */

locus_status locus_positions_column(const locus_position_column *columns, size_t index, locus_position_column *column,
                                    locus_error *error) {
    static const locus_sized kind = {sizeof *column, sizeof *column, "columns"};
    *column = (locus_position_column){.size = sizeof *column};
    return locus_sized_read_item(column, &kind, columns, index, error);
}

static bool rises_by_one(const int64_t *values, size_t count) {
    uint64_t others = 0;
    for (size_t i = 1; i < count; i++)
        others |= ((uint64_t)values[i] - (uint64_t)values[i - 1]) ^ 1u;
    return others == 0;
}

/* Extremes, and whether the run goes up by ones: then they stand at its ends. */
static void measure(locus_position_values *of, locus_positions_run run, size_t s) {
    const int64_t *values = of->values + run.first;
    const bool consecutive = rises_by_one(values, run.count);
    const size_t step = consecutive && run.count > 1 ? run.count - 1 : 1;
    int64_t least = of->minimum, most = of->maximum;
    for (size_t i = 0; i < run.count; i += step) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    of->consecutive[s] = consecutive;
    of->minimum = least;
    of->maximum = most;
}

static void clear_gaps(const locus_positions *positions, locus_position_values *of) {
    size_t end = 0;
    for (size_t s = 0; s <= positions->sequences; s++) {
        const size_t first = s < positions->sequences ? positions->runs[s].first : positions->tokens;
        if (first > end)
            memset(of->values + end, 0, (first - end) * sizeof *of->values);
        end = s < positions->sequences ? first + positions->runs[s].count : end;
    }
}

locus_status locus_positions_fill(locus_positions *positions, locus_position_source *from, size_t c,
                                  locus_error *error) {
    locus_position_values *to = &positions->columns[c];
    const bool tree = locus_group_coordinate(positions->group, c).kind == LOCUS_COORDINATE_TREE;
    locus_status status = from->columns ? locus_positions_column(from->columns, c, &from->column, error) : LOCUS_OK;
    const bool by_nodes = tree && from->columns && !from->column.starts;
    const size_t bytes = by_nodes ? from->column.node_count * sizeof *from->nodes : 0;
    if (status == LOCUS_OK && tree)
        status = locus_trie_create(&to->trie, error);
    if (by_nodes && status == LOCUS_OK) {
        from->nodes = locus_allocate(bytes);
        status = from->nodes ? place_nodes(positions, &from->column, c, from->nodes, error)
                             : locus_fail_memory(error, bytes);
    }
    for (size_t s = 0; status == LOCUS_OK && s < positions->sequences; s++) {
        status = tree ? fill_words(positions, from, c, s, error) : fill_integers(positions, from, c, s, error);
        measure(to, positions->runs[s], s);
    }
    if (status == LOCUS_OK)
        clear_gaps(positions, to);
    if (to->minimum > to->maximum)
        to->minimum = to->maximum = 0;
    locus_release(from->nodes, bytes);
    from->nodes = NULL;
    return status;
}
