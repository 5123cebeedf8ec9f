/* SPDX-License-Identifier: MIT */
/* The operator of a tree on whole tensors: which streams climb and which descend, chunk after chunk for as many tables
 * at a time as fit. Workspace:
 *
 *   scratch [workers] | dW [tables, used] | desks [tables at a time]: made, checkpoints, boundary, dP, slots
 *
 * If all matrices are kept there is one chunk, and all tables run at once. Else matrices are made chunk by chunk.
 * Backward first makes those that lead to checkpoints, then goes through the chunks from the last to the first. */
#include "core/call.h"
#include "operators/operate.h"
#include "operators/tree/tree_walk.h"

#include <locus/parallel.h>

#include <string.h>

typedef struct locus_tree_sizes {
    size_t scratch; /* of a worker */
    size_t slot, matrices, checkpoints, slots;
    size_t desk, desks; /* bytes of one, and how many tables run at a time */
    size_t dW;
    bool exact; /* slots hold doubles */
} locus_tree_sizes;

typedef struct locus_tree_job {
    const locus_tree_operator *op;
    const locus_whole_call *call;
    locus_tree_pass pass;
    locus_tree_sizes sizes;
    locus_tree_desk *desks; /* of the tables at hand */
    size_t desk_count, table;
    const locus_tree_chunk *chunk;
    char *scratch, *desk_memory;
    double *dW;
    bool learns;
} locus_tree_job;

/* ---- sizes ---- */

size_t locus_tree_scratch_bytes(const locus_tree_operator *op, const size_t times[2], bool learns, size_t size) {
    const size_t row = op->tree->dim * size;
    const size_t rows = times[0] * op->layout.rows_most[0] + times[1] * op->layout.rows_most[1];
    const size_t stored = learns ? LOCUS_TREE_STORED_ROWS * row : 0;
    return locus_aligned(2 * op->tree->dim * row) + LOCUS_TREE_BUFFERS * locus_aligned(rows * row) +
           locus_aligned(stored);
}

static bool acts(const locus_tree *tree, locus_role role) {
    return role == LOCUS_ROLE_QUERY ? (tree->sides & 1) != 0 : role == LOCUS_ROLE_KEY ? (tree->sides & 2) != 0 : true;
}

static size_t side_of(const locus_tree_operator *op, locus_role role) {
    return op->layout.sides == 2 && (role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE);
}

static size_t heads_together(const locus_tree *tree) {
    return tree->tables == 1 ? tree->heads : 1;
}

/* As many tables at a time as threads have work for, within half of the workspace. */
static size_t choose_desks(const locus_tree_operator *op, size_t desk) {
    const size_t tables = op->tree->tables, threads = locus_threads();
    if (op->keeps)
        return tables;
    size_t desks = threads < tables ? threads : tables;
    while (desks > 1 && desk * desks > op->workspace / 2)
        desks--;
    return desks;
}

static locus_tree_sizes sizes_of(const locus_tree_operator *op, locus_dtype dtype, const size_t times[2], bool learns) {
    const locus_tree_layout *layout = &op->layout;
    const size_t matrix = op->tree->dim * op->tree->dim * sizeof(double);
    const bool doubles = dtype == LOCUS_FLOAT64 || layout->exact;
    locus_tree_sizes sizes = {.exact = dtype == LOCUS_FLOAT64};
    sizes.scratch = locus_tree_scratch_bytes(op, times, learns, doubles ? sizeof(double) : sizeof(float));
    const size_t spread = learns ? locus_tree_spread_bytes(op->tree) : 0;
    sizes.scratch = spread > sizes.scratch ? spread : sizes.scratch;
    sizes.slot = locus_aligned(doubles ? matrix : matrix / 2);
    sizes.matrices = locus_aligned(layout->anchors_most * matrix);
    sizes.checkpoints = locus_aligned(layout->checkpoint_count * matrix);
    sizes.slots = layout->slots_most * sizes.slot;
    sizes.desk = op->keeps ? 0 : sizes.matrices + sizes.checkpoints;
    if (learns) {
        sizes.desk += sizes.matrices + sizes.checkpoints + sizes.slots + layout->pieces_most * sizes.slot;
        sizes.dW = locus_aligned(op->tree->tables * layout->used_count * matrix);
    }
    sizes.desks = choose_desks(op, sizes.desk);
    return sizes;
}

