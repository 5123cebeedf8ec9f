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
#include "algebra/path_access.h"
#include "algebra/positions_access.h"
#include "core/error.h"
#include <stdatomic.h>
#include <string.h>

#define MOST_POSITION ((int64_t)1 << 62)
#define UNUSED_NODE UINT32_MAX

typedef struct column {
    int64_t *values;   /* [tokens] */
    bool *consecutive; /* [sequences] */
    int64_t minimum, maximum;
    locus_trie *trie; /* of a tree, else NULL */
} column;

struct locus_positions {
    atomic_size_t owners;
    locus_group *group; /* a share */
    size_t bytes, sequences, tokens, coordinates;
    locus_positions_run *runs; /* [sequences] */
    column *columns;           /* [coordinates] */
    double *reals;             /* [coordinates][tokens], or NULL */
};

/* Where values come from: one of rows, columns and paths; with none of them, positions are counted. */
typedef struct source {
    const int64_t *rows;                  /* [tokens, coordinates] */
    const locus_position_column *columns; /* [coordinates] */
    const locus_path *const *paths;       /* [tokens] */
    uint32_t *nodes;                      /* the trie's node for each given node, of the column at work */
} source;

/* ---- checks of the packing ---- */

static size_t run_length(const locus_packing *packing, size_t s) {
    return packing->lengths ? packing->lengths[s] : packing->offsets[s + 1] - packing->offsets[s];
}

static locus_status check_packing(const locus_packing *packing, locus_error *error) {
    if (!packing || !packing->offsets)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "packing", "packing %s NULL: give the sequences' offsets",
                          packing ? "has offsets that are" : "is");
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
    positions->columns = (column *)(positions->runs + sequences);
    int64_t *values = (int64_t *)(positions->columns + coordinates);
    bool *consecutive = (bool *)(values + coordinates * tokens);
    memset(values, 0, coordinates * tokens * sizeof *values);
    for (size_t c = 0; c < coordinates; c++)
        positions->columns[c] = (column){.values = values + c * tokens,
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
        !add_bytes(&bytes, coordinates, sizeof(column)) || !add_bytes(&bytes, values, sizeof(int64_t)) ||
        !add_bytes(&bytes, flags, sizeof(bool)))
        return locus_fail_memory(error, SIZE_MAX);
    locus_positions *fresh = locus_allocate(bytes);
    if (!fresh)
        return locus_fail_memory(error, bytes);
    *fresh = (locus_positions){.group = locus_group_share(group),
                               .bytes = bytes,
                               .sequences = packing->sequences,
                               .tokens = tokens,
                               .coordinates = coordinates};
    atomic_init(&fresh->owners, 1);
    lay_out(fresh);
    *positions = fresh;
    return LOCUS_OK;
}

/* ---- integers ---- */

static int64_t integer_of(const source *from, const locus_positions *positions, size_t c, size_t token, size_t index) {
    if (from->paths)
        return from->paths[token]->parts[c].value;
    if (from->columns)
        return from->columns[c].values[token];
    return from->rows ? from->rows[token * positions->coordinates + c] : (int64_t)index;
}

static locus_status fill_integers(locus_positions *positions, const source *from, size_t c, size_t s,
                                  locus_error *error) {
    const locus_coordinate coordinate = locus_group_coordinate(positions->group, c);
    const locus_positions_run run = positions->runs[s];
    int64_t *values = positions->columns[c].values + run.first;
    for (size_t i = 0; i < run.count; i++) {
        int64_t value = integer_of(from, positions, c, run.first + i, i);
        if (coordinate.kind == LOCUS_COORDINATE_CYCLE)
            value = locus_residue(value, coordinate.size);
        else if (value > MOST_POSITION || value < -MOST_POSITION)
            return locus_fail(error, LOCUS_ERROR_POSITION, "values",
                              "position %lld of token %zu (sequence %zu) is out of range: use -2^62 to 2^62",
                              (long long)value, run.first + i, s);
        values[i] = value;
    }
    return LOCUS_OK;
}

/* ---- words ---- */

