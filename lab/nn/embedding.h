/* SPDX-License-Identifier: MIT */
/* The embedding table E [vocabulary, dim]: x_t = scale · E[token_t]. */
#ifndef LAB_EMBEDDING_H
#define LAB_EMBEDDING_H

#include "nn/rows.h"
#include <stdint.h>

void lab_embedding_forward(lab_rows rows, size_t dim, const int32_t *tokens, const float *table, float scale, float *x);

/* gradient[token_t] += scale · gx_t for all tokens in order, one parallel loop over columns: the same bits whatever
 * the threads. */
void lab_embedding_backward(size_t count, size_t dim, const int32_t *tokens, const float *gx, float scale,
                            float *gradient);

#endif
