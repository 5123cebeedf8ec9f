/* SPDX-License-Identifier: MIT */
/* Random elements of any group, for laws that hold for all of them. */
#ifndef LAB_ELEMENTS_H
#define LAB_ELEMENTS_H

#include <locus/locus.h>
#include <stdbool.h>

typedef enum lab_element_kind {
    LAB_ELEMENT_ANY =
        0, /* short and long: integers of both signs of every magnitude up to `reach`, words up to `depth` */
    LAB_ELEMENT_SHORT = 1 /* a few steps, so that paths meet and cancel */
} lab_element_kind;

typedef struct lab_elements {
    const locus_group *group; /* not NULL; the caller's */
    locus_random random;
    uint64_t next; /* number of the stream that is drawn next */
    int64_t reach; /* of integers */
    size_t depth;  /* letters of a word, at most */
    bool forward;  /* no negative integers and no inverse branches */
} lab_elements;

/* An element of the group, the caller's to destroy. MEMORY. */
locus_status lab_element_draw(lab_elements *elements, lab_element_kind kind, locus_path **path, locus_error *error);

/* Two paths away from the origin that make one of `steps` on every axis, and of `letters` branches on every tree. */
locus_status lab_element_far(lab_elements *elements, int64_t steps, size_t letters, locus_path *ends[2],
                             locus_error *error);

#endif
