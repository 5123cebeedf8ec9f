/* SPDX-License-Identifier: MIT */
/* The allocator in use. A plain global: it is chosen once, before anything else, and read from all threads after
 * that. */
#include <locus/memory.h>

#include "core/error.h"
#include "core/sized.h"

#include <stdlib.h>

#if defined(_WIN32)
#include <malloc.h>
#define take_aligned(alignment, bytes) _aligned_malloc(bytes, alignment)
#define give_aligned _aligned_free
#else
#define take_aligned aligned_alloc
#define give_aligned free
#endif

static void *default_allocate(void *state, size_t bytes, size_t alignment) {
    (void)state;
    if (bytes > SIZE_MAX - alignment)
        return NULL;
    return take_aligned(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void default_release(void *state, void *block, size_t bytes) {
    (void)state;
    (void)bytes;
    give_aligned(block);
}

static const locus_allocator default_allocator = {sizeof(locus_allocator), default_allocate, default_release, NULL};
static locus_allocator current = {sizeof(locus_allocator), default_allocate, default_release, NULL};

locus_status locus_allocator_set(const locus_allocator *allocator, locus_error *error) {
    static const locus_sized kind = {sizeof *allocator, sizeof *allocator, "allocator"};
    locus_allocator own = default_allocator;
    const locus_status status = locus_sized_read(&own, &kind, allocator, error);
    if (status != LOCUS_OK)
        return status;
    if (!own.allocate || !own.release)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "allocator", "allocator.%s is NULL: give a function",
                          own.allocate ? "release" : "allocate");
    current = own;
    return LOCUS_OK;
}

/* Allocators never see 0 bytes, so that NULL always means failure. */
void *locus_allocate(size_t bytes) {
    return current.allocate(current.state, bytes ? bytes : 1, LOCUS_ALIGNMENT);
}

void locus_release(void *block, size_t bytes) {
    if (block)
        current.release(current.state, block, bytes ? bytes : 1);
}
