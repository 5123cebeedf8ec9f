/* SPDX-License-Identifier: MIT */
/* See late_library.h. */
#include "io/published/late_library.h"

#include "io/fail.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The linker says why in words only. */
static locus_status fail_load(const char *file, locus_error *error) {
    const char *reason = dlerror();
    if (reason != NULL && strstr(reason, "memory") != NULL)
        return lab_fail_memory(error, file);
    return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL, "cannot load %s: %s", file,
                    reason != NULL ? reason : "no reason is known");
}

static locus_status load(const char *file, const char *const *names, void *table, locus_error *error) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return fail_load(file, error);
    for (size_t i = 0; names[i] != NULL; i++) {
        void *found = dlsym(library, names[i]);
        if (found == NULL)
            return fail_load(file, error);
        memcpy((char *)table + i * sizeof found, &found, sizeof found);
    }
    return LOCUS_OK;
}

/* A table that is not whole is filled in anew. */
locus_status lab_late_load(const char *file, const char *const *names, void *table, locus_error *error) {
    void *last;
    size_t count = 0;
    while (names[count] != NULL)
        count++;
    pthread_mutex_lock(&lock);
    memcpy(&last, (char *)table + (count - 1) * sizeof last, sizeof last);
    const locus_status status = last != NULL ? LOCUS_OK : load(file, names, table, error);
    pthread_mutex_unlock(&lock);
    return status;
}
