/* SPDX-License-Identifier: MIT */
/* The library's allocator hook in a fuzz target's hands: it counts, fails when it is told to, and refuses what no case
 * needs (an option may ask for gigabytes). */
#ifndef TESTS_FUZZ_ALLOCATOR_H
#define TESTS_FUZZ_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

/* Puts the hook in place once; before any other call of the library. */
void fuzz_allocator_use(void);
/* The allocation behind `good` others fails, once. */
void fuzz_allocator_arm(size_t good);
/* None fails any more; whether one did, or was refused for its size, since fuzz_allocator_arm. */
bool fuzz_allocator_disarm(void);
/* Allocations so far: execution makes none. */
const size_t *fuzz_allocator_count(void);

#endif
