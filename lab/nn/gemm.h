/* SPDX-License-Identifier: MIT */
/* Matrix products, row-major float32, over oneDNN's dnnl_sgemm; those of bfloat16 operands are in bf16_product.h. */
#ifndef LAB_GEMM_H
#define LAB_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* result[rows, columns] = op(left)[rows, depth] · op(right)[depth, columns] + keep · result, keep 0 or 1. A
 * transposed operand is stored the other way round: left as [depth, rows], right as [columns, depth]. Strides are in
 * elements, between rows as stored. With depth 0 the product is 0. */
typedef struct lab_product {
    size_t rows, columns, depth;
    const float *left, *right;
    const uint16_t *left_half, *right_half; /* for lab_weight_gradients: in their place, bfloat16 already; NULL: not */
    float *result;
    size_t left_stride, right_stride, result_stride;
    bool left_transposed, right_transposed, keep;
    bool bf16; /* for lab_weight_gradients (nn/linear.h): operands are rounded to bfloat16 */
} lab_product;

/* Whether a product was not computed for want of memory, in any thread, since this was last asked. Whoever runs a model
 * asks after each batch: the functions below have nobody to tell. */
bool lab_products_lost(void);

/* Whether oneDNN has no memory for the code that it generates, or may not execute it: it would compute products with
 * other code, and other bits. Known since the first product, and true for good. */
bool lab_products_without_code(void);

/* The instruction set that products use, as oneDNN numbers it: processes that have the same one get the same bits. */
int lab_products_level(void);

/* A product was not computed: for the files of lab/nn that compute them. */
void lab_products_lose(void);

/* oneDNN works on the calling thread alone from now on. Before the first product. */
void lab_products_alone(void);

/* On the calling thread only: for use inside pieces of a parallel loop. */
void lab_product_run(const lab_product *product);

/* All the products as one parallel loop over tiles of their results. Tiles depend on shapes only, and no sum is cut:
 * the bits don't depend on the number of threads. */
void lab_products_parallel(const lab_product *products, size_t count);

#endif
