/* SPDX-License-Identifier: MIT */
/* The order in which an epoch goes through a data set, and the batches of its steps. */
#ifndef LAB_SHUFFLE_H
#define LAB_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

/* order [count] = 0 … count − 1 in an order that is a function of (seed, epoch, count) only. */
void lab_shuffle_epoch(size_t *order, size_t count, uint64_t seed, uint64_t epoch);

/* Shuffled for each epoch anew, whose last batch may be smaller than the others. */
typedef struct lab_epochs {
    size_t samples, most; /* of the set; of a batch */
    uint64_t seed, epoch; /* epoch: that `order` is shuffled for; LAB_NO_EPOCH: none */
    size_t *order;        /* [samples] */
} lab_epochs;
#define LAB_NO_EPOCH UINT64_MAX

/* How many samples the batch of step `step` has; they are order[*first …], and stand there after lab_epochs_step. */
size_t lab_epochs_batch(const lab_epochs *epochs, uint64_t step, size_t *first);
size_t lab_epochs_step(lab_epochs *epochs, uint64_t step, size_t *first);

#endif
