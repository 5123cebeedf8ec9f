/* SPDX-License-Identifier: MIT */
/* The linear layer y = x Wᵀ + b, W as [outputs, inputs]; its products are of float32, or of bfloat16 operands. */
#ifndef LAB_LINEAR_H
#define LAB_LINEAR_H

#include "nn/bf16_product.h"
#include "nn/rows.h"

typedef struct lab_linear {
    size_t inputs, outputs;
    float *weight, *bias; /* [outputs, inputs], [outputs]; bias NULL: none, or added by the next layer */
    float *weight_gradient, *bias_gradient;
    /* What the products of y and of gx read: without values they are of float32. Filled anew when weights change. */
    lab_bf16_matrix forward, backward; /* Wᵀ, W */
} lab_linear;

/* y[first …] = x[first …] Wᵀ + b; x and y are whole activations, contiguous; here and below of float32, or, in a layer
 * with products of bfloat16, of either. */
void lab_linear_forward(const lab_linear *linear, lab_rows rows, lab_numbers x, lab_numbers y);
/* The same without the bias: for layers whose successor adds it in its own pass. */
void lab_linear_multiply(const lab_linear *linear, lab_rows rows, lab_numbers x, lab_numbers y);
/* Into a y of bfloat16, whose rows are finished first: with the bias, or by what the next layer does. */
void lab_linear_finish(const lab_linear *linear, lab_rows rows, lab_numbers x, lab_numbers y,
                       const lab_row_finish *finish);
/* Likewise for the first `rows` rows, which are few, in a parallel loop of their own over y's columns: not for
 * pieces of a loop. */
void lab_linear_forward_few(const lab_linear *linear, size_t rows, lab_numbers x, lab_numbers y);
void lab_linear_multiply_few(const lab_linear *linear, size_t rows, lab_numbers x, lab_numbers y);
void lab_linear_finish_few(const lab_linear *linear, size_t rows, lab_numbers x, lab_numbers y,
                           const lab_row_finish *finish);
/* What lab_linear_multiply computes of float32, for `rows` rows: x [rows, inputs], y [rows, outputs]. */
lab_product lab_linear_product(const lab_linear *linear, size_t rows, const float *x, float *y);
/* gx = gy W, or, of float32, gx += gy W with `keep`. */
void lab_linear_backward(const lab_linear *linear, lab_rows rows, lab_numbers gy, lab_numbers gx, bool keep);
/* Into a gx of bfloat16, whose rows are finished first. */
void lab_linear_backward_finish(const lab_linear *linear, lab_rows rows, lab_numbers gy, lab_numbers gx,
                                const lab_row_finish *finish);
/* dW = gyᵀ x over `tokens` rows, as a product for lab_weight_gradients. */
lab_product lab_linear_weight_product(const lab_linear *linear, size_t tokens, lab_numbers gy, lab_numbers x);
/* Such products of layers that are alike in what they multiply, as lab_products_parallel. */
void lab_weight_gradients(const lab_product *products, size_t count);

#endif
