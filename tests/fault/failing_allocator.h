/* SPDX-License-Identifier: MIT */
/* An allocator that fails when a test says so: the linker puts these functions in the place of the C library's
 * (LocusTests.cmake). For one source of a program. */
#ifndef TESTS_FAILING_ALLOCATOR_H
#define TESTS_FAILING_ALLOCATOR_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static atomic_long allocations_left; /* until the one that fails */
static atomic_bool allocator_armed;
static atomic_bool allocator_texts; /* whether copies of texts fail, too */

/* From here on one allocation fails: the one that follows `good` others. */
static void allocator_arm(long good) {
    atomic_store(&allocations_left, good);
    atomic_store(&allocator_armed, true);
}

/* None fails any more. Whether one did. */
static bool allocator_disarm(void) {
    atomic_store(&allocator_armed, false);
    return atomic_load(&allocations_left) < 0;
}

static bool allocator_fails(void) {
    return atomic_load(&allocator_armed) && atomic_fetch_sub(&allocations_left, 1) == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **block, size_t alignment, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t most);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **block, size_t alignment, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);

void *__wrap_malloc(size_t bytes) {
    return allocator_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return allocator_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes) {
    return allocator_fails() ? NULL : __real_realloc(block, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    return allocator_fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t bytes) {
    return allocator_fails() ? ENOMEM : __real_posix_memalign(block, alignment, bytes);
}

char *__wrap_strdup(const char *text) {
    return atomic_load(&allocator_texts) && allocator_fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t most) {
    return atomic_load(&allocator_texts) && allocator_fails() ? NULL : __real_strndup(text, most);
}

#endif
