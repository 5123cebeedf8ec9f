/* SPDX-License-Identifier: MIT */
/* The public calls of attention: which executor a plan and its options mean, checks, and calls with half types around
 * them (attention_half.h). */
#include <locus/attention.h>

#include "attention/attention_bias.h"
#include "attention/attention_check.h"
#include "attention/attention_executor.h"
#include "attention/attention_half.h"
#include "attention/attention_weights.h"
#include "attention/kind_class.h"
#include "core/call.h"
#include "core/error.h"
#include "core/sized.h"
#include "kernels/half_rows.h"

static const attention_executor *executor_of(const locus_plan *plan, const locus_attention_options *options) {
    const attention_kind_class *class = locus_attention_kind_class(options->kind);
    return class->contextual && locus_plan_contextual_table(plan) ? class->contextual : class->executor;
}

static size_t workspace_bytes(const attention_executor *executor, const locus_plan *plan,
                              const locus_attention_options *options, locus_dtype dtype, locus_pass pass) {
    return locus_dtype_is_half(dtype) ? locus_attention_half_workspace(executor, plan, options, dtype, pass)
                                      : executor->workspace(plan, options, dtype, pass);
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

size_t locus_attention_workspace(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype,
                                 locus_pass pass, const locus_execution *execution) {
    locus_attention_options own;
    if (!plan || locus_attention_options_read(&own, options, NULL) != LOCUS_OK || locus_dtype_size(dtype) == 0 ||
        locus_plan_shape(plan)->heads == 0 || locus_plan_shape(plan)->head_dim == 0)
        return 0;
    const attention_call call = {executor_of(plan, &own), plan, &own, dtype, pass};
    return locus_call_needs(execution, bytes_needed, &call);
}

/* Everything but tensors. */
static locus_status choose(const locus_plan *plan, const locus_attention_options *options,
                           const attention_executor **executor, locus_error *error) {
    locus_status status = locus_attention_check_options(plan, options, error);
    if (status != LOCUS_OK)
        return status;
    *executor = executor_of(plan, options);
    if (options->bias && !(*executor)->takes_bias)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "bias",
                          "%s attention has no scores of its own to add a bias to; leave bias NULL, or use softmax "
                          "attention",
                          locus_attention_kind_entry(options->kind)->name);
    return (*executor)->check ? (*executor)->check(plan, options, error) : LOCUS_OK;
}

static locus_status forward(attention_call *call, const locus_attention_tensors *tensors, locus_call *running,
                            locus_error *error) {
    locus_status status = choose(call->plan, call->options, &call->executor, error);
    if (status == LOCUS_OK)
        status = locus_attention_check_tensors(call->plan, tensors, LOCUS_PASS_FORWARD, error);
    if (status == LOCUS_OK)
        status = locus_attention_bias_check_apart(call->options->bias, tensors->output, "output", error);
    if (status == LOCUS_OK)
        status = locus_attention_bias_check_apart(call->options->bias, tensors->log_sum_exp, "log_sum_exp", error);
    if (status != LOCUS_OK)
        return status;
    call->dtype = tensors->query->dtype;
    status = locus_call_fit(running, bytes_needed, call, "locus_attention_workspace", error);
    if (status != LOCUS_OK)
        return status;
    if (locus_dtype_is_half(call->dtype))
        locus_attention_half_forward(call->executor, call->plan, call->options, tensors, running->workspace);
    else
        call->executor->forward(call->plan, call->options, tensors, running->workspace);
    return LOCUS_OK;
}

locus_status locus_attention_forward(const locus_plan *plan, const locus_attention_options *options,
                                     const locus_attention_tensors *tensors, const locus_execution *execution,
                                     locus_error *error) {
    locus_attention_options own;
    attention_call call = {.plan = plan, .options = &own, .pass = LOCUS_PASS_FORWARD};
    locus_call running;
    locus_status status = locus_attention_options_read(&own, options, error);
    if (status == LOCUS_OK)
        status = locus_call_begin(&running, execution, error);
    if (status != LOCUS_OK)
        return status;
    return locus_call_end(&running, forward(&call, tensors, &running, error), error);
}

static locus_status take_gradients(locus_attention_gradients *own, const locus_attention_gradients *given,
                                   locus_error *error) {
    static const locus_sized kind = {sizeof *own, sizeof *own, "gradients"};
    if (!given)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "gradients",
                          "gradients is NULL; give dL/do, and room for what is wanted");
    return locus_sized_read(own, &kind, given, error);
}

