/* SPDX-License-Identifier: MIT */
/* A local operator behind the face of a whole one: what a plan does with the one it must do with the other. */
#ifndef TESTS_WHOLE_FACE_H
#define TESTS_WHOLE_FACE_H

#include "plan/plan_access.h"

typedef struct whole_face {
    locus_whole_operator base;
    const locus_operator *op;
    const locus_places *places;
    size_t heads, dim;
    size_t calls, streams; /* how often it was called, and with how many streams in all */
} whole_face;

whole_face whole_face_make(const locus_operator *op, const locus_places *places, size_t heads, size_t dim);

/* Replaces the local operators of a plan. `query_key` and `value` may be the same face. NULL: that site is left. */
void whole_face_put(locus_plan *plan, whole_face *query_key, whole_face *value);

#endif
