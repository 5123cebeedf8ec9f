/* SPDX-License-Identifier: MIT */
/* See loss_wide.h. Rows are walked through in blocks that stay in registers and the first-level cache: sums are of
 * float lanes within a block, of doubles across blocks. */
#include "nn/loss_wide.h"

#include "nn/exponential.h"
#include <math.h>

enum { BLOCK = 512 };

LAB_CLONES static float wide_block_greatest(size_t count, const float *restrict x) {
    float lanes[LAB_LANES], greatest = -INFINITY;
    size_t j = 0;
    for (size_t l = 0; l < LAB_LANES; ++l)
        lanes[l] = -INFINITY;
    for (; j + LAB_LANES <= count; j += LAB_LANES)
        for (size_t l = 0; l < LAB_LANES; ++l)
            lanes[l] = x[j + l] > lanes[l] ? x[j + l] : lanes[l];
    for (; j < count; ++j)
        greatest = x[j] > greatest ? x[j] : greatest;
    for (size_t l = 0; l < LAB_LANES; ++l)
        greatest = lanes[l] > greatest ? lanes[l] : greatest;
    return greatest;
}

size_t lab_wide_argmax(size_t count, const float *x) {
    float greatest = -INFINITY;
    size_t block = 0;
    for (size_t first = 0; first < count; first += BLOCK) {
        const float own = wide_block_greatest(count - first < BLOCK ? count - first : BLOCK, x + first);
        if (own > greatest) {
            greatest = own;
            block = first;
        }
    }
    for (size_t j = block; j < count; ++j)
        if (x[j] == greatest)
            return j;
    return 0; /* no number is greater than −∞ */
}

/* e [BLOCK]: zeros behind the last. */
LAB_CLONES static float wide_block_exponentials(size_t count, float top, const float *restrict z, float *restrict e) {
    lab_lanes sum = {0}, part;
    for (size_t j = 0; j < count; ++j) {
        const float y = z[j] - top;
        e[j] = lab_exponential(y < LAB_EXPONENTIAL_LEAST ? LAB_EXPONENTIAL_LEAST : y);
    }
    for (size_t j = count; j % LAB_LANES != 0; ++j)
        e[j] = 0.0f;
    for (size_t j = 0; j < count; j += LAB_LANES) {
        lab_lanes_load(&part, e + j);
        sum += part;
    }
    return lab_lanes_sum(&sum);
}

double lab_wide_exponentials(size_t count, float top, float *z, bool write) {
    float e[BLOCK];
    double sum = 0.0;
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t own = count - first < BLOCK ? count - first : BLOCK;
        sum += (double)wide_block_exponentials(own, top, z + first, e);
        if (write)
            memcpy(z + first, e, own * sizeof *e);
    }
    return sum;
}

LAB_CLONES static void wide_scale_run(size_t count, float factor, float shift, float *restrict z) {
    for (size_t j = 0; j < count; ++j)
        z[j] = z[j] * factor - shift;
}

void lab_wide_scale(size_t count, float factor, float shift, float *z) {
    wide_scale_run(count, factor, shift, z);
}
