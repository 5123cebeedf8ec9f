/* SPDX-License-Identifier: MIT */
/* The hidden activation of the feed-forward block: h = dropout(max(u + b, 0)), or h = dropout(gelu(u + b)) with
 * gelu(x) = x Φ(x) = x (1 + erf(x / √2)) / 2 (Hendrycks and Gimpel 2016), not its approximation by tanh. */
#ifndef LAB_ACTIVATION_H
#define LAB_ACTIVATION_H

#include "nn/dropout.h"
#include "nn/rows.h"

/* In place on u [tokens, columns]; bias [columns] or NULL. */
void lab_relu_forward(lab_rows rows, size_t columns, const float *bias, const lab_dropout *dropout, float *u);

/* In place on g = dL/dh, which becomes dL/du; adds Σ_r dL/du[r] to bias_sum (NULL: not wanted). h is the forward's
 * result: it is positive exactly where the element passed both the rectifier and the dropout, so nothing is drawn
 * again. */
void lab_relu_backward(lab_rows rows, size_t columns, const float *h, const lab_dropout *dropout, float *g,
                       float *bias_sum);

/* u [tokens, columns] becomes u + bias (bias NULL: stays), which the backward needs; h [tokens, columns] is written. */
void lab_gelu_forward(lab_rows rows, size_t columns, const float *bias, const lab_dropout *dropout, float *u, float *h);

/* In place on g = dL/dh, which becomes dL/du; adds Σ_r dL/du[r] to bias_sum (NULL: not wanted). u is what the forward
 * left. Dropout is drawn again. */
void lab_gelu_backward(lab_rows rows, size_t columns, const float *u, const lab_dropout *dropout, float *g,
                       float *bias_sum);

#endif
