/* SPDX-License-Identifier: MIT */
/* See ranks.h. */
#include "ranks/ranks.h"

#include "io/fail.h"

#include <locus/parallel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers that are exchanged before they are added: few in memory, where they are still in a cache then, many over a
 * network, which has to be asked for each chunk. */
enum { NEAR_CHUNK = 1 << 18, CHUNK = 1 << 20, ADD_PIECE = 1 << 15 };

struct lab_ranks {
    lab_rank_transport transport;
    void *own;
    size_t rank, count;
    bool broken;
    uint64_t sent;
    float *chunk; /* [CHUNK], from the first fold on */
};

locus_status lab_ranks_create(lab_ranks **ranks, const lab_rank_transport *transport, void *own, size_t rank,
                              size_t count, locus_error *error) {
    *ranks = calloc(1, sizeof **ranks);
    if (*ranks == NULL)
        return lab_fail_memory(error, "a rank");
    **ranks = (lab_ranks){.transport = *transport, .own = own, .rank = rank, .count = count};
    return LOCUS_OK;
}

void lab_ranks_close(lab_ranks **ranks) {
    lab_ranks *old = *ranks;
    if (old == NULL)
        return;
    if (old->broken)
        old->transport.abort(old->own);
    old->transport.close(old->own);
    free(old->chunk);
    free(old);
    *ranks = NULL;
}

size_t lab_ranks_rank(const lab_ranks *ranks) {
    return ranks == NULL ? 0 : ranks->rank;
}

size_t lab_ranks_count(const lab_ranks *ranks) {
    return ranks == NULL ? 1 : ranks->count;
}

bool lab_ranks_broken(const lab_ranks *ranks) {
    return ranks != NULL && ranks->broken;
}

uint64_t lab_ranks_sent(const lab_ranks *ranks) {
    return ranks == NULL ? 0 : ranks->sent;
}

bool lab_is_power_of_two(size_t count) {
    return count > 0 && (count & (count - 1)) == 0;
}

static locus_status exchange(lab_ranks *ranks, size_t peer, const void *send, size_t send_bytes, void *receive,
                             size_t receive_bytes, locus_error *error) {
    if (ranks->broken)
        return lab_fail(error, LOCUS_ERROR_IO, "ranks", "the other ranks cannot be reached any more");
    const locus_status status =
        ranks->transport.exchange(ranks->own, peer, send, send_bytes, receive, receive_bytes, error);
    ranks->broken = status != LOCUS_OK;
    ranks->sent += send_bytes;
    return status;
}

/* ---- any number of ranks ---- */

/* A rank gets the data from the one whose number lacks its highest bit. */
locus_status lab_ranks_broadcast(lab_ranks *ranks, void *data, size_t bytes, locus_error *error) {
    const size_t count = lab_ranks_count(ranks), rank = lab_ranks_rank(ranks);
    locus_status status = LOCUS_OK;
    for (size_t bit = 1; status == LOCUS_OK && bit < count; bit *= 2)
        if (rank < bit && rank + bit < count)
            status = exchange(ranks, rank + bit, data, bytes, NULL, 0, error);
        else if (rank >= bit && rank < 2 * bit)
            status = exchange(ranks, rank - bit, NULL, 0, data, bytes, error);
    return status;
}

locus_status lab_ranks_collect(lab_ranks *ranks, const void *record, size_t bytes, void *all, locus_error *error) {
    const size_t count = lab_ranks_count(ranks);
    locus_status status = LOCUS_OK;
    if (lab_ranks_rank(ranks) != 0)
        return exchange(ranks, 0, record, bytes, NULL, 0, error);
    memcpy(all, record, bytes);
    for (size_t peer = 1; status == LOCUS_OK && peer < count; peer++)
        status = exchange(ranks, peer, NULL, 0, (char *)all + peer * bytes, bytes, error);
    return status;
}

locus_status lab_ranks_barrier(lab_ranks *ranks, locus_error *error) {
    const size_t count = lab_ranks_count(ranks);
    char here = 0, *all = calloc(count, 1);
    if (all == NULL)
        return lab_fail_memory(error, "a barrier");
    locus_status status = lab_ranks_collect(ranks, &here, 1, all, error);
    if (status == LOCUS_OK)
        status = lab_ranks_broadcast(ranks, &here, 1, error);
    free(all);
    return status;
}

/* ---- agreement ---- */

typedef struct ballot {
    lab_vote vote;
    size_t rank, place; /* of the first that failed */
    locus_error error;
} ballot;

static bool is_before(const ballot *one, const ballot *other) {
    return one->place != other->place ? one->place < other->place : one->rank < other->rank;
}

static void unite(ballot *own, const ballot *other) {
    own->vote.sum += other->vote.sum;
    own->vote.flags |= other->vote.flags;
    for (size_t i = 0; i < LAB_VOTE_COUNTS; i++)
        own->vote.counts[i] += other->vote.counts[i];
    if (other->error.status != LOCUS_OK && (own->error.status == LOCUS_OK || is_before(other, own))) {
        own->error = other->error;
        own->rank = other->rank;
        own->place = other->place;
    }
}

static locus_status tell(const ballot *common, locus_error *error) {
    if (common->error.status == LOCUS_OK || error == NULL)
        return common->error.status;
    const bool machine = common->error.status == LOCUS_ERROR_MEMORY || common->error.status == LOCUS_ERROR_IO;
    if (common->rank == 0 || (common->place != 0 && !machine) || common->error.status == LOCUS_ERROR_INTERRUPTED) {
        *error = common->error;
        return error->status;
    }
    return lab_fail(error, common->error.status, common->error.argument, "rank %zu: %s", common->rank,
                    common->error.message);
}

