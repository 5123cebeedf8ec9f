/* SPDX-License-Identifier: MIT */
/* The laws of positions as a group action, measured on random elements. */
#ifndef LAB_LAWS_H
#define LAB_LAWS_H

#include "bound/bound.h"

#define LAB_LAWS_MAX 12

typedef struct lab_law {
    const char *name;
    const char *meaning; /* the formula whose error is given */
    double error;        /* of the largest element, or of scores relative to their size */
    double tolerance;
    bool promised; /* by what the encoding is documented to be */
    bool holds;    /* error ≤ tolerance */
} lab_law;

typedef struct lab_laws {
    size_t count;
    lab_law items[LAB_LAWS_MAX];
} lab_laws;

/* Measures every law that makes sense for the sites and the group of an encoding that is bound; `seed` draws elements
 * and vectors. Nothing of `laws` is owned. A law that does not hold is no failure; what the library refuses is, with
 * its status, and MEMORY. */
locus_status lab_laws_measure(lab_laws *laws, const lab_bound *bound, uint64_t seed, locus_error *error);

#endif
