/* SPDX-License-Identifier: MIT */
/* The inside of registered encodings. */
#ifndef LOCUS_EXTENSION_CLASS_H
#define LOCUS_EXTENSION_CLASS_H

#include "spec/class.h"

#include <locus/extension.h>

#define LOCUS_EXTENSION_PARAMETERS_MAX 16

/* A registered encoding; lives until the process ends. */
typedef struct locus_extension {
    locus_encoding_class class;             /* first: a term's class leads here */
    locus_encoding_description description; /* what it points to is the extension's own, but for the context */
    locus_extension_parameter parameters[LOCUS_EXTENSION_PARAMETERS_MAX];
    locus_owned memory; /* of all of it */
} locus_extension;

static inline const locus_extension *locus_extension_of(const locus_term *term) {
    return (const locus_extension *)(const void *)term->class;
}

/* Bound: what callbacks are told that does not depend on positions. */
typedef struct locus_extension_bound {
    const locus_extension *own;
    size_t heads, head_dim;
    size_t tables; /* heads, or 1: all heads alike */
    const locus_extension_option *options;
    const double *values[LOCUS_EXTENSION_PARAMETERS_MAX];
    size_t elements; /* of all parameters */
    size_t counts[LOCUS_EXTENSION_PARAMETERS_MAX];
    const struct locus_rotary *rotary; /* of angles */
} locus_extension_bound;

/* What an option list of a term says (extension_class.c). */
locus_status locus_extension_options(const locus_term *term, locus_owned *memory,
                                     const locus_extension_option **options, locus_error *error);

/* Fills in the class's functions. */
void locus_extension_class_fill(locus_extension *extension);

/* ---- callbacks (callback.c) ---- */

/* Places of positions, and of keys in scores. */
typedef struct locus_extension_places {
    size_t count, coordinates, length;
    locus_extension_positions query, key;
    const double *distance;
} locus_extension_places;

/* Numbers of one place. */
size_t locus_extension_width(locus_extension_kind kind, size_t head_dim);

/* values [places, width] of a head. NUMERIC for what is not finite; else what the callback reports. */
locus_status locus_extension_ask(const locus_extension_bound *bound, const locus_extension_places *places, size_t head,
                                 double *values, locus_error *error);

/* Adds a head's share, from upstream [places, width], to the term's gradients. `work` holds bound->elements doubles. A
 * failure is the current call's (core/call.h). */
void locus_extension_learn(const locus_extension_bound *bound, const locus_extension_places *places, size_t head,
                           const double *upstream, double *work, const locus_tensor *gradients);

/* Initial values of a parameter. */
locus_status locus_extension_draw(const locus_extension_bound *bound, size_t parameter, size_t elements, double *values,
                                  locus_error *error);

/* ---- placing ---- */

/* What operators need of a shape; nothing for scores. */
locus_status locus_extension_bind_turn(locus_extension_bound *bound, locus_owned *memory, locus_error *error);

locus_status locus_extension_place_turn(const locus_extension_bound *bound, const locus_places *places,
                                        locus_owned *memory, locus_placed *placed, locus_error *error);
locus_status locus_extension_place_score(const locus_extension_bound *bound, const locus_places *places,
                                         locus_owned *memory, locus_placed *placed, locus_error *error);

#endif
