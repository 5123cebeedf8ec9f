/* SPDX-License-Identifier: MIT */
/* Memory that lives and dies together: what a term's bound or placed state owns. Not thread-safe.
 *
 * Small arrays come one after another out of chunks, large ones are blocks of their own:
 *
 *   last ─► | link | array | array | free … | ─► | link | large array | ─► …
 *
 * Under a sanitizer each array is a block of its own, so that it sees where one ends. */
#ifndef LOCUS_OWNED_H
#define LOCUS_OWNED_H

#include <locus/memory.h>

/* So many bytes, up to where the next aligned ones begin. */
static inline size_t locus_aligned(size_t bytes) {
    return (bytes + LOCUS_ALIGNMENT - 1) / LOCUS_ALIGNMENT * LOCUS_ALIGNMENT;
}

typedef struct locus_owned_block locus_owned_block;
typedef struct locus_owned {
    locus_owned_block *last;  /* NULL: nothing */
    size_t bytes;             /* all of it */
    locus_owned_block *spare; /* see recycle */
    char *free, *end;         /* of the chunk that small arrays come from */
} locus_owned;

/* `count` zeroed elements of `size` bytes, aligned to LOCUS_ALIGNMENT; for count 0 a valid pointer. NULL if memory is
 * refused or the size overflows; the caller reports it with locus_owned_fail. NULL as well in a call that is cancelled,
 * so that long preparations end: what is reported then becomes INTERRUPTED (core/call.h). */
void *locus_owned_get(locus_owned *owned, size_t count, size_t size);

/* The same, but what is in them is not said: for arrays that are filled at once. */
void *locus_owned_take(locus_owned *owned, size_t count, size_t size);

/* A copy of some numbers, each rounded once. NULL, with the error filled in: no memory. */
const float *locus_owned_round(locus_owned *owned, const double *values, size_t count, locus_error *error);

/* Fills the error for the last array that this thread was refused. */
locus_status locus_owned_fail(locus_error *error);

void locus_owned_release(locus_owned *owned);

/* All that was got is given up, but its blocks stay for what is got next: the same calls once more need no memory. */
void locus_owned_recycle(locus_owned *owned);

#endif
