/* SPDX-License-Identifier: MIT */
/* Tokens of a set as one reads them: by the names that the set gives them, else as numbers. */
#ifndef LAB_SET_TEXT_H
#define LAB_SET_TEXT_H

#include "task/task.h"

/* `count` tokens, "3 1 2"; of a tree whose nodes they are (parents NULL: none) "(11 3 2)". From malloc; NULL with
 * MEMORY, or with ARGUMENT for what is no tree. */
char *lab_set_text(const lab_dataset *set, const int32_t *tokens, const lab_tree_nodes *nodes, size_t count,
                   locus_error *error);

#endif
