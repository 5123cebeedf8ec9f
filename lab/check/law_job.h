/* SPDX-License-Identifier: MIT */
/* What the measurements of laws share: laws.c and the files of each kind of law. */
#ifndef LAB_LAW_JOB_H
#define LAB_LAW_JOB_H

#include "bound/bound.h"
#include "check/elements.h"
#include "io/array.h"

#define LAW_REACH 1000000 /* steps of a long path on an axis */

typedef struct law_job {
    const lab_bound *bound;
    const locus_group *group; /* what positions are drawn from */
    locus_group *own;         /* it, if the encoding takes any */
    lab_elements elements;
    locus_role role;
    size_t heads, dim;
    bool trees, cycles, abelian;
    unsigned promises; /* mask of locus_law */
} law_job;

/* Largest errors. Of the operators ⌈p⌉ as matrices, in float64, or, `far`, in float32 on long paths
 * (law_operators.c): */
typedef struct law_operator_errors {
    double homomorphism, inverse, orthogonality, commutators;
} law_operator_errors;
locus_status law_operators(law_job *job, bool far, law_operator_errors *errors, locus_error *error);

/* of norms; of a cycle's turns; of scores and outputs that moved, relative where scores are larger than 1
 * (law_vectors.c, law_relativity.c). */
locus_status law_norm(law_job *job, double *most, locus_error *error);
locus_status law_period(law_job *job, double *most, locus_error *error);
locus_status law_relativity(law_job *job, double *most, locus_error *error);

/* Keeps the larger of *most and |value|; NaN stays. */
void law_raise(double *most, double value);
/* Standard normal numbers; another `step`, other numbers. */
void law_draw_vectors(lab_array *x, uint64_t seed, uint32_t step);

#endif
