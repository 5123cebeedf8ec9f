/* SPDX-License-Identifier: MIT */
/* All encodings, one line for each. Their order is that of listings. Each is a locus_<name>_class of src/encodings.
 * Behind them stand those that were registered (extension.h), in their order. These are never taken out, and a reader
 * sees either all of a class or none of it, so reading takes no lock. */
#include "spec/class.h"

#include "core/error.h"

#include <pthread.h>
#include <string.h>

/* clang-format off */
#define ENCODINGS(_) \
    _(none) \
    _(sinusoidal) \
    _(learned) \
    _(chebyshev) \
    _(shiv_quirk) \
    _(relative) \
    _(rope) \
    _(roper) \
    _(alibi) \
    _(decay) \
    _(t5) \
    _(kerple) \
    _(fire) \
    _(cope) \
    _(temperature) \
    _(scores) \
    _(algebraic) \
    _(mixed) \
    _(string) \
    _(liere)
/* clang-format on */

#define DECLARED(name) extern const locus_encoding_class locus_##name##_class;
#define LISTED(name) &locus_##name##_class,
ENCODINGS(DECLARED)

static const locus_encoding_class *const classes[] = {ENCODINGS(LISTED)};

#define CLASS_COUNT (sizeof classes / sizeof classes[0])
#define REGISTERED_MAX 1024

static const locus_encoding_class *registered[REGISTERED_MAX]; /* written before the count takes them in */
static atomic_size_t registered_count;
static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;

const locus_encoding_class *locus_class_at(size_t index) {
    if (index < CLASS_COUNT)
        return classes[index];
    const size_t number = index - CLASS_COUNT;
    return number < atomic_load_explicit(&registered_count, memory_order_acquire) ? registered[number] : NULL;
}

size_t locus_encoding_registry_size(void) {
    return CLASS_COUNT + atomic_load_explicit(&registered_count, memory_order_acquire);
}

const locus_encoding_info *locus_encoding_registry_at(size_t index) {
    const locus_encoding_class *class = locus_class_at(index);
    return class ? &class->info : NULL;
}

/* ---- registering ---- */

static bool is_taken(const char *name) {
    const locus_encoding_class *class;
    for (size_t i = 0; (class = locus_class_at(i)) != NULL; i++)
        if (strcmp(class->info.name, name) == 0)
            return true;
    return false;
}

static locus_status fail_taken(const char *name, locus_error *error) {
    return locus_fail(error, LOCUS_ERROR_ARGUMENT, "name", "there is an encoding '%s' already: choose another name",
                      name);
}

static locus_status check_names(const locus_encoding_class *const *added, size_t count, locus_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (is_taken(added[i]->info.name))
            return fail_taken(added[i]->info.name, error);
        for (size_t j = 0; j < i; j++)
            if (strcmp(added[i]->info.name, added[j]->info.name) == 0)
                return fail_taken(added[i]->info.name, error);
    }
    return LOCUS_OK;
}

locus_status locus_class_register(const locus_encoding_class *const *added, size_t count, locus_error *error) {
    (void)pthread_mutex_lock(&registering);
    const size_t before = atomic_load(&registered_count);
    locus_status status = check_names(added, count, error);
    if (status == LOCUS_OK && count > REGISTERED_MAX - before)
        status =
            locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "name", "more than %d encodings are registered", REGISTERED_MAX);
    for (size_t i = 0; i < count && status == LOCUS_OK; i++)
        registered[before + i] = added[i];
    if (status == LOCUS_OK)
        atomic_store_explicit(&registered_count, before + count, memory_order_release);
    (void)pthread_mutex_unlock(&registering);
    return status;
}
