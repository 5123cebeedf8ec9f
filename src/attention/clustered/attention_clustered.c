/* SPDX-License-Identifier: MIT */
/* Clustered attention as an executor: what it keeps of a call. See attention_clustered.h. */
#include "attention/clustered/attention_clustered.h"

#include "attention/kind_class.h"

#include <math.h>

enum { CLUSTERS, ITERATIONS, OPTIONS };

static const locus_option_info options_info[OPTIONS] = {
    [CLUSTERS] = {"clusters", "integer ≥ 1", "100", "of the queries of a sequence and head", LOCUS_OPTION_INTEGER, 1,
                  1e15, false},
    [ITERATIONS] = {"iterations", "integer ≥ 1", "10", "rounds of the clustering", LOCUS_OPTION_INTEGER, 1, 1e15,
                    false}};

static void init(attention_turn *turn) {
    attention_clustered_job *job = (attention_clustered_job *)turn;
    const locus_attention_options *options = turn->call->options;
    const double asked = locus_attention_asked_scale(turn->call);
    size_t longest = 0;
    job->scale = asked != 0 ? asked : 1 / sqrt((double)turn->head_dim);
    job->dropout = options->dropout;
    job->dropout_key = options->dropout_key;
    job->iterations = locus_attention_kind_count(options->kind, ITERATIONS);
    job->most = locus_attention_kind_count(options->kind, CLUSTERS);
    for (size_t s = 0; s < turn->sequences; s++) {
        const locus_sequence_span span = locus_plan_span(turn->plan, s);
        const size_t count = locus_attention_clustered_count(job, &span);
        longest = count > longest ? count : longest;
    }
    job->most = longest;
}

static void *carve(const attention_clustered_job *job, attention_carver *carver, size_t count, size_t columns) {
    return locus_attention_carve(carver, product_of(count * columns, job->most), locus_dtype_size(job->turn.dtype));
}

static void place_backward(attention_clustered_job *job, attention_carver *carver) {
    const attention_turn *turn = &job->turn;
    const size_t units = turn->sequences * turn->heads;
    job->g_results = carve(job, carver, units, turn->value_dim);
    job->shares = carve(job, carver, units, 1);
    job->g_centroids = carve(job, carver, units, turn->head_dim);
    job->share_sums = locus_attention_carve(carver, units * job->most, sizeof(double));
    job->g_partials = carve(job, carver, turn->keys.count * turn->heads, turn->head_dim);
}

static void place(attention_turn *turn, attention_carver *carver) {
    attention_clustered_job *job = (attention_clustered_job *)turn;
    const size_t units = turn->sequences * turn->heads, d = turn->head_dim, dv = turn->value_dim;
    const size_t pieces = turn->queries.count * turn->heads;
    job->cluster = locus_attention_carve(carver, turn->heads * turn->query_tokens, sizeof *job->cluster);
    job->centroids = carve(job, carver, units, d);
    job->columns = carve(job, carver, units, d);
    job->norms = carve(job, carver, units, 1);
    job->members = locus_attention_carve(carver, units * job->most, sizeof(double));
    job->partials = carve(job, carver, pieces, d > dv ? d : dv);
    job->member_partials = locus_attention_carve(carver, pieces * job->most, sizeof(double));
    job->results = carve(job, carver, units, dv);
    job->log_sums = carve(job, carver, units, 1);
    if (turn->pass == LOCUS_PASS_BACKWARD)
        place_backward(job, carver);
}

static const attention_loops loops = {.job_bytes = sizeof(attention_clustered_job),
                                      .piece = CLUSTERED_PIECE,
                                      .init = init,
                                      .place = place,
                                      .float32 = &locus_attention_clustered_float32,
                                      .float64 = &locus_attention_clustered_float64};

static const attention_executor executor = {.check = locus_attention_refuse,
                                            .workspace = locus_attention_turn_workspace,
                                            .run = locus_attention_turn_run,
                                            .loops = &loops};

static const locus_attention_kind_info info = {.name = "clustered",
                                               .summary = "queries of a cluster share the weights of their mean",
                                               .abilities = LOCUS_ATTENTION_DROPS_WEIGHTS,
                                               .source = "Vyas, Katharopoulos and Fleuret 2020",
                                               .options = options_info,
                                               .option_count = OPTIONS};

const attention_kind_class locus_attention_clustered_class = {.info = &info, .executor = &executor};
