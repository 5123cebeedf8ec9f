/* SPDX-License-Identifier: MIT */
/* Tables of scores: which columns each kind of task has, and how their values are written. */
#ifndef CLI_SCORE_COLUMNS_H
#define CLI_SCORE_COLUMNS_H

#include "output.h"
#include "task/task.h"
#include "train/store.h"

typedef struct cli_score_column {
    const char *head, *name; /* ">solved"; "greedy_exact", as the store calls it (train/outcome.h) */
    enum { CLI_SCORE_SHARE = 0, CLI_SCORE_LOSS, CLI_SCORE_NUMBER, CLI_SCORE_STEP } format;
} cli_score_column;

/* Of a trained run: of words, trees and images without what guessing scores, which is known where sets are scored. */
size_t cli_score_columns(lab_task_kind kind, const cli_score_column **columns);
/* Of a set that is scored now. */
size_t cli_eval_columns(lab_task_kind kind, const cli_score_column **columns);

enum { CLI_MOST_COLUMNS = 12 };
/* A table of these columns behind `first` ones with heads of their own. */
lab_table *cli_score_table(const char *const *first, size_t first_count, const cli_score_column *columns, size_t count);
/* NAN: "–". */
void cli_score_cell(lab_table *table, const cli_score_column *column, double value);

/* A final score of the store; NAN: it is not there. */
double cli_final(const lab_final *finals, size_t count, const char *set, const char *name);

/* One line below a table, which says what its columns are, if their heads don't. "": nothing needs to be said. */
const char *cli_score_legend(lab_task_kind kind);

#endif
