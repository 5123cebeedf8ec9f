/* SPDX-License-Identifier: MIT */
/* Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as
 * 1, 2, 3, SC 2011). A number depends on (seed, purpose, step, index) only, never on threads or order.
 *
 *   key     = { seed low, seed high }
 *   counter = { index low, index high, step, purpose }
 */
#ifndef LOCUS_RANDOM_H
#define LOCUS_RANDOM_H

#include <locus/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct locus_random {
    uint64_t seed;
    uint32_t purpose; /* what the numbers are for; callers choose, see LOCUS_RANDOM_USER */
    uint32_t step;
} locus_random;

/* Purposes below this are the library's own (parameter initialisation, attention dropout). */
#define LOCUS_RANDOM_USER 0x10000u

/* Four 32-bit words of block `index`. */
LOCUS_API void locus_random_block(const locus_random *random, uint64_t index, uint32_t words[4]);

/* Number `index` of a stream: uniform in [0, 1) with 53 bits, and standard normal (Box–Muller). */
LOCUS_API double locus_random_uniform(const locus_random *random, uint64_t index);
LOCUS_API double locus_random_normal(const locus_random *random, uint64_t index);

/* Uniform integer in [0, bound), bound > 0, without modulo bias (64-bit multiply-shift with rejection inside the
 * block's own words, so that it still depends on `index` only). */
LOCUS_API uint64_t locus_random_below(const locus_random *random, uint64_t index, uint64_t bound);

/* words[4·i + w] = word w of block first + i, i < blocks, at vector speed. */
LOCUS_API void locus_random_blocks(const locus_random *random, uint64_t first, size_t blocks, uint32_t *words);

#ifdef __cplusplus
}
#endif
#endif