locus_status lab_ranks_agree(lab_ranks *ranks, locus_status status, lab_vote *vote, locus_error *error) {
    if (ranks == NULL || (ranks->broken && status != LOCUS_OK))
        return status;
    ballot own, other;
    memset(&own, 0, sizeof own);
    memset(&other, 0, sizeof other);
    own.rank = ranks->rank;
    if (vote != NULL) {
        own.vote = *vote;
        own.place = vote->place;
    }
    if (status != LOCUS_OK && error != NULL)
        own.error = *error;
    own.error.status = status;
    for (size_t bit = 1; bit < ranks->count; bit *= 2) {
        const locus_status came = exchange(ranks, ranks->rank ^ bit, &own, sizeof own, &other, sizeof other, error);
        if (came != LOCUS_OK)
            return came;
        unite(&own, &other);
    }
    if (vote != NULL)
        *vote = own.vote;
    return tell(&own, error);
}

/* ---- shares ---- */

/* Where a halving cuts. */
static size_t middle(lab_share whole) {
    return whole.first + (whole.end - whole.first + 1) / 2;
}

/* The half that a rank keeps at the bit, and the one that it gives away. */
static lab_share halve(lab_share *whole, size_t rank, size_t bit) {
    const size_t cut = middle(*whole);
    const lab_share low = {whole->first, cut}, high = {cut, whole->end};
    *whole = rank & bit ? high : low;
    return rank & bit ? low : high;
}

lab_share lab_ranks_share(const lab_ranks *ranks, size_t units) {
    lab_share share = {0, units};
    for (size_t bit = 1; bit < lab_ranks_count(ranks); bit *= 2)
        halve(&share, ranks->rank, bit);
    return share;
}

/* Units as a range of what they are made of. */
static lab_share range_of(lab_share share, size_t unit, size_t most) {
    const size_t first = share.first * unit, end = share.end * unit;
    return (lab_share){first < most ? first : most, end < most ? end : most};
}

typedef struct addition {
    float *left;
    const float *right;
    size_t count;
} addition;

static void add_task(void *context, size_t piece, size_t worker) {
    (void)worker;
    const addition *sum = context;
    const size_t first = piece * ADD_PIECE, left = sum->count - first,
                 end = first + (left < ADD_PIECE ? left : ADD_PIECE);
    float *restrict to = sum->left;
    const float *restrict from = sum->right;
    for (size_t i = first; i < end; i++)
        to[i] += from[i];
}

void lab_numbers_add(float *left, const float *right, size_t count) {
    addition sum = {left, right, count};
    locus_parallel_for((count + ADD_PIECE - 1) / ADD_PIECE, add_task, &sum);
}

/* Sends the numbers of one range and adds what comes to those of the other, chunk by chunk. */
static locus_status fold_with(lab_ranks *ranks, size_t peer, float *numbers, lab_share keep, lab_share give,
                              locus_error *error) {
    const size_t most = ranks->transport.near(ranks->own, peer) ? NEAR_CHUNK : CHUNK;
    locus_status status = LOCUS_OK;
    while (status == LOCUS_OK && (keep.first < keep.end || give.first < give.end)) {
        const size_t kept = keep.end - keep.first, given = give.end - give.first;
        const size_t take = kept < most ? kept : most, send = given < most ? given : most;
        status = exchange(ranks, peer, numbers + give.first, send * sizeof *numbers, ranks->chunk,
                          take * sizeof *numbers, error);
        if (status == LOCUS_OK)
            lab_numbers_add(numbers + keep.first, ranks->chunk, take);
        keep.first += take;
        give.first += send;
    }
    return status;
}

locus_status lab_ranks_fold(lab_ranks *ranks, float *numbers, size_t elements, size_t unit, locus_error *error) {
    const size_t count = lab_ranks_count(ranks);
    lab_share share = {0, (elements + unit - 1) / unit};
    locus_status status = LOCUS_OK;
    if (count > 1 && ranks->chunk == NULL)
        ranks->chunk = malloc(CHUNK * sizeof *ranks->chunk);
    if (count > 1 && ranks->chunk == NULL) {
        ranks->broken = true; /* the others wait for it */
        return lab_fail_memory(error, "sums over ranks");
    }
    for (size_t bit = 1; status == LOCUS_OK && bit < count; bit *= 2) {
        const lab_share give = halve(&share, ranks->rank, bit);
        status = fold_with(ranks, ranks->rank ^ bit, numbers, range_of(share, unit, elements),
                           range_of(give, unit, elements), error);
    }
    return status;
}

/* Ranges of many gigabytes go as they are: transports cut them. */
locus_status lab_ranks_gather(lab_ranks *ranks, void *data, size_t bytes, size_t unit, locus_error *error) {
    const size_t count = lab_ranks_count(ranks), units = (bytes + unit - 1) / unit;
    locus_status status = LOCUS_OK;
    for (size_t bit = count / 2; status == LOCUS_OK && bit > 0; bit /= 2) {
        lab_share keep = {0, units}, give = {0, 0};
        for (size_t before = 1; before <= bit; before *= 2)
            give = halve(&keep, ranks->rank, before);
        const lab_share own = range_of(keep, unit, bytes), other = range_of(give, unit, bytes);
        status = exchange(ranks, ranks->rank ^ bit, (char *)data + own.first, own.end - own.first,
                          (char *)data + other.first, other.end - other.first, error);
    }
    return status;
}
