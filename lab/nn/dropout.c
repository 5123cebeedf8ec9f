/* SPDX-License-Identifier: MIT */
/* The random words of dropout; the layers that drop (joins, activations) apply them in their own passes. */
#include "nn/dropout.h"
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
