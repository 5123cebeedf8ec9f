/* SPDX-License-Identifier: MIT */
/* The random words of dropout; the layers that drop (joins, activations) apply them in their own passes. */
#include "nn/dropout.h"
#include "nn/clones.h"
#include <math.h>

lab_dropout lab_dropout_make(double p, locus_random key) {
    double words = floor(p * 65536.0 + 0.5);
    if (words > 65535.0) words = 65535.0;
    return (lab_dropout){key, (uint16_t)words, (float)(65536.0 / (65536.0 - words))};
}

void lab_dropout_draw(const lab_dropout *dropout, size_t row, size_t columns, size_t first, size_t count,
                      lab_dropout_bits *bits) {
    uint64_t blocks = (columns + 7) / 8;
    locus_random_blocks(&dropout->key, row * blocks + first / 8, (count + 7) / 8, bits->words);
}

LAB_CLONES static void drop_run(size_t count, const lab_dropout_bits *restrict bits, uint16_t threshold, float scale,
                                const float *x, float *y) {
    for (size_t j = 0; j < count; ++j)
        y[j] = bits->halves[j] >= threshold ? x[j] * scale : 0.0f;
}

void lab_dropout_apply(const lab_dropout *dropout, const lab_dropout_bits *bits, size_t count, const float *x, float *y) {
    drop_run(count, bits, dropout->threshold, dropout->scale, x, y);
}
