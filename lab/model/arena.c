/* SPDX-License-Identifier: MIT */
/* Blocks are advised to use large pages: matrix products over hundreds of megabytes otherwise miss the address cache.
 * */
#define _DEFAULT_SOURCE 1 /* madvise */
#include "model/arena.h"
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LINE = 64 };

void *lab_arena_take(lab_arena *arena, size_t count, size_t size) {
    size_t bytes = (count * size + LINE - 1) / LINE * LINE;
    void *place = arena->block ? arena->block + arena->used : NULL;
    arena->used += bytes;
    return place;
}

float *lab_arena_floats(lab_arena *arena, size_t count) {
    return lab_arena_take(arena, count, sizeof(float));
}

lab_numbers lab_arena_numbers(lab_arena *arena, size_t count, bool half) {
    return (lab_numbers){lab_arena_take(arena, count, lab_number_size(half)), half};
}

void lab_block_advise(void *part, size_t bytes) {
#ifdef MADV_HUGEPAGE
    (void)madvise(part, bytes, MADV_HUGEPAGE);
#else
    (void)part, (void)bytes;
#endif
}

void *lab_block_allocate(size_t bytes) {
    size_t alignment = bytes >= LAB_LARGE_PAGE ? LAB_LARGE_PAGE : LINE;
    if (bytes > SIZE_MAX - alignment)
        return NULL;
    size_t whole = (bytes + alignment - 1) / alignment * alignment;
    void *block = aligned_alloc(alignment, whole > 0 ? whole : alignment);
    if (block && alignment == LAB_LARGE_PAGE)
        lab_block_advise(block, whole);
    return block;
}

void lab_block_release(void *from, const void *to) {
    const uintptr_t first = ((uintptr_t)from + LAB_LARGE_PAGE - 1) / LAB_LARGE_PAGE * LAB_LARGE_PAGE;
    const uintptr_t end = (uintptr_t)to / LAB_LARGE_PAGE * LAB_LARGE_PAGE;
    if (first < end)
        (void)madvise((unsigned char *)from + (first - (uintptr_t)from), end - first, MADV_DONTNEED);
}
