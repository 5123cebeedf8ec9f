/* SPDX-License-Identifier: MIT */
/* The C library's allocator, which fails when it is asked to. Being defined in the program itself, these functions
 * serve every library that it is linked with, and strdup, fopen and getline of the C library too. */
#include "faults.h"

#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <stdlib.h>

/* The C library's own, by the names under which it exports them for this purpose. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

fault_page *fault_shared;

static long number; /* 0: none fails and none is counted */
static bool lasting;

void fault_allocator_arm(const fault *wanted) {
    lasting = wanted->lasting;
    number = wanted->number;
}

static bool fails(void) {
    if (number == 0) {
        return false;
    }
    const long now = ++fault_shared->counted;
    if (now != number && !(lasting && now > number)) {
        return false;
    }
    if (fault_shared->fired++ == 0) {
        fault_shared->depth = backtrace(fault_shared->trace, TRACE_DEPTH);
    }
    errno = ENOMEM;
    return true;
}

/* Seen by the shared libraries, which are compiled code like any other here. */
#pragma GCC visibility push(default)

void *malloc(size_t bytes) {
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes) {
    return fails() ? NULL : __libc_realloc(block, bytes);
}

void *reallocarray(void *block, size_t count, size_t bytes) {
    size_t product;
    if (__builtin_mul_overflow(count, bytes, &product)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, product);
}

void *memalign(size_t alignment, size_t bytes) {
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes) {
    void *made = fails() ? NULL : __libc_memalign(alignment, bytes);
    if (made == NULL) {
        return ENOMEM;
    }
    *block = made;
    return 0;
}

#pragma GCC visibility pop
