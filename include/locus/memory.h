/* SPDX-License-Identifier: MIT */
/* The allocator hook. All memory that liblocus owns comes from it; execution (apply, attention) never allocates. */
#ifndef LOCUS_MEMORY_H
#define LOCUS_MEMORY_H

#include <locus/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Alignment, in bytes, of every block that the library asks for: a cache line and the widest vector. */
#define LOCUS_ALIGNMENT 64

typedef struct locus_allocator {
    size_t size; /* sizeof(locus_allocator): it may grow at its end */
    void *(*allocate)(void *state, size_t bytes, size_t alignment); /* NULL on failure; bytes > 0 */
    void (*release)(void *state, void *block, size_t bytes);        /* block is never NULL */
    void *state;
} locus_allocator;

/* Replaces the allocator for all later allocations; NULL restores the default (aligned_alloc). Call it before any
 * other call of the library: a block must be released by the allocator that gave it. Not thread-safe. ARGUMENT for one
 * without its functions or its size. */
LOCUS_API LOCUS_MUST_USE locus_status locus_allocator_set(const locus_allocator *allocator, locus_error *error);

/* Allocates and releases with the current allocator; for callers that want aligned tensors and workspaces.
 * `locus_release(NULL, …)` does nothing. `bytes` must be the number that was allocated. */
LOCUS_API LOCUS_MUST_USE void *locus_allocate(size_t bytes);
LOCUS_API void locus_release(void *block, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
