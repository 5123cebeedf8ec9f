/* SPDX-License-Identifier: MIT */
/* How `algebraic` cuts a head: one block of dimensions for each coordinate of the group, and where the generators of
 * each block stand among the term's parameters. Then: initial values. */
#ifndef LOCUS_ALGEBRAIC_BLOCKS_H
#define LOCUS_ALGEBRAIC_BLOCKS_H

#include "operators/learned/turning.h"

/* The class's options, in their order. */
enum {
    LOCUS_ALGEBRAIC_GROUP,
    LOCUS_ALGEBRAIC_GENERATOR,
    LOCUS_ALGEBRAIC_INIT,
    LOCUS_ALGEBRAIC_HEADS,
    LOCUS_ALGEBRAIC_SIDE,
    LOCUS_ALGEBRAIC_VALUES,
    LOCUS_ALGEBRAIC_DECAY,
    LOCUS_ALGEBRAIC_SPLIT
};

typedef enum locus_generator {
    LOCUS_GENERATOR_SKEW = 0,
    LOCUS_GENERATOR_ANGLES = 1,
    LOCUS_GENERATOR_CAYLEY = 2,
    LOCUS_GENERATOR_HOUSEHOLDER = 3,
    LOCUS_GENERATOR_FIXED = 4
} locus_generator;

/* Numbers of one tensor, at most: 2 GiB of doubles. */
#define LOCUS_GENERATORS_MAX ((size_t)1 << 28)

typedef struct locus_algebraic_block {
    locus_coordinate coordinate;
    size_t first, dim;           /* of the head's dimensions */
    size_t generators, elements; /* 0 generators: generator=angles on a cycle; numbers of each generator */
    locus_parameter_slice slice;
} locus_algebraic_block;

typedef struct locus_algebraic_blocks {
    size_t count, tables;
    locus_generator generator;
    locus_orthogonal_kind kind; /* of matrices */
    locus_algebraic_block items[LOCUS_COORDINATES_MAX];
    size_t tensor_count; /* learned, or drawn for generator=fixed */
    locus_parameter tensors[LOCUS_COORDINATES_MAX];
} locus_algebraic_blocks;

/* SHAPE if the head cannot be cut so, or if there are more generators than fit. */
locus_status locus_algebraic_blocks_of(const locus_term *term, const locus_shape *shape, locus_algebraic_blocks *blocks,
                                       locus_error *error);

/* Fills the tensors; `random` is a stream of its own. */
locus_status locus_algebraic_draw(const locus_term *term, const locus_algebraic_blocks *blocks,
                                  const locus_random *random, double *const *values, locus_error *error);

#endif
