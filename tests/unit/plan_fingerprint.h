/* SPDX-License-Identifier: MIT */
/* Everything that a plan computes, as a hash of its bits: two plans do the same if their fingerprints are equal. */
#ifndef TESTS_PLAN_FINGERPRINT_H
#define TESTS_PLAN_FINGERPRINT_H

#include <locus/locus.h>

typedef struct plan_subject {
    const locus_encoding *encoding;
    locus_shape shape;   /* of all fields, value_dim too */
    size_t tokens, keys; /* of the buffers */
} plan_subject;

/* Every role applied both ways and backward with gradients, attention forward and backward (causal where nothing else
 * will do), in float32 and float64. */
uint64_t plan_fingerprint(const locus_plan *plan, const plan_subject *subject);

#endif
