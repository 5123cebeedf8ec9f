/* SPDX-License-Identifier: MIT */
/* Frequencies of one rope, and how they are scaled for texts longer than those of training. r dimensions, r/2 pairs,
 * ω_i = base^(−2i/r), λ = 2π/ω, L the length of the text, L0 `original`, s `factor`:
 *
 *   linear     ω/s                                              Chen et al. 2023, Position interpolation
 *   ntk        base·s^(r/(r−2)) for base                        bloc97 2023
 *   dynamic    base·(s·L/L0 − (s−1))^(r/(r−2)), for L > L0      emozilla 2023
 *   yarn       ω(1−γ) + (ω/s)γ, γ_i = clamp((i − lo)/(hi − lo), 0, 1); lo = max(⌊c(fast)⌋, 0),
 *              hi = min(⌈c(slow)⌉, r−1), c(β) = r·ln(L0/(2πβ))/(2 ln base)     Peng et al. 2023
 *   llama3     ω where λ < L0/high, ω/s where λ > L0/low, between them (1−t)·ω/s + t·ω, t = (L0/λ − low)/(high − low)
 *   longrope   ω/f_i, f the list `long` where L > L0, else `short`     Ding et al. 2024
 *
 * Attention factor, by which cosines and sines are multiplied: `attention` if given; for yarn m(s, mscale)/m(s,
 * mscale_all) or m(s, 1), m(s, k) = 0.1·k·ln s + 1 for s > 1, else 1; for longrope sqrt(1 + ln s/ln L0) for s > 1.
 *
 * A frequency is computed in long double and rounded once, where the compiler has one. */
#ifndef LOCUS_ROPE_FREQUENCIES_H
#define LOCUS_ROPE_FREQUENCIES_H

#include "operators/rotary/rope_options.h"

/* The frequencies of a rope of 2·pairs dimensions. `length` is not looked at unless they depend on it. */
void locus_rope_frequencies(const locus_term *term, size_t length, size_t pairs, double *theta);

/* 1 for scalings without one. */
double locus_rope_attention(const locus_term *term);

static inline bool locus_rope_depends_on_length(const locus_term *term) {
    const size_t scaling = term->options[LOCUS_ROPE_SCALING].choice;
    return scaling == LOCUS_SCALING_DYNAMIC || scaling == LOCUS_SCALING_LONGROPE;
}

#endif
