/* SPDX-License-Identifier: MIT */
/* Two buffers: one is lent to the caller, the other is made by the worker.
 *
 *   caller  takes what the worker has made, or is making, if that is what is asked for; else stops the worker and makes
 *           it itself, in the worker's buffer; then the buffers change places and the worker gets the next request
 *   worker  waits for a request, makes it image by image, looks between images whether it is still wanted
 *
 * The epoch's order, the scratch and the buffer that is not lent belong to whoever makes a batch, one at a time: the
 * worker while its state is MAKING, else the caller. */
#include "train/feed/image_feed.h"

#include "io/fail.h"
#include "task/images/augment.h"
#include "train/feed/shuffle.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define PURPOSE_AUGMENT (LOCUS_RANDOM_USER + 0x3000u)
#define NO_STEP UINT64_MAX

typedef enum request_kind { REQUEST_STEP, REQUEST_SLICE } request_kind;

/* A step, or count images from the first. */
typedef struct request {
    request_kind kind;
    uint64_t first;
    size_t count;
} request;

typedef struct buffer {
    float *images;
    int32_t *labels;
    lab_batch batch;
} buffer;

typedef enum worker_state { WORKER_IDLE, WORKER_ASKED, WORKER_MAKING, WORKER_DONE } worker_state;

struct lab_image_feed {
    const lab_images *images; /* borrowed */
    lab_epochs epochs;
    bool augment;
    lab_cut part; /* of a training batch: what is made */
    uint8_t *scratch;
    buffer buffers[2];
    size_t lent;        /* which buffer the caller has; the other is the worker's */
    uint64_t lent_step; /* which step's; NO_STEP: none */
    lab_batch cut;

    pthread_mutex_t lock;
    pthread_cond_t news; /* of `state`, `dropped` or `closing` */
    pthread_t worker;
    bool has_worker, closing;
    worker_state state;
    request wanted; /* by the worker's last order */
    bool dropped;   /* what is being made is no longer wanted */
};

/* ---- making a batch ---- */

static size_t image_size(const lab_image_feed *feed) {
    return feed->images->channels * feed->images->side * feed->images->side;
}

static bool is_dropped(lab_image_feed *feed) {
    pthread_mutex_lock(&feed->lock);
    const bool dropped = feed->dropped;
    pthread_mutex_unlock(&feed->lock);
    return dropped;
}

static void make_image(lab_image_feed *feed, buffer *target, size_t index, size_t sample, bool augment) {
    const size_t size = image_size(feed), side = feed->images->side;
    const uint8_t *pixels = feed->images->pixels + sample * size;
    float *out = target->images + index * size;
    if (augment) {
        const locus_random key = {feed->epochs.seed, PURPOSE_AUGMENT, (uint32_t)feed->epochs.epoch};
        lab_image_augment(pixels, side, &key, sample, feed->scratch, out);
    } else {
        lab_image_normalise(pixels, side, out);
    }
    target->labels[index] = feed->images->labels[sample];
}

/* False: dropped on the way. */
static bool make(lab_image_feed *feed, const request *wanted, buffer *target, bool droppable) {
    size_t first = (size_t)wanted->first, count = wanted->count;
    const bool step = wanted->kind == REQUEST_STEP;
    if (step) {
        count = lab_epochs_step(&feed->epochs, wanted->first, &first);
        first += lab_cut_first(feed->part, count);
        count = lab_cut_samples(feed->part, count);
    }
    for (size_t i = 0; i < count; i++) {
        if (droppable && is_dropped(feed))
            return false;
        make_image(feed, target, i, step ? feed->epochs.order[first + i] : first + i, step && feed->augment);
    }
    target->batch = (lab_batch){.samples = count, .images = target->images, .labels = target->labels};
    return true;
}

/* ---- the worker ---- */

static void *worker_main(void *argument) {
    lab_image_feed *feed = argument;
    pthread_mutex_lock(&feed->lock);
    while (!feed->closing) {
        if (feed->state != WORKER_ASKED) {
            pthread_cond_wait(&feed->news, &feed->lock);
            continue;
        }
        const request wanted = feed->wanted;
        buffer *target = &feed->buffers[1 - feed->lent];
        feed->state = WORKER_MAKING;
        pthread_mutex_unlock(&feed->lock);
        const bool made = make(feed, &wanted, target, true);
        pthread_mutex_lock(&feed->lock);
        feed->state = made ? WORKER_DONE : WORKER_IDLE;
        pthread_cond_broadcast(&feed->news);
    }
    pthread_mutex_unlock(&feed->lock);
    return NULL;
}

/* Signals go to the caller's threads. */
static bool start_worker(lab_image_feed *feed) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&feed->worker, NULL, worker_main, feed) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* ---- the caller ---- */

static bool same_request(const request *a, const request *b) {
    return a->kind == b->kind && a->first == b->first && a->count == b->count;
}

/* With the lock: the worker has nothing to do any more. True if it has made what is wanted. */
static bool settle(lab_image_feed *feed, const request *wanted) {
    const bool foreseen = feed->state != WORKER_IDLE && same_request(&feed->wanted, wanted);
    if (!foreseen && feed->state == WORKER_ASKED)
        feed->state = WORKER_IDLE;
    feed->dropped = !foreseen;
    while (feed->state == WORKER_ASKED || feed->state == WORKER_MAKING)
        pthread_cond_wait(&feed->news, &feed->lock);
    feed->dropped = false;
    const bool made = foreseen && feed->state == WORKER_DONE;
    feed->state = WORKER_IDLE;
    return made;
}

