/* SPDX-License-Identifier: MIT */
/* A linked list of blocks, each with its link in front, padded to the alignment. See owned.h. */
#include "encoding/owned.h"

#include "core/error.h"

#include <string.h>

struct locus_owned_block {
    locus_owned_block *before;
    size_t bytes;
};

void *locus_owned_get(locus_owned *owned, size_t count, size_t size) {
    if (size > 0 && count > (SIZE_MAX - 2 * LOCUS_ALIGNMENT) / size)
        return NULL;
    size_t bytes = LOCUS_ALIGNMENT + count * size;
    locus_owned_block *block = locus_allocate(bytes);
    if (!block)
        return NULL;
    memset(block, 0, bytes);
    block->before = owned->last;
    block->bytes = bytes;
    owned->last = block;
    owned->bytes += bytes;
    return (char *)block + LOCUS_ALIGNMENT;
}

locus_status locus_owned_fail(locus_error *error, size_t count, size_t size) {
    return locus_fail_memory(error, size > 0 && count > SIZE_MAX / size ? SIZE_MAX : count * size);
}

void locus_owned_release(locus_owned *owned) {
    while (owned->last) {
        locus_owned_block *block = owned->last;
        owned->last = block->before;
        locus_release(block, block->bytes);
    }
    owned->bytes = 0;
}
