/* SPDX-License-Identifier: MIT */
/* See attention_carver.h. */
#include "attention/attention_carver.h"

#include <locus/memory.h>

void *locus_attention_carve(attention_carver *carver, size_t count, size_t size) {
    const size_t bytes = product_of(count, size), left = ATTENTION_CARVED_MOST - carver->used;
    void *block = carver->base ? carver->base + carver->used : NULL;
    carver->used += bytes < left ? padded(bytes, LOCUS_ALIGNMENT) : left;
    return block;
}
