/* SPDX-License-Identifier: MIT */
/* The order in which an epoch goes through a data set. */
#ifndef LAB_SHUFFLE_H
#define LAB_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

/* order [count] = 0 … count − 1 in an order that is a function of (seed, epoch, count) only. */
void lab_shuffle_epoch(size_t *order, size_t count, uint64_t seed, uint64_t epoch);

#endif
