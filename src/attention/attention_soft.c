/* SPDX-License-Identifier: MIT */
/* Softmax-free attention as an executor, and its Newton iteration in double. See attention_soft.h. */
#include "attention/attention_soft.h"

#include "core/error.h"
#include "kernels/kernels.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <math.h>
#include <string.h>

enum { LANDMARKS = 64, ITERATIONS = 20 };

size_t locus_attention_soft_landmarks(const attention_soft_job *job, const locus_sequence_span *span) {
    const size_t tokens = span->query_count < span->key_count ? span->query_count : span->key_count;
    return job->most < tokens ? job->most : tokens;
}

/* ---- Newton ---- */

typedef struct soft_norms {
    double one, infinite; /* ‖A‖₁, ‖A‖∞ */
    size_t column, row;   /* where they are reached */
} soft_norms;

/* Elements of A are positive. */
static soft_norms norms_of(size_t m, const double *A) {
    soft_norms norms = {0};
    for (size_t i = 0; i < m; i++) {
        double row = 0, column = 0;
        for (size_t j = 0; j < m; j++) {
            row += fabs(A[i * m + j]);
            column += fabs(A[j * m + i]);
        }
        if (row > norms.infinite) {
            norms.infinite = row;
            norms.row = i;
        }
        if (column > norms.one) {
            norms.one = column;
            norms.column = i;
        }
    }
    return norms;
}

/* C = A·B. */
static void product(size_t m, const double *A, const double *B, double *C) {
    locus_kernels_float64_get()->gemm(m, m, m, A, (ptrdiff_t)m, 1, B, (ptrdiff_t)m, C, (ptrdiff_t)m, false);
}

/* C += Aᵀ·B. */
static void product_left(size_t m, const double *A, const double *B, double *C) {
    locus_kernels_float64_get()->gemm(m, m, m, A, 1, (ptrdiff_t)m, B, (ptrdiff_t)m, C, (ptrdiff_t)m, true);
}

static void transpose(size_t m, const double *A, double *B) {
    locus_kernels_float64_get()->transpose(m, m, A, (ptrdiff_t)m, B, (ptrdiff_t)m);
}

/* An inverse that does not exist (a row of zeros only, beyond where exp underflows) is 0. */
static double first_step(size_t m, const double *A, double *X) {
    const soft_norms norms = norms_of(m, A);
    const double alpha = norms.one > 0 ? 1 / (norms.one * norms.infinite) : 0;
    transpose(m, A, X);
    locus_kernels_float64_get()->scale(m * m, alpha, X, X);
    return alpha;
}

/* next = 2X − X·A·X. */
static void newton_step(size_t m, const double *A, const double *X, double *next, double *work) {
    const locus_kernels_float64 *k = locus_kernels_float64_get();
    product(m, A, X, work);
    product(m, X, work, next);
    k->scale(m * m, -1, next, next);
    k->axpy(m * m, 2, X, next);
}

size_t locus_attention_soft_middle_work(size_t m, size_t iterations, bool backward) {
    return m * m * (backward ? iterations + 5 : 2);
}

void locus_attention_soft_inverse(size_t m, size_t iterations, const double *A, double *X, double *work) {
    double *next = work, *between = work + m * m;
    first_step(m, A, X);
    for (size_t i = 0; i < iterations; i++) {
        newton_step(m, A, X, next, between);
        memcpy(X, next, m * m * sizeof *X);
    }
}

