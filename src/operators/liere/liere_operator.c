/* SPDX-License-Identifier: MIT */
/* LieRE on whole tensors: see liere.h. Loops run over (position, table); with gradients over (piece of positions,
 * table), each piece with a slot of its own for the gradients of all S_a, folded in the order of the pieces. So results
 * do not depend on threads. Workspace:
 *
 *   slots [pieces, tables, axes, dim, dim] doubles | scratch [workers] */
#include "operators/liere/liere.h"
#include "operators/operate.h"
#include "spec/form_writer.h"

#include "core/call.h"
#include "core/error.h"
#include "linalg/orthogonal.h"

#include <assert.h>
#include <locus/parallel.h>
#include <math.h>
#include <string.h>

#define EXPONENT_MAX 1e100 /* far below where a sum of squares overflows */
#define KEPT_SHARE 4       /* of the plan's workspace: what may be kept is below one in so many */
#define SLOTS_SHARE 8      /* likewise slots, unless one piece is already more */
#define GRADIENT_PIECES 16 /* at most */

typedef struct locus_liere_operator {
    locus_whole_operator base;
    const locus_liere *liere;
    const locus_placement *placement;
    locus_distinct_positions distinct;
    size_t pieces; /* of positions, for gradients */
    /* [positions, tables, dim, dim] U and M, [positions, tables, dim / 2] θ; NULL: made in every call */
    double *bases, *exponentials, *angles;
} locus_liere_operator;

/* ---- memory ---- */

static size_t slot_doubles(const locus_liere *liere) {
    return liere->axes * liere->dim * liere->dim;
}

static size_t slots_bytes(const locus_liere_operator *op) {
    return locus_aligned(op->pieces * op->liere->tables * slot_doubles(op->liere) * sizeof(double));
}

static size_t workspace_bytes(const locus_whole_operator *whole, locus_dtype dtype, const locus_role *roles,
                              size_t count, bool backward) {
    const locus_liere_operator *op = (const locus_liere_operator *)whole;
    (void)roles;
    (void)count;
    return (backward ? slots_bytes(op) : 0) +
           locus_threads() * locus_liere_scratch_at(op->liere->dim, dtype, NULL).bytes;
}

/* ---- matrices ---- */

/* S(p), below the diagonal at least. */
static void combine(const locus_liere *liere, const int64_t *position, size_t table, double *S) {
    const size_t square = liere->dim * liere->dim;
    const double *skew = liere->skew + table * slot_doubles(liere);
    assert(S != NULL);
    memset(S, 0, square * sizeof *S);
    for (size_t a = 0; a < liere->axes; a++)
        for (size_t i = 0; i < square && position[a] != 0; i++)
            S[i] += (double)position[a] * skew[a * square + i];
}

/* M = (U R)·Uᵀ; work holds two squares. */
static void multiply_out(size_t dim, const double *U, const double *theta, double *M, double *work) {
    const locus_kernels_float64 *kernels = locus_kernels_float64_get();
    const ptrdiff_t ld = (ptrdiff_t)dim;
    double *turned = work, *transposed = work + dim * dim;
    memcpy(turned, U, dim * dim * sizeof *U);
    for (size_t k = 0; k < dim / 2; k++) {
        const double c = cos(theta[k]), s = sin(theta[k]);
        for (size_t i = 0; i < dim; i++) {
            const double *pair = U + i * dim + 2 * k;
            turned[i * dim + 2 * k] = pair[0] * c + pair[1] * s;
            turned[i * dim + 2 * k + 1] = pair[1] * c - pair[0] * s;
        }
    }
    kernels->transpose(dim, dim, U, ld, transposed, ld);
    kernels->gemm(dim, dim, dim, turned, ld, 1, transposed, ld, M, ld, false);
}

static locus_status decompose(const locus_liere *liere, const int64_t *position, size_t table,
                              const locus_liere_scratch *scratch, double *U, double *theta) {
    combine(liere, position, table, scratch->skew);
    return locus_skew_schur(liere->dim, scratch->skew, U, theta, scratch->work);
}

typedef struct locus_liere_matrix {
    const double *U, *theta, *M;
} locus_liere_matrix;

