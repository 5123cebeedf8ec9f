/* SPDX-License-Identifier: MIT */
/* A bump allocator over a call's workspace: the same lines count what is needed and lay it out. */
#ifndef LOCUS_ATTENTION_CARVER_H
#define LOCUS_ATTENTION_CARVER_H

#include <stddef.h>
#include <stdint.h>

/* The next multiple of `of`. */
static inline size_t padded(size_t count, size_t of) {
    return (count + of - 1) / of * of;
}

/* More bytes than any memory has, a multiple of every alignment. */
#define ATTENTION_CARVED_MOST (SIZE_MAX / 2 + 1)

/* The product, or SIZE_MAX where no size_t holds it. */
static inline size_t product_of(size_t a, size_t b) {
    return b > 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

/* With base NULL it only counts. Blocks are aligned to LOCUS_ALIGNMENT; together they have ATTENTION_CARVED_MOST bytes
 * at most, which nothing allocates. */
typedef struct attention_carver {
    char *base;
    size_t used;
} attention_carver;
void *locus_attention_carve(attention_carver *carver, size_t count, size_t size);

#endif
