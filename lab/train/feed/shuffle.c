/* SPDX-License-Identifier: MIT */
/* A Fisher–Yates shuffle from numbers keyed by (seed, epoch). */
#include "train/feed/shuffle.h"

#include <locus/random.h>

#define PURPOSE_SHUFFLE (LOCUS_RANDOM_USER + 0x2000u)

void lab_shuffle_epoch(size_t *order, size_t count, uint64_t seed, uint64_t epoch) {
    const locus_random random = {seed, PURPOSE_SHUFFLE, (uint32_t)epoch};
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        const size_t j = (size_t)locus_random_below(&random, i, i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

static uint64_t steps_of(const lab_epochs *epochs) {
    return (epochs->samples + epochs->most - 1) / epochs->most;
}

size_t lab_epochs_batch(const lab_epochs *epochs, uint64_t step, size_t *first) {
    *first = (size_t)(step % steps_of(epochs)) * epochs->most;
    const size_t left = epochs->samples - *first;
    return left < epochs->most ? left : epochs->most;
}

size_t lab_epochs_step(lab_epochs *epochs, uint64_t step, size_t *first) {
    const uint64_t epoch = step / steps_of(epochs);
    if (epochs->epoch != epoch) {
        lab_shuffle_epoch(epochs->order, epochs->samples, epochs->seed, epoch);
        epochs->epoch = epoch;
    }
    return lab_epochs_batch(epochs, step, first);
}
