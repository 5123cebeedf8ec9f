/* SPDX-License-Identifier: MIT */
/* The allocator in use. A plain global: it is chosen once, before anything else, and read from all threads after
 * that. */
#include <locus/memory.h>

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

static const locus_allocator default_allocator = {default_allocate, default_release, NULL};
static locus_allocator current = {default_allocate, default_release, NULL};

void locus_allocator_set(const locus_allocator *allocator) {
    current = allocator ? *allocator : default_allocator;
}

/* Allocators never see 0 bytes, so that NULL always means failure. */
void *locus_allocate(size_t bytes) {
    return current.allocate(current.state, bytes ? bytes : 1, LOCUS_ALIGNMENT);
}

void locus_release(void *block, size_t bytes) {
    if (block)
        current.release(current.state, block, bytes ? bytes : 1);
}
