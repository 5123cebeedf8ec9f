/* SPDX-License-Identifier: MIT */
/* What the measurements of laws share: laws.c, law_relativity.c. */
#ifndef CLI_LAW_JOB_H
#define CLI_LAW_JOB_H

#include "elements.h"
#include "laws.h"

typedef struct law_job {
    const cli_encoding *encoding;
    const locus_group *group; /* what positions are drawn from */
    locus_group *own;         /* it, if the encoding takes any */
    cli_elements elements;
    locus_role role;
    size_t heads, dim;
    bool trees, cycles, abelian;
    unsigned promises; /* mask of locus_law */
    cli_laws *laws;
} law_job;

/* Keeps the larger of *most and |value|; NaN stays. */
void law_raise(double *most, double value);

/* Applies what acts on the role in `plan` to x, in place. */
int law_apply(const locus_plan *plan, locus_role role, const lab_array *x);

/* Standard normal numbers; another `step`, other numbers. */
void law_draw_vectors(lab_array *x, uint64_t seed, uint32_t step);

/* *most receives the largest movement, relative where scores are larger than 1. */
int law_relativity(law_job *job, double *most);

#endif
