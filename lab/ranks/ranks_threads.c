/* SPDX-License-Identifier: MIT */
/* Each pair of ranks has a box for either direction: who sends lays the address of its bytes there and waits until the
 * receiver has copied them. */
#include "ranks/ranks_threads.h"

#include "io/fail.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct box {
    const void *data;
    size_t bytes;
    bool full;
} box;

typedef struct crew {
    pthread_mutex_t lock;
    pthread_cond_t news;
    size_t count;
    bool given_up;
    box *boxes; /* [from][to] */
    void (*body)(lab_ranks **ranks, void *context);
    void *context;
} crew;

typedef struct member {
    crew *crew;
    size_t rank;
    lab_ranks *ranks;
    pthread_t thread;
} member;

static box *box_of(const member *own, size_t from, size_t to) {
    return &own->crew->boxes[from * own->crew->count + to];
}

static locus_status thread_exchange(void *context, size_t peer, const void *send, size_t send_bytes, void *receive,
                                    size_t receive_bytes, locus_error *error) {
    const member *own = context;
    crew *all = own->crew;
    box *out = box_of(own, own->rank, peer), *in = box_of(own, peer, own->rank);
    pthread_mutex_lock(&all->lock);
    if (send_bytes > 0)
        *out = (box){send, send_bytes, true};
    pthread_cond_broadcast(&all->news);
    while (receive_bytes > 0 && !in->full && !all->given_up)
        pthread_cond_wait(&all->news, &all->lock);
    const bool fits = receive_bytes == 0 || (in->full && in->bytes == receive_bytes);
    if (receive_bytes > 0 && fits) {
        memcpy(receive, in->data, receive_bytes);
        in->full = false;
        pthread_cond_broadcast(&all->news);
    }
    while (fits && send_bytes > 0 && out->full && !all->given_up)
        pthread_cond_wait(&all->news, &all->lock);
    const bool came = fits && !(send_bytes > 0 && out->full);
    pthread_mutex_unlock(&all->lock);
    return came ? LOCUS_OK : lab_fail(error, LOCUS_ERROR_IO, "ranks", "rank %zu does not answer any more", peer);
}

static bool thread_near(void *context, size_t peer) {
    (void)context, (void)peer;
    return true;
}

static void thread_abort(void *context) {
    crew *all = ((const member *)context)->crew;
    pthread_mutex_lock(&all->lock);
    all->given_up = true;
    pthread_cond_broadcast(&all->news);
    pthread_mutex_unlock(&all->lock);
}

static void thread_close(void *context) {
    (void)context; /* lab_ranks_threads waits for all */
}

static void *member_main(void *argument) {
    member *own = argument;
    own->crew->body(&own->ranks, own->crew->context);
    return NULL;
}

static locus_status members_create(member *members, crew *all, locus_error *error) {
    static const lab_rank_transport transport = {thread_exchange, thread_near, thread_abort, thread_close};
    locus_status status = LOCUS_OK;
    for (size_t r = 0; status == LOCUS_OK && r < all->count; r++) {
        members[r] = (member){.crew = all, .rank = r};
        status = lab_ranks_create(&members[r].ranks, &transport, &members[r], r, all->count, error);
    }
    return status;
}

static void members_run(member *members, crew *all) {
    size_t started = 0;
    while (started < all->count && pthread_create(&members[started].thread, NULL, member_main, &members[started]) == 0)
        started++;
    if (started < all->count)
        thread_abort(&members[0]); /* those that run find out */
    for (size_t r = 0; r < started; r++)
        pthread_join(members[r].thread, NULL);
}

locus_status lab_ranks_threads(size_t count, void (*body)(lab_ranks **ranks, void *context), void *context,
                               locus_error *error) {
    crew all = {.count = count, .body = body, .context = context, .boxes = calloc(count * count, sizeof(box))};
    member *members = calloc(count, sizeof *members);
    locus_status status =
        all.boxes == NULL || members == NULL ? lab_fail_memory(error, "ranks") : members_create(members, &all, error);
    pthread_mutex_init(&all.lock, NULL);
    pthread_cond_init(&all.news, NULL);
    if (status == LOCUS_OK)
        members_run(members, &all);
    for (size_t r = 0; members != NULL && r < count; r++)
        lab_ranks_close(&members[r].ranks);
    pthread_cond_destroy(&all.news);
    pthread_mutex_destroy(&all.lock);
    free(members);
    free(all.boxes);
    return status;
}
