/* SPDX-License-Identifier: MIT */
/* See rope_frequencies.h. */
#include "operators/rotary/rope_frequencies.h"

#include <math.h>

#define TURN 6.28318530717958647693
#define LONG_TURN 6.283185307179586476925286766559005768L
#define LEAST_RAMP 0.001 /* where both ends of YaRN's ramp are one */

static double number(const locus_term *term, size_t option) {
    return term->options[option].number;
}

/* base^(−2i/r) */
static long double plain(long double base, size_t i, size_t pairs) {
    return powl(base, -(long double)i / (long double)pairs);
}

/* base·stretch^(r/(r−2)). Of one pair alone the base does not matter. */
static long double stretched_base(long double base, long double stretch, size_t pairs) {
    return pairs > 1 ? base * powl(stretch, (long double)pairs / ((long double)pairs - 1)) : base;
}

/* The base for a length; up to `original` it is the one given. */
static long double dynamic_base(const locus_term *term, size_t length, size_t pairs) {
    const long double base = (long double)number(term, LOCUS_ROPE_BASE);
    const long double s = (long double)number(term, LOCUS_ROPE_FACTOR);
    const long double reach = (long double)length / (long double)number(term, LOCUS_ROPE_ORIGINAL);
    return reach > 1 ? stretched_base(base, s * reach - (s - 1), pairs) : base;
}

/* ---- yarn ---- */

typedef struct locus_yarn_ramp {
    double low, high;
} locus_yarn_ramp;

/* The pair, a fraction, that turns `turns` times within the original length. */
static double correction(const locus_term *term, size_t pairs, double turns) {
    const double original = number(term, LOCUS_ROPE_ORIGINAL), base = number(term, LOCUS_ROPE_BASE);
    return 2.0 * (double)pairs * log(original / (turns * TURN)) / (2 * log(base));
}

static locus_yarn_ramp ramp_of(const locus_term *term, size_t pairs) {
    const bool truncate = term->options[LOCUS_ROPE_TRUNCATE].choice == 0;
    const double fast = correction(term, pairs, number(term, LOCUS_ROPE_FAST));
    const double slow = correction(term, pairs, number(term, LOCUS_ROPE_SLOW));
    locus_yarn_ramp ramp = {fmax(truncate ? floor(fast) : fast, 0),
                            fmin(truncate ? ceil(slow) : slow, 2.0 * (double)pairs - 1)};
    if (ramp.low == ramp.high)
        ramp.high += LEAST_RAMP;
    return ramp;
}

static long double yarn(const locus_yarn_ramp *ramp, size_t i, long double omega, long double s) {
    const long double at = ((long double)i - ramp->low) / ((long double)ramp->high - ramp->low);
    const long double slowed = at < 0 ? 0 : at > 1 ? 1 : at;
    return omega * (1 - slowed) + omega / s * slowed;
}

/* ---- llama3 ---- */

static long double llama3(const locus_term *term, long double omega) {
    const long double s = (long double)number(term, LOCUS_ROPE_FACTOR);
    const long double low = (long double)number(term, LOCUS_ROPE_LOW),
                      high = (long double)number(term, LOCUS_ROPE_HIGH);
    const long double original = (long double)number(term, LOCUS_ROPE_ORIGINAL), wavelength = LONG_TURN / omega;
    if (wavelength < original / high)
        return omega;
    if (wavelength > original / low || low == high) /* equal: a step, as Llama 4 has it */
        return omega / s;
    const long double smooth = (original / wavelength - low) / (high - low);
    return (1 - smooth) * omega / s + smooth * omega;
}

/* ---- all ---- */

void locus_rope_frequencies(const locus_term *term, size_t length, size_t pairs, double *theta) {
    const size_t scaling = term->options[LOCUS_ROPE_SCALING].choice;
    const long double s = (long double)number(term, LOCUS_ROPE_FACTOR);
    const bool beyond = (double)length > number(term, LOCUS_ROPE_ORIGINAL);
    const double *divisors = term->options[beyond ? LOCUS_ROPE_LONG : LOCUS_ROPE_SHORT].list;
    long double base = (long double)number(term, LOCUS_ROPE_BASE);
    locus_yarn_ramp ramp = {0, 1};
    if (scaling == LOCUS_SCALING_NTK)
        base = stretched_base(base, s, pairs);
    if (scaling == LOCUS_SCALING_DYNAMIC)
        base = dynamic_base(term, length, pairs);
    if (scaling == LOCUS_SCALING_YARN)
        ramp = ramp_of(term, pairs);
    for (size_t i = 0; i < pairs; i++) {
        long double omega = plain(base, i, pairs);
        if (scaling == LOCUS_SCALING_LINEAR)
            omega /= s;
        else if (scaling == LOCUS_SCALING_YARN)
            omega = yarn(&ramp, i, omega, s);
        else if (scaling == LOCUS_SCALING_LLAMA3)
            omega = llama3(term, omega);
        else if (scaling == LOCUS_SCALING_LONGROPE)
            omega /= (long double)divisors[i];
        theta[i] = (double)omega;
    }
}

/* m(s, k) */
static double magnitude(double s, double k) {
    return s <= 1 ? 1 : 0.1 * k * log(s) + 1;
}

double locus_rope_attention(const locus_term *term) {
    const locus_option_value *options = term->options;
    const size_t scaling = options[LOCUS_ROPE_SCALING].choice;
    const double s = number(term, LOCUS_ROPE_FACTOR);
    if (options[LOCUS_ROPE_ATTENTION].given)
        return number(term, LOCUS_ROPE_ATTENTION);
    if (scaling == LOCUS_SCALING_YARN && options[LOCUS_ROPE_MSCALE].given)
        return magnitude(s, number(term, LOCUS_ROPE_MSCALE)) / magnitude(s, number(term, LOCUS_ROPE_MSCALE_ALL));
    if (scaling == LOCUS_SCALING_YARN)
        return magnitude(s, 1);
    if (scaling == LOCUS_SCALING_LONGROPE)
        return s <= 1 ? 1 : sqrt(1 + log(s) / log(number(term, LOCUS_ROPE_ORIGINAL)));
    return 1;
}