/* Kept, or made in the scratch. A call can't fail: what can't be decomposed becomes NaN. */
static locus_liere_matrix matrix_of(const locus_liere_operator *op, size_t position, size_t table,
                                    const locus_liere_scratch *scratch) {
    const locus_liere *liere = op->liere;
    const size_t dim = liere->dim, index = position * liere->tables + table;
    if (op->exponentials)
        return (locus_liere_matrix){op->bases + index * dim * dim, op->angles + index * (dim / 2),
                                    op->exponentials + index * dim * dim};
    const int64_t *values = op->distinct.values + position * liere->axes;
    const locus_status status = decompose(liere, values, table, scratch, scratch->basis, scratch->angles);
    for (size_t i = 0; status != LOCUS_OK && i < dim * dim; i++)
        scratch->basis[i] = NAN;
    if (status != LOCUS_OK)
        memset(scratch->angles, 0, dim / 2 * sizeof *scratch->angles);
    multiply_out(dim, scratch->basis, scratch->angles, scratch->exponential, scratch->work);
    return (locus_liere_matrix){scratch->basis, scratch->angles, scratch->exponential};
}

/* ---- one call ---- */

typedef struct locus_liere_job {
    const locus_liere_operator *op;
    const locus_whole_call *call;
    double *slots; /* NULL: no gradients of parameters */
    char *scratch;
    size_t scratch_bytes;
} locus_liere_job;

static bool is_query(locus_role role) {
    return role == LOCUS_ROLE_QUERY || role == LOCUS_ROLE_OUTPUT;
}

static bool acts_on(const locus_liere *liere, locus_role role) {
    return role == LOCUS_ROLE_VALUE || role == LOCUS_ROLE_OUTPUT ||
           (liere->sides & (role == LOCUS_ROLE_QUERY ? 1u : 2u)) != 0;
}

static locus_liere_rows rows_of(const locus_liere_operator *op, const locus_whole_stream *stream, size_t position,
                                size_t table) {
    const locus_liere *liere = op->liere;
    const locus_liere_ground ground = {op->placement, &op->distinct, liere->heads, liere->tables, liere->dim};
    locus_liere_rows rows = locus_liere_rows_at(&ground, stream, position, table);
    if (!acts_on(liere, stream->role))
        rows.count = 0;
    return rows;
}

/* All rows of one position and table; `gradient` [dim, dim] or NULL. The matrix that they met; its M is NULL if there
 * are no rows. */
static locus_liere_matrix run_position(const locus_liere_job *job, size_t position, size_t table,
                                       const locus_liere_scratch *scratch, double *gradient) {
    const bool single = job->call->dtype == LOCUS_FLOAT32;
    locus_liere_matrix matrix = {NULL, NULL, NULL};
    for (size_t s = 0; s < job->call->count; s++) {
        const locus_liere_rows rows = rows_of(job->op, &job->call->streams[s], position, table);
        if (rows.count == 0)
            continue;
        if (!matrix.M) {
            matrix = matrix_of(job->op, position, table, scratch);
            (single ? locus_liere_fill_float32 : locus_liere_fill_float64)(rows.dim, matrix.M, scratch);
        }
        (single ? locus_liere_run_float32 : locus_liere_run_float64)(&rows, scratch, gradient);
    }
    return matrix;
}

static locus_liere_scratch worker_scratch(const locus_liere_job *job, size_t worker) {
    return locus_liere_scratch_at(job->op->liere->dim, job->call->dtype, job->scratch + worker * job->scratch_bytes);
}

static void run_task(void *context, size_t index, size_t worker) {
    const locus_liere_job *job = context;
    const locus_liere_scratch scratch = worker_scratch(job, worker);
    const size_t tables = job->op->liere->tables;
    (void)run_position(job, index / tables, index % tables, &scratch, NULL);
}

/* ---- gradients ---- */

static double *slot_at(const locus_liere_job *job, size_t piece, size_t table) {
    const locus_liere *liere = job->op->liere;
    return job->slots + (piece * liere->tables + table) * slot_doubles(liere);
}

