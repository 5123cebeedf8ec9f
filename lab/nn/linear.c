/* SPDX-License-Identifier: MIT */
/* y = x Wᵀ + b, and its three gradients: gx = gy W, dW = gyᵀ x, db = Σ gy (by lab_column_sum, chunk by chunk). */
#include "nn/linear.h"

static void rows_of_bf16(const lab_bf16_matrix *matrix, lab_rows rows, lab_numbers x, lab_numbers y,
                         const lab_row_finish *finish, bool keep) {
    lab_bf16_multiply(matrix, &(lab_bf16_rows){.rows = rows.count,
                                               .left = lab_numbers_from(x, rows.first * matrix->depth),
                                               .left_stride = matrix->depth,
                                               .result = lab_numbers_from(y, rows.first * matrix->columns),
                                               .result_stride = matrix->columns,
                                               .finish = finish,
                                               .keep = keep});
}

void lab_linear_multiply(const lab_linear *linear, lab_rows rows, lab_numbers x, lab_numbers y) {
    if (linear->forward.values) {
        rows_of_bf16(&linear->forward, rows, x, y, NULL, false);
        return;
    }
    lab_product product = {.rows = rows.count,
                           .columns = linear->outputs,
                           .depth = linear->inputs,
                           .left = (const float *)x.data + rows.first * linear->inputs,
                           .left_stride = linear->inputs,
                           .right = linear->weight,
                           .right_stride = linear->inputs,
                           .right_transposed = true,
                           .result = (float *)y.data + rows.first * linear->outputs,
                           .result_stride = linear->outputs};
    lab_product_run(&product);
}

static void bias_finish(const void *context, size_t row, size_t column, size_t count, float *x) {
    (void)row;
    lab_row_add(count, (const float *)context + column, x);
}

lab_row_finish lab_linear_bias(const lab_linear *linear) {
    return (lab_row_finish){bias_finish, linear->bias, 0};
}

void lab_linear_finish(const lab_linear *linear, lab_rows rows, lab_numbers x, lab_numbers y,
                       const lab_row_finish *finish) {
    rows_of_bf16(&linear->forward, rows, x, y, finish, false);
}

void lab_linear_forward(const lab_linear *linear, lab_rows rows, lab_numbers x, lab_numbers y) {
    const lab_row_finish finish = lab_linear_bias(linear);
    if (y.half && linear->bias) {
        lab_linear_finish(linear, rows, x, y, &finish);
        return;
    }
    lab_linear_multiply(linear, rows, x, y);
    for (size_t r = rows.first; linear->bias && r < rows.first + rows.count; ++r)
        lab_row_add(linear->outputs, linear->bias, (float *)y.data + r * linear->outputs);
}

void lab_linear_backward_finish(const lab_linear *linear, lab_rows rows, lab_numbers gy, lab_numbers gx,
                                const lab_row_finish *finish) {
    rows_of_bf16(&linear->backward, rows, gy, gx, finish, false);
}

/* y = x Wᵀ */
void lab_linear_backward(const lab_linear *linear, lab_rows rows, lab_numbers gy, lab_numbers gx, bool keep) {
    if (linear->backward.values) {
        rows_of_bf16(&linear->backward, rows, gy, gx, NULL, keep);
        return;
    }
    lab_product product = {.rows = rows.count,
                           .columns = linear->inputs,
                           .depth = linear->outputs,
                           .left = (const float *)gy.data + rows.first * linear->outputs,
                           .left_stride = linear->outputs,
                           .right = linear->weight,
                           .right_stride = linear->inputs,
                           .result = (float *)gx.data + rows.first * linear->inputs,
                           .result_stride = linear->inputs,
                           .keep = keep};
    lab_product_run(&product);
}

lab_product lab_linear_weight_product(const lab_linear *linear, size_t tokens, lab_numbers gy, lab_numbers x) {
    return (lab_product){.rows = linear->outputs,
                         .columns = linear->inputs,
                         .depth = tokens,
                         .left = gy.half ? NULL : gy.data,
                         .left_half = gy.half ? gy.data : NULL,
                         .left_stride = linear->outputs,
                         .left_transposed = true,
                         .right = x.half ? NULL : x.data,
                         .right_half = x.half ? x.data : NULL,
                         .right_stride = linear->inputs,
                         .result = linear->weight_gradient,
                         .result_stride = linear->inputs,
                         .bf16 = linear->forward.values != NULL};
}

void lab_weight_gradients(const lab_product *products, size_t count) {
    (count > 0 && products[0].bf16 ? lab_bf16_products_parallel : lab_products_parallel)(products, count);
}
