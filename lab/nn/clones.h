/* SPDX-License-Identifier: MIT */
/* Loops that the compiler vectorises, built once for each instruction set and chosen when the program is loaded.
 *
 * LAB_CLONES stands before the definition of a static function whose name is unique in the tree: clang 14 makes
 * the chooser of a cloned function global, and calls it by another name from other files. No clone may fuse a
 * multiplication with an addition (the tree is built with contraction off), and sums run over sixteen lanes whatever
 * the width of the machine's vectors: all clones give the same bits. Lanes are arrays of floats; of vectors of sixteen,
 * which not every machine has, GCC makes loads and stores that wait for each other. Sanitizers and indirect functions
 * don't go together, so there the plain loop is built. */
#ifndef LAB_CLONES_H
#define LAB_CLONES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define LAB_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LAB_SANITIZED 1
#endif

#if defined(__x86_64__) && defined(__linux__) && defined(__gnu_linux__) && !defined(LAB_SANITIZED) && \
    ((defined(__clang__) && __clang_major__ >= 14) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 8))
#define LAB_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LAB_CLONES
#endif

/* Helpers of cloned functions have to be part of each clone. */
#define LAB_INLINE static inline __attribute__((always_inline))

/* A number of bfloat16. */
LAB_INLINE float lab_widened(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

enum { LAB_LANES = 16 };

/* The sum of the lanes, pairwise, in a fixed order. */
LAB_INLINE float lab_lanes_sum(const float lanes[LAB_LANES]) {
    float eight[LAB_LANES / 2], four[LAB_LANES / 4];
    _Static_assert(LAB_LANES == 16, "it is halved four times");
    for (size_t i = 0; i < 8; ++i)
        eight[i] = lanes[i] + lanes[i + 8];
    for (size_t i = 0; i < 4; ++i)
        four[i] = eight[i] + eight[i + 4];
    return (four[0] + four[2]) + (four[1] + four[3]);
}

#endif
