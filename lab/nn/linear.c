/* SPDX-License-Identifier: MIT */
/* y = x Wᵀ + b, and its three gradients: gx = gy W, dW = gyᵀ x, db = Σ gy (by lab_column_sum, chunk by chunk). */
#include "nn/linear.h"
#include <locus/parallel.h>

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

/* y = x Wᵀ */
lab_product lab_linear_product(const lab_linear *linear, size_t rows, const float *x, float *y) {
    return (lab_product){.rows = rows,
                         .columns = linear->outputs,
                         .depth = linear->inputs,
                         .left = x,
                         .left_stride = linear->inputs,
                         .right = linear->weight,
                         .right_stride = linear->inputs,
                         .right_transposed = true,
                         .result = y,
                         .result_stride = linear->outputs};
}

void lab_linear_multiply(const lab_linear *linear, lab_rows rows, lab_numbers x, lab_numbers y) {
    if (linear->forward.values) {
        rows_of_bf16(&linear->forward, rows, x, y, NULL, false);
        return;
    }
    const lab_product product =
        lab_linear_product(linear, rows.count, (const float *)x.data + rows.first * linear->inputs,
                           (float *)y.data + rows.first * linear->outputs);
    lab_product_run(&product);
}

static void bias_finish(const void *context, size_t row, size_t column, size_t count, float *x) {
    (void)row;
    lab_row_add(count, (const float *)context + column, x);
}

static lab_row_finish bias_of(const lab_linear *linear) {
    return (lab_row_finish){bias_finish, linear->bias, 0};
}

void lab_linear_finish(const lab_linear *linear, lab_rows rows, lab_numbers x, lab_numbers y,
                       const lab_row_finish *finish) {
    rows_of_bf16(&linear->forward, rows, x, y, finish, false);
}

void lab_linear_forward(const lab_linear *linear, lab_rows rows, lab_numbers x, lab_numbers y) {
    const lab_row_finish finish = bias_of(linear);
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

/* ---- few rows ---- */

/* What takes time is to read the weights, once. So the loop is over panels of them, for all rows at once, where many
 * rows are cut into chunks, each of which reads all weights. From SWAP_LEAST to SWAP_MOST rows yᵀ = W xᵀ is what is
 * computed, a panel at a time, and turned: a product packs its right side, which is the weights otherwise. Measured on
 * one core, 512 × 2048 weights, GFLOP/s (peak 230):
 *
 *   rows                   16    32    64   128   256
 *   cut into chunks        68    82    98   102   140
 *   panels                 71   110   153   186   212
 *   panels of yᵀ          105   145   160 */
enum { PANELS = 8, PANEL_ROUND = 128, PANEL_MOST = 512, SWAP_LEAST = 8, SWAP_MOST = 64, SWAP_PANEL = 256 };

typedef struct few_call {
    const lab_linear *linear;
    size_t rows, panel; /* panel: outputs of a piece */
    lab_numbers x, y;
    const float *bias;
    const lab_row_finish *finish;
} few_call;

static void panel_multiply(const few_call *call, size_t first, size_t count) {
    lab_product product = lab_linear_product(call->linear, call->rows, call->x.data, (float *)call->y.data + first);
    product.columns = count;
    product.right += first * call->linear->inputs;
    lab_product_run(&product);
}

/* Of bfloat16 weights: they are laid out in blocks of columns as they are read. */
static void panel_of_bf16(const few_call *call, size_t first, size_t count) {
    lab_bf16_multiply(&call->linear->forward, &(lab_bf16_rows){.rows = call->rows,
                                                               .first = first,
                                                               .columns = count,
                                                               .left = call->x,
                                                               .left_stride = call->linear->inputs,
                                                               .result = lab_numbers_from(call->y, first),
                                                               .finish = call->finish,
                                                               .result_stride = call->linear->outputs});
}

/* target[c, r] = source[r, c], a few columns at a time, so that both sides are read and written in runs. */
static void turn(size_t rows, size_t columns, const float *restrict source, size_t stride, float *restrict target) {
    enum { BLOCK = 16 };
    for (size_t first = 0; first < rows; first += BLOCK) {
        const size_t end = first + BLOCK < rows ? first + BLOCK : rows;
        for (size_t c = 0; c < columns; ++c)
            for (size_t r = first; r < end; ++r)
                target[c * stride + r] = source[r * columns + c];
    }
}

static void panel_swapped(const few_call *call, size_t first, size_t count) {
    float turned[SWAP_PANEL * SWAP_MOST];
    const size_t depth = call->linear->inputs;
    const lab_product product = {.rows = count,
                                 .columns = call->rows,
                                 .depth = depth,
                                 .left = call->linear->weight + first * depth,
                                 .left_stride = depth,
                                 .right = call->x.data,
                                 .right_stride = depth,
                                 .right_transposed = true,
                                 .result = turned,
                                 .result_stride = call->rows};
    lab_product_run(&product);
    turn(count, call->rows, turned, call->linear->outputs, (float *)call->y.data + first);
}

static bool is_swapped(const few_call *call) {
    return !call->linear->forward.values && call->rows >= SWAP_LEAST && call->rows <= SWAP_MOST;
}

static void panel_task(void *context, size_t index, size_t worker) {
    const few_call *call = context;
    const size_t outputs = call->linear->outputs, first = index * call->panel;
    const size_t count = outputs - first < call->panel ? outputs - first : call->panel;
    (void)worker;
    (call->linear->forward.values ? panel_of_bf16
     : is_swapped(call)           ? panel_swapped
                                  : panel_multiply)(call, first, count);
    for (size_t r = 0; call->bias && r < call->rows; ++r)
        lab_row_add(count, call->bias + first, (float *)call->y.data + r * outputs + first);
}

/* Narrow panels are slow: 64 outputs run at half the speed of 128, swapped ones of 128 at three quarters of 256. */
static void few_run(few_call *call) {
    const size_t outputs = call->linear->outputs, share = (outputs + PANELS - 1) / PANELS;
    const size_t rounded = (share + PANEL_ROUND - 1) / PANEL_ROUND * PANEL_ROUND;
    call->panel = is_swapped(call) ? SWAP_PANEL : rounded < PANEL_MOST ? rounded : PANEL_MOST;
    locus_parallel_for((outputs + call->panel - 1) / call->panel, panel_task, call);
}

void lab_linear_multiply_few(const lab_linear *linear, size_t rows, lab_numbers x, lab_numbers y) {
    few_run(&(few_call){.linear = linear, .rows = rows, .x = x, .y = y});
}

void lab_linear_finish_few(const lab_linear *linear, size_t rows, lab_numbers x, lab_numbers y,
                           const lab_row_finish *finish) {
    few_run(&(few_call){.linear = linear, .rows = rows, .x = x, .y = y, .finish = finish});
}

void lab_linear_forward_few(const lab_linear *linear, size_t rows, lab_numbers x, lab_numbers y) {
    const lab_row_finish finish = bias_of(linear);
    if (y.half && linear->bias)
        lab_linear_finish_few(linear, rows, x, y, &finish);
    else
        few_run(&(few_call){.linear = linear, .rows = rows, .x = x, .y = y, .bias = linear->bias});
}