/* dL/dS_a += p_a dL/dS(p) */
static void add_axes(const locus_liere *liere, const int64_t *position, const double *gradient, double *slot) {
    const size_t square = liere->dim * liere->dim;
    for (size_t a = 0; a < liere->axes; a++)
        for (size_t i = 0; i < square && position[a] != 0; i++)
            slot[a * square + i] += (double)position[a] * gradient[i];
}

static void learn_task(void *context, size_t index, size_t worker) {
    const locus_liere_job *job = context;
    const locus_liere_operator *op = job->op;
    const locus_liere *liere = op->liere;
    const locus_liere_scratch scratch = worker_scratch(job, worker);
    const size_t piece = index / liere->tables, table = index % liere->tables, dim = liere->dim;
    const size_t first = op->distinct.count * piece / op->pieces, end = op->distinct.count * (piece + 1) / op->pieces;
    double *slot = slot_at(job, piece, table);
    memset(slot, 0, slot_doubles(liere) * sizeof *slot);
    assert(scratch.gradient != NULL);
    for (size_t position = first; position < end && !locus_call_cancelled(); position++) {
        memset(scratch.gradient, 0, dim * dim * sizeof(double));
        const locus_liere_matrix matrix = run_position(job, position, table, &scratch, scratch.gradient);
        if (!matrix.M)
            continue;
        locus_skew_exp_backward(dim, matrix.U, matrix.theta, scratch.gradient, scratch.gradient, scratch.work);
        add_axes(liere, op->distinct.values + position * liere->axes, scratch.gradient, slot);
    }
}

/* Slots 1, 2, … onto slot 0, then dA = G − Gᵀ, for one axis of one table. */
static void reduce_task(void *context, size_t index, size_t worker) {
    const locus_liere_job *job = context;
    const locus_liere *liere = job->op->liere;
    const size_t table = index / liere->axes, axis = index % liere->axes, dim = liere->dim, at = axis * dim * dim;
    double *sum = slot_at(job, 0, table) + at;
    (void)worker;
    for (size_t piece = 1; piece < job->op->pieces; piece++) {
        const double *slot = slot_at(job, piece, table) + at;
        for (size_t i = 0; i < dim * dim; i++)
            sum[i] += slot[i];
    }
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            locus_tensor_add(&job->call->parameters[0], (index * dim + i) * dim + j,
                             sum[i * dim + j] - sum[j * dim + i]);
}

/* ---- streams that are only copied ---- */

static void copy_others(const locus_liere_job *job) {
    const locus_liere *liere = job->op->liere;
    const locus_placement *placement = job->op->placement;
    for (size_t s = 0; s < job->call->count; s++) {
        const locus_whole_stream *stream = &job->call->streams[s];
        const locus_operate copied = {.side = is_query(stream->role) ? &placement->query : &placement->key,
                                      .heads = liere->heads,
                                      .dim = liere->dim,
                                      .dtype = job->call->dtype};
        if (!acts_on(liere, stream->role))
            locus_operate_copy(&copied, stream);
    }
}

/* ---- the class ---- */

static void run(const locus_whole_operator *whole, const locus_whole_call *call, bool learns) {
    const locus_liere_operator *op = (const locus_liere_operator *)whole;
    const locus_liere *liere = op->liere;
    locus_liere_job job = {.op = op, .call = call, .scratch = call->workspace};
    job.scratch_bytes = locus_liere_scratch_at(liere->dim, call->dtype, NULL).bytes;
    if (learns) {
        job.slots = call->workspace;
        job.scratch += slots_bytes(op);
    }
    copy_others(&job);
    if (op->distinct.count == 0)
        return;
    if (!learns) {
        locus_parallel_for(op->distinct.count * liere->tables, run_task, &job);
        return;
    }
    locus_parallel_for(op->pieces * liere->tables, learn_task, &job);
    locus_parallel_for(liere->tables * liere->axes, reduce_task, &job);
}

static void forward(const locus_whole_operator *whole, const locus_whole_call *call) {
    run(whole, call, false);
}

static void backward(const locus_whole_operator *whole, const locus_whole_call *call) {
    run(whole, call, call->parameters != NULL);
}

static bool learns(const locus_whole_operator *whole) {
    (void)whole;
    return true;
}

