/* SPDX-License-Identifier: MIT */
/* Groups: the syntax of a domain. Grammar:
 *   group := "seq" | "cycle:" n | "tree:" k | "grid:" r | group "*" group | "(" group ")"
 * The grammar is complete; positions and encodings of this version act on `seq` only and say so. */
#ifndef LOCUS_GROUP_H
#define LOCUS_GROUP_H

#include <locus/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct locus_group locus_group; /* opaque, immutable */

/* Parses `text`. On failure the error's offset points into `text`. */
LOCUS_API LOCUS_MUST_USE locus_status locus_group_parse(const char *text, locus_group **group, locus_error *error);

/* Accepts NULL; nulls the pointer. */
LOCUS_API void locus_group_destroy(locus_group **group);

/* Writes the canonical text, cut to `size` bytes with its final NUL, and returns its full length. */
LOCUS_API size_t locus_group_text(const locus_group *group, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
