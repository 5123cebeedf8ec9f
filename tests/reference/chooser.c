/* SPDX-License-Identifier: MIT */
/* See chooser.h. */
#include "reference/chooser.h"

chooser chooser_of_seed(uint64_t seed) {
    return (chooser){.state = seed};
}

chooser chooser_of_bytes(const uint8_t *bytes, size_t size) {
    static const uint8_t none;
    return (chooser){.bytes = bytes ? bytes : &none, .left = size};
}

chooser chooser_stream(chooser *choices) {
    return chooser_of_seed(choose(choices, 65536) * 0x9e3779b97f4a7c15u + 1);
}

/* splitmix64 (Steele, Lea and Flood 2014) */
static uint64_t next_word(chooser *choices) {
    uint64_t z = choices->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t next_bytes(chooser *choices, unsigned count) {
    uint64_t word = 0;
    for (unsigned i = 0; i < count && choices->left > 0; i++) {
        word = word << 8 | *choices->bytes++;
        choices->left--;
    }
    return word;
}

uint64_t choose(chooser *choices, uint64_t below) {
    if (below < 2)
        return 0;
    if (!choices->bytes)
        return next_word(choices) % below;
    return next_bytes(choices, below <= 256 ? 1 : below <= 65536 ? 2 : 8) % below;
}

bool choose_chance(chooser *choices, unsigned percent) {
    return choose(choices, 100) >= 100 - percent; /* zeros choose the ordinary */
}

double choose_unit(chooser *choices) {
    return (double)choose(choices, 65536) / 65536 + (choices->bytes ? 0 : (double)choose(choices, 65536) / 4294967296);
}

double choose_normal(chooser *choices) {
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += choose_unit(choices);
    return sum;
}
