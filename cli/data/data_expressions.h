/* SPDX-License-Identifier: MIT */
/* What `locus data` does with tasks whose samples are expressions (task/listops/listops.h).
 *
 *   .tsv    Source and Target, as Long Range Arena writes them
 *   .jsonl  {"input": [ids, the start token first], "target": class, "input_text": "( ( ( [MAX 2 ) 9 ) ] )",
 *            "input_paths": ["0", "0", "1", "2", "0"]} */
#ifndef CLI_DATA_EXPRESSIONS_H
#define CLI_DATA_EXPRESSIONS_H

#include "options.h"
#include "task/task.h"

/* data make: --n samples of --set (of --data: all, unless --n is given) to --output, whose name says the format. The
 * exit status. */
int cli_data_make_expressions(cli_arguments *arguments, const lab_task *task);

/* What is said of a set (expression_portrait.c); `subject` is its name. The exit status. */
int cli_data_describe_expressions(const char *subject, const lab_dataset *set, lab_asked asked,
                                  const cli_arguments *arguments);

/* data inspect: lengths, depths, arguments, classes, chance and majority rates, the first --show samples. */
int cli_data_inspect_expressions(cli_arguments *arguments, const lab_task *task);

/* data inspect of a file (expression_lines.c): whether it is one of expressions, by its name (.tsv) or its first line
 * (.jsonl); and what is shown of it. Reads --target. */
bool cli_data_is_expressions(const char *path);
int cli_data_inspect_expression_file(cli_arguments *arguments, const char *path);

#endif
