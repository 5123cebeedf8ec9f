/* SPDX-License-Identifier: MIT */
/* Clustered attention as an executor: layout and the order of its loops. See attention_clustered.h. */
#include "attention/clustered/attention_clustered.h"

#include "attention/kind_class.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <math.h>
#include <string.h>

enum { CLUSTERS, ITERATIONS, OPTIONS };

static const locus_option_info options_info[OPTIONS] = {
    [CLUSTERS] = {"clusters", "integer ≥ 1", "100", "of the queries of a sequence and head", LOCUS_OPTION_INTEGER, 1,
                  1e15, false},
    [ITERATIONS] = {"iterations", "integer ≥ 1", "10", "rounds of the clustering", LOCUS_OPTION_INTEGER, 1, 1e15,
                    false}};

static void init(attention_clustered_job *job, const locus_plan *plan, const locus_attention_options *options,
                 locus_dtype dtype, locus_pass pass) {
    size_t longest = 0;
    memset(job, 0, sizeof *job);
    locus_attention_turn_init(&job->turn, plan, options, dtype, pass);
    job->scale = locus_attention_asked_scale(plan, options);
    job->scale = job->scale != 0 ? job->scale : 1 / sqrt((double)job->turn.head_dim);
    job->dropout = options->dropout;
    job->dropout_key = options->dropout_key;
    job->iterations = locus_attention_kind_count(options->kind, ITERATIONS);
    job->most = locus_attention_kind_count(options->kind, CLUSTERS);
    for (size_t s = 0; s < job->turn.sequences; s++) {
        const locus_sequence_span span = locus_plan_span(plan, s);
        const size_t count = locus_attention_clustered_count(job, &span);
        longest = count > longest ? count : longest;
    }
    job->most = longest;
}

static void *carve(const attention_clustered_job *job, attention_carver *carver, size_t count, size_t columns) {
    return locus_attention_carve(carver, count * job->most * columns, locus_dtype_size(job->turn.dtype));
}

static void place_backward(attention_clustered_job *job, attention_carver *carver) {
    const attention_turn *turn = &job->turn;
    const size_t units = turn->sequences * turn->heads;
    job->g_results = carve(job, carver, units, turn->value_dim);
    job->shares = carve(job, carver, units, 1);
    job->g_centroids = carve(job, carver, units, turn->head_dim);
    job->share_sums = locus_attention_carve(carver, units * job->most, sizeof(double));
    job->g_partials = carve(job, carver, job->keys.count * turn->heads, turn->head_dim);
}

/* Lays the job out from `base` (NULL: only counts) and returns the bytes that it takes. */
static size_t place(attention_clustered_job *job, void *base) {
    attention_carver carver = {base, 0};
    attention_turn *turn = &job->turn;
    const size_t units = turn->sequences * turn->heads, d = turn->head_dim, dv = turn->value_dim;
    locus_attention_turn_place(turn, &carver);
    locus_attention_cut(&job->queries, turn->plan, false, CLUSTERED_PIECE, &carver);
    locus_attention_cut(&job->keys, turn->plan, true, CLUSTERED_PIECE, &carver);
    job->cluster = locus_attention_carve(&carver, turn->heads * turn->query_tokens, sizeof *job->cluster);
    job->centroids = carve(job, &carver, units, d);
    job->columns = carve(job, &carver, units, d);
    job->norms = carve(job, &carver, units, 1);
    job->members = locus_attention_carve(&carver, units * job->most, sizeof(double));
    job->partials = carve(job, &carver, job->queries.count * turn->heads, d > dv ? d : dv);
    job->member_partials = locus_attention_carve(&carver, job->queries.count * turn->heads * job->most, sizeof(double));
    job->results = carve(job, &carver, units, dv);
    job->log_sums = carve(job, &carver, units, 1);
    if (turn->pass == LOCUS_PASS_BACKWARD)
        place_backward(job, &carver);
    job->worker_bytes = turn->dtype == LOCUS_FLOAT64 ? locus_attention_clustered_scratch_float64(job)
                                                     : locus_attention_clustered_scratch_float32(job);
    job->workers = locus_attention_carve(&carver, locus_threads(), job->worker_bytes);
    return carver.used;
}

static const locus_attention_kind_info info = {.name = "clustered",
                                               .summary = "queries of a cluster share the weights of their mean",
                                               .abilities = LOCUS_ATTENTION_DROPS_WEIGHTS,
                                               .source = "Vyas, Katharopoulos and Fleuret 2020",
                                               .options = options_info,
                                               .option_count = OPTIONS};

/* ---- the executor ---- */

static locus_status check(const locus_plan *plan, const locus_attention_options *options, locus_error *error) {
    return locus_attention_refuse(&info, plan, options, error);
}

static size_t workspace(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype,
                        locus_pass pass) {
    attention_clustered_job job;
    init(&job, plan, options, dtype, pass);
    return place(&job, NULL);
}

static void forward(const locus_plan *plan, const locus_attention_options *options,
                    const locus_attention_tensors *tensors, locus_workspace lent) {
    attention_clustered_job job;
    init(&job, plan, options, tensors->query->dtype, LOCUS_PASS_FORWARD);
    place(&job, lent.data);
    locus_attention_turn_take(&job.turn, tensors, NULL);
    locus_attention_turn_begin(&job.turn);
    if (job.turn.dtype == LOCUS_FLOAT64)
        locus_attention_clustered_forward_float64(&job);
    else
        locus_attention_clustered_forward_float32(&job);
    locus_attention_turn_end_forward(&job.turn);
}

static void backward(const locus_plan *plan, const locus_attention_options *options,
                     const locus_attention_tensors *tensors, const locus_attention_gradients *gradients,
                     locus_workspace lent) {
    attention_clustered_job job;
    init(&job, plan, options, tensors->query->dtype, LOCUS_PASS_BACKWARD);
    place(&job, lent.data);
    locus_attention_turn_take(&job.turn, tensors, gradients);
    locus_attention_turn_begin(&job.turn);
    if (job.turn.dtype == LOCUS_FLOAT64)
        locus_attention_clustered_backward_float64(&job);
    else
        locus_attention_clustered_backward_float32(&job);
    locus_attention_turn_end_backward(&job.turn);
}

static const attention_executor executor = {
    .check = check, .workspace = workspace, .forward = forward, .backward = backward};

const attention_kind_class locus_attention_clustered_class = {.info = &info, .executor = &executor};
