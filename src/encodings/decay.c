/* SPDX-License-Identifier: MIT */
/* decay: a score is multiplied by rate^distance before the softmax (Kogkalidis et al. 2024); the distance is the
 * group's. learned=on: parameter `rate` [1]. See decay_factor.h. */
#include "scores/decay_factor.h"

enum { RATE, LEARNED, GROUP };

static locus_decay decay_of(const locus_term *term) {
    const locus_option_value *options = term->options;
    return (locus_decay){.acts = true, .learned = options[LEARNED].choice == 1, .rate = options[RATE].number};
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    const locus_decay decay = decay_of(term);
    (void)shape, (void)error;
    locus_decay_parameter(&decay, list, count);
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    const locus_decay decay = decay_of(term);
    (void)error;
    locus_decay_initialise(&decay, 0, draw->values);
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    (void)shape, (void)memory, (void)error;
    locus_decay *own = bound;
    *own = decay_of(term);
    locus_decay_bind(own, 0, values);
    return LOCUS_OK;
}

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    return locus_decay_place(bound, places, memory, placed, error);
}

static bool learns(const locus_term *term) {
    return decay_of(term).learned;
}

static const locus_option_info options[] = {
    {"rate", "number with 0 < rate ≤ 1", "0.98", "the factor for one step of distance", LOCUS_OPTION_NUMBER, 0, 1,
     true},
    {"learned", "off|on", "off", "the rate is a parameter", LOCUS_OPTION_CHOICE, 0, 0, false},
    {"group", "group", "seq", "whose distance the decay follows", LOCUS_OPTION_GROUP, 0, 0, false},
};

const locus_encoding_class locus_decay_class = {
    .info = {.name = "decay",
             .summary = "multiplies scores by rate^distance",
             .sites = LOCUS_SITE_SCORE,
             .learned = "rate (learned=on)",
             .source = "Kogkalidis et al. 2024, Algebraic positional encodings",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS,
    .bound_bytes = sizeof(locus_decay),
    .reals = true,
    .laws = LOCUS_LAW_RELATIVITY,
    .learns = learns,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};
