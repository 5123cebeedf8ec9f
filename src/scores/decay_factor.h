/* SPDX-License-Identifier: MIT */
/* A factor that falls with distance: a score is multiplied by rate^distance before the softmax (Kogkalidis et al.
 * 2024); the distance is the group's. The encoding `decay` is this alone; operators bring it along by their option
 * `decay`.
 *
 *   ds/drate = s · distance · rate^(distance − 1) */
#ifndef LOCUS_DECAY_FACTOR_H
#define LOCUS_DECAY_FACTOR_H

#include "spec/class.h"

typedef struct locus_decay {
    bool acts, learned;
    double rate;      /* as given; once bound, as it is */
    size_t parameter; /* bound: index of a learned rate among the term's parameters */
} locus_decay;

/* Of an option's value (LOCUS_OPTION_DECAY). */
locus_decay locus_decay_of(const locus_option_value *value);

/* A learned rate `rate` [1]: behind the `count` parameters there are, its initial value, and what it is. */
void locus_decay_parameter(const locus_decay *decay, locus_parameter *list, size_t *count);
void locus_decay_initialise(const locus_decay *decay, size_t parameter, double *const *values);
void locus_decay_bind(locus_decay *decay, size_t parameter, const double *const *values);

/* The score term, if it acts. */
locus_status locus_decay_place(const locus_decay *decay, const locus_places *places, locus_owned *memory,
                               locus_placed *placed, locus_error *error);

#endif
