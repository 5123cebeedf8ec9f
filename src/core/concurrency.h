/* SPDX-License-Identifier: MIT */
/* One concurrency for one call. The number of threads may be changed by another thread at any time, so a call that
 * lays scratch memory out for each worker asks for it once and holds its thread to the answer: until it lets go,
 * locus_threads() says that number on this thread, and no loop that this thread begins has more workers.
 *
 * A call with a lent workspace takes as many workers as the workspace has room for, so that one that was asked for
 * stays good, however many threads there are by then. */
#ifndef LOCUS_CONCURRENCY_H
#define LOCUS_CONCURRENCY_H

#include <locus/parallel.h>

/* Holds this thread to `workers`, 0: lets go. Returns what it was held to before, which is given back at the end. */
size_t locus_concurrency_hold(size_t workers);

/* Bytes that a call needs with locus_threads() workers; not fewer with more of them. */
typedef size_t locus_concurrency_bytes(const void *context);

/* Holds this thread to the most workers that `bytes` have room for, at most locus_threads(), and stores what it was
 * held to before. Where they have no room for one worker: returns what that needs, and holds to nothing; else 0. */
size_t locus_concurrency_fit(size_t bytes, locus_concurrency_bytes *needed, const void *context, size_t *before);

#endif
