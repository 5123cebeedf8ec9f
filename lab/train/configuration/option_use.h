/* SPDX-License-Identifier: MIT */
/* Which kinds of tasks take which options. */
#ifndef LAB_OPTION_USE_H
#define LAB_OPTION_USE_H

#include "task/task_class.h"

/* Whether tasks of the class take an option of the command line, by its name. What no table restricts is taken by
 * all. */
bool lab_class_takes(const lab_task_class *class, const char *name);
/* Likewise whether `generate` takes it for their runs; one that is for all runs is of none. */
bool lab_class_generates(const lab_task_class *class, const char *name);

#endif
