/* SPDX-License-Identifier: MIT */
/* One way of making weights of scores: what attention.c hands a checked call to. Tensors are of float32 or float64
 * (half types are widened before; see half_keys), of the plan's shapes; options are checked, but for what an executor
 * itself cannot do. */
#ifndef LOCUS_ATTENTION_EXECUTOR_H
#define LOCUS_ATTENTION_EXECUTOR_H

#include "plan/plan_sites.h"

#include <locus/attention.h>

typedef struct attention_executor {
    /* UNSUPPORTED or ARGUMENT, naming what this kind of attention cannot do with the plan or the options. NULL: all. */
    locus_status (*check)(const locus_plan *plan, const locus_attention_options *options, locus_error *error);
    /* Bytes, with locus_threads() as it is now. */
    size_t (*workspace)(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype,
                        locus_pass pass);
    /* Whether a forward widens keys and values of a half type itself, as it reads them: these come as they are then,
     * the other tensors in float32, and workspace is asked with the half type. NULL: no. */
    bool (*half_keys)(const locus_plan *plan, const locus_attention_options *options);
    /* Whether log_sum_exp is that of scores, and its gradient can be taken. */
    bool sums_scores;
    /* Whether it adds options.bias to scores. */
    bool takes_bias;
    /* Weights of pairs: bytes, and the call, which has been checked. NULL: there are none. */
    size_t (*weights_workspace)(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype);
    void (*weights)(const locus_plan *plan, const locus_attention_options *options,
                    const locus_attention_weights_call *call, locus_workspace workspace);
    void (*forward)(const locus_plan *plan, const locus_attention_options *options,
                    const locus_attention_tensors *tensors, locus_workspace workspace);
    void (*backward)(const locus_plan *plan, const locus_attention_options *options,
                     const locus_attention_tensors *tensors, const locus_attention_gradients *gradients,
                     locus_workspace workspace);
} attention_executor;

/* Of the kind softmax, where a plan has a contextual term; the other executors are their kinds' (kind_class.h). */
extern const attention_executor locus_attention_contextual;

#endif
