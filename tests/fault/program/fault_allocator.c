/* SPDX-License-Identifier: MIT */
/* The C library's allocator, which fails when it is asked to. Being defined in the program itself, these functions
 * serve every library that it is linked with, and strdup, fopen and getline of the C library too. */
#include "faults.h"

#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The C library's own, by the names under which it exports them for this purpose. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

fault_page *fault_shared;

static int place_callers;
static long number; /* 0: none fails and none is counted */
static bool lasting;
static uintptr_t begin, end; /* where the code is whose allocations count */

static void note_place(long now) {
    void *trace[TRACE_DEPTH];
    if (now <= PLACE_COUNT)
        fault_places[now - 1] = fault_place_of(trace, (size_t)backtrace(trace, TRACE_DEPTH), place_callers);
}

static int find_library(struct dl_phdr_info *facts, size_t bytes, void *name) {
    (void)bytes;
    for (int i = 0; strstr(facts->dlpi_name, name) != NULL && i < facts->dlpi_phnum; i++) {
        if (facts->dlpi_phdr[i].p_type == PT_LOAD && (facts->dlpi_phdr[i].p_flags & PF_X) != 0) {
            begin = (uintptr_t)(facts->dlpi_addr + facts->dlpi_phdr[i].p_vaddr);
            end = begin + facts->dlpi_phdr[i].p_memsz;
        }
    }
    return end != 0;
}

void fault_allocator_arm(const fault *wanted) {
    begin = end = 0;
    if (wanted->library != NULL) {
        char name[64];
        snprintf(name, sizeof name, "%s", wanted->library);
        dl_iterate_phdr(find_library, name);
    } else {
        end = UINTPTR_MAX;
    }
    lasting = wanted->lasting;
    place_callers = wanted->callers;
    number = wanted->number;
}

static bool fails(const void *caller) {
    if (number == 0 || (uintptr_t)caller < begin || (uintptr_t)caller >= end)
        return false;
    const long now = ++fault_shared->counted;
    if (place_callers > 0)
        note_place(now);
    if (now != number && !(lasting && now > number))
        return false;
    if (fault_shared->fired++ == 0)
        fault_shared->depth = backtrace(fault_shared->trace, TRACE_DEPTH);
    errno = ENOMEM;
    return true;
}

#define FAILS() fails(__builtin_return_address(0))

/* Seen by the shared libraries, which are compiled code like any other here. */
#pragma GCC visibility push(default)

void *malloc(size_t bytes) {
    return FAILS() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    return FAILS() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes) {
    return FAILS() ? NULL : __libc_realloc(block, bytes);
}

void *reallocarray(void *block, size_t count, size_t bytes) {
    size_t product;
    if (__builtin_mul_overflow(count, bytes, &product)) {
        errno = ENOMEM;
        return NULL;
    }
    return FAILS() ? NULL : __libc_realloc(block, product);
}

void *memalign(size_t alignment, size_t bytes) {
    return FAILS() ? NULL : __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return FAILS() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes) {
    void *made = FAILS() ? NULL : __libc_memalign(alignment, bytes);
    if (made == NULL)
        return ENOMEM;
    *block = made;
    return 0;
}

#pragma GCC visibility pop
