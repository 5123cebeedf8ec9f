/* SPDX-License-Identifier: MIT */
/* Softmax-free attention as an executor. See attention_soft.h. */
#include "attention/soft/attention_soft.h"

#include "attention/kind_class.h"
#include "core/error.h"

#include <math.h>

enum { LANDMARKS, ITERATIONS, OPTIONS };

static const locus_option_info options_info[OPTIONS] = {
    [LANDMARKS] = {"landmarks", "integer ≥ 1", "64", "means of runs of tokens that the kernel goes through",
                   LOCUS_OPTION_INTEGER, 1, 1e15, false},
    [ITERATIONS] = {"iterations", "integer ≥ 1", "20", "Newton steps to the pseudo-inverse", LOCUS_OPTION_INTEGER, 1,
                    1e6, false}};

/* ---- layout ---- */

static void init(attention_turn *turn) {
    attention_soft_job *job = (attention_soft_job *)turn;
    const locus_attention_kind *kind = turn->call->options->kind;
    const double asked = locus_attention_asked_scale(turn->call);
    size_t longest = 0;
    job->scale = asked != 0 ? asked : 1 / sqrt((double)turn->head_dim);
    job->most = locus_attention_kind_count(kind, LANDMARKS);
    job->iterations = locus_attention_kind_count(kind, ITERATIONS);
    for (size_t s = 0; s < turn->sequences; s++) {
        const locus_sequence_span span = locus_plan_span(turn->plan, s);
        const size_t marks = locus_attention_soft_landmarks(job, &span);
        longest = marks > longest ? marks : longest;
    }
    job->most = longest;
}

static void *carve(const attention_soft_job *job, attention_carver *carver, size_t count, size_t columns) {
    return locus_attention_carve(carver, product_of(count * columns, job->most), locus_dtype_size(job->turn.dtype));
}

static void place_backward(attention_soft_job *job, attention_carver *carver) {
    const attention_turn *turn = &job->turn;
    const size_t heads = turn->heads, units = turn->sequences * heads, d = turn->head_dim, dv = turn->value_dim;
    job->inverses = locus_attention_carve(carver, product_of(units, product_of(job->most, job->most)), sizeof(double));
    job->g_weighted_partials = carve(job, carver, turn->queries.count * heads, dv);
    job->g_key_mark_partials = carve(job, carver, turn->queries.count * heads, d);
    job->g_query_mark_partials = carve(job, carver, turn->keys.count * heads, d);
    job->g_weighted = carve(job, carver, units, dv);
    job->weighted_columns = carve(job, carver, units, dv);
    job->g_summed = carve(job, carver, units, dv);
    job->g_summed_columns = carve(job, carver, units, dv);
    job->g_query_marks = carve(job, carver, units, d);
    job->g_key_marks = carve(job, carver, units, d);
}

static void place(attention_turn *turn, attention_carver *carver) {
    attention_soft_job *job = (attention_soft_job *)turn;
    const size_t heads = turn->heads, units = turn->sequences * heads, key_units = turn->sequences * turn->kv_heads;
    job->query_marks = carve(job, carver, units, turn->head_dim);
    job->query_columns = carve(job, carver, units, turn->head_dim);
    job->query_norms = carve(job, carver, units, 1);
    job->key_marks = carve(job, carver, key_units, turn->head_dim);
    job->key_columns = carve(job, carver, key_units, turn->head_dim);
    job->key_norms = carve(job, carver, key_units, 1);
    job->key_partials = carve(job, carver, turn->keys.count * heads, turn->value_dim);
    job->summed = carve(job, carver, units, turn->value_dim);
    job->weighted = carve(job, carver, units, turn->value_dim);
    if (turn->pass == LOCUS_PASS_BACKWARD)
        place_backward(job, carver);
}

/* ---- the kind ---- */

static locus_status check(const attention_call *call, locus_error *error) {
    const double scale = locus_attention_asked_scale(call);
    if (scale < 0)
        return locus_fail(
            error, LOCUS_ERROR_ARGUMENT, "scale",
            "scale is %g; the Gaussian kernel of soft attention needs a positive one, or 0 for 1/sqrt(%zu)", scale,
            locus_plan_shape(call->plan)->head_dim);
    return locus_attention_refuse(call, error);
}

static const attention_loops loops = {.job_bytes = sizeof(attention_soft_job),
                                      .piece = SOFT_PIECE,
                                      .init = init,
                                      .place = place,
                                      .float32 = &locus_attention_soft_float32,
                                      .float64 = &locus_attention_soft_float64};

static const attention_executor executor = {
    .check = check, .workspace = locus_attention_turn_workspace, .run = locus_attention_turn_run, .loops = &loops};

static const locus_attention_kind_info info = {.name = "soft",
                                               .summary = "a Gaussian kernel by landmarks",
                                               .source = "Lu et al. 2021",
                                               .options = options_info,
                                               .option_count = OPTIONS};

const attention_kind_class locus_attention_soft_class = {.info = &info, .executor = &executor};
