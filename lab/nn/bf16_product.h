/* SPDX-License-Identifier: MIT */
/* Matrix products by way of bfloat16: operands are rounded, if they aren't yet (nn/bf16.h), products of pairs are added
 * in float32, results are float32, or rounded once. On a processor without bfloat16 units the rounded operands are
 * multiplied in float32, which is the same up to the order of the sums, and as fast as products in float32 are. */
#ifndef LAB_BF16_PRODUCT_H
#define LAB_BF16_PRODUCT_H

#include "nn/bf16.h"
#include "nn/gemm.h"

/* A right operand that is laid out once and used in many products: weights. */
typedef struct lab_bf16_matrix {
    size_t depth, columns;
    uint16_t *values; /* NULL: there is none, and products are those of float32 */
} lab_bf16_matrix;

size_t lab_bf16_matrix_size(size_t depth, size_t columns); /* elements */
/* Blocks of columns, each of which is laid out by itself: from `source`, op(source) [depth, columns]. */
size_t lab_bf16_matrix_blocks(const lab_bf16_matrix *matrix);
void lab_bf16_matrix_block_fill(const lab_bf16_matrix *matrix, const lab_bf16_source *source, size_t block);

/* What is done with `count` floats of a row of the result, from column `column` of the matrix's on, before they are
 * rounded. The call's first row has number `first`. */
typedef struct lab_row_finish {
    void (*run)(const void *context, size_t row, size_t column, size_t count, float *x);
    const void *context;
    size_t first;
} lab_row_finish;

/* Rows of a product with columns first … first + columns of a matrix (0: all), `first` a multiple of
 * LAB_BF16_COLUMNS: result[rows, columns] = left[rows, depth] · matrix + keep · result. Strides as in lab_product.
 * A result of bfloat16 is never kept, and its rows may be finished before they are rounded. */
typedef struct lab_bf16_rows {
    size_t rows, first, columns;
    lab_numbers left, result;
    const lab_row_finish *finish; /* for a result of bfloat16; NULL: nothing is done */
    size_t left_stride, result_stride;
    bool keep;
} lab_bf16_rows;
/* On the calling thread only, like lab_product_run. */
void lab_bf16_multiply(const lab_bf16_matrix *matrix, const lab_bf16_rows *call);

/* lab_products_parallel for products with bf16. Both operands are laid out first, a slab of the depth at a time, in
 * a parallel loop of its own. */
void lab_bf16_products_parallel(const lab_product *products, size_t count);

#endif
