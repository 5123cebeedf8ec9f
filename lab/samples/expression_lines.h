/* SPDX-License-Identifier: MIT */
/* Files of expressions (task/listops/listops.h):
 *
 *   .tsv    Source and Target, as Long Range Arena writes them
 *   .jsonl  {"input": [ids, the start token first], "target": class, "input_text": "( ( ( [MAX 2 ) 9 ) ] )",
 *            "input_paths": ["0", "0", "1", "2", "0"]} */
#ifndef LAB_EXPRESSION_LINES_H
#define LAB_EXPRESSION_LINES_H

#include "task/listops/listops.h"
#include "task/task_class.h"

/* What of a set's arrays is one sample's own; the start token first. */
typedef struct lab_expression {
    size_t count;
    const int32_t *tokens, *parents, *branches; /* [count] */
    int32_t label;
} lab_expression;
lab_expression lab_expression_at(const lab_dataset *set, size_t index);

lab_write_samples lab_expressions_write;

/* Whether a file is one of expressions, by its name (.tsv) or its first line (.jsonl); and its set, to be destroyed in
 * any case. Of JSON lines input, target and input_text are read and held against each other. */
bool lab_expressions_are_in(const char *path);
locus_status lab_expressions_read(lab_dataset *set, const lab_task *task, const char *path, lab_asked asked,
                                  locus_error *error);

#endif
