/* SPDX-License-Identifier: MIT */
/* Random elements of any group, for laws that hold for all of them; lists of elements as packed positions. */
#ifndef CLI_ELEMENTS_H
#define CLI_ELEMENTS_H

#include <locus/locus.h>
#include <stdbool.h>

typedef enum cli_element_kind {
    CLI_ELEMENT_ANY =
        0, /* short and long: integers of both signs of every magnitude up to `reach`, words up to `depth` */
    CLI_ELEMENT_SHORT = 1 /* a few steps, so that paths meet and cancel */
} cli_element_kind;

typedef struct cli_elements {
    const locus_group *group;
    locus_random random;
    uint64_t next; /* number of the stream that is drawn next */
    int64_t reach; /* of integers */
    size_t depth;  /* letters of a word, at most */
    bool forward;  /* no negative integers and no inverse branches */
} cli_elements;

/* 0 and *path; else 1 after a line on standard error. */
int cli_element_draw(cli_elements *elements, cli_element_kind kind, locus_path **path);

/* Two paths away from the origin that make one of `steps` on every axis, and of `letters` branches on every tree. */
int cli_element_far(cli_elements *elements, int64_t steps, size_t letters, locus_path **a, locus_path **b);

/* Paths that are destroyed together. */
typedef struct cli_paths {
    locus_path **items;
    size_t count;
} cli_paths;
int cli_paths_open(cli_paths *paths, size_t count); /* all NULL */
void cli_paths_close(cli_paths *paths);

/* One sequence for each path if `apart`, else one for all; each path `repeat` times in a row. POSITION and the like are
 * left to the caller in `error`: LOCUS_OK or the library's status. */
locus_status cli_paths_positions(const cli_paths *paths, const locus_group *group, size_t repeat, bool apart,
                                 locus_positions **positions, locus_error *error);

#endif
