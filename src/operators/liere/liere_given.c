/* SPDX-License-Identifier: MIT */
/* Matrices that somebody else says, one for each distinct position: they act as LieRE's do, and are not made. Backward:
 * dL/dM of every position and table, of which whoever said M makes the gradients of its parameters. Workspace:
 *
 *   dL/dM [tables, positions, dim, dim] | work | scratch [workers]                  the first two where it learns */
#include "operators/liere/liere.h"

#include "core/call.h"
#include "spec/form_writer.h"

#include <locus/parallel.h>
#include <string.h>

typedef struct given_operator {
    locus_whole_operator base;
    const locus_matrices_given *given;
    locus_distinct_positions distinct;
    locus_liere_ground ground;
} given_operator;

static size_t slots_doubles(const given_operator *op) {
    return op->given->tables * op->distinct.count * op->given->dim * op->given->dim;
}

static size_t slots_bytes(const given_operator *op) {
    return locus_aligned((slots_doubles(op) + op->given->work) * sizeof(double));
}

static size_t workspace_bytes(const locus_whole_operator *whole, locus_dtype dtype, const locus_role *roles,
                              size_t count, bool backward) {
    const given_operator *op = (const given_operator *)whole;
    (void)roles, (void)count;
    return (backward && op->given->learn ? slots_bytes(op) : 0) +
           locus_threads() * locus_liere_scratch_at(op->given->dim, dtype, NULL).bytes;
}

/* ---- one call ---- */

typedef struct given_job {
    const given_operator *op;
    const locus_whole_call *call;
    double *slots; /* NULL: no gradients of parameters */
    char *scratch;
    size_t scratch_bytes;
} given_job;

/* All rows of one position and table. */
static void run_task(void *context, size_t index, size_t worker) {
    const given_job *job = context;
    const locus_matrices_given *given = job->op->given;
    const size_t position = index / given->tables, table = index % given->tables, square = given->dim * given->dim;
    const bool single = job->call->dtype == LOCUS_FLOAT32;
    const locus_liere_scratch scratch =
        locus_liere_scratch_at(given->dim, job->call->dtype, job->scratch + worker * job->scratch_bytes);
    double *slot = job->slots ? job->slots + (table * job->op->distinct.count + position) * square : NULL;
    if (slot)
        memset(slot, 0, square * sizeof *slot);
    (single ? locus_liere_fill_float32 : locus_liere_fill_float64)(given->dim, given->matrices + index * square,
                                                                   &scratch);
    for (size_t s = 0; s < job->call->count; s++) {
        const locus_liere_rows rows = locus_liere_rows_at(&job->op->ground, &job->call->streams[s], position, table);
        if (rows.count > 0)
            (single ? locus_liere_run_float32 : locus_liere_run_float64)(&rows, &scratch, slot);
    }
}

static void run(const locus_whole_operator *whole, const locus_whole_call *call, bool learns) {
    const given_operator *op = (const given_operator *)whole;
    const locus_matrices_given *given = op->given;
    const size_t each = op->distinct.count * given->dim * given->dim;
    given_job job = {.op = op, .call = call, .scratch = call->workspace};
    job.scratch_bytes = locus_liere_scratch_at(given->dim, call->dtype, NULL).bytes;
    if (learns) {
        job.slots = call->workspace;
        job.scratch += slots_bytes(op);
    }
    locus_parallel_for(op->distinct.count * given->tables, run_task, &job);
    for (size_t table = 0; learns && table < given->tables && !locus_call_cancelled(); table++)
        given->learn(given->own, table, job.slots + table * each, job.slots + slots_doubles(op), call->parameters);
}

static void forward(const locus_whole_operator *whole, const locus_whole_call *call) {
    run(whole, call, false);
}

static void backward(const locus_whole_operator *whole, const locus_whole_call *call) {
    run(whole, call, call->parameters != NULL && ((const given_operator *)whole)->given->learn != NULL);
}

static bool learns(const locus_whole_operator *whole) {
    return ((const given_operator *)whole)->given->learn != NULL;
}

static void form(const locus_whole_operator *whole, locus_form_writer *writer) {
    const given_operator *op = (const given_operator *)whole;
    const int64_t dim = (int64_t)op->given->dim;
    const locus_placement *placement = op->ground.placement;
    locus_form_begin(writer, LOCUS_FORM_MATRICES, op->given->dim, "given");
    locus_form_add(writer, "matrices", LOCUS_FORM_FLOAT64, op->given->matrices,
                   LOCUS_FORM_SHAPE((int64_t)op->distinct.count, (int64_t)op->given->tables, dim, dim));
    locus_form_add(writer, "query_matrix", LOCUS_FORM_UINT32, op->distinct.query.numbers,
                   LOCUS_FORM_SHAPE((int64_t)placement->query.tokens));
    locus_form_add(writer, "key_matrix", LOCUS_FORM_UINT32, op->distinct.key.numbers,
                   LOCUS_FORM_SHAPE((int64_t)placement->key.tokens));
}

static void widen(locus_whole_operator *whole, const locus_limits *limits) {
    ((given_operator *)whole)->distinct.count = limits->queries + limits->keys;
}

static const locus_whole_class given_class = {.workspace_bytes = workspace_bytes,
                                              .forward = forward,
                                              .backward = backward,
                                              .learns = learns,
                                              .form = form,
                                              .widen = widen};

locus_status locus_matrices_place(const locus_matrices_given *given, const locus_places *places,
                                  const locus_distinct_positions *distinct, locus_owned *memory,
                                  const locus_whole_operator **placed, locus_error *error) {
    given_operator *op = locus_owned_get(memory, 1, sizeof *op);
    if (!op)
        return locus_owned_fail(error);
    op->base.class = &given_class;
    op->given = given;
    op->distinct = *distinct;
    op->ground = (locus_liere_ground){&places->items[0], &op->distinct, given->heads, given->tables, given->dim};
    *placed = &op->base;
    return LOCUS_OK;
}
