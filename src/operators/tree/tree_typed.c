/* SPDX-License-Identifier: MIT */
/* The walk of tree_walk.h, in one element type (kernels/real.h).
 *
 * V are rows that climb, G rows that descend. At level l of a block there are rows for all tokens l or more edges below
 * their anchor, in the order of tree_layout.h. An entry's rows stand at `start` in its own level and at `target` in the
 * level above; as rows, v_after = v_before Wᵀ and g_before = g_after W. Entries with few rows are gathered, so that a
 * product has many; where there are many they are read and written in place. */
#include "core/call.h"
#include "kernels/real.h"
#include "operators/tree/tree_walk.h"

#include <string.h>

#define IN_PLACE_ROWS 16 /* rows of an entry that are worth a product of their own */

typedef struct tree_walk {
    const locus_tree_task *task;
    const locus_tree_pass *pass;
    const locus_tree_layout *layout;
    const locus_tree_block *block;
    const locus_tree_level *levels;
    size_t dim, sides;
    bool learns, stored;
    real *V[2], *G[2], *spare, *other, *store, *matrix;
} tree_walk;

/* What is copied between rows and tensors. */
typedef enum tree_way { UP, TOP, CLIMBED, DESCENDED } tree_way;

/* ---- rows ---- */

static const locus_tree_rows *entry_at(const tree_walk *walk, uint32_t entry) {
    return walk->layout->rows + entry * walk->sides;
}

#define SCALED(name, field) \
    static size_t name(const tree_walk *walk, const locus_tree_rows *rows) { \
        size_t sum = walk->pass->times[0] * rows[0].field; \
        return walk->sides == 1 ? sum : sum + walk->pass->times[1] * rows[1].field; \
    }
SCALED(rows_start, start)
SCALED(rows_count, count)
SCALED(rows_own, own)
SCALED(rows_target, target)
#undef SCALED

/* Where an entry's own rows stand among all rows of the block, depth-first: the order of level 0. */
static size_t rows_home(const tree_walk *walk, const locus_tree_rows *rows) {
    size_t home = 0;
    for (size_t s = 0; s < walk->sides; s++)
        home += walk->pass->times[s] * (rows[s].token - walk->block->token[s]);
    return home;
}

static size_t level_rows(const tree_walk *walk, uint32_t level) {
    const locus_tree_rows *last = entry_at(walk, walk->levels[level + 1].entry - 1);
    return rows_start(walk, last) + rows_count(walk, last);
}

static void copy_rows(const tree_walk *walk, const real *from, size_t count, real *to) {
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): the rows of a turn that is asked for are there
    memcpy(to, from, count * walk->dim * sizeof *to);
}

static void read_row(const tree_walk *walk, const locus_token_rows *tensor, ptrdiff_t offset, real *row) {
#if LOCUS_REAL_BITS == 64
    if (walk->pass->dtype == LOCUS_FLOAT32) {
        for (size_t i = 0; i < walk->dim; i++)
            row[i] = (real)((const float *)tensor->data + offset)[i];
        return;
    }
#endif
    copy_rows(walk, (const real *)tensor->data + offset, 1, row);
}

static void write_row(const tree_walk *walk, const locus_token_rows *tensor, ptrdiff_t offset, const real *row) {
#if LOCUS_REAL_BITS == 64
    if (walk->pass->dtype == LOCUS_FLOAT32) {
        for (size_t i = 0; i < walk->dim; i++)
            ((float *)tensor->data + offset)[i] = (float)row[i];
        return;
    }
#endif
    copy_rows(walk, row, 1, (real *)tensor->data + offset);
}

/* One entry's own rows of one stream; returns where the next stream's stand. */
static real *exchange(const tree_walk *walk, const locus_tree_stream *stream, const locus_tree_rows *rows, real *at,
                      tree_way way) {
    const locus_token_rows *tensor = way == UP ? &stream->up : way == TOP ? &stream->top : &stream->out;
    const size_t heads = walk->pass->heads, first = heads == 1 ? walk->task->desk->table : 0;
    const uint32_t *tokens = walk->layout->tokens[stream->side] + rows[stream->side].token;
    const uint32_t own = rows[stream->side].own;
    if (way >= CLIMBED && stream->out_climbs != (way == CLIMBED))
        return at + own * heads * walk->dim;
    for (uint32_t i = 0; i < own; i++) {
        const ptrdiff_t row = locus_token_rows_at(tensor, walk->pass->op->side[stream->side], tokens[i]);
        for (size_t h = first; h < first + heads; h++, at += walk->dim) {
            const ptrdiff_t offset = row + (ptrdiff_t)h * tensor->head;
            if (way >= CLIMBED)
                write_row(walk, tensor, offset, at);
            else
                read_row(walk, tensor, offset, at);
        }
    }
    return at;
}

