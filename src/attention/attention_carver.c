/* SPDX-License-Identifier: MIT */
/* See attention_carver.h. */
#include "attention/attention_carver.h"

#include <locus/memory.h>

void *locus_attention_carve(attention_carver *carver, size_t count, size_t size) {
    const size_t bytes = padded(count * size, LOCUS_ALIGNMENT);
    void *block = carver->base ? carver->base + carver->used : NULL;
    carver->used += bytes;
    return block;
}
