/* SPDX-License-Identifier: MIT */
/* Where a branch joins the residual stream, and the LayerNorm that follows, in one pass over the tokens:
 *
 *   sum = residual + dropout(branch + bias)
 *   y   = (sum − mean) / sqrt(variance + epsilon) · gain + shift        (Ba, Kiros and Hinton 2016; biased variance)
 *
 * With the norm before a block (Xiong et al. 2020) the stream goes on as `sum`, with the norm after it as `y`.
 *
 * Stochastic depth (Huang et al. 2016) leaves branches out (then sum = residual), and may multiply those that stay. */
#ifndef LAB_JOIN_H
#define LAB_JOIN_H

#include "nn/dropout.h"
#include "nn/rows.h"
#include <stdbool.h>

#define LAB_NORM_EPSILON 1e-5 /* unless a norm has its own */

typedef struct lab_norm {
    float *gain, *shift; /* [dim]; NULL: no norm, y = sum */
    float *gain_gradient, *shift_gradient;
    double epsilon; /* 0: LAB_NORM_EPSILON */
} lab_norm;

/* All [tokens, dim], contiguous, from token 0. */
typedef struct lab_join_forward_call {
    const lab_norm *norm;
    const lab_dropout *dropout;
    const float *bias;     /* [dim], or NULL */
    const float *residual; /* NULL: nothing (the embedding) */
    const float *branch;   /* may be sum; NULL: left out */
    float branch_scale;    /* of dropout(branch + bias); 0: as it is */
    float *sum;            /* kept for the backward; may be residual only if branch is NULL */
    float *y;              /* not touched without a norm */
    float *mean, *inverse; /* [tokens]: mean and 1/sqrt(variance + epsilon); not touched without a norm */
} lab_join_forward_call;
void lab_join_forward(const lab_join_forward_call *call, size_t dim, lab_rows rows);

/* Gradients. `carry` is dL/d(stream after the join) from what follows along the stream and becomes dL/d(residual),
 * which is dL/d(sum). The sums over the range are added to gain_sum, shift_sum and bias_sum, [dim] each. */
typedef struct lab_join_backward_call {
    const lab_norm *norm;
    const lab_dropout *dropout;
    const float *sum, *mean, *inverse;
    const float *gy; /* dL/dy from the branch that reads y; NULL: none does */
    float *carry;
    bool carried;                           /* false: carry holds nothing yet, and counts as 0; not without gy */
    bool stream_is_y;                       /* norm after the block */
    float *branch;                          /* dL/d(branch), written; NULL: it was left out */
    float branch_scale;                     /* as forward */
    float *gain_sum, *shift_sum, *bias_sum; /* bias_sum NULL: not wanted */
} lab_join_backward_call;
void lab_join_backward(const lab_join_backward_call *call, size_t dim, lab_rows rows);

#endif
