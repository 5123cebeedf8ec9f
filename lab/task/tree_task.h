/* SPDX-License-Identifier: MIT */
/* The four tasks on trees: what draws their sets, and how many children an output token has. */
#ifndef LAB_TREE_TASK_H
#define LAB_TREE_TASK_H

#include "task/task.h"

enum { LAB_TREE_COPY_SYMBOLS = 20, LAB_TREE_C3_SYMBOLS = 4, LAB_TREE_OPS_SYMBOLS = 128 };

lab_draw_function lab_tree_copy, lab_tree_reorder, lab_tree_c3, lab_tree_ops;

/* tree-copy and tree-reorder: half of the symbols are operators. */
lab_children_function lab_tree_children_half, lab_tree_children_c3, lab_tree_children_ops;

#endif
