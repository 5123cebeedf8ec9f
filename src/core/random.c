/* SPDX-License-Identifier: MIT */
/* Philox4x32-10, one block at a time: ten rounds of two 32×32→64 multiplications over a 128-bit counter, the key raised
 * by Weyl constants after each (Salmon et al. 2011, table 2). Runs of blocks at vector speed: locus_random_blocks, in
 * src/kernels.
 *
 *   uniform(i) = ⌊(w1·2^32 + w0) / 2^11⌋ · 2^−53                       w = block i
 *   normal(i)  = sqrt(−2 ln(1 − u)) · cos(2π v)                        u, v: the same of (w0, w1) and (w2, w3)
 *   below(i)   = ⌊x·bound / 2^64⌋, x = w1·2^32 + w0, rejected if x·bound mod 2^64 < 2^64 mod bound (Lemire, Fast random
 *                integer generation in an interval, 2019); then x = w3·2^32 + w2; then the block is hashed once more */
#include <locus/random.h>

#include <math.h>

static void philox(uint32_t words[4], uint32_t key0, uint32_t key1) {
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * words[0], b = (uint64_t)0xCD9E8D57u * words[2];
        uint32_t x = (uint32_t)(b >> 32) ^ words[1] ^ key0, y = (uint32_t)(a >> 32) ^ words[3] ^ key1;
        words[0] = x;
        words[1] = (uint32_t)b;
        words[2] = y;
        words[3] = (uint32_t)a;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

void locus_random_block(const locus_random *random, uint64_t index, uint32_t words[4]) {
    words[0] = (uint32_t)index;
    words[1] = (uint32_t)(index >> 32);
    words[2] = random->step;
    words[3] = random->purpose;
    philox(words, (uint32_t)random->seed, (uint32_t)(random->seed >> 32));
}

static uint64_t join(uint32_t low, uint32_t high) {
    return (uint64_t)high << 32 | low;
}

static double to_unit(uint64_t word) {
    return (double)(word >> 11) * 0x1p-53;
}

double locus_random_uniform(const locus_random *random, uint64_t index) {
    uint32_t words[4];
    locus_random_block(random, index, words);
    return to_unit(join(words[0], words[1]));
}

double locus_random_normal(const locus_random *random, uint64_t index) {
    const double two_pi = 6.283185307179586476925286766559;
    uint32_t words[4];
    locus_random_block(random, index, words);
    double u = 1.0 - to_unit(join(words[0], words[1])); /* (0, 1]: its logarithm is finite */
    return sqrt(-2.0 * log(u)) * cos(two_pi * to_unit(join(words[2], words[3])));
}

/* High and low half of a 64×64 product, by 32-bit parts: no compiler extension needed. */
static uint64_t multiply_high(uint64_t a, uint64_t b, uint64_t *low) {
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    *low = a * b;
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

uint64_t locus_random_below(const locus_random *random, uint64_t index, uint64_t bound) {
    if (bound == 0)
        return 0;
    uint32_t words[4];
    locus_random_block(random, index, words);
    uint64_t rejected = (0 - bound) % bound, low; /* 2^64 mod bound */
    for (;;) {
        for (int half = 0; half < 4; half += 2) {
            uint64_t number = multiply_high(join(words[half], words[half + 1]), bound, &low);
            if (low >= rejected)
                return number;
        }
        philox(words, (uint32_t)random->seed, (uint32_t)(random->seed >> 32));
    }
}
