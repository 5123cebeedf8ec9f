/* SPDX-License-Identifier: MIT */
/* An encoding rewritten: plain rotary angles in place of generators, or generators in place of angles, and the change
 * of basis that takes projections from one to the other. */
#ifndef LAB_FOLDING_H
#define LAB_FOLDING_H

#include "bound/bound.h"
#include "bound/spec_text.h"

typedef enum lab_fold_to { LAB_FOLD_ROTARY = 0, LAB_FOLD_ALGEBRAIC = 1 } lab_fold_to;

typedef struct lab_folding {
    const lab_bound *source; /* bound */
    locus_fold_shape shape;
    double *basis, *angles, *signs; /* the source's normal form (fold.h) */
    lab_spec spec;                  /* the target's */
    lab_bound target;               /* bound */
    double *turn; /* T [heads, d, d], orthogonal: x = T x′ for a vector x of the source, x′ of the target */
    bool shared;  /* all heads turn by the same angles */
} lab_folding;

typedef struct lab_folding_wish {
    lab_fold_to to;
    bool half;         /* to rotary: pairs (i, i + d/2) */
    bool random_basis; /* to algebraic: else the standard basis */
    uint64_t seed;
} lab_folding_wish;

/* `source` is bound and outlives the folding. UNSUPPORTED, with the reason and what to do, for what has no normal form
 * or does not fit the target; MEMORY. Close it in either case. */
locus_status lab_folding_open(lab_folding *folding, const lab_bound *source, const lab_folding_wish *wish,
                              locus_error *error);
void lab_folding_close(lab_folding *folding);

#endif
