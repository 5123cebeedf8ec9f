/* SPDX-License-Identifier: MIT */
/* An allocator for the library's hook that keeps books and refuses one allocation. */
#ifndef TESTS_REFUSING_LEDGER_H
#define TESTS_REFUSING_LEDGER_H

#include "locus/locus.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct ledger {
    size_t blocks, bytes, asked, refuse; /* refuse: number of the allocation that fails, from 1; 0: none */
    size_t refused;                      /* its bytes */
} ledger;

static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;

static void *book_allocate(void *state, size_t bytes, size_t alignment) {
    ledger *books = state;
    pthread_mutex_lock(&ledger_lock);
    const bool refused = ++books->asked == books->refuse;
    void *block = refused ? NULL : aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    books->refused = refused ? bytes : books->refused;
    books->blocks += block != NULL;
    books->bytes += block ? bytes : 0;
    pthread_mutex_unlock(&ledger_lock);
    return block ? memset(block, 0xA5, bytes) : NULL; /* nothing may count on zeros */
}

static void book_release(void *state, void *block, size_t bytes) {
    ledger *books = state;
    pthread_mutex_lock(&ledger_lock);
    books->blocks--;
    books->bytes -= bytes;
    pthread_mutex_unlock(&ledger_lock);
    free(block);
}

/* That a call failed by the refusal, and says how many bytes there were not: a block of its own, or one with a line in
 * front that says whose it is; what is small comes out of a page (src/spec/owned.c). */
static inline void assert_refused(const ledger *books, locus_status status, const locus_error *error) {
    size_t told = 0;
    if (status != LOCUS_ERROR_MEMORY || error->status != LOCUS_ERROR_MEMORY ||
        sscanf(error->message, "out of memory: %zu bytes were refused", &told) != 1)
        fail_msg("allocation %zu is refused: status %d, '%s'", books->asked, (int)status, error->message);
    const bool small = books->refused == 4096 && told <= 1024;
    if (told != books->refused && told + 64 != books->refused && !small)
        fail_msg("allocation of %zu bytes is refused: %s", books->refused, error->message);
}

#endif
