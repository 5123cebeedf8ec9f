/* SPDX-License-Identifier: MIT */
/* How the laboratory reports a failure: fills the caller's error record, if there is one, and hands the status back. */
#ifndef LAB_FAIL_H
#define LAB_FAIL_H

#include <locus/status.h>

#if defined(__GNUC__)
#define LAB_PRINTF(text, first) __attribute__((format(printf, text, first), cold))
#else
#define LAB_PRINTF(text, first)
#endif

/* Returns `status`. `error` may be NULL, `argument` too. The message is cut to the record at a character's boundary;
 * what a terminal would obey becomes '?' (printable.h): it stays one line. */
LAB_PRINTF(4, 5)
locus_status lab_fail(locus_error *error, locus_status status, const char *argument, const char *format, ...);

/* A system call failed: "cannot <action> '<path>': <the system's reason>". `code` is errno's value. Returns IO, or
 * MEMORY for ENOMEM. */
#define LAB_FAIL_THERE "there" /* the error's argument, unless nothing is at `path`: it may be read another time */
locus_status lab_fail_system(locus_error *error, const char *action, const char *path, int code);

/* Something is wrong with a file: "'<path>' <what is wrong>", for example "'x.npy' is cut: …". Returns IO. */
LAB_PRINTF(3, 4)
locus_status lab_fail_file(locus_error *error, const char *path, const char *format, ...);

/* Out of memory, with what it was for. */
locus_status lab_fail_memory(locus_error *error, const char *purpose);

#endif
