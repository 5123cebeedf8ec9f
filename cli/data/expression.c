/* SPDX-License-Identifier: MIT */
#include "expression.h"

#include "output.h"
#include "task/listops/listops.h"

#include <string.h>

cli_expression cli_expression_at(const lab_dataset *set, size_t index) {
    const size_t start = set->input_offsets[index];
    return (cli_expression){set->input_offsets[index + 1] - start, set->input + start, set->input_tree.parents + start,
                            set->input_tree.branches + start, set->labels[index]};
}

char *cli_expression_text(const cli_expression *expression) {
    char *text = lab_listops_string(expression->count, expression->tokens, expression->parents, expression->branches);
    if (text == NULL)
        cli_failure("out of memory for an expression's text");
    return text;
}

bool cli_expressions_are_tabbed(const char *path) {
    static const char end[] = ".tsv";
    const size_t length = strlen(path), tail = strlen(end);
    return length >= tail && strcmp(path + length - tail, end) == 0;
}
