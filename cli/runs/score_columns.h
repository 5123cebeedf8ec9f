/* SPDX-License-Identifier: MIT */
/* Tables of scores: the columns of a class (task/task_class.h), behind what tells the rows apart. */
#ifndef CLI_SCORE_COLUMNS_H
#define CLI_SCORE_COLUMNS_H

#include "output.h"
#include "task/task_class.h"

enum { CLI_MOST_COLUMNS = 12 };

/* A table of the columns that stand at `where` (LAB_SCORE_RUN, LAB_SCORE_SET) behind `first` ones with heads of their
 * own. */
lab_table *cli_score_table(const char *const *first, size_t first_count, const lab_task_class *class, unsigned where);

/* A score by its name; NAN: there is none. */
typedef double cli_score_value(const void *context, const char *name);
/* The cells of a row behind its first ones. */
void cli_score_cells(lab_table *table, const lab_task_class *class, unsigned where, cli_score_value *value,
                     const void *context);

#endif
