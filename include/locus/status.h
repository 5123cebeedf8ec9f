/* SPDX-License-Identifier: MIT */
/* Status codes, the error record, and the attributes that every public declaration uses. */
#ifndef LOCUS_STATUS_H
#define LOCUS_STATUS_H

#include <stddef.h>
#include <stdint.h>

#if defined(LOCUS_STATIC)
#define LOCUS_API
#elif defined(__GNUC__)
#define LOCUS_API __attribute__((visibility("default")))
#else
#define LOCUS_API
#endif

#if defined(__GNUC__)
#define LOCUS_MUST_USE __attribute__((warn_unused_result))
#else
#define LOCUS_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a call reports. The values are pinned: they are part of the binary interface. */
typedef enum locus_status {
    LOCUS_OK = 0,
    LOCUS_ERROR_ARGUMENT = 1,    /* a value that makes no sense: NULL, negative, out of range */
    LOCUS_ERROR_SHAPE = 2,       /* a tensor of another rank, shape or stride than is needed */
    LOCUS_ERROR_DTYPE = 3,       /* a tensor of another element type than is needed */
    LOCUS_ERROR_SPEC = 4,        /* a text (encoding spec, group, path) that cannot be parsed */
    LOCUS_ERROR_POSITION = 5,    /* a position that the encoding or the group does not have */
    LOCUS_ERROR_UNSUPPORTED = 6, /* meaningful, but this build or version does not do it */
    LOCUS_ERROR_MEMORY = 7,      /* the allocator returned NULL, or a workspace is too small */
    LOCUS_ERROR_IO = 8,          /* a file could not be read or written */
    LOCUS_ERROR_NUMERIC = 9,     /* a value that is not finite, a decomposition that failed */
    LOCUS_ERROR_INTERRUPTED = 10 /* the caller asked for an early end */
} locus_status;

/* A function that makes an object (…_create, …_parse and others with a pointer to be set) sets the pointer to NULL when
 * it fails; one that replaces an object (…_update, …_refresh) then leaves it as it was. */

/* Details of a failure. Every function that takes a `locus_error *` accepts NULL. Filled only when the
 * function fails; nothing in it has to be freed. */
typedef struct locus_error {
    locus_status status;
    char argument[48]; /* the offending argument, option or tensor; may be empty */
    char message[464]; /* one line without a line end: what is wrong, where, what to do */
    ptrdiff_t offset;  /* for texts: byte offset of the offending place, else -1 */
    ptrdiff_t length;  /* for texts: bytes of the offending place (at least 1), else 0 */
} locus_error;

/* The constant's name in words ("out of memory"). Static storage. Never NULL. */
LOCUS_API const char *locus_status_text(locus_status status);

#ifdef __cplusplus
}
#endif
#endif