/* Walks one word from the root: the end is its normal form. */
static locus_status walk(locus_trie *trie, const int64_t *letters, size_t count, int64_t *node, locus_error *error) {
    uint32_t at = LOCUS_TRIE_ROOT;
    for (size_t i = 0; i < count; i++) {
        locus_status status = locus_trie_step(trie, at, letters[i], &at, error);
        if (status != LOCUS_OK)
            return status;
    }
    *node = at;
    return LOCUS_OK;
}

static bool has_branch(int64_t size, int64_t branch) {
    return branch != 0 && branch >= -size && branch <= size;
}

static locus_status fill_given_word(locus_positions *positions, const source *from, size_t c, size_t token,
                                    locus_error *error) {
    const locus_position_column *given = &from->columns[c];
    const int64_t size = locus_group_coordinate(positions->group, c).size;
    size_t first = given->starts[token], end = given->starts[token + 1];
    if (end < first)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "starts",
                          "starts[%zu] = %zu is less than starts[%zu] = %zu: starts may not decrease", token + 1, end,
                          token, first);
    for (size_t i = first; i < end; i++)
        if (!has_branch(size, given->branches[i]))
            return locus_fail(error, LOCUS_ERROR_POSITION, "branches",
                              "branch %lld in the word of token %zu does not exist: tree:%lld has branches 1 to %lld "
                              "and their inverses -1 to -%lld",
                              (long long)given->branches[i], token, (long long)size, (long long)size, (long long)size);
    column *to = &positions->columns[c];
    return walk(to->trie, end > first ? given->branches + first : NULL, end - first, &to->values[token], error);
}

static locus_status fill_given_node(locus_positions *positions, const source *from, size_t c, size_t token,
                                    locus_error *error) {
    const locus_position_column *given = &from->columns[c];
    int64_t node = given->values[token];
    if (node < 0 || (uint64_t)node >= given->node_count)
        return locus_fail(error, LOCUS_ERROR_POSITION, "values",
                          "node %lld of token %zu does not exist: the tree has nodes 0 to %zu", (long long)node, token,
                          given->node_count - 1);
    positions->columns[c].values[token] = from->nodes[node];
    return LOCUS_OK;
}

static locus_status fill_words(locus_positions *positions, const source *from, size_t c, size_t s, locus_error *error) {
    const locus_positions_run run = positions->runs[s];
    column *to = &positions->columns[c];
    locus_status status = LOCUS_OK;
    for (size_t t = run.first; status == LOCUS_OK && t < run.first + run.count; t++) {
        if (from->paths) {
            const locus_path_part *part = &from->paths[t]->parts[c];
            status = walk(to->trie, from->paths[t]->letters + part->start, (size_t)part->value, &to->values[t], error);
        } else if (from->columns[c].starts) {
            status = fill_given_word(positions, from, c, t, error);
        } else {
            status = fill_given_node(positions, from, c, t, error);
        }
    }
    return status;
}

/* ---- nodes ---- */

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

/* Extremes, and whether the run goes up by ones. */
static void measure(column *of, locus_positions_run run, size_t s) {
    const int64_t *values = of->values + run.first;
    bool consecutive = true;
    for (size_t i = 0; i < run.count; i++) {
        consecutive = consecutive && (i == 0 || values[i] - 1 == values[i - 1]);
        of->minimum = values[i] < of->minimum ? values[i] : of->minimum;
        of->maximum = values[i] > of->maximum ? values[i] : of->maximum;
    }
    of->consecutive[s] = consecutive;
}

static locus_status fill_column(locus_positions *positions, source *from, size_t c, locus_error *error) {
    column *to = &positions->columns[c];
    const bool tree = locus_group_coordinate(positions->group, c).kind == LOCUS_COORDINATE_TREE;
    const bool by_nodes = tree && from->columns && !from->columns[c].starts;
    const size_t bytes = by_nodes ? from->columns[c].node_count * sizeof *from->nodes : 0;
    locus_status status = tree ? locus_trie_create(&to->trie, error) : LOCUS_OK;
    if (by_nodes && status == LOCUS_OK) {
        from->nodes = locus_allocate(bytes);
        status = from->nodes ? place_nodes(positions, &from->columns[c], c, from->nodes, error)
                             : locus_fail_memory(error, bytes);
    }
    for (size_t s = 0; status == LOCUS_OK && s < positions->sequences; s++) {
        status = tree ? fill_words(positions, from, c, s, error) : fill_integers(positions, from, c, s, error);
        measure(to, positions->runs[s], s);
    }
    if (to->minimum > to->maximum)
        to->minimum = to->maximum = 0;
    locus_release(from->nodes, bytes);
    from->nodes = NULL;
    return status;
}

