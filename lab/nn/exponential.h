/* SPDX-License-Identifier: MIT */
/* The exponential in loops that the compiler vectorises: e^y by powers of two and a polynomial of degree 6 (Taylor's,
 * reduced to ±ln 2 / 2). Part of cloned functions (clones.h). */
#ifndef LAB_EXPONENTIAL_H
#define LAB_EXPONENTIAL_H

#include "nn/clones.h"
#include <stdint.h>

#define LAB_EXPONENTIAL_LEAST (-87.0f)

/* e^y for −87 ≤ y ≤ 0; not-a-number stays. */
LAB_INLINE float lab_exponential(float y) {
    const float round = 12582912.0f; /* 1.5 · 2^23: adding it leaves whole numbers */
    const float powers = y * 1.44269504f + round, whole = powers - round;
    const float r = (y - whole * 0.693359375f) + whole * 2.12194440e-4f;
    float series = 1.0f / 720.0f;
    series = series * r + 1.0f / 120.0f;
    series = series * r + 1.0f / 24.0f;
    series = series * r + 1.0f / 6.0f;
    series = series * r + 0.5f;
    series = series * r + 1.0f;
    series = series * r + 1.0f;
    uint32_t bits; /* unsigned: those of what is no number may be any */
    float scale;
    memcpy(&bits, &powers, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    memcpy(&scale, &bits, sizeof scale);
    return series * scale;
}

#endif
