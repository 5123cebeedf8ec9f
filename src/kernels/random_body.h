/* SPDX-License-Identifier: MIT */
/* Philox4x32-10 over consecutive blocks, one block in each lane (Salmon, Moraes, Dror, Shaw: Parallel random numbers:
 * as easy as 1, 2, 3, SC 2011, section 3.3), and the dropout mask made of its 16-bit words. Integers only: all levels
 * give the same bits. Key and counter are laid out as in <locus/random.h>. */
#ifndef LOCUS_KERNELS_RANDOM_BODY_H
#define LOCUS_KERNELS_RANDOM_BODY_H

#define PHILOX_MULTIPLIER_0 0xD2511F53u
#define PHILOX_MULTIPLIER_1 0xCD9E8D57u
#define PHILOX_WEYL_0 0x9E3779B9u
#define PHILOX_WEYL_1 0xBB67AE85u
#define PHILOX_ROUNDS 10

/* As wide as a number. */
#if LOCUS_REAL_BITS == 32
typedef uint32_t real_bits;
#else
typedef uint64_t real_bits;
#endif

/* Blocks of a run, and the words that they make. */
#define PHILOX_BLOCKS VU_LANES
#define PHILOX_WORDS (4 * VU_LANES)

/* Runs of a row of dropout that are drawn at once. */
#define DROPOUT_RUNS 4

/* `runs` times PHILOX_BLOCKS blocks. A function of its own, of both element types: unrolled, the rounds take more room
 * than all that calls them. */
#define PHILOX_RUNS LOCUS_JOIN(locus_philox_runs_, LOCUS_LEVEL)
void PHILOX_RUNS(const locus_random *key, uint64_t first, size_t runs, uint32_t words[]);

#if LOCUS_REAL_BITS == 32
/* Counter words 0 and 1 of the run's blocks. Their low halves seldom wrap within a run; if they do, each is worked out
 * alone. */
SIMD void philox_index(uint64_t first, vu *low, vu *high) {
    if ((uint32_t)first <= UINT32_MAX - (uint32_t)(VU_LANES - 1)) {
        *low = vu_add(vu_set((uint32_t)first), vu_blocks());
        *high = vu_set((uint32_t)(first >> 32));
        return;
    }
    uint32_t lows[VU_LANES], highs[VU_LANES];
    for (size_t lane = 0; lane < VU_LANES; lane++) {
        /* what vu_blocks puts into a lane: columns of a 4 × lanes/4 square, read row by row */
        uint64_t block = first + (VU_LANES >= 4 ? lane / 4 + lane % 4 * (VU_LANES / 4) : lane);
        lows[lane] = (uint32_t)block;
        highs[lane] = (uint32_t)(block >> 32);
    }
    *low = vu_load(lows);
    *high = vu_load(highs);
}

SIMD void philox_run(const locus_random *key, uint64_t first, uint32_t words[]) {
    const vu m0 = vu_set(PHILOX_MULTIPLIER_0), m1 = vu_set(PHILOX_MULTIPLIER_1);
    uint32_t k0 = (uint32_t)key->seed, k1 = (uint32_t)(key->seed >> 32);
    vu c0, c1, c2 = vu_set(key->step), c3 = vu_set(key->purpose);
    philox_index(first, &c0, &c1);
    SIMD_UNROLL
    for (size_t round = 0; round < PHILOX_ROUNDS; round++) {
        vu high0, low0, high1, low1;
        vu_multiply(c0, m0, &high0, &low0);
        vu_multiply(c2, m1, &high1, &low1);
        c0 = vu_xor(vu_xor(high1, c1), vu_set(k0));
        c1 = low1;
        c2 = vu_xor(vu_xor(high0, c3), vu_set(k1));
        c3 = low0;
        k0 += PHILOX_WEYL_0;
        k1 += PHILOX_WEYL_1;
    }
    vu_store_blocks(words, c0, c1, c2, c3);
}

void PHILOX_RUNS(const locus_random *key, uint64_t first, size_t runs, uint32_t words[]) {
    for (size_t i = 0; i < runs; i++)
        philox_run(key, first + i * PHILOX_BLOCKS, words + i * PHILOX_WORDS);
}
#endif

static void KERNEL(random_words)(size_t blocks, const locus_random *key, uint64_t first, uint32_t *words) {
    const size_t runs = blocks / PHILOX_BLOCKS, i = runs * PHILOX_BLOCKS;
    PHILOX_RUNS(key, first, runs, words);
    if (i < blocks) {
        uint32_t last[PHILOX_WORDS];
        PHILOX_RUNS(key, first + i, 1, last);
        memcpy(words + 4 * i, last, 4 * (blocks - i) * sizeof *words);
    }
}

/* Two decisions for each word, low half first: `kept` or 0. The compiler's vectors serve, since comparisons have no
 * rounding to agree on; of a choice, or a product, it makes jumps that no processor foresees, of masks it does not. */
static void KERNEL(dropout_decide)(size_t halves, const uint32_t *words, uint32_t threshold, real kept, real *keep) {
    real_bits all;
    memcpy(&all, &kept, sizeof all);
    for (size_t i = 0; i < halves / 2; i++) {
        const real_bits low = all & -(real_bits)((words[i] & 0xffffu) >= threshold);
        const real_bits high = all & -(real_bits)(words[i] >> 16 >= threshold);
        memcpy(keep + 2 * i, &low, sizeof low);
        memcpy(keep + 2 * i + 1, &high, sizeof high);
    }
    if (halves % 2 != 0)
        keep[halves - 1] = (words[halves / 2] & 0xffffu) >= threshold ? kept : 0;
}

static void KERNEL(dropout_row)(size_t n, const locus_random *key, uint64_t row, size_t first, double p, real *keep) {
    const uint32_t threshold = (uint32_t)(p * 65536 + 0.5);
    const real kept = (real)(1 / (1 - p));
    const uint64_t block = (row << 28) + first / 8;
    enum { AT_ONCE = 8 * DROPOUT_RUNS * PHILOX_BLOCKS };
    uint32_t words[DROPOUT_RUNS * PHILOX_WORDS];
    size_t i = 0;
    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        PHILOX_RUNS(key, block + i / 8, DROPOUT_RUNS, words);
        KERNEL(dropout_decide)(AT_ONCE, words, threshold, kept, keep + i);
    }
    if (i < n) {
        PHILOX_RUNS(key, block + i / 8, (n - i + 8 * PHILOX_BLOCKS - 1) / (8 * PHILOX_BLOCKS), words);
        KERNEL(dropout_decide)(n - i, words, threshold, kept, keep + i);
    }
}

#endif
