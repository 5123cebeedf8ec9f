/* SPDX-License-Identifier: MIT */
/* See attention_half.h.
 *
 *   workspace   | query | key | value | output | d output | d query | d key | d value | the executor's own |
 *               contiguous [tokens, heads, dim] in float32; the gradients in a backward only, key and value unless the
 *               executor takes them as they are */
#include "attention/attention_half.h"

#include "attention/attention_work.h"
#include "kernels/half_rows.h"
#include "spec/class.h"
#include "spec/wide_rows.h"

#include <locus/memory.h>

/* What a buffer is for. */
typedef enum half_buffer {
    HALF_QUERY,
    HALF_KEY,
    HALF_VALUE,
    HALF_OUTPUT,
    HALF_G_OUTPUT,
    HALF_G_QUERY,
    HALF_G_KEY,
    HALF_G_VALUE,
    HALF_BUFFERS
} half_buffer;

typedef struct attention_half {
    const locus_plan *plan;
    const locus_tensor *given[HALF_BUFFERS]; /* the caller's; NULL: there is none */
    size_t tokens[HALF_BUFFERS], heads[HALF_BUFFERS], dim[HALF_BUFFERS];
    bool of_keys[HALF_BUFFERS];
    locus_tensor wide[HALF_BUFFERS];
} attention_half;

/* ---- layout ---- */

static attention_halves halves_of(const attention_call *call) {
    return call->executor->halves ? call->executor->halves(call) : ATTENTION_WIDENED;
}

/* Whether keys and values go to the executor as they are. */
static bool keeps_keys(const attention_call *call) {
    return halves_of(call) == ATTENTION_HALF_KEYS;
}

static size_t buffers_of(const attention_call *call) {
    return call->weighs ? HALF_VALUE : call->pass == LOCUS_PASS_FORWARD ? HALF_G_OUTPUT : HALF_BUFFERS;
}

/* Returns the bytes of a call's buffers; with `data` lays them out there. */
static size_t lay_out(attention_half *half, const attention_call *call, char *data) {
    static const bool of_keys[] = {[HALF_KEY] = true, [HALF_VALUE] = true, [HALF_G_KEY] = true, [HALF_G_VALUE] = true};
    static const bool of_values[] = {
        [HALF_VALUE] = true, [HALF_OUTPUT] = true, [HALF_G_OUTPUT] = true, [HALF_G_VALUE] = true};
    const locus_shape *shape = locus_plan_shape(call->plan);
    const bool kept = keeps_keys(call);
    size_t bytes = 0;
    *half = (attention_half){.plan = call->plan};
    for (size_t i = 0; i < buffers_of(call); i++) {
        const bool keys = half->of_keys[i] = of_keys[i];
        const bool left = kept && (i == HALF_KEY || i == HALF_VALUE);
        half->tokens[i] = left ? 0 : keys ? locus_plan_key_tokens(call->plan) : locus_plan_query_tokens(call->plan);
        half->heads[i] = keys ? locus_plan_kv_heads(call->plan) : shape->heads;
        half->dim[i] = of_values[i] ? locus_shape_value_dim(shape) : shape->head_dim;
        const int64_t extents[] = {(int64_t)half->tokens[i], (int64_t)half->heads[i], (int64_t)half->dim[i]};
        if (data)
            half->wide[i] = locus_tensor_view(data + bytes, LOCUS_FLOAT32, 3, extents);
        bytes += padded(half->tokens[i] * half->heads[i] * half->dim[i] * sizeof(float), LOCUS_ALIGNMENT);
    }
    return bytes;
}

/* What the executor sees. */
static attention_call inner_call(const attention_call *call) {
    attention_call inner = *call;
    inner.dtype = keeps_keys(call) ? call->dtype : locus_dtype_working(call->dtype);
    return inner;
}

/* The call, by kernels for bfloat16 where it can be. */
static attention_call by_pairs(const attention_call *call) {
    attention_call own = *call;
    own.pairs = call->dtype == LOCUS_BFLOAT16 && call->executor->pairs ? call->executor->pairs(call) : NULL;
    return own;
}

bool locus_attention_half_widens(const attention_call *call) {
    const attention_call own = by_pairs(call);
    return halves_of(&own) != ATTENTION_HALF_TENSORS;
}