/* What will be asked for after this: the next step; the next slice, behind the last one the first again. */
static request foresee(const lab_image_feed *feed, const request *now) {
    if (now->kind == REQUEST_STEP)
        return (request){REQUEST_STEP, now->first + 1, 0};
    const size_t next = (size_t)now->first + now->count, left = feed->images->count - next;
    if (left == 0)
        return (request){REQUEST_SLICE, 0, feed->epochs.most};
    return (request){REQUEST_SLICE, next, left < now->count ? left : now->count};
}

static const lab_batch *take(lab_image_feed *feed, const request *wanted) {
    const request next = foresee(feed, wanted);
    pthread_mutex_lock(&feed->lock);
    if (!settle(feed, wanted)) {
        pthread_mutex_unlock(&feed->lock); /* the worker is idle and gets no request before this is made */
        make(feed, wanted, &feed->buffers[1 - feed->lent], false);
        pthread_mutex_lock(&feed->lock);
    }
    feed->lent = 1 - feed->lent;
    if (feed->has_worker) {
        feed->wanted = next;
        feed->state = WORKER_ASKED;
        pthread_cond_broadcast(&feed->news);
    }
    const lab_batch *batch = &feed->buffers[feed->lent].batch;
    pthread_mutex_unlock(&feed->lock);
    return batch;
}

locus_status lab_image_feed_step(lab_image_feed *feed, uint64_t step, const lab_batch **batch, locus_error *error) {
    (void)error;
    *batch = take(feed, &(request){REQUEST_STEP, step, 0});
    feed->lent_step = step;
    return LOCUS_OK;
}

void lab_image_feed_part(lab_image_feed *feed, lab_cut part) {
    feed->part = part;
}

locus_status lab_image_feed_cut(lab_image_feed *feed, uint64_t step, lab_cut cut, const lab_batch **batch,
                                locus_error *error) {
    locus_status status = LOCUS_OK;
    if (feed->lent_step != step)
        status = lab_image_feed_step(feed, step, batch, error);
    if (status != LOCUS_OK)
        return status;
    const lab_batch *made = &feed->buffers[feed->lent].batch;
    size_t first;
    const size_t all = lab_epochs_batch(&feed->epochs, step, &first);
    const size_t skip = lab_cut_first(cut, all) - lab_cut_first(feed->part, all);
    feed->cut = (lab_batch){.samples = lab_cut_samples(cut, all),
                            .images = made->images + skip * image_size(feed),
                            .labels = made->labels + skip};
    *batch = &feed->cut;
    return LOCUS_OK;
}

locus_status lab_image_feed_slice(lab_image_feed *feed, size_t first, size_t count, const lab_batch **batch,
                                  locus_error *error) {
    if (count == 0 || count > feed->epochs.most || first >= feed->images->count ||
        count > feed->images->count - first) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "count",
                        "images %zu to %zu are no slice of %zu images in batches of %zu", first, first + count,
                        feed->images->count, feed->epochs.most);
    }
    *batch = take(feed, &(request){REQUEST_SLICE, first, count});
    feed->lent_step = NO_STEP;
    return LOCUS_OK;
}

/* ---- life ---- */

static bool allocate(lab_image_feed *feed) {
    const size_t size = image_size(feed);
    feed->epochs.order = calloc(feed->images->count, sizeof *feed->epochs.order);
    feed->scratch = malloc(lab_image_augment_scratch(feed->images->side));
    bool good = feed->epochs.order != NULL && feed->scratch != NULL;
    for (size_t i = 0; i < 2; i++) {
        feed->buffers[i].images = calloc(feed->epochs.most, size * sizeof(float));
        feed->buffers[i].labels = calloc(feed->epochs.most, sizeof(int32_t));
        good = good && feed->buffers[i].images != NULL && feed->buffers[i].labels != NULL;
    }
    return good;
}

static void release(lab_image_feed *feed) {
    for (size_t i = 0; i < 2; i++) {
        free(feed->buffers[i].images);
        free(feed->buffers[i].labels);
    }
    free(feed->scratch);
    free(feed->epochs.order);
    free(feed);
}

locus_status lab_image_feed_create(lab_image_feed **feed, const lab_images *images, size_t batch, uint64_t seed,
                                   bool augment, locus_error *error) {
    *feed = NULL;
    if (images->count == 0 || images->channels != LAB_IMAGE_CHANNELS || images->side == 0 || batch == 0) {
        return lab_fail(
            error, LOCUS_ERROR_ARGUMENT, "images",
            "%zu images of %zu channels and side %zu in batches of %zu give no batch: at least one image of %d "
            "channels is needed",
            images->count, images->channels, images->side, batch, LAB_IMAGE_CHANNELS);
    }
    lab_image_feed *made = calloc(1, sizeof *made);
    if (made == NULL)
        return lab_fail_memory(error, "batches of images");
    made->images = images;
    made->epochs = (lab_epochs){.samples = images->count,
                                .most = batch < images->count ? batch : images->count,
                                .seed = seed,
                                .epoch = LAB_NO_EPOCH};
    made->augment = augment;
    made->lent_step = NO_STEP;
    made->part = (lab_cut){0, 1};
    if (!allocate(made)) {
        release(made);
        return lab_fail_memory(error, "batches of images");
    }
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->news, NULL);
    made->has_worker = start_worker(made);
    *feed = made;
    return LOCUS_OK;
}

void lab_image_feed_destroy(lab_image_feed **feed) {
    lab_image_feed *old = *feed;
    if (old == NULL)
        return;
    pthread_mutex_lock(&old->lock);
    old->closing = old->dropped = true;
    pthread_cond_broadcast(&old->news);
    pthread_mutex_unlock(&old->lock);
    if (old->has_worker)
        pthread_join(old->worker, NULL);
    pthread_cond_destroy(&old->news);
    pthread_mutex_destroy(&old->lock);
    release(old);
    *feed = NULL;
}
