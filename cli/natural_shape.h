/* SPDX-License-Identifier: MIT */
/* What a spec says of the shapes and positions that it can be tried with, where the command line leaves them open. */
#ifndef CLI_NATURAL_SHAPE_H
#define CLI_NATURAL_SHAPE_H

#include <locus/encoding.h>
#include <stdint.h>

typedef struct cli_natural {
    size_t head_dim; /* what lists (sections, short, split) and rotate ask for, else `each` for every coordinate */
    int64_t reach;   /* how far from the origin positions may be: less where an encoding has an end (xpos),
                         or is not the library's */
} cli_natural;

/* 0, or 1 after a line on standard error. */
int cli_natural_find(cli_natural *natural, const locus_encoding *encoding, size_t each, int64_t reach);

#endif
