/* SPDX-License-Identifier: MIT */
/* The tokeniser of the compact convolutional Transformer (Hassani et al. 2021): a 3×3 convolution with stride 1,
 * without padding and bias, ReLU, and a 3×3 max-pool with stride 3, in one pass over an image while it is in the cache.
 *
 *   pixels [channels, side, side] → [side − 2, side − 2, filters] → tokens [grid · grid, filters], grid = (side − 2)
 * / 3
 *
 * rounded down: rows and columns that fill no window are not looked at. Tokens go row by row. */
#ifndef LAB_CONVOLUTION_H
#define LAB_CONVOLUTION_H

#include "nn/bf16_product.h"
#include "nn/rows.h"
#include <stdint.h>

enum { LAB_CONVOLUTION_TAPS = 9, LAB_POOL_NOWHERE = 9 };

typedef struct lab_convolution {
    size_t channels, side, filters;
    float *weight, *weight_gradient; /* [filters, channels · 9]: channel, then row by row */
    lab_bf16_matrix forward;         /* its transpose; without values the product is of float32 */
} lab_convolution;

size_t lab_convolution_grid(size_t side);
size_t lab_convolution_weights(const lab_convolution *convolution); /* how many it has */
/* Floats of scratch memory that one caller of forward or backward needs. */
size_t lab_convolution_scratch(const lab_convolution *convolution);

/* The images of the range. tokens [images · grid², filters]; places, of the same shape, keeps which of its window's
 * nine values each token is (LAB_POOL_NOWHERE: none is positive), NULL if no backward follows. */
void lab_convolution_forward(const lab_convolution *convolution, lab_rows images, const float *pixels, float *tokens,
                             uint8_t *places, float *scratch);

/* Adds dL/dweight of the range's images to `sum` [filters, channels · 9]. */
void lab_convolution_backward(const lab_convolution *convolution, lab_rows images, const float *pixels,
                              const uint8_t *places, const float *tokens_gradient, float *sum, float *scratch);

#endif
