/* SPDX-License-Identifier: MIT */
/* Under the thread sanitizer a test program runs only those of its tests that start threads: the others ran under the
 * other sanitizers, and what is slow there is slower here. */
#ifndef LOCUS_TESTS_THREADS_ONLY_H
#define LOCUS_TESTS_THREADS_ONLY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#if defined(__SANITIZE_THREAD__)
#define LOCUS_THREAD_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCUS_THREAD_SANITIZER true
#endif
#endif
#ifndef LOCUS_THREAD_SANITIZER
#define LOCUS_THREAD_SANITIZER false
#endif

/* Whether only threads are looked at: a test then leaves out what it compares numbers with. */
static inline bool threads_alone(void) {
    return LOCUS_THREAD_SANITIZER;
}

/* `pattern` as of cmocka_set_test_filter: ? and * stand for any. */
static inline void threads_only(const char *pattern) {
    if (threads_alone())
        cmocka_set_test_filter(pattern);
}

#endif
