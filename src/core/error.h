/* SPDX-License-Identifier: MIT */
/* How the library reports a failure: fills the caller's error record, if there is one, and hands the status back, so
 * that a function fails in one statement: `return locus_fail(error, LOCUS_ERROR_SHAPE, "x", "x has rank %zu",
 * rank)`. */
#ifndef LOCUS_ERROR_H
#define LOCUS_ERROR_H

#include <locus/status.h>

#if defined(__GNUC__)
#if defined(__MINGW32__) && !defined(__clang__)
#define LOCUS_PRINTF(text, first) __attribute__((format(gnu_printf, text, first), cold)) /* else the system's own %z */
#else
#define LOCUS_PRINTF(text, first) __attribute__((format(printf, text, first), cold))
#endif
#else
#define LOCUS_PRINTF(text, first)
#endif

/* Returns `status`. `error` may be NULL, `argument` too (no argument to blame). The message is cut to the record at a
 * character's boundary, and what a terminal would obey (from quoted input: control characters,
 * bytes that are no UTF-8) becomes '?', byte by byte: it stays one line. */
LOCUS_PRINTF(4, 5)
locus_status locus_fail(locus_error *error, locus_status status, const char *argument, const char *format, ...);

/* The same for texts: `offset` and `length` in bytes are the offending place (length is raised to at least 1). */
LOCUS_PRINTF(6, 7)
locus_status locus_fail_at(locus_error *error, locus_status status, const char *argument, ptrdiff_t offset,
                           ptrdiff_t length, const char *format, ...);

/* Out of memory, with how much was asked for. */
locus_status locus_fail_memory(locus_error *error, size_t bytes);

#endif
