/* SPDX-License-Identifier: MIT */
/* rope and roper: pairs of dimensions that turn by p·ω, with every scaling, several axes, xPos. Frequencies and angles
 * in long double; a frequency is rounded to double once, as a learned one would be given. */
#include "reference/reference.h"

#include "reference/dense_matrix.h"

#include <math.h>

enum { PAIRS = 256 };
#define PI 3.141592653589793238462643383279502884L

/* What a spec says of one term. */
typedef struct rope_setting {
    const reference_model *model;
    size_t term, pairs, axes;
    double sections[REFERENCE_AXES];
    bool listed, axial, half, interleaved; /* listed: sections were given; interleaved: their order */
} rope_setting;

static double number(const rope_setting *rope, const char *name) {
    return reference_number(rope->model, rope->term, name);
}

static bool says(const rope_setting *rope, const char *name, const char *text) {
    return reference_says(rope->model, rope->term, name, text);
}

static bool given(const rope_setting *rope, const char *name) {
    return reference_given(rope->model, rope->term, name);
}

static bool is_proportional(const rope_setting *rope) {
    return given(rope, "rotate") && number(rope, "rotate") <= 1;
}

static rope_setting setting_of(const reference_model *model, size_t term) {
    rope_setting rope = {.model = model, .term = term};
    const size_t listed = reference_list(model, term, "sections", rope.sections, REFERENCE_AXES);
    rope.pairs = model->shape.head_dim / 2;
    if (given(&rope, "rotate") && !is_proportional(&rope))
        rope.pairs = (size_t)number(&rope, "rotate") / 2;
    rope.axes = listed > 0 ? listed : (size_t)number(&rope, "axes");
    rope.listed = listed > 0;
    for (size_t a = 0; a < rope.axes && !rope.listed; a++)
        rope.sections[a] = (double)(rope.pairs / rope.axes);
    rope.axial = rope.axes > 1 && (given(&rope, "frequencies") ? says(&rope, "frequencies", "axial") : !rope.listed);
    rope.half = says(&rope, "pairs", "half") || is_proportional(&rope);
    rope.interleaved = says(&rope, "order", "interleaved");
    return rope;
}

/* ---- frequencies ---- */

/* c(β) = r·ln(L0/(2πβ))/(2 ln base) */
static double correction(const rope_setting *rope, size_t pairs, double turns) {
    const double r = 2 * (double)pairs;
    return r * log(number(rope, "original") / (2 * (double)PI * turns)) / (2 * log(number(rope, "base")));
}

static long double yarn(const rope_setting *rope, size_t i, size_t pairs, long double omega) {
    const bool whole = says(rope, "truncate", "on");
    double low = correction(rope, pairs, number(rope, "fast")), high = correction(rope, pairs, number(rope, "slow"));
    low = fmax(whole ? floor(low) : low, 0);
    high = fmin(whole ? ceil(high) : high, 2 * (double)pairs - 1);
    high += low == high ? 0.001 : 0;
    const double gamma = fmin(fmax(((double)i - low) / (high - low), 0), 1);
    return omega * (1 - gamma) + omega / number(rope, "factor") * gamma;
}

static long double llama3(const rope_setting *rope, long double omega) {
    const long double s = number(rope, "factor"), low = number(rope, "low"), high = number(rope, "high");
    const long double wavelength = 2 * PI / omega, original = number(rope, "original");
    if (wavelength < original / high)
        return omega;
    if (wavelength > original / low || low == high)
        return omega / s;
    const long double t = (original / wavelength - low) / (high - low);
    return (1 - t) * omega / s + t * omega;
}

/* base·stretch^(r/(r − 2)); of one pair alone the base does not matter. */
static long double stretched(long double base, long double stretch, size_t pairs) {
    return pairs > 1 ? base * powl(stretch, (long double)pairs / (long double)(pairs - 1)) : base;
}

/* ω_i of a rope of `pairs` pairs. */
static double frequency(const rope_setting *rope, size_t i, size_t pairs) {
    const long double s = number(rope, "factor"), length = reference_length(rope->model);
    long double base = number(rope, "base");
    if (says(rope, "scaling", "ntk"))
        base = stretched(base, s, pairs);
    if (says(rope, "scaling", "dynamic") && length > number(rope, "original"))
        base = stretched(base, s * length / number(rope, "original") - (s - 1), pairs);
    long double omega = powl(base, -(long double)i / (long double)pairs);
    if (says(rope, "scaling", "linear"))
        omega /= s;
    if (says(rope, "scaling", "yarn"))
        omega = yarn(rope, i, pairs, omega);
    if (says(rope, "scaling", "llama3"))
        omega = llama3(rope, omega);
    if (says(rope, "scaling", "longrope")) {
        double list[PAIRS];
        const bool beyond = length > number(rope, "original");
        (void)reference_list(rope->model, rope->term, beyond ? "long" : "short", list, PAIRS);
        omega /= list[i];
    }
    return (double)omega;
}

