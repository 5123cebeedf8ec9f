/* SPDX-License-Identifier: MIT */
/* What encodings that act on heads by learned operators have in common: the options
 *
 *   heads=own|shared, side=both|query|key, values=off|on, decay=off|c|learned:c
 *
 * which stand next to each other in a class, in this order. A learned decay's rate is the term's last parameter. */
#ifndef LOCUS_TURNING_H
#define LOCUS_TURNING_H

#include "operators/rotary/rotary.h"
#include "scores/decay_factor.h"

#define LOCUS_TURNING_OPTIONS \
    {"heads", "own|shared", "own", "parameters for each head, or one set for all", LOCUS_OPTION_CHOICE, 0, 0, false}, \
        {"side", \
         "both|query|key", \
         "both", \
         "which side is acted on; one alone makes positions absolute", \
         LOCUS_OPTION_CHOICE, \
         0, \
         0, \
         false}, \
        {"values", "off|on", "off", "acts on values, too, and undoes it on the output", LOCUS_OPTION_CHOICE, \
         0,        0,        false}, \
    { \
        "decay", "off, number with 0 < c ≤ 1, or learned:c", "off", "multiplies scores by c^distance", \
            LOCUS_OPTION_DECAY, 0, 1, true \
    }

/* Deviation of small noise round 0 in initial values. */
#define LOCUS_TURNING_NOISE 0.01

/* The options' values; `first` is the index of `heads` in the class. */
typedef struct locus_turning {
    bool shared, values;
    locus_side side;
    locus_decay decay;
} locus_turning;
locus_turning locus_turning_of(const locus_term *term, size_t first);

unsigned locus_turning_sites(const locus_turning *turning);
size_t locus_turning_tables(const locus_turning *turning, const locus_shape *shape);

/* Values are as wide as queries where they are acted on. */
locus_status locus_turning_check(const locus_term *term, const locus_turning *turning, const locus_shape *shape,
                                 locus_error *error);

/* With query_key or query_key_whole placed: the values, and the decay. */
locus_status locus_turning_place(const locus_turning *turning, const locus_places *places, locus_owned *memory,
                                 locus_placed *placed, locus_error *error);

#endif
