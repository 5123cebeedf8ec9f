/* SPDX-License-Identifier: MIT */
/* What the rest of the library may see of a group: its canonical list of factors, and shared ownership. */
#ifndef LOCUS_GROUP_ACCESS_H
#define LOCUS_GROUP_ACCESS_H

#include <locus/group.h>
#include <stdbool.h>

typedef enum locus_factor_kind {
    LOCUS_FACTOR_GRID = 1,  /* size axes of integers; `seq` is a grid of one axis */
    LOCUS_FACTOR_CYCLE = 2, /* integers mod size */
    LOCUS_FACTOR_TREE = 3   /* the free group on size branches */
} locus_factor_kind;

typedef struct locus_group_factor {
    locus_factor_kind kind;
    int64_t size; /* r, n or k: at least 1 */
} locus_group_factor;

/* The factors from left to right, parentheses dissolved and neighbouring sequences joined into one grid: equal groups
 * have equal lists. At least one. NULL stands for `seq`. */
size_t locus_group_factor_count(const locus_group *group);
locus_group_factor locus_group_factor_at(const locus_group *group, size_t index);

bool locus_group_has_tree(const locus_group *group);

/* `seq`, in static storage: sharing and destroying it changes nothing. */
const locus_group *locus_group_sequence(void);

/* Equal groups have equal hashes. NULL stands for `seq`. */
uint64_t locus_group_hash(const locus_group *group);

/* UNSUPPORTED for a group of more than 2^31 coordinates, on which nothing can be stored. */
locus_status locus_group_check_size(const locus_group *group, locus_error *error);

#endif
