/* SPDX-License-Identifier: MIT */
/* The end of a forked child of a test. Where coverage is measured its counts are written first: without them
 * tools/coverage.py would not know that the test reaches those lines. */
#ifndef TESTS_CHILD_EXIT_H
#define TESTS_CHILD_EXIT_H

#include <unistd.h>

int __llvm_profile_write_file(void) __attribute__((weak)); // NOLINT(bugprone-reserved-identifier): clang's name

static inline _Noreturn void child_exit(int status) {
    if (__llvm_profile_write_file)
        (void)__llvm_profile_write_file();
    _exit(status);
}

#endif
