/* SPDX-License-Identifier: MIT */
/* A linked list of blocks, each with its link in front, padded to the alignment. See owned.h. */
#include "spec/owned.h"

#include "core/call.h"
#include "core/error.h"
#include "core/loop_clones.h"

#include <string.h>

#ifdef LOCUS_SANITIZED
#define SMALL 0
#else
#define SMALL 1024 /* bytes of an array that comes out of a chunk, at most */
#endif
#define CHUNK 4096 /* bytes of a chunk, its link included */
#define CLEARED_BYTES ((size_t)1 << 22)

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

/* A block of so many bytes, its link included; what is behind the link is the caller's. */
static char *take_block(locus_owned *owned, size_t bytes) {
    locus_owned_block *block = take_spare(owned, bytes);
    if (!block) {
        block = locus_allocate(bytes);
        if (!block)
            return NULL;
        block->bytes = bytes;
        owned->bytes += bytes;
    }
    block->before = owned->last;
    owned->last = block;
    return (char *)block + LOCUS_ALIGNMENT;
}

static char *take_small(locus_owned *owned, size_t bytes) {
    if (!owned->free || (size_t)(owned->end - owned->free) < bytes) {
        char *chunk = take_block(owned, CHUNK);
        if (!chunk)
            return NULL;
        owned->free = chunk;
        owned->end = chunk + CHUNK - LOCUS_ALIGNMENT;
    }
    char *taken = owned->free;
    owned->free += bytes;
    return taken;
}

static _Thread_local size_t refused; /* bytes of the last array that there was no memory for */

void *locus_owned_take(locus_owned *owned, size_t count, size_t size) {
    if (locus_call_cancelled())
        return NULL;
    const bool fits = size == 0 || count <= (SIZE_MAX - 2 * LOCUS_ALIGNMENT) / size;
    const size_t bytes = fits ? count * size : SIZE_MAX, least = bytes > 0 ? bytes : LOCUS_ALIGNMENT;
    char *taken = !fits            ? NULL
                  : least <= SMALL ? take_small(owned, locus_aligned(least))
                                   : take_block(owned, LOCUS_ALIGNMENT + bytes);
    refused = taken ? refused : bytes;
    return taken;
}

/* Slice by slice: to fill hundreds of megabytes takes a tenth of a second. false: the call was cancelled. */
static bool clear(char *bytes, size_t count) {
    for (size_t done = 0, slice; done < count; done += slice) {
        slice = count - done < CLEARED_BYTES ? count - done : CLEARED_BYTES;
        if (done > 0 && locus_call_cancelled())
            return false;
        memset(bytes + done, 0, slice);
    }
    return true;
}

void *locus_owned_get(locus_owned *owned, size_t count, size_t size) {
    char *taken = locus_owned_take(owned, count, size);
    return taken && clear(taken, count * size) ? taken : NULL;
}

locus_status locus_owned_fail(locus_error *error) {
    return locus_fail_memory(error, refused);
}

const float *locus_owned_round(locus_owned *owned, const double *values, size_t count, locus_error *error) {
    float *rounded = locus_owned_take(owned, count, sizeof *rounded);
    if (!rounded)
        (void)locus_owned_fail(error);
    for (size_t i = 0; rounded && i < count; i++)
        rounded[i] = (float)values[i];
    return rounded;
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
    *owned = (locus_owned){.bytes = 0};
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
    owned->free = owned->end = NULL;
}
