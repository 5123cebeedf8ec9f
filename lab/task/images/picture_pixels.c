/* SPDX-License-Identifier: MIT */
/* The process keeps one store of decoded pictures, counted: who holds it keeps it, and so does the process until it
 * makes another one. A store is taken to be that of some files if their trace and the side are the same. */
#include "task/images/picture_pixels.h"

#include "io/digest.h"
#include "io/fail.h"
#include "io/picture/picture_formats.h"
#include "io/picture/picture_scale.h"

#include <locus/parallel.h>
#include <pthread.h>
#include <stdlib.h>

#define PHASE "reading pictures"

typedef struct lab_picture_store {
    size_t holders, count, side;
    uint64_t trace;
    uint8_t *bytes;
    uint64_t *sums;
} lab_picture_store;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static lab_picture_store *kept;
static const lab_watch *listener;

void lab_picture_pixels_listen(const lab_watch *watch) {
    listener = watch;
}

/* With the lock. */
static void let_go(lab_picture_store *store) {
    if (store == NULL || --store->holders > 0)
        return;
    free(store->bytes);
    free(store->sums);
    free(store);
}

/* ---- decoding ---- */

/* What threads decode together: the first file that fails is told, whichever was met first. */
typedef struct job {
    const lab_picture_files *files;
    lab_picture_store *store;
    pthread_mutex_t lock;
    size_t done, failed; /* failed: its index; files.count: none */
    locus_status status;
    locus_error error;
} job;

static locus_status sum_of(const lab_picture_bytes *bytes, uint64_t *sum, locus_error *error) {
    lab_digest digest = lab_digest_begin(LAB_DIGEST_SHA256);
    lab_digest_add(&digest, bytes->data, bytes->count);
    return lab_digest_close_number(&digest, sum, error);
}

static locus_status decode(const char *path, size_t side, uint8_t *planes, uint64_t *sum, locus_error *error) {
    char *data;
    size_t count;
    lab_picture picture = {0, 0, NULL};
    locus_status status = lab_picture_load(path, &data, &count, error);
    const lab_picture_bytes bytes = {path, (const unsigned char *)data, count};
    if (status == LOCUS_OK)
        status = sum_of(&bytes, sum, error);
    if (status == LOCUS_OK)
        status = lab_picture_decode(&picture, &bytes, error);
    free(data);
    if (status == LOCUS_OK)
        status = lab_picture_scale(&picture, side, planes, error);
    lab_picture_free(&picture);
    return status;
}

static void note_failure(job *now, size_t index, locus_status status, const locus_error *error) {
    if (index < now->failed) {
        now->failed = index;
        now->status = status;
        now->error = *error;
    }
}

static void decode_task(void *context, size_t index, size_t worker) {
    job *now = context;
    locus_error error = {0};
    const size_t side = now->store->side;
    (void)worker;
    pthread_mutex_lock(&now->lock);
    const bool wanted = index < now->failed;
    pthread_mutex_unlock(&now->lock);
    if (!wanted)
        return;
    const locus_status status = decode(now->files->files[index].path, side, now->store->bytes + index * 3 * side * side,
                                       &now->store->sums[index], &error);
    pthread_mutex_lock(&now->lock);
    now->done++;
    if (status != LOCUS_OK) {
        note_failure(now, index, status, &error);
    } else if (!lab_watch_tell(listener, PHASE, now->done, now->files->count)) {
        lab_fail(&error, LOCUS_ERROR_INTERRUPTED, "", "stopped as asked");
        note_failure(now, 0, LOCUS_ERROR_INTERRUPTED, &error);
    }
    pthread_mutex_unlock(&now->lock);
}

static locus_status decode_all(const lab_picture_files *files, lab_picture_store *store, locus_error *error) {
    job now = {.files = files, .store = store, .failed = files->count, .status = LOCUS_OK};
    pthread_mutex_init(&now.lock, NULL);
    locus_parallel_for(files->count, decode_task, &now);
    pthread_mutex_destroy(&now.lock);
    (void)lab_watch_tell(listener, PHASE, files->count, files->count); /* after a failure, too: it is over */
    if (now.status != LOCUS_OK && error != NULL)
        *error = now.error;
    return now.status;
}

/* ---- the store ---- */

static locus_status check_room(const lab_picture_files *files, size_t side, locus_error *error) {
    const size_t each = 3 * side * side;
    return files->count <= LAB_PICTURES_MOST_BYTES / each
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_IO, "side",
                          "%zu pictures of side %zu are %.1f GiB, and at most %zu are kept in memory: give a smaller "
                          "--side, or fewer pictures",
                          files->count, side, (double)files->count * (double)each / (double)(1 << 30),
                          LAB_PICTURES_MOST_BYTES >> 30);
}

static locus_status make(lab_picture_store **store, const lab_picture_files *files, size_t side, locus_error *error) {
    locus_status status = check_room(files, side, error);
    *store = status == LOCUS_OK ? calloc(1, sizeof **store) : NULL;
    if (status != LOCUS_OK)
        return status;
    if (*store == NULL)
        return lab_fail_memory(error, "pictures");
    **store = (lab_picture_store){.holders = 1, .count = files->count, .side = side, .trace = files->trace};
    (*store)->bytes = malloc(files->count * 3 * side * side);
    (*store)->sums = calloc(files->count, sizeof *(*store)->sums);
    status = (*store)->bytes == NULL || (*store)->sums == NULL ? lab_fail_memory(error, "pictures")
                                                               : decode_all(files, *store, error);
    if (status != LOCUS_OK) {
        let_go(*store);
        *store = NULL;
    }
    return status;
}

locus_status lab_picture_pixels_get(lab_picture_pixels *pixels, const lab_picture_files *files, size_t side,
                                    locus_error *error) {
    locus_status status = LOCUS_OK;
    pthread_mutex_lock(&lock);
    if (kept == NULL || kept->trace != files->trace || kept->side != side || kept->count != files->count) {
        let_go(kept); /* before the next one takes its memory */
        kept = NULL;
        status = make(&kept, files, side, error);
    }
    if (status == LOCUS_OK) {
        kept->holders++;
        *pixels = (lab_picture_pixels){kept->bytes, kept->sums, kept};
    }
    pthread_mutex_unlock(&lock);
    return status;
}

void lab_picture_pixels_release(lab_picture_pixels *pixels) {
    pthread_mutex_lock(&lock);
    let_go(pixels->store);
    pthread_mutex_unlock(&lock);
    *pixels = (lab_picture_pixels){NULL, NULL, NULL};
}

void lab_picture_pixels_forget(void) {
    pthread_mutex_lock(&lock);
    let_go(kept);
    kept = NULL;
    pthread_mutex_unlock(&lock);
}
