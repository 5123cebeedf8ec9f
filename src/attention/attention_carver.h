/* SPDX-License-Identifier: MIT */
/* A bump allocator over a call's workspace: the same lines count what is needed and lay it out. */
#ifndef LOCUS_ATTENTION_CARVER_H
#define LOCUS_ATTENTION_CARVER_H

#include <stddef.h>

/* The next multiple of `of`. */
static inline size_t padded(size_t count, size_t of) {
    return (count + of - 1) / of * of;
}

/* With base NULL it only counts. Blocks are aligned to LOCUS_ALIGNMENT. */
typedef struct attention_carver {
    char *base;
    size_t used;
} attention_carver;
void *locus_attention_carve(attention_carver *carver, size_t count, size_t size);

#endif
