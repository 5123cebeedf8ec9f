/* SPDX-License-Identifier: MIT */
/* One expression of a set (task/listops/listops.h), as `locus data` writes and shows it. */
#ifndef CLI_EXPRESSION_H
#define CLI_EXPRESSION_H

#include "task/task.h"

/* What of the set's arrays is its own; the start token first. */
typedef struct cli_expression {
    size_t count;
    const int32_t *tokens, *parents, *branches; /* [count] */
    int32_t label;
} cli_expression;

cli_expression cli_expression_at(const lab_dataset *set, size_t index);

/* As it is written, from malloc; NULL after one line on standard error. */
char *cli_expression_text(const cli_expression *expression);

/* Whether a file of expressions is tab-separated, by its name. */
bool cli_expressions_are_tabbed(const char *path);

#endif
