/* SPDX-License-Identifier: MIT */
/* Softmax cross-entropy, its gradient and the argmax, in one pass over rows of logits. */
#ifndef LAB_LOSS_H
#define LAB_LOSS_H

#include "nn/rows.h"
#include <stdint.h>

typedef struct lab_loss {
    size_t classes;
    const int32_t *targets; /* [tokens] */
    float scale;            /* of the gradient; 0: none is wanted */
    float smoothing; /* ε: the wanted distribution is (1 − ε) onehot(target) + ε / classes (Szegedy et al. 2016) */
    float *logits;   /* [tokens, classes] */
    uint8_t *correct; /* [tokens] */
} lab_loss;

/* For each row of logits in the range, −Σ_j wanted_j ln softmax(logits)_j. Adds their sum to *loss (nats), writes 1
 * into correct[row] where the target's logit is the greatest (the first of equal ones counts), else 0. With a scale
 * other than 0 the logits are overwritten by scale · (softmax − wanted). */
void lab_cross_entropy(const lab_loss *call, lab_rows rows, double *loss);

/* Index of the greatest number; the first of equal ones. */
size_t lab_argmax(size_t count, const float *x);

#endif
