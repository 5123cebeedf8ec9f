/* SPDX-License-Identifier: MIT */
/* Under the thread sanitizer a test program runs only those of its tests that start threads: the others ran under the
 * other sanitizers, and what is slow there is slower here. */
#ifndef LOCUS_TESTS_THREADS_ONLY_H
#define LOCUS_TESTS_THREADS_ONLY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#if defined(__SANITIZE_THREAD__)
#define LOCUS_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCUS_THREAD_SANITIZER
#endif
#endif

/* `pattern` as of cmocka_set_test_filter: ? and * stand for any. */
static inline void threads_only(const char *pattern) {
#ifdef LOCUS_THREAD_SANITIZER
    cmocka_set_test_filter(pattern);
#else
    (void)pattern;
#endif
}

#endif
