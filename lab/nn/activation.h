/* SPDX-License-Identifier: MIT */
/* The hidden activation of the feed-forward block: h = dropout(max(u + b, 0)). */
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

#endif