static void exchange_own(const tree_walk *walk, const locus_tree_rows *rows, real *at, tree_way way) {
    for (size_t i = 0; i < walk->pass->count; i++)
        at = exchange(walk, &walk->pass->streams[i], rows, at, way);
}

/* Own rows of a level's entries, where they stand in the level. */
static void exchange_level(const tree_walk *walk, uint32_t level, real *base, tree_way way) {
    for (uint32_t e = walk->levels[level].entry; e < walk->levels[level + 1].entry; e++) {
        const locus_tree_rows *rows = entry_at(walk, e);
        if (rows_own(walk, rows) > 0)
            exchange_own(walk, rows, base + rows_start(walk, rows) * walk->dim, way);
    }
}

/* All own rows of the block, in level 0's order. */
static void exchange_block(const tree_walk *walk, real *base, tree_way way) {
    for (uint32_t e = walk->levels[0].entry; e < walk->levels[walk->block->levels].entry; e++) {
        const locus_tree_rows *rows = entry_at(walk, e);
        if (rows_own(walk, rows) > 0)
            exchange_own(walk, rows, base + rows_home(walk, rows) * walk->dim, way);
    }
}

/* ---- matrices ---- */

static const real *generator_matrix(const tree_walk *walk, uint32_t generator, bool transposed) {
    const locus_tree_operator *op = walk->task->pass->op;
    const size_t table = walk->task->desk->table;
#if LOCUS_REAL_BITS == 32
    const locus_tree *tree = op->tree;
    const size_t branch = walk->layout->used[generator / 2];
    const float *matrices = transposed != (generator % 2 == 1) ? tree->transposed_float32 : tree->generators_float32;
    return matrices + (table * tree->branches + branch) * tree->dim * tree->dim;
#else
    return locus_tree_generator(op, table, generator, transposed);
#endif
}

/* P of an anchor or its transpose, rounded in scratch unless it is there already. */
static const real *anchor_matrix(const tree_walk *walk, uint32_t anchor, bool transposed) {
    const locus_tree_operator *op = walk->pass->op;
    const size_t dim = walk->dim, elements = dim * dim;
    const double *P = walk->task->desk->P + (anchor - walk->task->chunk->anchor) * elements;
#if LOCUS_REAL_BITS == 32
    if (op->keeps)
        return (transposed ? op->transposed_float32 : op->matrices_float32) +
               (walk->task->desk->table * op->layout.anchor_count + anchor) * elements;
    real *rounded = walk->matrix;
    for (size_t i = 0; i < elements; i++)
        rounded[i] = (real)P[i];
#else
    const real *rounded = P;
    (void)op;
#endif
    if (!transposed)
        return rounded;
    KERNELS_GET()->transpose(dim, dim, rounded, (ptrdiff_t)dim, walk->matrix + elements, (ptrdiff_t)dim);
    return walk->matrix + elements;
}

/* to = rows · matrix */
static void multiply(const tree_walk *walk, const real *rows, size_t count, const real *matrix, real *to) {
    const ptrdiff_t ld = (ptrdiff_t)walk->dim;
    KERNELS_GET()->gemm(count, walk->dim, walk->dim, rows, ld, 1, matrix, ld, to, ld, false);
}

/* slot += aᵀ b over rows */
static void outer(const tree_walk *walk, const real *a, const real *b, size_t count, char *slot) {
    const ptrdiff_t ld = (ptrdiff_t)walk->dim;
    KERNELS_GET()->gemm(walk->dim, walk->dim, count, a, 1, ld, b, ld, (real *)(void *)slot, ld, true);
}

/* ---- entries of a group, some at a time ---- */

typedef struct tree_run {
    uint32_t first, end;
    size_t start, count; /* rows, in the level */
    bool alone;
} tree_run;

/* The next entries to be taken together: one with many rows, or neighbours with few. */
static tree_run next_run(const tree_walk *walk, uint32_t first, uint32_t end) {
    const locus_tree_rows *rows = entry_at(walk, first);
    tree_run run = {first, first + 1, rows_start(walk, rows), rows_count(walk, rows), true};
    while (run.count < IN_PLACE_ROWS * (size_t)(run.end - run.first) && run.end < end) {
        const size_t more = rows_count(walk, entry_at(walk, run.end));
        if (more >= IN_PLACE_ROWS)
            break;
        run.count += more;
        run.end++;
        run.alone = false;
    }
    return run;
}

