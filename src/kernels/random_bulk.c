/* SPDX-License-Identifier: MIT */
/* The public bulk call of the random numbers, at the speed of the level in use. */
#include "kernels/kernels.h"

void locus_random_blocks(const locus_random *random, uint64_t first, size_t blocks, uint32_t *words) {
    locus_kernels_float32_get()->random_words(blocks, random, first, words);
}
