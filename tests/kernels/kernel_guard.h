/* SPDX-License-Identifier: MIT */
/* Buffers between pages that may not be touched: a read or write past either end of a buffer kills the test. A buffer
 * lies flush with the page before it or with the page after it. */
#ifndef LOCUS_TESTS_KERNEL_GUARD_H
#define LOCUS_TESTS_KERNEL_GUARD_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD_SLOTS = 6, GUARD_PLACEMENTS = 2 };

static unsigned char *guard_base[GUARD_SLOTS];
static const size_t guard_bytes = (size_t)1 << 19;

static void guard_open(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int slot = 0; slot < GUARD_SLOTS; slot++) {
        int zero = open("/dev/zero", O_RDWR);
        unsigned char *all = mmap(NULL, guard_bytes + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
        if (zero < 0 || all == MAP_FAILED || mprotect(all, page, PROT_NONE) != 0 ||
            mprotect(all + page + guard_bytes, page, PROT_NONE) != 0) {
            fprintf(stderr, "cannot map guarded memory\n");
            exit(1);
        }
        close(zero);
        guard_base[slot] = all + page;
    }
}

/* `bytes` bytes in slot `slot`: at its beginning (placement 0) or at its end (1). */
static void *guard_place(int slot, size_t bytes, int placement) {
    if (bytes > guard_bytes) {
        fprintf(stderr, "guarded buffer of %zu bytes does not fit\n", bytes);
        exit(1);
    }
    return guard_base[slot] + (placement ? guard_bytes - bytes : 0);
}

/* Splitmix64: test data that does not come from the generator under test. */
static uint64_t test_state = 1;

static uint64_t test_bits(void) {
    uint64_t z = test_state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static double test_uniform(void) /* in [−1, 1) */
{
    return (double)(test_bits() >> 11) * 0x1p-52 - 1;
}

#endif
