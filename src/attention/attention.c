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
#include "plan/limits.h"

/* Whose call it is, by its options. */
static void find_executor(attention_call *call) {
    const attention_kind_class *class = locus_attention_kind_class(call->options->kind);
    const bool contextual = class->contextual && locus_plan_contextual_table(call->plan);
    call->kind = class->info;
    call->executor = contextual ? class->contextual : class->executor;
}

/* ---- workspace ---- */

static size_t bytes_needed(const void *context) {
    const attention_call *call = context;
    if (call->weighs && !call->executor->weighs)
        return 0;
    return locus_dtype_is_half(call->dtype) ? locus_attention_half_workspace(call) : call->executor->workspace(call);
}

/* A call of which only plan, options and type are known: false for what would be refused. `own`: room for options. */
static bool foresee(attention_call *call, locus_attention_options *own) {
    if (!call->plan || locus_attention_options_read(own, call->options, NULL) != LOCUS_OK ||
        locus_dtype_size(call->dtype) == 0 || locus_plan_shape(call->plan)->heads == 0 ||
        locus_plan_shape(call->plan)->head_dim == 0)
        return false;
    call->options = own;
    find_executor(call);
    return true;
}

static size_t workspace(attention_call call, const locus_execution *execution) {
    locus_attention_options own;
    return foresee(&call, &own) ? locus_call_needs(execution, bytes_needed, &call) : 0;
}

bool locus_attention_widens(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype,
                            locus_pass pass) {
    attention_call call = {.plan = plan, .options = options, .dtype = dtype, .pass = pass};
    locus_attention_options own;
    return !foresee(&call, &own) || (locus_dtype_is_half(dtype) && locus_attention_half_widens(&call));
}

size_t locus_attention_workspace(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype,
                                 locus_pass pass, const locus_execution *execution) {
    return workspace((attention_call){.plan = plan, .options = options, .dtype = dtype, .pass = pass}, execution);
}

size_t locus_attention_weights_workspace(const locus_plan *plan, const locus_attention_options *options,
                                         locus_dtype dtype, const locus_execution *execution) {
    return workspace((attention_call){.plan = plan, .options = options, .dtype = dtype, .weighs = true}, execution);
}

locus_status locus_attention_workspace_bound(const locus_encoding *encoding, const locus_workspace_limits *limits,
                                             const locus_attention_options *options, locus_pass pass, size_t *bytes,
                                             locus_error *error) {
    locus_attention_options own;
    locus_limit_plan widest;
    if (!bytes)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "bytes", "bytes is NULL: give a place for the result");
    *bytes = 0;
    locus_status status = locus_attention_options_read(&own, options, error);
    if (status != LOCUS_OK)
        return status;
    status = locus_limit_plan_open(&widest, encoding, limits, error);
    if (status == LOCUS_OK &&
        (locus_plan_shape(widest.plan)->heads == 0 || locus_plan_shape(widest.plan)->head_dim == 0))
        status = locus_fail(error, LOCUS_ERROR_SHAPE, "shape",
                            "attention needs heads and head_dim; the shape has %zu "
                            "heads of %zu",
                            locus_plan_shape(widest.plan)->heads, locus_plan_shape(widest.plan)->head_dim);
    if (status == LOCUS_OK)
        *bytes = locus_attention_workspace(widest.plan, &own, widest.given.dtype, pass, &widest.execution);
    if (*bytes >= ATTENTION_CARVED_MOST) {
        *bytes = 0;
        status = locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "limits",
                            "%s attention within these limits takes more memory than there can be: give it smaller "
                            "options, or fewer tokens",
                            locus_attention_kind_entry(own.kind)->name);
    }
    locus_limit_plan_close(&widest);
    return status;
}

/* ---- any call ---- */

/* Everything but tensors. */
static locus_status choose(attention_call *call, locus_error *error) {
    locus_status status = locus_attention_check_options(call->plan, call->options, error);
    if (status != LOCUS_OK)
        return status;
    find_executor(call);
    if (call->options->bias && !call->executor->takes_bias)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "bias",
                          "%s attention has no scores of its own to add a bias to; leave bias NULL, or use softmax "
                          "attention",
                          call->kind->name);
    return call->executor->check ? call->executor->check(call, error) : LOCUS_OK;
}

typedef locus_status attention_check(const attention_call *call, locus_error *error);

static locus_status check_and_run(attention_call *call, attention_check *check, locus_call *running,
                                  locus_error *error) {
    locus_status status = choose(call, error);
    if (status == LOCUS_OK)
        status = check(call, error);
    if (status != LOCUS_OK)
        return status;
    call->dtype = call->tensors->query->dtype;
    status = locus_call_fit(running, bytes_needed, call,
                            call->weighs ? "locus_attention_weights_workspace" : "locus_attention_workspace", error);
    if (status != LOCUS_OK)
        return status;
    call->workspace = running->workspace;
    (locus_dtype_is_half(call->dtype) ? locus_attention_half_run : call->executor->run)(call);
    return LOCUS_OK;
}

