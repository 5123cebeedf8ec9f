/* SPDX-License-Identifier: MIT */
/* The public calls of attention: which executor a plan and its options mean, checks, and calls with half types around
 * them (attention_half.h). */
#include <locus/attention.h>

#include "attention/attention_check.h"
#include "attention/attention_executor.h"
#include "attention/attention_half.h"
#include "core/concurrency.h"
#include "core/error.h"
#include "kernels/half_rows.h"

#include <locus/memory.h>

locus_attention_options locus_attention_default(void) {
    locus_attention_options options = {.mask = LOCUS_MASK_FULL, .dropout_on = LOCUS_DROPOUT_WEIGHTS};
    return options;
}

/* NULL: options->kind is no locus_attention_kind. */
static const attention_executor *executor_of(const locus_plan *plan, const locus_attention_options *options) {
    switch (options->kind) {
    case LOCUS_ATTENTION_SOFTMAX:
        return locus_plan_contextual_table(plan) ? &locus_attention_contextual : &locus_attention_softmax;
    case LOCUS_ATTENTION_LINEAR:
        return &locus_attention_linear;
    case LOCUS_ATTENTION_SOFT:
        return &locus_attention_soft;
    case LOCUS_ATTENTION_CLUSTERED:
        return &locus_attention_clustered;
    }
    return NULL;
}

static size_t workspace_bytes(const attention_executor *executor, const locus_plan *plan,
                              const locus_attention_options *options, locus_dtype dtype, locus_pass pass) {
    return locus_dtype_is_half(dtype) ? locus_attention_half_workspace(executor, plan, options, dtype, pass)
                                      : executor->workspace(plan, options, dtype, pass);
}

size_t locus_attention_workspace(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype,
                                 locus_pass pass) {
    if (!plan || !options || locus_dtype_size(dtype) == 0 || locus_plan_shape(plan)->heads == 0 ||
        locus_plan_shape(plan)->head_dim == 0)
        return 0;
    const attention_executor *executor = executor_of(plan, options);
    return executor ? workspace_bytes(executor, plan, options, dtype, pass) : 0;
}

/* Everything but tensors. */
static locus_status choose(const locus_plan *plan, const locus_attention_options *options,
                           const attention_executor **executor, locus_error *error) {
    locus_status status = locus_attention_check_options(plan, options, error);
    if (status != LOCUS_OK)
        return status;
    *executor = executor_of(plan, options);
    return (*executor)->check ? (*executor)->check(plan, options, error) : LOCUS_OK;
}

typedef struct attention_call {
    const attention_executor *executor;
    const locus_plan *plan;
    const locus_attention_options *options;
    locus_dtype dtype;
    locus_pass pass;
} attention_call;

static size_t bytes_needed(const void *context) {
    const attention_call *call = context;
    return workspace_bytes(call->executor, call->plan, call->options, call->dtype, call->pass);
}

/* Holds the call to the workers that the workspace has room for; `before` is given back after it. */
static locus_status take_workspace(const attention_call *call, locus_workspace workspace, size_t *before,
                                   locus_error *error) {
    const size_t given = workspace.data ? workspace.bytes : 0;
    if ((uintptr_t)workspace.data % LOCUS_ALIGNMENT != 0)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "workspace",
                          "the workspace is not aligned to %d bytes; get it from locus_allocate", LOCUS_ALIGNMENT);
    const size_t missing = locus_concurrency_fit(given, bytes_needed, call, before);
    if (missing > 0)
        return locus_fail(error, LOCUS_ERROR_MEMORY, "workspace",
                          "the workspace has %zu bytes, but at least %zu are needed, for one thread; ask "
                          "locus_attention_workspace",
                          given, missing);
    return LOCUS_OK;
}

locus_status locus_attention_forward(const locus_plan *plan, const locus_attention_options *options,
                                     const locus_attention_tensors *tensors, locus_workspace workspace,
                                     locus_error *error) {
    attention_call call = {.plan = plan, .options = options, .pass = LOCUS_PASS_FORWARD};
    size_t before = 0;
    locus_status status = choose(plan, options, &call.executor, error);
    if (status == LOCUS_OK)
        status = locus_attention_check_tensors(plan, tensors, LOCUS_PASS_FORWARD, error);
    if (status != LOCUS_OK)
        return status;
    call.dtype = tensors->query->dtype;
    status = take_workspace(&call, workspace, &before, error);
    if (status != LOCUS_OK)
        return status;
    if (locus_dtype_is_half(call.dtype))
        locus_attention_half_forward(call.executor, plan, options, tensors, workspace);
    else
        call.executor->forward(plan, options, tensors, workspace);
    locus_concurrency_hold(before);
    return LOCUS_OK;
}

locus_status locus_attention_backward(const locus_plan *plan, const locus_attention_options *options,
                                      const locus_attention_tensors *tensors,
                                      const locus_attention_gradients *gradients, locus_workspace workspace,
                                      locus_error *error) {
    attention_call call = {.plan = plan, .options = options, .pass = LOCUS_PASS_BACKWARD};
    size_t before = 0;
    locus_status status = choose(plan, options, &call.executor, error);
    if (status == LOCUS_OK)
        status = locus_attention_check_tensors(plan, tensors, LOCUS_PASS_BACKWARD, error);
    if (status == LOCUS_OK)
        status = locus_attention_check_gradients(plan, tensors, gradients, error);
    if (status != LOCUS_OK)
        return status;
    call.dtype = tensors->query->dtype;
    status = take_workspace(&call, workspace, &before, error);
    if (status != LOCUS_OK)
        return status;
    if (locus_dtype_is_half(call.dtype))
        locus_attention_half_backward(call.executor, plan, options, tensors, gradients, workspace);
    else
        call.executor->backward(plan, options, tensors, gradients, workspace);
    locus_concurrency_hold(before);
    return LOCUS_OK;
}
