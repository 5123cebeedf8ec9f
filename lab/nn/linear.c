/* SPDX-License-Identifier: MIT */
/* y = x Wᵀ + b, and its three gradients: gx = gy W, dW = gyᵀ x, db = Σ gy (by lab_column_sum, chunk by chunk). */
#include "nn/linear.h"
#include "nn/clones.h"

void lab_linear_multiply(const lab_linear *linear, lab_rows rows, const float *x, float *y) {
    if (linear->forward.values) {
        lab_bf16_multiply(&linear->forward, &(lab_bf16_rows){.rows = rows.count,
                                                             .left = x + rows.first * linear->inputs,
                                                             .left_stride = linear->inputs,
                                                             .result = y + rows.first * linear->outputs,
                                                             .result_stride = linear->outputs});
        return;
    }
    lab_product product = {.rows = rows.count,
                           .columns = linear->outputs,
                           .depth = linear->inputs,
                           .left = x + rows.first * linear->inputs,
                           .left_stride = linear->inputs,
                           .right = linear->weight,
                           .right_stride = linear->inputs,
                           .right_transposed = true,
                           .result = y + rows.first * linear->outputs,
                           .result_stride = linear->outputs};
    lab_product_run(&product);
}

LAB_CLONES static void bias_add(lab_rows rows, size_t columns, const float *bias, float *y) {
    for (size_t r = rows.first; r < rows.first + rows.count; ++r) {
        float *restrict row = y + r * columns;
        const float *restrict b = bias;
        for (size_t j = 0; j < columns; ++j)
            row[j] += b[j];
    }
}

void lab_linear_forward(const lab_linear *linear, lab_rows rows, const float *x, float *y) {
    lab_linear_multiply(linear, rows, x, y);
    if (linear->bias)
        bias_add(rows, linear->outputs, linear->bias, y);
}

/* y = x Wᵀ */
void lab_linear_backward(const lab_linear *linear, lab_rows rows, const float *gy, float *gx, bool keep) {
    if (linear->backward.values) {
        lab_bf16_multiply(&linear->backward, &(lab_bf16_rows){.rows = rows.count,
                                                              .left = gy + rows.first * linear->outputs,
                                                              .left_stride = linear->outputs,
                                                              .result = gx + rows.first * linear->inputs,
                                                              .result_stride = linear->inputs,
                                                              .keep = keep});
        return;
    }
    lab_product product = {.rows = rows.count,
                           .columns = linear->inputs,
                           .depth = linear->outputs,
                           .left = gy + rows.first * linear->outputs,
                           .left_stride = linear->outputs,
                           .right = linear->weight,
                           .right_stride = linear->inputs,
                           .result = gx + rows.first * linear->inputs,
                           .result_stride = linear->inputs,
                           .keep = keep};
    lab_product_run(&product);
}

lab_product lab_linear_weight_product(const lab_linear *linear, size_t tokens, const float *gy, const float *x) {
    return (lab_product){.rows = linear->outputs,
                         .columns = linear->inputs,
                         .depth = tokens,
                         .left = gy,
                         .left_stride = linear->outputs,
                         .left_transposed = true,
                         .right = x,
                         .right_stride = linear->inputs,
                         .result = linear->weight_gradient,
                         .result_stride = linear->inputs,
                         .bf16 = linear->forward.values != NULL};
}

void lab_weight_gradients(const lab_product *products, size_t count) {
    (count > 0 && products[0].bf16 ? lab_bf16_products_parallel : lab_products_parallel)(products, count);
}
