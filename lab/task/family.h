/* SPDX-License-Identifier: MIT */
/* The registry of task families: a family is one file that defines a list of tasks, and one line in task.c. */
#ifndef LAB_FAMILY_H
#define LAB_FAMILY_H

#include "task/task.h"

typedef struct lab_task_family {
    const lab_task *tasks;
    size_t count;
} lab_task_family;

extern const lab_task_family lab_task_sequence; /* sequence.c: copy, reverse, repeat */

#endif
