/* SPDX-License-Identifier: MIT */
/* Blocks of memory that live and die together: what a binding or a plan owns. Not thread-safe. */
#ifndef LOCUS_OWNED_H
#define LOCUS_OWNED_H

#include <locus/memory.h>

typedef struct locus_owned_block locus_owned_block;
typedef struct locus_owned {
    locus_owned_block *last;  /* NULL: nothing */
    size_t bytes;             /* all of it */
    locus_owned_block *spare; /* see recycle */
} locus_owned;

/* `count` zeroed elements of `size` bytes, aligned to LOCUS_ALIGNMENT; for count 0 a valid pointer. NULL if memory is
 * refused or the size overflows; the caller reports it with locus_owned_fail. */
void *locus_owned_get(locus_owned *owned, size_t count, size_t size);

/* Fills the error for a refused locus_owned_get(…, count, size). */
locus_status locus_owned_fail(locus_error *error, size_t count, size_t size);

void locus_owned_release(locus_owned *owned);

/* All that was got is given up, but its blocks stay for what is got next: the same calls once more need no memory. */
void locus_owned_recycle(locus_owned *owned);

#endif