/* The call's options are as the caller gave them. */
static locus_status execute(attention_call call, attention_check *check, const locus_execution *execution,
                            locus_error *error) {
    locus_attention_options own;
    locus_call running;
    locus_status status = locus_attention_options_read(&own, call.options, error);
    if (status == LOCUS_OK)
        status = locus_call_begin(&running, execution, error);
    if (status != LOCUS_OK)
        return status;
    call.options = &own;
    return locus_call_end(&running, check_and_run(&call, check, &running, error), error);
}

static locus_status take_tensors(locus_attention_tensors *own, const locus_attention_tensors *given,
                                 locus_error *error) {
    static const locus_sized kind = {sizeof *own, sizeof *own, "tensors"};
    *own = (locus_attention_tensors){.size = sizeof *own};
    if (!given)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "tensors", "tensors is NULL; give query, key, value and output");
    return locus_sized_read(own, &kind, given, error);
}

/* ---- forward ---- */

static locus_status check_forward(const attention_call *call, locus_error *error) {
    const locus_tensor *bias = call->options->bias;
    locus_status status = locus_attention_check_tensors(call->plan, call->tensors, LOCUS_PASS_FORWARD, error);
    if (status == LOCUS_OK)
        status = locus_attention_bias_check_apart(bias, call->tensors->output, "output", error);
    if (status == LOCUS_OK)
        status = locus_attention_bias_check_apart(bias, call->tensors->log_sum_exp, "log_sum_exp", error);
    return status;
}

locus_status locus_attention_forward(const locus_plan *plan, const locus_attention_options *options,
                                     const locus_attention_tensors *tensors, const locus_execution *execution,
                                     locus_error *error) {
    locus_attention_tensors own;
    const locus_status status = take_tensors(&own, tensors, error);
    const attention_call call = {.plan = plan, .options = options, .pass = LOCUS_PASS_FORWARD, .tensors = &own};
    return status == LOCUS_OK ? execute(call, check_forward, execution, error) : status;
}

/* ---- backward ---- */

static locus_status check_backward(const attention_call *call, locus_error *error) {
    const locus_attention_gradients *gradients = call->gradients;
    locus_status status = locus_attention_check_tensors(call->plan, call->tensors, LOCUS_PASS_BACKWARD, error);
    if (status == LOCUS_OK)
        status = locus_attention_check_gradients(call->plan, call->tensors, gradients, error);
    if (status == LOCUS_OK)
        status = locus_attention_bias_check_gradient(call->options->bias, call->tensors, gradients, error);
    if (status == LOCUS_OK && gradients->log_sum_exp && !call->executor->sums_scores)
        status = locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "gradients.log_sum_exp",
                            "only softmax attention sums scores of its queries up, so only it has a gradient of their "
                            "log-sum-exp; leave gradients.log_sum_exp NULL");
    return status;
}

locus_status locus_attention_backward(const locus_plan *plan, const locus_attention_options *options,
                                      const locus_attention_tensors *tensors,
                                      const locus_attention_gradients *gradients, const locus_execution *execution,
                                      locus_error *error) {
    static const locus_sized kind = {sizeof *gradients, sizeof *gradients, "gradients"};
    locus_attention_gradients own = {.size = sizeof own};
    locus_attention_tensors taken;
    if (!gradients)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "gradients",
                          "gradients is NULL; give dL/do, and room for what is wanted");
    locus_status status = locus_sized_read(&own, &kind, gradients, error);
    if (status == LOCUS_OK)
        status = take_tensors(&taken, tensors, error);
    const attention_call call = {
        .plan = plan, .options = options, .pass = LOCUS_PASS_BACKWARD, .tensors = &taken, .gradients = &own};
    return status == LOCUS_OK ? execute(call, check_backward, execution, error) : status;
}

/* ---- weights ---- */

static locus_status check_weights(const attention_call *call, locus_error *error) {
    if (!call->executor->weighs)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "kind",
                          "%s attention makes no weight for each query and key; softmax attention does",
                          call->kind->name);
    const locus_status status = locus_attention_check_weights(call->plan, call->weights, error);
    return status == LOCUS_OK ? locus_attention_choice_check(call->plan, call->options->bias, call->weights, error)
                              : status;
}

locus_status locus_attention_weights(const locus_plan *plan, const locus_attention_options *options,
                                     const locus_attention_weights_call *call, const locus_execution *execution,
                                     locus_error *error) {
    static const locus_sized kind = {sizeof *call, sizeof *call, "call"};
    locus_attention_weights_call own = {.size = sizeof own};
    if (!call)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "call",
                          "call is NULL; give a query, a key, and room for weights");
    const locus_status status = locus_sized_read(&own, &kind, call, error);
    const locus_attention_tensors tensors = {.query = own.query, .key = own.key};
    const attention_call whole = {
        .plan = plan, .options = options, .weighs = true, .tensors = &tensors, .weights = &own};
    return status == LOCUS_OK ? execute(whole, check_weights, execution, error) : status;
}
