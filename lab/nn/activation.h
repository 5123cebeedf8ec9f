/* SPDX-License-Identifier: MIT */
/* The hidden activation of the feed-forward block: h = dropout(max(u + b, 0)), or h = dropout(gelu(u + b)) with
 * gelu(x) = x Φ(x) = x (1 + erf(x / √2)) / 2 (Hendrycks and Gimpel 2016), not its approximation by tanh. */
#ifndef LAB_ACTIVATION_H
#define LAB_ACTIVATION_H

#include "nn/dropout.h"
#include "nn/rows.h"

/* The rectifier of a block. h is the forward's result: it is positive exactly where the element passed both the
 * rectifier and the dropout, so nothing is drawn again. */
typedef struct lab_relu {
    size_t columns;
    const lab_dropout *dropout;
    const float *bias; /* forward: [columns] */
    lab_numbers h;     /* backward: [tokens, columns] */
    float *bias_sum;   /* backward: [columns] */
} lab_relu;

/* In place on `count` numbers of row `row` of u [tokens, columns], from column `first` on, a multiple of 8. `relu` is a
 * lab_relu: both finish rows of products (lab_row_finish). */
void lab_relu_row_forward(const void *relu, size_t row, size_t first, size_t count, float *u);
/* In place on numbers of g = dL/dh, which become dL/du; adds these to bias_sum. */
void lab_relu_row_backward(const void *relu, size_t row, size_t first, size_t count, float *g);

/* The same of whole rows of u and g [tokens, columns]. */
void lab_relu_forward(const lab_relu *relu, lab_rows rows, float *u);
void lab_relu_backward(const lab_relu *relu, lab_rows rows, float *g);

/* u [tokens, columns] becomes u + bias, which the backward needs; h [tokens, columns] is written. */
void lab_gelu_forward(lab_rows rows, size_t columns, const float *bias, const lab_dropout *dropout, float *u, float *h);

/* In place on g = dL/dh, which becomes dL/du; adds Σ_r dL/du[r] to bias_sum. u is what the forward left. Dropout is
 * drawn again. */
void lab_gelu_backward(lab_rows rows, size_t columns, const float *u, const lab_dropout *dropout, float *g,
                       float *bias_sum);

#endif
