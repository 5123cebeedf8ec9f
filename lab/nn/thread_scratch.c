/* SPDX-License-Identifier: MIT */
/* See thread_scratch.h. A block that is too small makes room for one that is an eighth larger than what is asked for.
 */
#include "nn/thread_scratch.h"
#include <pthread.h>
#include <stdlib.h>

enum { ALIGNMENT = 64 };

typedef struct thread_blocks {
    void *data[LAB_SCRATCH_USES];
    size_t bytes[LAB_SCRATCH_USES];
} thread_blocks;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_status;

static void blocks_free(void *context) {
    thread_blocks *own = context;
    for (size_t i = 0; i < LAB_SCRATCH_USES; ++i)
        free(own->data[i]);
    free(own);
}

static void key_make(void) {
    key_status = pthread_key_create(&key, blocks_free);
}

static thread_blocks *blocks_of_thread(void) {
    if (pthread_once(&once, key_make) != 0 || key_status != 0)
        return NULL;
    thread_blocks *own = pthread_getspecific(key);
    if (own)
        return own;
    own = calloc(1, sizeof *own);
    if (own && pthread_setspecific(key, own) != 0) {
        free(own);
        return NULL;
    }
    return own;
}

void *lab_thread_scratch(lab_scratch_use use, size_t bytes) {
    thread_blocks *own = blocks_of_thread();
    if (own == NULL || bytes <= own->bytes[use])
        return own ? own->data[use] : NULL;
    free(own->data[use]);
    const size_t wanted = (bytes + bytes / 8 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    own->data[use] = aligned_alloc(ALIGNMENT, wanted);
    own->bytes[use] = own->data[use] ? wanted : 0;
    return own->data[use];
}