/* ---- as data ---- */

/* What the plan does not keep is made. */
static const double *all_matrices(const locus_liere_operator *op, locus_form_writer *writer) {
    const size_t dim = op->liere->dim, square = dim * dim, count = op->distinct.count * op->liere->tables;
    if (op->exponentials)
        return op->exponentials;
    double *all = locus_form_take(writer, count * square, sizeof *all);
    char *room = locus_form_take(writer, locus_liere_scratch_at(dim, LOCUS_FLOAT64, NULL).bytes, 1);
    const locus_liere_scratch scratch = locus_liere_scratch_at(dim, LOCUS_FLOAT64, room);
    for (size_t i = 0; all && room && i < count && !locus_call_cancelled(); i++)
        memcpy(all + i * square, matrix_of(op, i / op->liere->tables, i % op->liere->tables, &scratch).M,
               square * sizeof *all);
    return all;
}

static void form(const locus_whole_operator *whole, locus_form_writer *writer) {
    const locus_liere_operator *op = (const locus_liere_operator *)whole;
    const locus_liere *liere = op->liere;
    const int64_t count = (int64_t)op->distinct.count, tables = (int64_t)liere->tables, dim = (int64_t)liere->dim;
    locus_form_begin(writer, LOCUS_FORM_MATRICES, liere->dim, "exponent");
    locus_form_limit(writer, 1u << LOCUS_ROLE_VALUE | 1u << LOCUS_ROLE_OUTPUT |
                                 (acts_on(liere, LOCUS_ROLE_QUERY) ? 1u << LOCUS_ROLE_QUERY : 0) |
                                 (acts_on(liere, LOCUS_ROLE_KEY) ? 1u << LOCUS_ROLE_KEY : 0));
    locus_form_add(writer, "matrices", LOCUS_FORM_FLOAT64, all_matrices(op, writer),
                   LOCUS_FORM_SHAPE(count, tables, dim, dim));
    locus_form_add(writer, "query_matrix", LOCUS_FORM_UINT32, op->distinct.query.numbers,
                   LOCUS_FORM_SHAPE((int64_t)op->placement->query.tokens));
    locus_form_add(writer, "key_matrix", LOCUS_FORM_UINT32, op->distinct.key.numbers,
                   LOCUS_FORM_SHAPE((int64_t)op->placement->key.tokens));
    locus_form_add(writer, "position", LOCUS_FORM_INT64, op->distinct.values,
                   LOCUS_FORM_SHAPE(count, (int64_t)liere->axes));
    locus_form_add(writer, "generator", LOCUS_FORM_FLOAT64, writer->values,
                   LOCUS_FORM_SHAPE(tables, (int64_t)liere->axes, dim, dim));
    locus_form_learned(writer, 0, 0);
}

static size_t piece_count(const locus_liere_operator *op, size_t workspace) {
    const double slot = (double)(op->liere->tables * slot_doubles(op->liere) * sizeof(double));
    size_t pieces = GRADIENT_PIECES;
    while (pieces > 1 && (pieces > op->distinct.count || (double)pieces * slot * SLOTS_SHARE > (double)workspace))
        pieces--;
    return pieces;
}

static void widen(locus_whole_operator *whole, const locus_limits *limits) {
    locus_liere_operator *op = (locus_liere_operator *)whole;
    op->distinct.count = limits->queries + limits->keys;
    op->pieces = piece_count(op, limits->workspace);
}

static const locus_whole_class liere_class = {.workspace_bytes = workspace_bytes,
                                              .forward = forward,
                                              .backward = backward,
                                              .learns = learns,
                                              .form = form,
                                              .widen = widen};

/* ---- placing ---- */

typedef struct locus_liere_keep {
    locus_liere_operator *op;
    char *scratch;
    size_t scratch_bytes;
    locus_status *status; /* [positions, tables] */
} locus_liere_keep;

