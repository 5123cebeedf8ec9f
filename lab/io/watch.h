/* SPDX-License-Identifier: MIT */
/* How a long job tells how far it is, and is asked to stop. */
#ifndef LAB_WATCH_H
#define LAB_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lab_watch {
    /* `done` of `total` bytes (0: not known) of what `phase` says ("downloading"). false: stop, with INTERRUPTED. */
    bool (*tell)(void *context, const char *phase, uint64_t done, uint64_t total);
    void *context;
} lab_watch;

/* `watch` may be NULL: nobody listens. */
static inline bool lab_watch_tell(const lab_watch *watch, const char *phase, uint64_t done, uint64_t total) {
    return watch == NULL || watch->tell(watch->context, phase, done, total);
}

#endif