static size_t run_bytes(const locus_tree_operator *op, locus_dtype dtype, const size_t times[2], bool learns) {
    const locus_tree_sizes sizes = sizes_of(op, dtype, times, learns);
    size_t desks = sizes.desks * sizes.desk;
    if (op->limits && !op->keeps) { /* of smaller ones more may fit */
        const size_t tables = op->tree->tables, threads = locus_threads();
        const size_t all = (threads < tables ? threads : tables) * sizes.desk, half = op->workspace / 2;
        const size_t most = all < half ? all : half;
        desks = desks > most ? desks : most;
    }
    return locus_aligned(op->tree->tables * sizeof(locus_tree_desk)) + locus_threads() * sizes.scratch + desks +
           sizes.dW;
}

/* Backward also runs without gradients of parameters, and then perhaps more tables at a time. */
static size_t laid_bytes(const locus_tree_operator *op, locus_dtype dtype, const locus_role *roles, size_t count,
                         bool backward) {
    size_t times[2] = {0, 0};
    for (size_t i = 0; i < count; i++)
        if (acts(op->tree, roles[i]))
            times[side_of(op, roles[i])] += heads_together(op->tree);
    if (times[0] + times[1] == 0)
        return 0;
    const size_t plain = run_bytes(op, dtype, times, false);
    const bool learns = backward && op->tree->learned != LOCUS_TREE_FIXED;
    const size_t learning = learns ? run_bytes(op, dtype, times, true) : 0;
    return plain > learning ? plain : learning;
}

