/* SPDX-License-Identifier: MIT */
/* The options of rope and roper, in the order in which specs are written back, and what contradicts what among them.
 * roper has all but the last, which it implies. */
#ifndef LOCUS_ROPE_OPTIONS_H
#define LOCUS_ROPE_OPTIONS_H

#include "spec/class.h"

enum {
    LOCUS_ROPE_PAIRS,
    LOCUS_ROPE_BASE,
    LOCUS_ROPE_ROTATE,
    LOCUS_ROPE_LEARNED,
    LOCUS_ROPE_SIDE,
    LOCUS_ROPE_SCALING,
    LOCUS_ROPE_FACTOR,
    LOCUS_ROPE_ORIGINAL,
    LOCUS_ROPE_FAST,
    LOCUS_ROPE_SLOW,
    LOCUS_ROPE_ATTENTION,
    LOCUS_ROPE_MSCALE,
    LOCUS_ROPE_MSCALE_ALL,
    LOCUS_ROPE_TRUNCATE,
    LOCUS_ROPE_LOW,
    LOCUS_ROPE_HIGH,
    LOCUS_ROPE_SHORT,
    LOCUS_ROPE_LONG,
    LOCUS_ROPE_AXES,
    LOCUS_ROPE_FREQUENCIES,
    LOCUS_ROPE_SECTIONS,
    LOCUS_ROPE_ORDER,
    LOCUS_ROPE_XPOS,
    LOCUS_ROPE_GAMMA,
    LOCUS_ROPE_CENTRE,
    LOCUS_ROPE_TURN,
    LOCUS_ROPE_VALUES,
    LOCUS_ROPE_OPTIONS
};

/* Choices of `scaling`, `frequencies`, `order`, `turn` and `rotate` (class.h). */
enum {
    LOCUS_SCALING_NONE,
    LOCUS_SCALING_LINEAR,
    LOCUS_SCALING_NTK,
    LOCUS_SCALING_DYNAMIC,
    LOCUS_SCALING_YARN,
    LOCUS_SCALING_LLAMA3,
    LOCUS_SCALING_LONGROPE
};
enum { LOCUS_FREQUENCIES_AXIAL, LOCUS_FREQUENCIES_RUNNING };
enum { LOCUS_ORDER_CHUNKED, LOCUS_ORDER_INTERLEAVED };
enum { LOCUS_TURN_FORWARD, LOCUS_TURN_BACKWARD };
enum { LOCUS_ROTATE_ALL, LOCUS_ROTATE_FIRST, LOCUS_ROTATE_PROPORTIONAL };

extern const locus_option_info locus_rope_option_infos[LOCUS_ROPE_OPTIONS];

static inline bool locus_rope_acts_on_values(const locus_term *term) {
    return term->class->info.option_count <= LOCUS_ROPE_VALUES || term->options[LOCUS_ROPE_VALUES].choice == 1;
}

/* The class's `conflict`. */
const char *locus_rope_conflict(const locus_term *term, size_t *option);

#endif