static void spread_run(const tree_walk *walk, const tree_run *run, const real *from, real *above) {
    for (uint32_t e = run->first; e < run->end; e++) {
        const locus_tree_rows *rows = entry_at(walk, e);
        const size_t count = rows_count(walk, rows);
        copy_rows(walk, from, count, above + rows_target(walk, rows) * walk->dim);
        from += count * walk->dim;
    }
}

/* The run's rows in the level above: in place, or gathered. */
static const real *gather_run(const tree_walk *walk, const tree_run *run, const real *above, real *spare) {
    if (run->alone)
        return above + rows_target(walk, entry_at(walk, run->first)) * walk->dim;
    real *to = spare;
    for (uint32_t e = run->first; e < run->end; e++) {
        const locus_tree_rows *rows = entry_at(walk, e);
        const size_t count = rows_count(walk, rows);
        copy_rows(walk, above + rows_target(walk, rows) * walk->dim, count, to);
        to += count * walk->dim;
    }
    return spare;
}

static uint32_t group_end(const tree_walk *walk, uint32_t level, uint32_t group) {
    return group + 1 < walk->levels[level + 1].group ? walk->layout->groups[group + 1].first
                                                     : walk->levels[level + 1].entry;
}

/* ---- up ---- */

static void climb_group(const tree_walk *walk, uint32_t level, uint32_t index, const real *from, real *above) {
    const locus_tree_group *group = &walk->layout->groups[index];
    const real *matrix = generator_matrix(walk, group->generator, true);
    const uint32_t end = group_end(walk, level, index);
    for (uint32_t e = group->first; e < end;) {
        const tree_run run = next_run(walk, e, end);
        const real *rows = from + run.start * walk->dim;
        if (run.count == 0) {
            /* its tokens are all on a side without streams */
        } else if (run.alone) {
            multiply(walk, rows, run.count, matrix, above + rows_target(walk, entry_at(walk, e)) * walk->dim);
        } else {
            multiply(walk, rows, run.count, matrix, walk->spare);
            spread_run(walk, &run, walk->spare, above);
        }
        e = run.end;
    }
}

/* Leaves the rows of level 0 in V[0]; of the others in `store`, deepest first, if they are stored. */
static void climb(const tree_walk *walk) {
    real *at = walk->store;
    for (uint32_t level = walk->block->levels - 1; level > 0 && !locus_call_cancelled(); level--) {
        real *from = walk->stored ? at : walk->V[level & 1];
        if (walk->stored)
            at += level_rows(walk, level) * walk->dim;
        real *above = level == 1 ? walk->V[0] : walk->stored ? at : walk->V[(level - 1) & 1];
        exchange_level(walk, level, from, UP);
        for (uint32_t g = walk->levels[level].group; g < walk->levels[level + 1].group; g++)
            climb_group(walk, level, g, from, above);
    }
    exchange_level(walk, 0, walk->V[0], UP);
}

/* ---- at the anchors ---- */

/* Of one piece: what has climbed goes to V[1], what descends from G[1] to G[0]. */
static void turn_piece(const tree_walk *walk, uint32_t index, bool out) {
    const locus_tree_piece *piece = &walk->layout->pieces[walk->block->piece + index];
    const locus_tree_rows *rows = entry_at(walk, walk->levels[0].entry + index);
    const size_t first = rows_start(walk, rows) * walk->dim, count = rows_count(walk, rows);
    if (count == 0)
        return;
    if (piece->anchor == LOCUS_TREE_NONE) {
        if (out)
            copy_rows(walk, walk->V[0] + first, count, walk->V[1] + first);
        if (walk->pass->descends)
            copy_rows(walk, walk->G[1] + first, count, walk->G[0] + first);
        return;
    }
    if (out)
        multiply(walk, walk->V[0] + first, count, anchor_matrix(walk, piece->anchor, true), walk->V[1] + first);
    if (walk->pass->descends)
        multiply(walk, walk->G[1] + first, count, anchor_matrix(walk, piece->anchor, false), walk->G[0] + first);
    if (walk->learns)
        outer(walk, walk->G[1] + first, walk->V[0] + first, count,
              walk->task->desk->pieces + piece->slot * walk->task->desk->slot_bytes);
}