/* Forward was Y = 2X − X·A·X. With G = dL/dY: dX = 2G − G·(A·X)ᵀ − (X·A)ᵀ·G, and dA −= Xᵀ·G·Xᵀ. */
static void newton_step_backward(size_t m, const double *A, const double *X, double *G, double *dA, double *work) {
    const locus_kernels_float64 *k = locus_kernels_float64_get();
    double *first = work, *second = work + m * m, *third = work + 2 * m * m;
    transpose(m, X, third);
    memset(first, 0, m * m * sizeof *first);
    product_left(m, X, G, first); /* Xᵀ·G */
    product(m, first, third, second);
    k->axpy(m * m, -1, second, dA);
    memcpy(second, G, m * m * sizeof *second);
    k->scale(m * m, -2, second, second);
    product_left(m, A, first, second); /* (X·A)ᵀ·G = Aᵀ·(Xᵀ·G) */
    product(m, G, third, first);       /* G·Xᵀ·Aᵀ */
    transpose(m, A, third);
    k->gemm(m, m, m, first, (ptrdiff_t)m, 1, third, (ptrdiff_t)m, second, (ptrdiff_t)m, true);
    k->scale(m * m, -1, second, G);
}

/* Forward was X₀ = αAᵀ, α = 1/(‖A‖₁‖A‖∞), whose derivative is that of the column and the row where they are reached. */
static void first_step_backward(size_t m, const double *A, double alpha, const double *G, double *dA) {
    const soft_norms norms = norms_of(m, A);
    double slope = 0;
    if (alpha == 0)
        return;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            dA[i * m + j] += alpha * G[j * m + i];
            slope += G[j * m + i] * A[i * m + j];
        }
    for (size_t i = 0; i < m; i++) {
        dA[i * m + norms.column] -= slope * alpha / norms.one;
        dA[norms.row * m + i] -= slope * alpha / norms.infinite;
    }
}

void locus_attention_soft_inverse_backward(size_t m, size_t iterations, const double *A, double *dX, double *dA,
                                           double *work) {
    double *steps = work, *between = work + (iterations + 1) * m * m;
    const double alpha = first_step(m, A, steps);
    for (size_t i = 0; i < iterations; i++)
        newton_step(m, A, steps + i * m * m, steps + (i + 1) * m * m, between);
    memset(dA, 0, m * m * sizeof *dA);
    for (size_t i = iterations; i-- > 0;)
        newton_step_backward(m, A, steps + i * m * m, dX, dA, between);
    first_step_backward(m, A, alpha, dX, dA);
}

/* ---- layout ---- */

static void init(attention_soft_job *job, const locus_plan *plan, const locus_attention_options *options,
                 locus_dtype dtype, locus_pass pass) {
    size_t longest = 0;
    memset(job, 0, sizeof *job);
    locus_attention_turn_init(&job->turn, plan, options, dtype, pass);
    job->scale = locus_attention_asked_scale(plan, options);
    job->scale = job->scale != 0 ? job->scale : 1 / sqrt((double)job->turn.head_dim);
    job->most = options->landmarks ? options->landmarks : LANDMARKS;
    job->iterations = options->iterations ? options->iterations : ITERATIONS;
    for (size_t s = 0; s < job->turn.sequences; s++) {
        const locus_sequence_span span = locus_plan_span(plan, s);
        const size_t marks = locus_attention_soft_landmarks(job, &span);
        longest = marks > longest ? marks : longest;
    }
    job->most = longest;
}

static void *carve(const attention_soft_job *job, attention_carver *carver, size_t count, size_t columns) {
    return locus_attention_carve(carver, count * job->most * columns, locus_dtype_size(job->turn.dtype));
}

static void place_backward(attention_soft_job *job, attention_carver *carver) {
    const size_t heads = job->turn.heads, units = job->turn.sequences * heads, d = job->turn.head_dim,
                 dv = job->turn.value_dim;
    job->inverses = locus_attention_carve(carver, units * job->most * job->most, sizeof(double));
    job->g_weighted_partials = carve(job, carver, job->queries.count * heads, dv);
    job->g_key_mark_partials = carve(job, carver, job->queries.count * heads, d);
    job->g_query_mark_partials = carve(job, carver, job->keys.count * heads, d);
    job->g_weighted = carve(job, carver, units, dv);
    job->weighted_columns = carve(job, carver, units, dv);
    job->g_summed = carve(job, carver, units, dv);
    job->g_summed_columns = carve(job, carver, units, dv);
    job->g_query_marks = carve(job, carver, units, d);
    job->g_key_marks = carve(job, carver, units, d);
}

