/* SPDX-License-Identifier: MIT */
/* One call of the library on a drawn world, compared with the reference: results, gradients, and every byte around
 * them. Tolerances are bounds of rounding, from the numbers at hand:
 *
 *   eps      half of the distance to the next number: 2^−53, 2^−24; half types compute in float32 and round results
 *            (and what the backward reads again, the output) once, to 2^−11 or 2^−8
 *   angles   are made in double: 2^−50 of the largest one
 *   score    the sum of magnitudes that a score is made of, S: its error is at most about (d + 8)·eps·S, and a weight's
 *            relative error is the score's
 *   output   a mean with weights that sum to 1: error at most (score's + 8 eps)·largest value
 *
 * A bound of the worst case over sums of d terms would be d·eps; rounding errors are as good as random, so a constant
 * (ROUNDINGS) stands for √d and for the polynomials of exp and log. Gradients are compared along random directions with
 * central differences of the reference; errors of many elements add up as their root sum of squares. In double also
 * every partial derivative of small tensors. */
#ifndef TESTS_TRIAL_H
#define TESTS_TRIAL_H

#include "reference/drawn_world.h"

#define TRIAL_ROUNDINGS 24.0
#define TRIAL_ANGLE 8.9e-16 /* 2^−50 */

typedef enum trial_state { TRIAL_REFUSED, TRIAL_FINE, TRIAL_FAILED } trial_state;

typedef struct trial {
    trial_state state;
    double worst;       /* the largest error over its tolerance */
    const char *where;  /* of the worst */
    bool compared;      /* forward; false where numbers were not finite */
    bool backward;      /* gradients, too */
    char message[1200]; /* of a refusal or a failure */
} trial;

/* With one, some numbers are not finite, and some calls get tensors or workspaces that are wrong and must be refused.
 * `allocations` counts those of the library: execution makes none. */
typedef struct trial_hostility {
    const size_t *allocations;
} trial_hostility;

/* locus_apply and its backward, in a role, direction, type and layout that are drawn. `hostility` may be NULL. */
void trial_apply(drawn_world *world, chooser *choices, const trial_hostility *hostility, trial *result);
/* locus_attention_forward and _backward, with options that are drawn. */
void trial_attention(drawn_world *world, chooser *choices, const trial_hostility *hostility, trial *result);

/* What trial_attention hands to trial_weights: a call that the library takes. */
typedef struct trial_weights_case {
    const drawn_world *world;
    const locus_attention_options *options;
    reference_bias bias;
    const double *query_values, *key_values;
    const locus_tensor *query, *key;
    size_t longest;   /* keys of a sequence */
    double tolerance; /* relative, of a weight */
} trial_weights_case;

/* Weights of heads and queries that are drawn. */
void trial_weights(const trial_weights_case *test, chooser *choices, trial *result);

/* ---- for the files of trials ---- */

void trial_refuse(trial *result, const locus_error *error); /* checks the message */
void trial_fail(trial *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* |got − want| ≤ tolerance, or both the same infinity; keeps the worst. */
void trial_compare(trial *result, const char *what, size_t index, double got, double want, double tolerance);
/* Of a result that was rounded to `dtype`: what is too large for it is an infinity of its sign. */
void trial_compare_stored(trial *result, const char *what, size_t index, locus_dtype dtype, double got, double want,
                          double tolerance);
/* From here on a number is rounded to an infinity. */
double trial_overflow(locus_dtype dtype);
locus_dtype trial_dtype(chooser *choices);
/* A workspace of exactly the bytes that were asked for, between guards. */
typedef struct trial_workspace {
    locus_workspace lent;
    size_t all;
} trial_workspace;
trial_workspace trial_workspace_make(size_t bytes);
bool trial_workspace_free(trial_workspace *workspace); /* whether the guards are whole */
/* Lends less: a call refuses, or does with fewer threads and stays within it. */
void trial_workspace_shrink(trial_workspace *workspace, chooser *choices);

/* Makes one thing wrong, in copies that the caller handed over: a type, a rank, a size, a stride, a pointer, a
 * workspace. `lengths`: of each tensor the dimension that may be longer than any sequence, or −1. Returns what it was,
 * or NULL where nothing could be made wrong. */
const char *trial_damage(chooser *choices, locus_tensor *tensors, const int *lengths, size_t count,
                         locus_workspace *workspace);
/* Puts NaN or an infinity into a few places. */
void trial_poison(chooser *choices, double *values, size_t count);
/* The count before a call; then, a failure if the call allocated. */
size_t trial_allocations(const trial_hostility *hostility);
void trial_check_allocations(trial *result, const trial_hostility *hostility, size_t before);

/* A direction in the parameters' space for central differences: at least one tensor, or all. Moves world->values by
 * `step` times it. */
typedef struct trial_direction {
    double *of[REFERENCE_TENSORS];
    double reach; /* how far an operator or a score moves with a step of 1: grows with positions */
} trial_direction;
trial_direction trial_direction_make(const drawn_world *world, chooser *choices);
void trial_direction_free(trial_direction *direction);
void trial_move(drawn_world *world, const trial_direction *direction, double step);
/* Σ gradient · direction, and Σ |gradient · direction|² in `square`. */
double trial_along(const drawn_world *world, const trial_direction *direction, double *const *gradients);

#endif
