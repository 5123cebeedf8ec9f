/* SPDX-License-Identifier: MIT */
/* What a spec says of the shapes and positions that it can be tried with, where nobody else says. */
#ifndef LAB_NATURAL_SHAPE_H
#define LAB_NATURAL_SHAPE_H

#include <locus/encoding.h>
#include <stdint.h>

typedef struct lab_natural {
    size_t head_dim; /* what lists (sections, short, split) and rotate ask for, else `each` for every coordinate */
    int64_t reach;   /* how far from the origin positions may be: less where an encoding has an end (xpos),
                         or is not the library's */
} lab_natural;

/* MEMORY alone can fail it. */
locus_status lab_natural_find(lab_natural *natural, const locus_encoding *encoding, size_t each, int64_t reach,
                              locus_error *error);

#endif
