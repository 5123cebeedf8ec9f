/* SPDX-License-Identifier: MIT */
/* An encoding rewritten: plain rotary angles in place of generators, or generators in place of angles, and the change
 * of basis that takes projections from one to the other. */
#ifndef CLI_FOLDING_H
#define CLI_FOLDING_H

#include "encoding_argument.h"
#include "spec_text.h"
#include <locus/fold.h>

typedef enum cli_fold_to { CLI_FOLD_ROTARY = 0, CLI_FOLD_ALGEBRAIC = 1 } cli_fold_to;

typedef struct cli_folding {
    const cli_encoding *source; /* bound */
    locus_fold_shape shape;
    double *basis, *angles, *signs; /* the source's normal form (fold.h) */
    cli_spec spec;                  /* the target's */
    cli_encoding target;            /* bound */
    double *turn; /* T [heads, d, d], orthogonal: x = T x′ for a vector x of the source, x′ of the target */
    bool shared;  /* all heads turn by the same angles */
} cli_folding;

typedef struct cli_folding_wish {
    cli_fold_to to;
    bool half;         /* to rotary: pairs (i, i + d/2) */
    bool random_basis; /* to algebraic: else the standard basis */
    uint64_t seed;
} cli_folding_wish;

/* 0 and filled, else the exit status after a line on standard error. Close it in either case. */
int cli_folding_open(cli_folding *folding, const cli_encoding *source, const cli_folding_wish *wish);
void cli_folding_close(cli_folding *folding);

/* ---- the two ways (folding_rotary.c, folding_algebraic.c) ---- */

/* Rewrites folding->spec. */
int cli_folding_rotary_spec(cli_folding *folding, bool half);
int cli_folding_algebraic_spec(cli_folding *folding);

/* Block of the head's dimensions, and of the pairs, that coordinate `index` of an algebraic term has. */
typedef struct cli_fold_block {
    size_t first, dim, pair;
    locus_coordinate coordinate;
} cli_fold_block;
cli_fold_block cli_folding_block(const cli_folding *folding, size_t index);

/* Parses the spec and lists its parameters in folding->target, all zero. */
int cli_folding_parse(cli_folding *folding);
/* The parameters of the other terms, and a learned decay's rate, from the source. */
int cli_folding_copy(cli_folding *folding);
/* Base name of the target's parameter `index` if it belongs to the folded term, else NULL: "angles.1". */
const char *cli_folding_own(const cli_folding *folding, size_t index);

/* Parameters of the folded term, and T. */
int cli_folding_rotary_fill(cli_folding *folding);
int cli_folding_algebraic_fill(cli_folding *folding, const cli_folding_wish *wish);

#endif
