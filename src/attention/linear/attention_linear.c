/* SPDX-License-Identifier: MIT */
/* Linear attention as an executor: what it keeps of a call. See attention_linear.h. */
#include "attention/linear/attention_linear.h"

#include "attention/kind_class.h"
#include "core/error.h"

/* ---- layout ---- */

static void init(attention_turn *turn) {
    attention_linear_job *job = (attention_linear_job *)turn;
    const double asked = locus_attention_asked_scale(turn->call);
    job->mask = turn->call->options->mask;
    job->prefix = turn->call->options->prefix;
    job->scale = asked != 0 ? asked : 1;
    job->state_size = turn->head_dim * (turn->value_dim + 1);
}

static void place_backward(attention_linear_job *job, attention_carver *carver) {
    attention_turn *turn = &job->turn;
    const size_t size = locus_dtype_size(turn->dtype), rows = turn->heads * turn->query_tokens;
    const size_t slots = (turn->queries.count + turn->sequences) * turn->kv_heads;
    job->query_states = locus_attention_carve(carver, slots * job->state_size, size);
    job->inverse = locus_attention_carve(carver, rows, size);
    job->share = locus_attention_carve(carver, rows, size);
    const locus_tensor scaled =
        turn->acts_value ? turn->own_g_output
                         : locus_attention_turn_buffer(turn, carver, turn->query_tokens, turn->heads, turn->value_dim);
    job->scaled = locus_attention_view_of(&scaled);
    if (turn->acts_query_key) { /* k' of a piece has served when its r is there */
        const locus_tensor rest =
            locus_attention_turn_buffer(turn, carver, turn->query_tokens, turn->heads, turn->head_dim);
        job->rest_query = locus_attention_view_of(&rest);
        job->rest_key = locus_attention_view_of(&turn->own_key);
    }
}

static void place(attention_turn *turn, attention_carver *carver) {
    attention_linear_job *job = (attention_linear_job *)turn;
    const size_t slots = (turn->keys.count + turn->sequences) * turn->kv_heads;
    job->feature_query = locus_attention_turn_buffer(turn, carver, turn->query_tokens, turn->heads, turn->head_dim);
    job->feature_key = locus_attention_turn_buffer(turn, carver, turn->key_tokens, turn->kv_heads, turn->head_dim);
    job->query_features = locus_attention_view_of(&job->feature_query);
    job->key_features = locus_attention_view_of(&job->feature_key);
    job->key_states = locus_attention_carve(carver, slots * job->state_size, locus_dtype_size(turn->dtype));
    if (turn->pass == LOCUS_PASS_BACKWARD)
        place_backward(job, carver);
}

/* ---- the kind ---- */

static locus_status check(const attention_call *call, locus_error *error) {
    const locus_plan *plan = call->plan;
    const locus_status status = locus_attention_refuse(call, error);
    if (status != LOCUS_OK)
        return status;
    if (call->options->turned && (locus_plan_query_key_operator(plan) || locus_plan_query_key_whole(plan)))
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "turned",
                          "linear attention turns queries and keys after its feature map; hand them in as they are, "
                          "with turned = false");
    return LOCUS_OK;
}

static const attention_loops loops = {.job_bytes = sizeof(attention_linear_job),
                                      .piece = LINEAR_PIECE,
                                      .init = init,
                                      .place = place,
                                      .float32 = &locus_attention_linear_float32,
                                      .float64 = &locus_attention_linear_float64};

static const attention_executor executor = {
    .check = check, .workspace = locus_attention_turn_workspace, .run = locus_attention_turn_run, .loops = &loops};

static const locus_attention_kind_info info = {
    .name = "linear",
    .summary = "a feature map instead of the exponential, in linear time, operators behind it",
    .abilities = LOCUS_ATTENTION_MASKS,
    .source = "Katharopoulos et al. 2020; Su et al. 2021"};

const attention_kind_class locus_attention_linear_class = {.info = &info, .executor = &executor};
