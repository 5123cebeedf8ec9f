/* SPDX-License-Identifier: MIT */
/* The four tasks on trees: what draws their sets, and how many children an output token has. Symbols are numbered from
 * 1; 0 is the start token, which does not stand in sets. There is no end token: a tree ends when no child is open. */
#ifndef LAB_TREE_TASK_H
#define LAB_TREE_TASK_H

#include "task/task.h"

enum { LAB_TREE_COPY_SYMBOLS = 20, LAB_TREE_C3_SYMBOLS = 4, LAB_TREE_OPS_SYMBOLS = 128 };

/* Trees of depth max(0, ⌊N(mean, deviation)⌋); a leaf has depth 0. */
typedef struct lab_tree_options {
    double depth_mean, depth_deviation;
    size_t symbols; /* leaves and operators, as each task's own table says (20, 4, 128) */
    size_t arity;   /* children of an inner node, 2 as published */
    lab_order order;
} lab_tree_options;
#define LAB_TREES(options) LAB_OF_KIND(lab_tree_options, options)

lab_draw_function lab_tree_copy, lab_tree_reorder, lab_tree_c3, lab_tree_ops;

/* A set of one sample, from its input "(11 3 2)", with the target that the task makes of it. ARGUMENT, about "input":
 * what is no input of the task. */
locus_status lab_tree_typed(lab_dataset *set, const lab_task *task, const lab_task_options *options, const char *text,
                            locus_error *error);

/* tree-copy and tree-reorder: half of the symbols are operators. */
lab_children_function lab_tree_children_half, lab_tree_children_c3, lab_tree_children_ops;

#endif
