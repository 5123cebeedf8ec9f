/* SPDX-License-Identifier: MIT */
/* One way of making weights of scores: what attention.c hands a checked call to. Tensors are of float32 or float64
 * (half types are widened before; see halves), of the plan's shapes; options are checked, but for what an executor
 * itself cannot do. */
#ifndef LOCUS_ATTENTION_EXECUTOR_H
#define LOCUS_ATTENTION_EXECUTOR_H

#include "plan/plan_sites.h"

#include "kernels/bfloat16.h"

#include <locus/attention.h>

typedef struct attention_executor attention_executor;

/* Which tensors of a half type an executor takes as they are; the others come as float32. */
typedef enum attention_halves { ATTENTION_WIDENED = 0, ATTENTION_HALF_KEYS, ATTENTION_HALF_TENSORS } attention_halves;

/* A call of locus_attention_forward, _backward or _weights. */
typedef struct attention_call {
    const locus_attention_kind_info *kind;
    const attention_executor *executor;
    const locus_plan *plan;
    const locus_attention_options *options;
    locus_dtype dtype; /* of the tensors; a half type where the executor takes some of them as they are */
    const locus_kernels_bfloat16 *pairs; /* products are of bfloat16, by these; or NULL */
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
    /* The kernels for a call of bfloat16 tensors whose products can be of bfloat16, or NULL. NULL itself: never. */
    const locus_kernels_bfloat16 *(*pairs)(const attention_call *call);
    /* Given `pairs`: what of a half type it takes as it is: keys and values, which a forward widens as it reads them,
     * all tensors, or nothing. The call's dtype is the half type then. NULL: nothing. */
    attention_halves (*halves)(const attention_call *call);
    const struct attention_loops *loops; /* of attention_turn.h, or NULL */
    bool sums_scores;                    /* log_sum_exp is that of scores, and its gradient can be taken */
    bool takes_bias;                     /* options.bias is added to scores */
    bool weighs;                         /* there are weights of pairs */
};

/* Of the kind softmax, where a plan has a contextual term; the other executors are their kinds' (kind_class.h). */
extern const attention_executor locus_attention_contextual;

#endif