static locus_status backward(attention_call *call, const locus_attention_tensors *tensors,
                             const locus_attention_gradients *gradients, locus_call *running, locus_error *error) {
    locus_attention_gradients own = {.size = sizeof own};
    locus_status status = choose(call->plan, call->options, &call->executor, error);
    if (status == LOCUS_OK)
        status = locus_attention_check_tensors(call->plan, tensors, LOCUS_PASS_BACKWARD, error);
    if (status == LOCUS_OK)
        status = take_gradients(&own, gradients, error);
    if (status == LOCUS_OK)
        status = locus_attention_check_gradients(call->plan, tensors, &own, error);
    if (status == LOCUS_OK)
        status = locus_attention_bias_check_gradient(call->options->bias, tensors, &own, error);
    if (status == LOCUS_OK && own.log_sum_exp && !call->executor->sums_scores)
        status = locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "gradients.log_sum_exp",
                            "only softmax attention sums scores of its queries up, so only it has a gradient of their "
                            "log-sum-exp; leave gradients.log_sum_exp NULL");
    if (status != LOCUS_OK)
        return status;
    call->dtype = tensors->query->dtype;
    status = locus_call_fit(running, bytes_needed, call, "locus_attention_workspace", error);
    if (status != LOCUS_OK)
        return status;
    if (locus_dtype_is_half(call->dtype))
        locus_attention_half_backward(call->executor, call->plan, call->options, tensors, &own, running->workspace);
    else
        call->executor->backward(call->plan, call->options, tensors, &own, running->workspace);
    return LOCUS_OK;
}

locus_status locus_attention_backward(const locus_plan *plan, const locus_attention_options *options,
                                      const locus_attention_tensors *tensors,
                                      const locus_attention_gradients *gradients, const locus_execution *execution,
                                      locus_error *error) {
    locus_attention_options own;
    attention_call call = {.plan = plan, .options = &own, .pass = LOCUS_PASS_BACKWARD};
    locus_call running;
    locus_status status = locus_attention_options_read(&own, options, error);
    if (status == LOCUS_OK)
        status = locus_call_begin(&running, execution, error);
    if (status != LOCUS_OK)
        return status;
    return locus_call_end(&running, backward(&call, tensors, gradients, &running, error), error);
}

/* ---- weights ---- */

static size_t weights_bytes(const void *context) {
    const attention_call *call = context;
    if (!call->executor->weights)
        return 0;
    return locus_dtype_is_half(call->dtype)
               ? locus_attention_half_weights_workspace(call->executor, call->plan, call->options)
               : call->executor->weights_workspace(call->plan, call->options, call->dtype);
}

size_t locus_attention_weights_workspace(const locus_plan *plan, const locus_attention_options *options,
                                         locus_dtype dtype, const locus_execution *execution) {
    locus_attention_options own;
    if (!plan || locus_attention_options_read(&own, options, NULL) != LOCUS_OK || locus_dtype_size(dtype) == 0 ||
        locus_plan_shape(plan)->heads == 0 || locus_plan_shape(plan)->head_dim == 0)
        return 0;
    const attention_call call = {executor_of(plan, &own), plan, &own, dtype, LOCUS_PASS_FORWARD};
    return locus_call_needs(execution, weights_bytes, &call);
}

static locus_status check_weights(attention_call *call, const locus_attention_weights_call *wanted,
                                  locus_error *error) {
    locus_status status = choose(call->plan, call->options, &call->executor, error);
    if (status == LOCUS_OK && !call->executor->weights)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "kind",
                          "%s attention makes no weight for each query and key; softmax attention does",
                          locus_attention_kind_entry(call->options->kind)->name);
    if (status == LOCUS_OK)
        status = locus_attention_check_weights(call->plan, wanted, error);
    return status == LOCUS_OK ? locus_attention_choice_check(call->plan, call->options->bias, wanted, error) : status;
}

static locus_status weights(attention_call *call, const locus_attention_weights_call *wanted, locus_call *running,
                            locus_error *error) {
    locus_status status = check_weights(call, wanted, error);
    if (status != LOCUS_OK)
        return status;
    call->dtype = wanted->query->dtype;
    status = locus_call_fit(running, weights_bytes, call, "locus_attention_weights_workspace", error);
    if (status != LOCUS_OK)
        return status;
    if (locus_dtype_is_half(call->dtype))
        locus_attention_half_weights(call->executor, call->plan, call->options, wanted, running->workspace);
    else
        call->executor->weights(call->plan, call->options, wanted, running->workspace);
    return LOCUS_OK;
}

static locus_status take_weights_call(locus_attention_weights_call *own, const locus_attention_weights_call *given,
                                      locus_error *error) {
    static const locus_sized kind = {sizeof *own, sizeof *own, "call"};
    if (!given)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "call",
                          "call is NULL; give a query, a key, and room for weights");
    return locus_sized_read(own, &kind, given, error);
}

locus_status locus_attention_weights(const locus_plan *plan, const locus_attention_options *options,
                                     const locus_attention_weights_call *call, const locus_execution *execution,
                                     locus_error *error) {
    locus_attention_options own;
    locus_attention_weights_call wanted = {.size = sizeof wanted};
    attention_call whole = {.plan = plan, .options = &own, .pass = LOCUS_PASS_FORWARD};
    locus_call running;
    locus_status status = locus_attention_options_read(&own, options, error);
    if (status == LOCUS_OK)
        status = take_weights_call(&wanted, call, error);
    if (status == LOCUS_OK)
        status = locus_call_begin(&running, execution, error);
    if (status != LOCUS_OK)
        return status;
    return locus_call_end(&running, weights(&whole, &wanted, &running, error), error);
}
