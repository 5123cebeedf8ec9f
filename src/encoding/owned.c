/* SPDX-License-Identifier: MIT */
/* A linked list of blocks, each with its link in front, padded to the alignment. See owned.h. */
#include "encoding/owned.h"

#include "core/error.h"

#include <string.h>

struct locus_owned_block {
    locus_owned_block *before;
    size_t bytes;
};

/* Takes the smallest spare block of at least `bytes` out of the list. NULL: there is none that is not far too large. */
static locus_owned_block *take_spare(locus_owned *owned, size_t bytes) {
    locus_owned_block **best = NULL;
    for (locus_owned_block **link = &owned->spare; *link; link = &(*link)->before)
        if ((*link)->bytes >= bytes && (*link)->bytes / 4 <= bytes && (!best || (*link)->bytes < (*best)->bytes))
            best = link;
    if (!best)
        return NULL;
    locus_owned_block *block = *best;
    *best = block->before;
    return block;
}

void *locus_owned_get(locus_owned *owned, size_t count, size_t size) {
    if (size > 0 && count > (SIZE_MAX - 2 * LOCUS_ALIGNMENT) / size)
        return NULL;
    size_t bytes = LOCUS_ALIGNMENT + count * size;
    locus_owned_block *block = take_spare(owned, bytes);
    if (!block) {
        block = locus_allocate(bytes);
        if (!block)
            return NULL;
        block->bytes = bytes;
        owned->bytes += bytes;
    }
    memset((char *)block + LOCUS_ALIGNMENT, 0, bytes - LOCUS_ALIGNMENT);
    block->before = owned->last;
    owned->last = block;
    return (char *)block + LOCUS_ALIGNMENT;
}

locus_status locus_owned_fail(locus_error *error, size_t count, size_t size) {
    return locus_fail_memory(error, size > 0 && count > SIZE_MAX / size ? SIZE_MAX : count * size);
}

static void release_list(locus_owned_block **list) {
    while (*list) {
        locus_owned_block *block = *list;
        *list = block->before;
        locus_release(block, block->bytes);
    }
}

void locus_owned_release(locus_owned *owned) {
    release_list(&owned->last);
    release_list(&owned->spare);
    owned->bytes = 0;
}

static size_t bytes_of(const locus_owned_block *block) {
    size_t bytes = 0;
    for (; block; block = block->before)
        bytes += block->bytes;
    return bytes;
}

/* Blocks that nobody wanted this time go, once they are more than those that were wanted. */
void locus_owned_recycle(locus_owned *owned) {
    const size_t unwanted = bytes_of(owned->spare);
    if (unwanted > owned->bytes - unwanted) {
        release_list(&owned->spare);
        owned->bytes -= unwanted;
    }
    while (owned->last) {
        locus_owned_block *block = owned->last;
        owned->last = block->before;
        block->before = owned->spare;
        owned->spare = block;
    }
}
