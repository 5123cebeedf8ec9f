/* SPDX-License-Identifier: MIT */
/* The four tasks on trees: what draws their sets, and how many children an output token has. */
#ifndef LAB_TREE_TASK_H
#define LAB_TREE_TASK_H

#include "task/task.h"

enum { LAB_TREE_COPY_SYMBOLS = 20, LAB_TREE_C3_SYMBOLS = 4, LAB_TREE_OPS_SYMBOLS = 128 };

lab_draw_function lab_tree_copy, lab_tree_reorder, lab_tree_c3, lab_tree_ops;

/* A set of one sample, from its input "(11 3 2)", with the target that the task makes of it. ARGUMENT, about "input":
 * what is no input of the task. */
locus_status lab_tree_typed(lab_dataset *set, const lab_task *task, const lab_task_options *options, const char *text,
                            locus_error *error);

/* tree-copy and tree-reorder: half of the symbols are operators. */
lab_children_function lab_tree_children_half, lab_tree_children_c3, lab_tree_children_ops;

#endif
