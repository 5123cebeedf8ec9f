/* SPDX-License-Identifier: MIT */
/* See fuzz_allocator.h. Blocks come from aligned_alloc, so that the sanitizer watches their ends. */
#include "fuzz_allocator.h"

#include <locus/memory.h>
#include <stdint.h>
#include <stdlib.h>

#define MOST ((size_t)64 << 20)

static size_t made, left = SIZE_MAX;
static bool failed;

static void *allocate(void *state, size_t bytes, size_t alignment) {
    (void)state;
    made++;
    if (left == 0 || bytes > MOST) {
        failed = true;
        left = SIZE_MAX;
        return NULL;
    }
    left -= left != SIZE_MAX;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *state, void *block, size_t bytes) {
    (void)state, (void)bytes;
    free(block);
}

void fuzz_allocator_use(void) {
    static const locus_allocator hook = {.size = sizeof hook, .allocate = allocate, .release = release};
    static bool used;
    if (!used && locus_allocator_set(&hook, NULL) != LOCUS_OK)
        abort();
    used = true;
}

void fuzz_allocator_arm(size_t good) {
    failed = false;
    left = good;
}

bool fuzz_allocator_disarm(void) {
    left = SIZE_MAX;
    return failed;
}

const size_t *fuzz_allocator_count(void) {
    return &made;
}
