/* SPDX-License-Identifier: MIT */
/* Samples as JSON lines, one object to a sample, written and read back:
 *
 *   words     {"input": [ids], "target": [ids], "input_text": "3 1 2", "target_text": "2 1 3"}
 *   trees     {…, "input_text": "(11 3 2)", "target_text": "(11 2 3)",
 *              "input_paths": ["0", "1", "2"], "target_paths": ["0", "1", "2"]}
 *   problems  {"task": "addition", …, "input_text": "?d=1+2; ", "target_text": "1e0+2e0+0e0==3e0 and d==3#"}
 *
 * Ids come without start and end tokens. What is read is task, input, target and the paths; a file holds words, trees
 * or problems of one task. Expressions: expression_lines.h. */
#ifndef LAB_SAMPLE_LINES_H
#define LAB_SAMPLE_LINES_H

#include "io/fail.h"
#include "task/task_class.h"
#include <cjson/cJSON.h>

lab_write_samples lab_samples_write;

/* The class's lines, or a table where the name ends in .tsv, in a file that is whole or not there. */
locus_status lab_samples_save(const lab_dataset *set, const lab_task *task, const char *path, locus_error *error);

/* Fills an empty set. `task`: that of problems, whose characters the tokens are; NULL: words or trees. */
locus_status lab_samples_read(lab_dataset *set, const lab_task **task, const char *path, locus_error *error);

/* ---- for what reads lines ---- */

typedef struct lab_line_place {
    const char *path;
    size_t line;
    locus_error *error;
} lab_line_place;

/* "F.jsonl, line 3: <what>". IO. */
LAB_PRINTF(2, 3) locus_status lab_place_fail(const lab_line_place *at, const char *format, ...);
/* A line's object, to be deleted in any case. */
locus_status lab_place_parse(const lab_line_place *at, const char *line, cJSON **root);

#endif
