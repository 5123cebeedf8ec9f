/* SPDX-License-Identifier: MIT */
/* Samples as JSON lines, one object to a sample, written and read back:
 *
 *   words     {"input": [ids], "target": [ids], "input_text": "3 1 2", "target_text": "2 1 3"}
 *   trees     {…, "input_text": "(11 3 2)", "target_text": "(11 2 3)",
 *              "input_paths": ["0", "1", "2"], "target_paths": ["0", "1", "2"]}
 *   problems  {"task": "addition", …, "input_text": "?d=1+2; ", "target_text": "1e0+2e0+0e0==3e0 and d==3#"}
 *
 * Ids come without start and end tokens. What is read is task, input, target and the paths; a file holds words, trees
 * or problems of one task. */
#ifndef CLI_DATA_LINES_H
#define CLI_DATA_LINES_H

#include "task/task.h"

/* To `path`, "-" for standard output: the exit status, after one line on standard error if it is not 0. */
int cli_data_write(const lab_dataset *set, const lab_task *task, const char *path);
/* Fills an empty set; likewise. `task`: that of problems, whose characters the tokens are; NULL: words or trees. */
int cli_data_read(lab_dataset *set, const lab_task **task, const char *path);

/* The tree of a sample's input or target as "(op left right)", from malloc. NULL after one line on standard error. */
char *cli_data_tree_text(const int32_t *tokens, const lab_tree_nodes *nodes, const size_t offsets[2]);

#endif
