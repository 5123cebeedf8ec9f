/* SPDX-License-Identifier: MIT */
/* A source of choices for tests that draw their cases: from a seed (property tests) or from the bytes of a fuzzer's
 * input, so that both draw the same things. Bytes that have run out choose 0: short inputs are simple cases. */
#ifndef TESTS_CHOOSER_H
#define TESTS_CHOOSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct chooser {
    const uint8_t *bytes; /* NULL: seeded */
    size_t left;
    uint64_t state;
} chooser;

chooser chooser_of_seed(uint64_t seed);
chooser chooser_of_bytes(const uint8_t *bytes, size_t size);
/* A seeded source of its own, for many numbers at the cost of two bytes. */
chooser chooser_stream(chooser *choices);

uint64_t choose(chooser *choices, uint64_t below); /* 0 … below − 1; 0 for below 0 */
bool choose_chance(chooser *choices, unsigned percent);
double choose_unit(chooser *choices);   /* [0, 1) */
double choose_normal(chooser *choices); /* standard normal, nearly: a sum of twelve */

#endif