static void turn_pieces(const tree_walk *walk) {
    bool out = false;
    for (size_t i = 0; i < walk->pass->count; i++)
        out = out || walk->pass->streams[i].out_climbs;
    if (walk->pass->descends)
        exchange_block(walk, walk->G[1], TOP);
    for (uint32_t i = 0; i < walk->levels[1].entry - walk->levels[0].entry; i++)
        turn_piece(walk, i, out);
    if (out)
        exchange_block(walk, walk->V[1], CLIMBED);
}

/* ---- down ---- */

typedef struct tree_step {
    const real *G_above, *V_above;
    real *G, *V;
} tree_step;

static void descend_run(const tree_walk *walk, const tree_step *step, const tree_run *run,
                        const locus_tree_group *group) {
    const real *matrix = generator_matrix(walk, group->generator, false);
    const real *after = gather_run(walk, run, step->G_above, walk->spare);
    const size_t start = run->start * walk->dim;
    if (walk->learns) {
        const real *before = step->V + start;
        char *slot = walk->task->desk->slots + group->slot * walk->task->desk->slot_bytes;
        if (!walk->stored)
            multiply(walk, gather_run(walk, run, step->V_above, walk->other), run->count, matrix, step->V + start);
        if (group->generator % 2 == 1)
            outer(walk, before, after, run->count, slot);
        else
            outer(walk, after, before, run->count, slot);
    }
    multiply(walk, after, run->count, matrix, step->G + start);
}

static void descend_level(const tree_walk *walk, uint32_t level, const tree_step *step) {
    for (uint32_t g = walk->levels[level].group; g < walk->levels[level + 1].group; g++) {
        const locus_tree_group *group = &walk->layout->groups[g];
        const uint32_t end = group_end(walk, level, g);
        for (uint32_t e = group->first; e < end;) {
            const tree_run run = next_run(walk, e, end);
            if (run.count > 0)
                descend_run(walk, step, &run, group);
            e = run.end;
        }
    }
}

static void descend(const tree_walk *walk) {
    real *at = walk->store;
    for (uint32_t level = 1; walk->stored && level < walk->block->levels; level++)
        at += level_rows(walk, level) * walk->dim;
    exchange_level(walk, 0, walk->G[0], DESCENDED);
    for (uint32_t level = 1; level < walk->block->levels && !locus_call_cancelled(); level++) {
        tree_step step = {walk->G[(level - 1) & 1], walk->V[(level - 1) & 1], walk->G[level & 1], walk->V[level & 1]};
        if (walk->stored) {
            at -= level_rows(walk, level) * walk->dim;
            step.V = at;
        }
        descend_level(walk, level, &step);
        exchange_level(walk, level, walk->G[level & 1], DESCENDED);
    }
}

/* ---- a block ---- */

/* V and G twice, two spares, the store, two matrices. What a pass does without stays NULL. */
static void take_scratch(tree_walk *walk) {
    const size_t row = walk->dim, *times = walk->pass->times, *most = walk->layout->rows_most;
    const size_t rows = (times[0] * most[0] + times[1] * most[1]) * row;
    const size_t line = LOCUS_ALIGNMENT / sizeof(real), buffer = (rows + line - 1) / line * line;
    real *at = walk->task->scratch;
    walk->matrix = at;
    at += (2 * row * row + line - 1) / line * line;
    walk->spare = at;
    at += buffer;
    for (size_t i = 0; i < 2 && walk->pass->climbs; i++, at += buffer)
        walk->V[i] = at;
    for (size_t i = 0; i < 2 && walk->pass->descends; i++, at += buffer)
        walk->G[i] = at;
    if (walk->learns) {
        walk->other = at;
        walk->store = at + buffer;
    }
}

void REAL_NAME(locus_tree_run)(const locus_tree_task *task, const locus_tree_block *block) {
    const locus_tree_pass *pass = task->pass;
    const locus_tree_layout *layout = &pass->op->layout;
    tree_walk walk = {.task = task,
                      .pass = pass,
                      .layout = layout,
                      .block = block,
                      .levels = layout->levels + block->level,
                      .dim = pass->op->tree->dim,
                      .sides = layout->sides,
                      .learns = pass->climbs && pass->descends};
    const uint64_t passes = pass->times[0] * block->passes[0] + pass->times[1] * block->passes[1];
    walk.stored = walk.learns && passes <= LOCUS_TREE_STORED_ROWS;
    take_scratch(&walk);
    if (pass->climbs)
        climb(&walk);
    turn_pieces(&walk);
    if (pass->descends)
        descend(&walk);
}
