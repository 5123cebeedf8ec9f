/* SPDX-License-Identifier: MIT */
/* Sanitizers are slow and look at memory, not at numbers: under one a test takes fewer cases, or fewer steps of the
 * same kind. All of them are taken in a release build. */
#ifndef LOCUS_TESTS_SANITIZED_H
#define LOCUS_TESTS_SANITIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef LOCUS_SANITIZED
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/* The first under a sanitizer, else the second; a constant where both are. */
#define SANITIZED(under, otherwise) (IS_SANITIZED ? (under) : (otherwise))

/* Whether case `number` of a test is left out here: under a sanitizer one in `of` is taken. Which ones has no period,
 * so that all values of nested loops come up. */
static inline bool left_out(size_t number, size_t of) {
    return IS_SANITIZED && (uint32_t)number * UINT32_C(2654435769) > UINT32_MAX / (uint32_t)of;
}

#endif
