/* SPDX-License-Identifier: MIT */
/* The registry of task families: a family is one file that defines a list of tasks, and one line in task.c. */
#ifndef LAB_FAMILY_H
#define LAB_FAMILY_H

#include "task/task.h"

typedef struct lab_task_family {
    const lab_task *tasks;
    size_t count;
} lab_task_family;

/* Random streams of the data: + the set. A family that draws otherwise has a purpose of its own. */
#define LAB_PURPOSE_DATA (LOCUS_RANDOM_USER + 0x1000u)

extern const lab_task_family lab_task_sequence; /* sequence.c: copy, reverse, repeat */
extern const lab_task_family lab_task_tree;     /* tree_task.c: tree-copy, tree-reorder, tree-c3, tree-ops */
extern const lab_task_family lab_task_image;    /* cifar10.c: cifar10 */
extern const lab_task_family lab_task_problem;  /* problem.c: addition, substring-index, substring-search */
extern const lab_task_family lab_task_text;     /* text_task.c: text */
extern const lab_task_family lab_task_listops;  /* listops.c: listops */

#endif
