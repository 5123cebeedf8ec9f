/* SPDX-License-Identifier: MIT */
/* Groups: the syntax of a domain. Grammar:
 *   group := "seq" | "cycle:" n | "tree:" k | "grid:" r | group "*" group | "(" group ")"
 *
 * A group falls into coordinates, from left to right: one for each axis of a grid (`seq` is a grid of one axis), one
 * for each cycle, one for each tree. Paths serve any number of coordinates, operators at most 32. Positions have a
 * value for each coordinate, generators are numbered along them. */
#ifndef LOCUS_GROUP_H
#define LOCUS_GROUP_H

#include <locus/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct locus_group locus_group; /* opaque, immutable, counted */

/* Parses `text`. On failure the error's offset points into `text`. */
LOCUS_API LOCUS_MUST_USE locus_status locus_group_parse(const char *text, locus_group **group, locus_error *error);

/* One more owner: the group lives until each of its owners has destroyed it. From any thread. Returns its argument, or
 * `seq` for NULL. To keep a group that is borrowed from an encoding, a binding, positions or a path, retain it. */
LOCUS_API locus_group *locus_group_retain(const locus_group *group);

/* Lets go of one owner's share. Accepts NULL; nulls the pointer. */
LOCUS_API void locus_group_destroy(locus_group **group);

/* Writes the canonical text, cut to `size` bytes with its final NUL, and returns its full length. */
LOCUS_API size_t locus_group_text(const locus_group *group, char *text, size_t size);

/* Whether both are the same group, however they were written. NULL stands for `seq`. */
LOCUS_API int locus_group_equal(const locus_group *a, const locus_group *b);

typedef enum locus_coordinate_kind {
    LOCUS_COORDINATE_AXIS = 1,  /* an integer */
    LOCUS_COORDINATE_CYCLE = 2, /* an integer mod size */
    LOCUS_COORDINATE_TREE = 3   /* a word over size branches and their inverses */
} locus_coordinate_kind;

typedef struct locus_coordinate {
    locus_coordinate_kind kind;
    int64_t size;  /* of a cycle n, of a tree k; 0 for an axis */
    size_t factor; /* which factor of the canonical product it belongs to: the axes of a grid share one */
} locus_coordinate;

/* NULL stands for `seq`. A group with more than 2^31 axes counts SIZE_MAX coordinates and can be used for paths only in
 * theory: every other call refuses it. */
LOCUS_API size_t locus_group_coordinates(const locus_group *group);
LOCUS_API locus_coordinate locus_group_coordinate(const locus_group *group, size_t index);

#ifdef __cplusplus
}
#endif
#endif
