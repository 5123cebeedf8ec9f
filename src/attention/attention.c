/* SPDX-License-Identifier: MIT */
/* The public calls of attention: which executor a plan and its options mean, checks, and calls with half types around
 * them (attention_half.h). */
#include <locus/attention.h>

#include "attention/attention_check.h"
#include "attention/attention_executor.h"
#include "attention/attention_half.h"
#include "kernels/half_rows.h"

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

locus_status locus_attention_forward(const locus_plan *plan, const locus_attention_options *options,
                                     const locus_attention_tensors *tensors, locus_workspace workspace,
                                     locus_error *error) {
    const attention_executor *executor = NULL;
    locus_status status = choose(plan, options, &executor, error);
    if (status == LOCUS_OK)
        status = locus_attention_check_tensors(plan, tensors, LOCUS_PASS_FORWARD, error);
    if (status != LOCUS_OK)
        return status;
    const locus_dtype dtype = tensors->query->dtype;
    status = locus_attention_check_workspace(
        workspace, workspace_bytes(executor, plan, options, dtype, LOCUS_PASS_FORWARD), error);
    if (status != LOCUS_OK)
        return status;
    if (locus_dtype_is_half(dtype))
        locus_attention_half_forward(executor, plan, options, tensors, workspace);
    else
        executor->forward(plan, options, tensors, workspace);
    return LOCUS_OK;
}

locus_status locus_attention_backward(const locus_plan *plan, const locus_attention_options *options,
                                      const locus_attention_tensors *tensors,
                                      const locus_attention_gradients *gradients, locus_workspace workspace,
                                      locus_error *error) {
    const attention_executor *executor = NULL;
    locus_status status = choose(plan, options, &executor, error);
    if (status == LOCUS_OK)
        status = locus_attention_check_tensors(plan, tensors, LOCUS_PASS_BACKWARD, error);
    if (status == LOCUS_OK)
        status = locus_attention_check_gradients(plan, tensors, gradients, error);
    if (status != LOCUS_OK)
        return status;
    const locus_dtype dtype = tensors->query->dtype;
    status = locus_attention_check_workspace(
        workspace, workspace_bytes(executor, plan, options, dtype, LOCUS_PASS_BACKWARD), error);
    if (status != LOCUS_OK)
        return status;
    if (locus_dtype_is_half(dtype))
        locus_attention_half_backward(executor, plan, options, tensors, gradients, workspace);
    else
        executor->backward(plan, options, tensors, gradients, workspace);
    return LOCUS_OK;
}