static double magnitude(double s, double k) {
    return s <= 1 ? 1 : 0.1 * k * log(s) + 1;
}

static double attention_factor(const rope_setting *rope) {
    const double s = number(rope, "factor");
    if (given(rope, "attention"))
        return number(rope, "attention");
    if (says(rope, "scaling", "yarn") && given(rope, "mscale") && given(rope, "mscale_all"))
        return magnitude(s, number(rope, "mscale")) / magnitude(s, number(rope, "mscale_all"));
    if (says(rope, "scaling", "yarn"))
        return magnitude(s, 1);
    if (says(rope, "scaling", "longrope"))
        return s <= 1 ? 1 : sqrt(1 + log(s) / log(number(rope, "original")));
    return 1;
}

/* ---- pairs ---- */

/* Pair i: the axis that it follows, its number among that axis' pairs, and the first pair of the axis. */
static size_t axis_of(const rope_setting *rope, size_t i, size_t *number_on_axis) {
    size_t first = 0, axis = 0;
    *number_on_axis = i;
    if (rope->interleaved && rope->axes > 1) {
        axis = i % rope->axes;
        return i < rope->axes * (size_t)rope->sections[axis] ? axis : 0;
    }
    while (axis + 1 < rope->axes && i >= first + (size_t)rope->sections[axis])
        first += (size_t)rope->sections[axis++];
    *number_on_axis = i - first;
    return axis;
}

static double frequency_of(const rope_setting *rope, size_t i, size_t axis, size_t number_on_axis) {
    const double *learned = reference_values(rope->model, rope->term, "frequencies");
    if (learned)
        return learned[i];
    if (is_proportional(rope) && i >= (size_t)(number(rope, "rotate") * (double)rope->pairs))
        return 0;
    const double omega =
        rope->axial ? frequency(rope, number_on_axis, (size_t)rope->sections[axis]) : frequency(rope, i, rope->pairs);
    return says(rope, "turn", "backward") ? -omega : omega;
}

/* The two dimensions of pair i. Equal blocks of axes pair within themselves. */
static void dimensions_of(const rope_setting *rope, size_t i, size_t axis, size_t number_on_axis, size_t dims[2]) {
    dims[0] = 2 * i;
    dims[1] = 2 * i + 1;
    if (!rope->half)
        return;
    dims[0] = i;
    dims[1] = i + rope->pairs;
    if (rope->axial && !rope->listed) {
        const size_t size = rope->pairs / rope->axes;
        dims[0] = 2 * size * axis + number_on_axis;
        dims[1] = dims[0] + size;
    }
}

/* ζ_i^(±(p − centre)/xpos) */
static double stretch_of(const rope_setting *rope, size_t i, double p, reference_role role) {
    const double r = 2 * (double)rope->pairs, gamma = number(rope, "gamma");
    const double zeta = (2 * (double)i + gamma * r) / ((1 + gamma) * r);
    const double power = (p - number(rope, "centre")) / number(rope, "xpos");
    return pow(zeta, role == REFERENCE_QUERY ? power : -power);
}

bool reference_rope(const reference_model *model, size_t term, const reference_position *p, reference_role role,
                    double *W) {
    const rope_setting rope = setting_of(model, term);
    const size_t d = model->shape.head_dim;
    const bool value = role == REFERENCE_VALUE, stretches = given(&rope, "xpos") && !value;
    const double factor = value ? 1 : attention_factor(&rope);
    if (value && !reference_term_is(model, term, "roper") && !says(&rope, "values", "on"))
        return false;
    dense_identity(d, W);
    for (size_t i = 0; i < rope.pairs; i++) {
        size_t dims[2], number_on_axis;
        const size_t axis = axis_of(&rope, i, &number_on_axis);
        const double omega = frequency_of(&rope, i, axis, number_on_axis);
        const long double angle = (long double)p->value[axis] * omega;
        const double size = factor * (stretches ? stretch_of(&rope, i, p->value[axis], role) : 1);
        dimensions_of(&rope, i, axis, number_on_axis, dims);
        W[dims[0] * d + dims[0]] = W[dims[1] * d + dims[1]] = size * (double)cosl(angle);
        W[dims[1] * d + dims[0]] = size * (double)sinl(angle);
        W[dims[0] * d + dims[1]] = -W[dims[1] * d + dims[0]];
    }
    return true;
}