static size_t workspace_of(const attention_call *call) {
    attention_half half;
    const attention_call inner = inner_call(call);
    if (halves_of(call) == ATTENTION_HALF_TENSORS)
        return call->executor->workspace(call);
    return lay_out(&half, call, NULL) + call->executor->workspace(&inner);
}

/* Within limits there are calls of both ways. */
size_t locus_attention_half_workspace(const attention_call *call) {
    const attention_call own = by_pairs(call);
    const size_t bytes = workspace_of(&own), widened = locus_plan_limits(call->plan) ? workspace_of(call) : 0;
    return bytes > widened ? bytes : widened;
}

/* ---- conversion ---- */

/* All buffers whose tensors there are: those that are read, or, with `narrow`, those that were written. */
static void convert(const attention_half *half, size_t first, size_t end, bool narrow) {
    for (size_t i = first; i < end; i++) {
        const locus_tensor *given = half->given[i];
        if (!given)
            continue;
        const locus_wide_rows rows = {.side = locus_plan_side(half->plan, half->of_keys[i]),
                                      .tensor = locus_attention_view_of(given),
                                      .dtype = given->dtype,
                                      .heads = half->heads[i],
                                      .dim = half->dim[i]};
        locus_wide_rows_copy_all(&rows, half->wide[i].data, narrow);
    }
}

/* ---- calls ---- */

/* The caller's tensors; those of keys and values that are kept are not converted. */
static void take(attention_half *half, const attention_call *call) {
    const locus_attention_tensors *tensors = call->tensors;
    const locus_attention_gradients *gradients = call->gradients;
    const bool kept = keeps_keys(call);
    half->given[HALF_QUERY] = tensors->query;
    half->given[HALF_KEY] = kept ? NULL : tensors->key;
    half->given[HALF_VALUE] = kept ? NULL : tensors->value;
    half->given[HALF_OUTPUT] = tensors->output;
    if (!gradients)
        return;
    half->given[HALF_G_OUTPUT] = gradients->output;
    half->given[HALF_G_QUERY] = gradients->query;
    half->given[HALF_G_KEY] = gradients->key;
    half->given[HALF_G_VALUE] = gradients->value;
}

static const locus_tensor *wide_of(const attention_half *half, half_buffer i) {
    return half->given[i] ? &half->wide[i] : NULL;
}

static void run_widened(const attention_call *call) {
    attention_half half;
    attention_call inner = inner_call(call);
    const bool backward = call->pass == LOCUS_PASS_BACKWARD, kept = keeps_keys(call);
    const size_t bytes = lay_out(&half, call, call->workspace.data), buffers = buffers_of(call);
    take(&half, call);
    const locus_attention_tensors tensors = {.query = wide_of(&half, HALF_QUERY),
                                             .key = kept ? call->tensors->key : wide_of(&half, HALF_KEY),
                                             .value = kept ? call->tensors->value : wide_of(&half, HALF_VALUE),
                                             .output = wide_of(&half, HALF_OUTPUT),
                                             .log_sum_exp = call->tensors->log_sum_exp};
    locus_attention_gradients gradients = backward ? *call->gradients : (locus_attention_gradients){0};
    gradients.output = wide_of(&half, HALF_G_OUTPUT);
    gradients.query = wide_of(&half, HALF_G_QUERY);
    gradients.key = wide_of(&half, HALF_G_KEY);
    gradients.value = wide_of(&half, HALF_G_VALUE);
    inner.tensors = &tensors;
    inner.gradients = backward ? &gradients : NULL;
    inner.workspace = (locus_workspace){(char *)call->workspace.data + bytes, call->workspace.bytes - bytes};
    convert(&half, 0, backward ? HALF_G_QUERY : call->weighs ? HALF_VALUE : HALF_OUTPUT, false);
    call->executor->run(&inner);
    convert(&half, backward ? HALF_G_QUERY : HALF_OUTPUT, buffers, true);
}

void locus_attention_half_run(const attention_call *call) {
    const attention_call own = by_pairs(call);
    if (halves_of(&own) == ATTENTION_HALF_TENSORS)
        own.executor->run(&own);
    else
        run_widened(&own);
}
