/* SPDX-License-Identifier: MIT */
/* Softmax cross-entropy, its gradient and the argmax, in one pass over rows of logits. */
#ifndef LAB_LOSS_H
#define LAB_LOSS_H

#include "nn/rows.h"
#include <stdint.h>

/* For each row of logits [tokens, classes] in the range, −ln softmax(logits)[target]. Adds their sum to *loss (nats),
 * writes 1 into correct[row] where the target's logit is the greatest (the first of equal ones counts), else 0. With
 * a gradient scale other than 0 the logits are overwritten by scale · (softmax − onehot(target)). */
void lab_cross_entropy(lab_rows rows, size_t classes, const int32_t *targets, float scale, float *logits, double *loss,
                       uint8_t *correct);

/* Index of the greatest number; the first of equal ones. */
size_t lab_argmax(size_t count, const float *x);

#endif
