/* SPDX-License-Identifier: MIT */
/* One way of making weights of scores: what attention.c hands a checked call to. Tensors are of float32 or float64
 * (half types are widened before; see half_keys), of the plan's shapes; options are checked, but for what an executor
 * itself cannot do. */
#ifndef LOCUS_ATTENTION_EXECUTOR_H
#define LOCUS_ATTENTION_EXECUTOR_H

#include "plan/plan_sites.h"

#include <locus/attention.h>

typedef struct attention_executor attention_executor;

/* A call of locus_attention_forward, _backward or _weights. */
typedef struct attention_call {
    const locus_attention_kind_info *kind;
    const attention_executor *executor;
    const locus_plan *plan;
    const locus_attention_options *options;
    locus_dtype dtype; /* of keys and values; the other tensors are of locus_dtype_working(dtype) */
    locus_pass pass;
    bool weighs; /* a forward whose weights are wanted instead of outputs */
    /* not there where only the workspace is asked for: */
    const locus_attention_tensors *tensors;      /* of weights: query and key */
    const locus_attention_gradients *gradients;  /* of a backward; else NULL */
    const locus_attention_weights_call *weights; /* NULL unless it weighs */
    locus_workspace workspace;
} attention_call;

struct attention_executor {
    /* UNSUPPORTED or ARGUMENT, naming what this kind of attention cannot do with the plan or the options. NULL: all. */
    locus_status (*check)(const attention_call *call, locus_error *error);
    /* Bytes, with locus_threads() as it is now. */
    size_t (*workspace)(const attention_call *call);
    void (*run)(const attention_call *call);
    /* Whether a forward widens keys and values of a half type itself, as it reads them: these come as they are then,
     * the other tensors in float32, and the call's dtype is the half type. NULL: no. */
    bool (*half_keys)(const attention_call *call);
    const struct attention_loops *loops; /* of attention_turn.h, or NULL */
    bool sums_scores;                    /* log_sum_exp is that of scores, and its gradient can be taken */
    bool takes_bias;                     /* options.bias is added to scores */
    bool weighs;                         /* there are weights of pairs */
};

/* Of the kind softmax, where a plan has a contextual term; the other executors are their kinds' (kind_class.h). */
extern const attention_executor locus_attention_contextual;

#endif