/* Lays the job out from `base` (NULL: only counts) and returns the bytes that it takes. */
static size_t place(attention_soft_job *job, void *base) {
    attention_carver carver = {base, 0};
    attention_turn *turn = &job->turn;
    const size_t heads = turn->heads, units = turn->sequences * heads, key_units = turn->sequences * turn->kv_heads;
    locus_attention_turn_place(turn, &carver);
    locus_attention_cut(&job->queries, turn->plan, false, SOFT_PIECE, &carver);
    locus_attention_cut(&job->keys, turn->plan, true, SOFT_PIECE, &carver);
    job->query_marks = carve(job, &carver, units, turn->head_dim);
    job->query_columns = carve(job, &carver, units, turn->head_dim);
    job->query_norms = carve(job, &carver, units, 1);
    job->key_marks = carve(job, &carver, key_units, turn->head_dim);
    job->key_columns = carve(job, &carver, key_units, turn->head_dim);
    job->key_norms = carve(job, &carver, key_units, 1);
    job->key_partials = carve(job, &carver, job->keys.count * heads, turn->value_dim);
    job->summed = carve(job, &carver, units, turn->value_dim);
    job->weighted = carve(job, &carver, units, turn->value_dim);
    if (turn->pass == LOCUS_PASS_BACKWARD)
        place_backward(job, &carver);
    job->worker_bytes = turn->dtype == LOCUS_FLOAT64 ? locus_attention_soft_scratch_float64(job)
                                                     : locus_attention_soft_scratch_float32(job);
    job->workers = locus_attention_carve(&carver, locus_threads(), job->worker_bytes);
    return carver.used;
}

/* ---- the executor ---- */

static locus_status check(const locus_plan *plan, const locus_attention_options *options, locus_error *error) {
    static const attention_abilities soft = {.name = "soft"};
    const double scale = locus_attention_asked_scale(plan, options);
    if (scale < 0)
        return locus_fail(
            error, LOCUS_ERROR_ARGUMENT, "scale",
            "scale is %g; the Gaussian kernel of soft attention needs a positive one, or 0 for 1/sqrt(%zu)", scale,
            locus_plan_shape(plan)->head_dim);
    return locus_attention_refuse(&soft, plan, options, error);
}

static size_t workspace(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype,
                        locus_pass pass) {
    attention_soft_job job;
    init(&job, plan, options, dtype, pass);
    return place(&job, NULL);
}

static void forward(const locus_plan *plan, const locus_attention_options *options,
                    const locus_attention_tensors *tensors, locus_workspace lent) {
    attention_soft_job job;
    init(&job, plan, options, tensors->query->dtype, LOCUS_PASS_FORWARD);
    place(&job, lent.data);
    locus_attention_turn_take(&job.turn, tensors, NULL);
    locus_attention_turn_begin(&job.turn);
    if (job.turn.dtype == LOCUS_FLOAT64)
        locus_attention_soft_forward_float64(&job);
    else
        locus_attention_soft_forward_float32(&job);
    locus_attention_turn_end_forward(&job.turn);
}

static void backward(const locus_plan *plan, const locus_attention_options *options,
                     const locus_attention_tensors *tensors, const locus_attention_gradients *gradients,
                     locus_workspace lent) {
    attention_soft_job job;
    init(&job, plan, options, tensors->query->dtype, LOCUS_PASS_BACKWARD);
    place(&job, lent.data);
    locus_attention_turn_take(&job.turn, tensors, gradients);
    locus_attention_turn_begin(&job.turn);
    if (job.turn.dtype == LOCUS_FLOAT64)
        locus_attention_soft_backward_float64(&job);
    else
        locus_attention_soft_backward_float32(&job);
    locus_attention_turn_end_backward(&job.turn);
}

const attention_executor locus_attention_soft = {
    .check = check, .workspace = workspace, .forward = forward, .backward = backward};
