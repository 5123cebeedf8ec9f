/* SPDX-License-Identifier: MIT */
/* Sequence pooling (Hassani et al. 2021; a global soft attention, Li et al. 2016): one vector for each sequence of a
 * packed batch,
 *
 *   a = softmax(x w + b) over the sequence's tokens,   y = Σ_t a_t x_t
 *
 * b shifts all scores of a sequence alike: it changes nothing and its gradient is 0. It is kept because the published
 * model has it. */
#ifndef LAB_POOLING_H
#define LAB_POOLING_H

#include "nn/rows.h"

typedef struct lab_pooling {
    size_t dim;
    float *weight, *bias; /* [dim], [1] */
    float *weight_gradient, *bias_gradient;
} lab_pooling;

/* The sequences of the range; x [tokens, dim], shares (the a) [tokens], y [sequences, dim]. */
void lab_pooling_forward(const lab_pooling *pooling, lab_rows sequences, const size_t *offsets, const float *x,
                         float *shares, float *y);

typedef struct lab_pooling_backward_call {
    const size_t *offsets;
    const float *x, *shares, *y;
    const float *gy; /* [sequences, dim] */
    float *gx;       /* [tokens, dim], written */
    float *sum;      /* [dim]: dL/dweight of the range is added */
} lab_pooling_backward_call;
void lab_pooling_backward(const lab_pooling *pooling, lab_rows sequences, const lab_pooling_backward_call *call);

#endif