static size_t tree_workspace_bytes(const locus_whole_operator *base, locus_dtype dtype, const locus_role *roles,
                                   size_t count, bool backward) {
    static const locus_tree_variant variants[] = {{true, 1, false},  {true, 2, false},  {true, 2, true},
                                                  {false, 1, false}, {false, 2, false}, {false, 2, true}};
    const locus_tree_operator *op = (const locus_tree_operator *)base;
    if (!op->limits)
        return laid_bytes(op, dtype, roles, count, backward);
    size_t most = 0;
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        locus_tree_operator own = *op;
        own.keeps = variants[i].keeps;
        if (!locus_tree_layout_limit(op->tree, op->limits, &variants[i], &own.layout))
            continue;
        const size_t bytes = laid_bytes(&own, dtype, roles, count, backward);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* ---- passes ---- */

/* y = ⌈p⌉ x, or ⌈p⌉ᵀ x. */
static bool climbs(const locus_whole_stream *stream) {
    return (stream->role == LOCUS_ROLE_OUTPUT) == (stream->direction == LOCUS_INVERSE);
}

/* The call's streams that climb forward, or the others, or all (learn); others keep out of the pass. */
typedef enum locus_tree_which { CLIMBING, DESCENDING, BOTH } locus_tree_which;

static void add_stream(locus_tree_pass *pass, const locus_tree_operator *op, const locus_whole_stream *from,
                       bool backward) {
    const bool forward_climbs = climbs(from), learns = pass->climbs && pass->descends;
    locus_tree_stream *stream = &pass->streams[pass->count++];
    *stream = (locus_tree_stream){.side = side_of(op, from->role), .out = from->y};
    stream->out_climbs = forward_climbs != backward;
    if (learns) {
        stream->up = forward_climbs ? from->x : from->gy;
        stream->top = forward_climbs ? from->gy : from->x;
    } else {
        stream->up = stream->top = backward ? from->gy : from->x;
    }
    pass->times[stream->side] += pass->heads;
}

static locus_tree_pass pass_of(const locus_tree_operator *op, const locus_whole_call *call, locus_tree_which which,
                               bool backward) {
    locus_tree_pass pass = {.op = op,
                            .dtype = call->dtype,
                            .climbs = which != DESCENDING,
                            .descends = which != CLIMBING,
                            .heads = heads_together(op->tree)};
    for (size_t i = 0; i < call->count; i++) {
        const locus_whole_stream *stream = &call->streams[i];
        const bool climbing = climbs(stream) != backward;
        if (acts(op->tree, stream->role) && (which == BOTH || climbing == (which == CLIMBING)))
            add_stream(&pass, op, stream, backward);
    }
    return pass;
}

/* ---- parallel loops ---- */

static void run_block(const locus_tree_job *job, const locus_tree_desk *desk, const locus_tree_block *block, bool exact,
                      char *scratch) {
    const locus_tree_task task = {&job->pass, job->chunk, desk, scratch};
    if (exact || job->call->dtype == LOCUS_FLOAT64)
        locus_tree_run_float64(&task, block);
    else
        locus_tree_run_float32(&task, block);
}

static void block_task(void *context, size_t index, size_t worker) {
    const locus_tree_job *job = context;
    const locus_tree_block *block = &job->op->layout.blocks[job->chunk->block + index / job->desk_count];
    run_block(job, &job->desks[index % job->desk_count], block, block->levels > LOCUS_TREE_EXACT_LEVELS + 1,
              job->scratch + worker * job->sizes.scratch);
}

static void part_task(void *context, size_t index, size_t worker) {
    const locus_tree_job *job = context;
    const locus_tree_part *part = &job->op->layout.parts[job->chunk->part + index / job->desk_count];
    const locus_tree_desk *desk = &job->desks[index % job->desk_count];
    memset(desk->slots + part->slot * desk->slot_bytes, 0, part->slots * desk->slot_bytes);
    memset(desk->pieces + part->piece * desk->slot_bytes, 0, part->pieces * desk->slot_bytes);
    for (uint32_t b = part->block; b < part->block + part->blocks && !locus_call_cancelled(); b++)
        run_block(job, desk, &job->op->layout.blocks[b], part->exact, job->scratch + worker * job->sizes.scratch);
}

static void make_task(void *context, size_t index, size_t worker) {
    const locus_tree_job *job = context;
    (void)worker;
    locus_tree_make_chunk(job->op, job->chunk, &job->desks[index], false);
}

static void checkpoint_task(void *context, size_t index, size_t worker) {
    const locus_tree_job *job = context;
    const locus_tree_desk *desk = &job->desks[index];
    (void)worker;
    memset(desk->boundary, 0, job->sizes.checkpoints);
    for (size_t c = 0; c < job->op->layout.chunk_count && !locus_call_cancelled(); c++)
        locus_tree_make_chunk(job->op, &job->op->layout.chunks[c], desk, true);
}

static void back_task(void *context, size_t index, size_t worker) {
    const locus_tree_job *job = context;
    (void)worker;
    locus_tree_walk_back(job->op, job->chunk, &job->desks[index], job->sizes.exact);
}

/* ---- tables and chunks ---- */

static void set_desk(locus_tree_job *job, size_t index) {
    const locus_tree_operator *op = job->op;
    const size_t elements = op->tree->dim * op->tree->dim, table = job->table + index;
    char *at = job->desk_memory + index * job->sizes.desk;
    locus_tree_desk *desk = &job->desks[index];
    *desk = (locus_tree_desk){.table = table, .slot_bytes = job->sizes.slot};
    if (op->keeps) {
        desk->P = op->matrices + table * op->layout.anchor_count * elements;
    } else {
        desk->P = desk->made = (double *)(void *)at;
        desk->checkpoints = (double *)(void *)(at + job->sizes.matrices);
        at += job->sizes.matrices + job->sizes.checkpoints;
    }
    if (!job->learns)
        return;
    desk->dP = (double *)(void *)at;
    desk->boundary = (double *)(void *)(at + job->sizes.matrices);
    desk->slots = at + job->sizes.matrices + job->sizes.checkpoints;
    desk->pieces = desk->slots + job->sizes.slots;
    desk->dW = job->dW + table * op->layout.used_count * elements;
}

static void run_chunk(locus_tree_job *job, size_t index) {
    job->chunk = &job->op->layout.chunks[index];
    if (!job->op->keeps)
        locus_parallel_for(job->desk_count, make_task, job);
    if (job->learns) {
        locus_parallel_for(job->chunk->parts * job->desk_count, part_task, job);
        locus_parallel_for(job->desk_count, back_task, job);
    } else {
        locus_parallel_for(job->chunk->blocks * job->desk_count, block_task, job);
    }
}

static void run_pass(locus_tree_job *job) {
    const locus_tree_operator *op = job->op;
    const size_t chunks = op->layout.chunk_count;
    for (job->table = 0; job->table < op->tree->tables; job->table += job->desk_count) {
        const size_t left = op->tree->tables - job->table;
        job->desk_count = left < job->sizes.desks ? left : job->sizes.desks;
        for (size_t i = 0; i < job->desk_count; i++)
            set_desk(job, i);
        if (job->learns && !op->keeps)
            locus_parallel_for(job->desk_count, checkpoint_task, job);
        for (size_t c = 0; c < chunks && !locus_call_cancelled(); c++)
            run_chunk(job, job->learns ? chunks - 1 - c : c);
    }
}

/* ---- the class ---- */

static void run(locus_tree_job *job, locus_tree_which which, bool backward) {
    const locus_tree_operator *op = job->op;
    job->pass = pass_of(op, job->call, which, backward);
    if (job->pass.count == 0)
        return;
    job->learns = which == BOTH;
    job->sizes = sizes_of(op, job->call->dtype, job->pass.times, job->learns);
    char *at = job->call->workspace;
    job->desks = (locus_tree_desk *)(void *)at;
    at += locus_aligned(op->tree->tables * sizeof *job->desks);
    job->dW = (double *)(void *)at;
    at += job->sizes.dW;
    job->desk_memory = at;
    job->scratch = at + job->sizes.desks * job->sizes.desk;
    if (job->learns)
        memset(job->dW, 0, job->sizes.dW);
    run_pass(job);
    if (job->learns)
        locus_tree_spread(op, job->dW, job->call->parameters, job->scratch);
}

static void copy_others(const locus_tree_job *job) {
    const locus_tree *tree = job->op->tree;
    for (size_t i = 0; i < job->call->count; i++) {
        const locus_whole_stream *stream = &job->call->streams[i];
        const bool keys = stream->role == LOCUS_ROLE_KEY || stream->role == LOCUS_ROLE_VALUE;
        const locus_operate copied = {
            .side = job->op->side[keys], .heads = tree->heads, .dim = tree->dim, .dtype = job->call->dtype};
        if (!acts(tree, stream->role))
            locus_operate_copy(&copied, stream);
    }
}

static void tree_forward(const locus_whole_operator *base, const locus_whole_call *call) {
    locus_tree_job job = {.op = (const locus_tree_operator *)base, .call = call};
    copy_others(&job);
    run(&job, CLIMBING, false);
    run(&job, DESCENDING, false);
}

static void tree_backward(const locus_whole_operator *base, const locus_whole_call *call) {
    locus_tree_job job = {.op = (const locus_tree_operator *)base, .call = call};
    copy_others(&job);
    if (call->parameters && job.op->tree->learned != LOCUS_TREE_FIXED) {
        run(&job, BOTH, true);
        return;
    }
    run(&job, CLIMBING, true);
    run(&job, DESCENDING, true);
}

static bool tree_learns(const locus_whole_operator *base) {
    return ((const locus_tree_operator *)base)->tree->learned != LOCUS_TREE_FIXED;
}

const locus_whole_class locus_tree_class = {
    .workspace_bytes = tree_workspace_bytes,
    .widen = locus_tree_widen,
    .forward = tree_forward,
    .backward = tree_backward,
    .learns = tree_learns,
    .form = locus_tree_form,
};
