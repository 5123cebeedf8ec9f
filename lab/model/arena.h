/* SPDX-License-Identifier: MIT */
/* Memory of the model: large blocks for parameters and activations, handed out by moving a mark. A layout function
 * runs twice: over an arena without a block it only counts, then it places. Nothing is allocated while a step runs. */
#ifndef LAB_ARENA_H
#define LAB_ARENA_H

#include "nn/numbers.h"

typedef struct lab_arena {
    unsigned char *block; /* NULL: counting */
    size_t used, capacity;
} lab_arena;

/* The next `count` elements of `size` bytes, aligned to a cache line; NULL while counting. */
void *lab_arena_take(lab_arena *arena, size_t count, size_t size);
float *lab_arena_floats(lab_arena *arena, size_t count);
lab_numbers lab_arena_numbers(lab_arena *arena, size_t count, bool half);

enum { LAB_LARGE_PAGE = 1 << 21 }; /* bytes */

/* A block of at least `bytes` bytes, aligned to a cache line, on large pages where the system has them; not zeroed.
 * NULL if there is no memory. Released by free. */
void *lab_block_allocate(size_t bytes);
/* Large pages for part of a block, where the system has them. */
void lab_block_advise(void *part, size_t bytes);
/* Gives the large pages that lie wholly between the two places of a block back to the system. What stood there is lost,
 * what stands there next is not defined. */
void lab_block_release(void *from, const void *to);

#endif