static void keep_task(void *context, size_t index, size_t worker) {
    const locus_liere_keep *keep = context;
    const locus_liere_operator *op = keep->op;
    const locus_liere *liere = op->liere;
    const size_t dim = liere->dim, position = index / liere->tables, table = index % liere->tables;
    const locus_liere_scratch scratch =
        locus_liere_scratch_at(dim, LOCUS_FLOAT64, keep->scratch + worker * keep->scratch_bytes);
    double *U = op->bases + index * dim * dim, *theta = op->angles + index * (dim / 2);
    const int64_t *values = op->distinct.values + position * liere->axes;
    keep->status[index] = decompose(liere, values, table, &scratch, U, theta);
    if (keep->status[index] == LOCUS_OK)
        multiply_out(dim, U, theta, op->exponentials + index * dim * dim, scratch.work);
}

static locus_status keep_matrices(locus_liere_operator *op, locus_owned *memory, locus_error *error) {
    const locus_liere *liere = op->liere;
    const size_t count = op->distinct.count * liere->tables, square = liere->dim * liere->dim;
    const size_t workers = locus_threads();
    locus_owned passing = {0};
    locus_liere_keep keep = {.op = op, .scratch_bytes = locus_liere_scratch_at(liere->dim, LOCUS_FLOAT64, NULL).bytes};
    op->bases = locus_owned_get(memory, count * square, sizeof(double));
    op->exponentials = locus_owned_get(memory, count * square, sizeof(double));
    op->angles = locus_owned_get(memory, count * (liere->dim / 2), sizeof(double));
    keep.scratch = locus_owned_get(&passing, workers, keep.scratch_bytes);
    keep.status = locus_owned_get(&passing, count, sizeof *keep.status);
    locus_status status = LOCUS_OK;
    if (!op->bases || !op->exponentials || !op->angles || !keep.scratch || !keep.status)
        status = locus_owned_fail(error);
    else
        locus_parallel_for_at_most(workers, count, keep_task, &keep);
    if (status == LOCUS_OK)
        status = locus_call_check(error); /* what was left out has no status */
    for (size_t i = 0; i < count && status == LOCUS_OK; i++)
        if (keep.status[i] != LOCUS_OK)
            status = locus_fail(error, keep.status[i], "generators",
                                "the exponential of 'liere' of head %zu cannot be computed at some position: are the "
                                "generators finite and not huge?",
                                i % liere->tables);
    locus_owned_release(&passing);
    return status;
}

static bool may_keep(const locus_liere_operator *op, size_t workspace) {
    const double square = (double)(op->liere->dim * op->liere->dim);
    const double count = (double)op->distinct.count * (double)op->liere->tables;
    return 2 * count * square * sizeof(double) * KEPT_SHARE <= (double)workspace;
}

/* Exponents that cannot be formed are refused here, since a call cannot fail. */
static locus_status check_exponents(const locus_liere *liere, const locus_places *places, locus_error *error) {
    const size_t square = liere->dim * liere->dim;
    for (size_t table = 0; table < liere->tables; table++) {
        double bound = 0;
        for (size_t a = 0; a < liere->axes; a++) {
            const double *skew = liere->skew + table * slot_doubles(liere) + a * square;
            double largest = 0;
            for (size_t i = 0; i < square; i++)
                largest = fmax(largest, fabs(skew[i]));
            bound += places->items[a].reach * largest;
        }
        if (!(bound < EXPONENT_MAX))
            return locus_fail(error, LOCUS_ERROR_NUMERIC, "generators",
                              "the exponent of 'liere' of head %zu reaches %g: use smaller generators or positions",
                              table, bound);
    }
    return LOCUS_OK;
}

locus_status locus_liere_place(const locus_liere *liere, const locus_places *places, locus_owned *memory,
                               const locus_whole_operator **placed, locus_error *error) {
    locus_liere_operator *op = locus_owned_get(memory, 1, sizeof *op);
    if (!op)
        return locus_owned_fail(error);
    op->base.class = &liere_class;
    op->liere = liere;
    op->placement = &places->items[0];
    locus_status status = check_exponents(liere, places, error);
    if (status == LOCUS_OK)
        status = locus_distinct_positions_find(places, &op->distinct, memory, error);
    if (status != LOCUS_OK)
        return status;
    op->pieces = piece_count(op, places->workspace);
    *placed = &op->base;
    return may_keep(op, places->workspace) ? keep_matrices(op, memory, error) : LOCUS_OK;
}
