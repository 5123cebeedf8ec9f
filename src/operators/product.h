/* SPDX-License-Identifier: MIT */
/* Direct products: a head's dimensions fall into blocks, one for each coordinate of the group, and each block has an
 * operator of its own, ⌈(a, b)⌉ = ⌈a⌉ ⊕ ⌈b⌉. */
#ifndef LOCUS_PRODUCT_H
#define LOCUS_PRODUCT_H

#include "spec/class.h"

/* One block. Exactly one of `local` and `whole` is set. Both see rows that begin at the block's first dimension, with
 * the whole head's strides, and get the term's own parameters. */
typedef struct locus_operator_part {
    size_t first, count; /* of the head's dimensions */
    const locus_operator *local;
    const locus_whole_operator *whole;
} locus_operator_part;

/* Makes one operator of the parts, which lie side by side and cover [0, dim): the part itself if it is alone; a local
 * product, called block by block within runs of tokens that stay in cache, if all are local; else a whole one. Sets
 * placed->query_key or placed->query_key_whole. `parts` is copied. */
locus_status locus_product_place(const locus_operator_part *parts, size_t count, size_t heads,
                                 const locus_places *places, locus_owned *memory, locus_placed *placed,
                                 locus_error *error);

/* Where the generators of a coordinate stand among a term's parameters: in tensor number `tensor`, [tables,
 * generators, elements…], from number `first` on. */
typedef struct locus_parameter_slice {
    size_t tensor, generators, first;
} locus_parameter_slice;

static inline size_t locus_parameter_slice_at(locus_parameter_slice slice, size_t table, size_t generator,
                                              size_t elements) {
    return (table * slice.generators + slice.first + generator) * elements;
}

#endif
