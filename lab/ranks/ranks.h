/* SPDX-License-Identifier: MIT */
/* Processes, or threads, that share one training: ranks 0 … count − 1.
 *
 * A transport only knows how two ranks exchange bytes (lab_rank_transport); everything else is made of that, here. NULL
 * stands for a single rank, for which every call is free. A function of several ranks is called by all of them, in the
 * same order and with the same sizes; each fails on all ranks or is followed by lab_ranks_agree.
 *
 *   sums      are folded as one binary tree, nearest neighbours first, by recursive halving: ranks r and r ^ 1 exchange
 *             halves and add, then r and r ^ 2 quarters, …; a number's sum is that of the tree whatever rank it ends on
 *
 *               rank    0    1    2    3         tree of a number:   ((0 + 1) + (2 + 3))
 *               share  [0, ¼) [½, ¾) [¼, ½) [¾, 1)
 *
 *   shares    what is dealt out is cut into units (pieces of parameters, batches to score); after log2(count) halvings
 *             a rank has the units of its share
 *   gathers   go the same way back
 *
 * Sums, shares and gathers need a power of two of ranks. */
#ifndef LAB_RANKS_H
#define LAB_RANKS_H

#include <locus/status.h>
#include <stdbool.h>

typedef struct lab_ranks lab_ranks;

/* How bytes get to other ranks. */
typedef struct lab_rank_transport {
    /* Sends to `peer` and receives from it at the same time; either size may be 0. Sizes fit those that the peer
     * names. */
    locus_status (*exchange)(void *own, size_t peer, const void *send, size_t send_bytes, void *receive,
                             size_t receive_bytes, locus_error *error);
    bool (*near)(void *own, size_t peer); /* whether what it exchanges with `peer` stays in the memory of one machine */
    void (*abort)(void *own);             /* ends all other ranks as well, at once; may return */
    void (*close)(void *own);             /* waits for all; frees what the rank has */
} lab_rank_transport;

locus_status lab_ranks_create(lab_ranks **ranks, const lab_rank_transport *transport, void *own, size_t rank,
                              size_t count, locus_error *error);
/* Ends the rank: with the others where all is well, else by the transport's abort. NULL is accepted. */
void lab_ranks_close(lab_ranks **ranks);

size_t lab_ranks_rank(const lab_ranks *ranks);  /* 0 of NULL */
size_t lab_ranks_count(const lab_ranks *ranks); /* 1 of NULL */
/* Whether an exchange failed: nothing more can be said to others, and every further call fails. */
bool lab_ranks_broken(const lab_ranks *ranks);
bool lab_is_power_of_two(size_t count);

/* ---- any number of ranks ---- */

/* From rank 0 to all. */
locus_status lab_ranks_broadcast(lab_ranks *ranks, void *data, size_t bytes, locus_error *error);
/* Of every rank to rank 0, where `all` has room for count records; elsewhere it may be NULL. */
locus_status lab_ranks_collect(lab_ranks *ranks, const void *record, size_t bytes, void *all, locus_error *error);
/* Nobody goes on before all are here. */
locus_status lab_ranks_barrier(lab_ranks *ranks, locus_error *error);

/* ---- a power of two ---- */

/* What all say together before they go on: sums are folded as a tree, counts added, flags united. */
enum { LAB_VOTE_COUNTS = 5 };
typedef struct lab_vote {
    double sum;
    uint64_t counts[LAB_VOTE_COUNTS];
    unsigned flags;
    size_t place; /* in: which unit of common work failed, counted from 1; 0: it was the rank's own matter */
} lab_vote;
/* Every rank brings how it fared; if any failed, all get the failure of the first of them: that of the earliest unit,
 * or of the lowest rank, whose number stands before the message unless it is 0. `vote` may be NULL. The caller's
 * `error` holds its own failure and gets the common one. */
locus_status lab_ranks_agree(lab_ranks *ranks, locus_status status, lab_vote *vote, locus_error *error);

/* Units first … end − 1 of `units`. */
typedef struct lab_share {
    size_t first, end;
} lab_share;
lab_share lab_ranks_share(const lab_ranks *ranks, size_t units);

/* Of numbers [elements], cut into units of `unit` (the last may be shorter), every rank's are added up; the share's
 * hold the sums then, the others nothing of use. */
locus_status lab_ranks_fold(lab_ranks *ranks, float *numbers, size_t elements, size_t unit, locus_error *error);
/* Bytes, cut into units of `unit` bytes (the last may be shorter): every rank brings its share and has all then. */
locus_status lab_ranks_gather(lab_ranks *ranks, void *data, size_t bytes, size_t unit, locus_error *error);

/* Bytes that this rank has sent so far. */
uint64_t lab_ranks_sent(const lab_ranks *ranks);

/* left[i] += right[i], by the threads of the process. */
void lab_numbers_add(float *left, const float *right, size_t count);

#endif