static locus_status build(locus_positions **positions, const locus_group *group, const locus_packing *packing,
                          source *from, locus_error *error) {
    locus_positions *fresh = NULL;
    locus_status status = allocate(&fresh, group, packing, error);
    for (size_t s = 0; status == LOCUS_OK && s < packing->sequences; s++)
        fresh->runs[s] = (locus_positions_run){packing->offsets[s], run_length(packing, s)};
    for (size_t c = 0; status == LOCUS_OK && c < fresh->coordinates; c++)
        status = fill_column(fresh, from, c, error);
    if (status != LOCUS_OK)
        locus_positions_destroy(&fresh);
    *positions = fresh;
    return status;
}

/* ---- what callers give ---- */

locus_status locus_positions_check(locus_positions **positions, const locus_group *group, const locus_packing *packing,
                                   locus_error *error) {
    if (!positions)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "positions", "positions is NULL: give a place for the result");
    *positions = NULL;
    locus_status status = locus_group_check_size(group, error);
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
    locus_status status = locus_positions_check(positions, group, packing, error);
    if (status != LOCUS_OK)
        return status;
    if (locus_group_has_tree(group))
        return fail_for_group(error, "group", group,
                              "has a tree, whose positions are words: use locus_positions_create_columns or _paths");
    if (!values && locus_group_coordinates(group) > 1)
        return fail_for_group(error, "values", group,
                              "has several coordinates: positions cannot be counted, give values");
    return build(positions, group, packing, &(source){.rows = values}, error);
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
    locus_status status = locus_positions_check(positions, group, packing, error);
    if (status == LOCUS_OK && !columns)
        status = locus_fail(error, LOCUS_ERROR_ARGUMENT, "columns", "columns is NULL: give one for each coordinate");
    for (size_t c = 0; status == LOCUS_OK && c < locus_group_coordinates(group); c++)
        status =
            check_column(&columns[c], locus_group_coordinate(group, c), c, packing->offsets[packing->sequences], error);
    return status == LOCUS_OK ? build(positions, group, packing, &(source){.columns = columns}, error) : status;
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
    locus_status status = locus_positions_check(positions, group, packing, error);
    if (status == LOCUS_OK)
        status = check_paths(group, packing, paths, error);
    if (status != LOCUS_OK)
        return status;
    static const locus_path *const none[1] = {NULL};
    return build(positions, group, packing, &(source){.paths = paths ? paths : none}, error);
}

/* ---- real-valued positions ---- */

static size_t real_bytes(const locus_positions *positions) {
    return (positions->coordinates * positions->tokens + 1) * sizeof *positions->reals;
}

/* Nothing rises by one any more, as far as anyone may rely on it. */
locus_status locus_positions_keep_reals(locus_positions *positions, const double *rows, locus_error *error) {
    const size_t coordinates = positions->coordinates, tokens = positions->tokens, bytes = real_bytes(positions);
    positions->reals = locus_allocate(bytes);
    if (!positions->reals)
        return locus_fail_memory(error, bytes);
    memset(positions->reals, 0, bytes);
    for (size_t s = 0; s < positions->sequences; s++) {
        const locus_positions_run run = positions->runs[s];
        for (size_t c = 0; c < coordinates; c++) {
            for (size_t t = run.first; t < run.first + run.count; t++)
                positions->reals[c * tokens + t] = rows[t * coordinates + c];
            positions->columns[c].consecutive[s] = false;
        }
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
locus_positions *locus_positions_share(const locus_positions *positions) {
    locus_positions *shared = (locus_positions *)(uintptr_t)positions;
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

size_t locus_positions_bytes(const locus_positions *positions) {
    size_t bytes = positions->bytes + (positions->reals ? real_bytes(positions) : 0);
    for (size_t c = 0; c < positions->coordinates; c++)
        if (positions->columns[c].trie)
            bytes += locus_trie_bytes(positions->columns[c].trie);
    return bytes;
}
