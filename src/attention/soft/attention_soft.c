/* SPDX-License-Identifier: MIT */
/* Softmax-free attention as an executor. See attention_soft.h. */
#include "attention/soft/attention_soft.h"

#include "attention/kind_class.h"
#include "core/error.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <math.h>
#include <string.h>

enum { LANDMARKS, ITERATIONS, OPTIONS };

static const locus_option_info options_info[OPTIONS] = {
    [LANDMARKS] = {"landmarks", "integer ≥ 1", "64", "means of runs of tokens that the kernel goes through",
                   LOCUS_OPTION_INTEGER, 1, 1e15, false},
    [ITERATIONS] = {"iterations", "integer ≥ 1", "20", "Newton steps to the pseudo-inverse", LOCUS_OPTION_INTEGER, 1,
                    1e6, false}};

/* ---- layout ---- */

static void init(attention_soft_job *job, const locus_plan *plan, const locus_attention_options *options,
                 locus_dtype dtype, locus_pass pass) {
    size_t longest = 0;
    memset(job, 0, sizeof *job);
    locus_attention_turn_init(&job->turn, plan, options, dtype, pass);
    job->scale = locus_attention_asked_scale(plan, options);
    job->scale = job->scale != 0 ? job->scale : 1 / sqrt((double)job->turn.head_dim);
    job->most = locus_attention_kind_count(options->kind, LANDMARKS);
    job->iterations = locus_attention_kind_count(options->kind, ITERATIONS);
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

static const locus_attention_kind_info info = {.name = "soft",
                                               .summary = "a Gaussian kernel by landmarks",
                                               .source = "Lu et al. 2021",
                                               .options = options_info,
                                               .option_count = OPTIONS};

/* ---- the executor ---- */

static locus_status check(const locus_plan *plan, const locus_attention_options *options, locus_error *error) {
    const double scale = locus_attention_asked_scale(plan, options);
    if (scale < 0)
        return locus_fail(
            error, LOCUS_ERROR_ARGUMENT, "scale",
            "scale is %g; the Gaussian kernel of soft attention needs a positive one, or 0 for 1/sqrt(%zu)", scale,
            locus_plan_shape(plan)->head_dim);
    return locus_attention_refuse(&info, plan, options, error);
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

static const attention_executor executor = {
    .check = check, .workspace = workspace, .forward = forward, .backward = backward};

const attention_kind_class locus_attention_soft_class = {.info = &info, .executor = &executor};
