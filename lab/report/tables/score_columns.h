/* SPDX-License-Identifier: MIT */
/* Tables of scores: the columns of a class (task/task_class.h), behind what tells the rows apart. */
#ifndef LAB_SCORE_COLUMNS_H
#define LAB_SCORE_COLUMNS_H

#include "report/tables/table.h"
#include "task/task_class.h"

enum { LAB_MOST_SCORE_COLUMNS = 12 };

/* A table of the columns that stand at `where` (LAB_SCORE_RUN, LAB_SCORE_SET) behind `first` ones with heads of their
 * own. */
lab_table *lab_score_table(const char *const *first, size_t first_count, const lab_task_class *class, unsigned where);

/* A score by its name; NAN: there is none. */
typedef double lab_score_value(const void *context, const char *name);
/* The cells of a row behind its first ones. */
void lab_score_cells(lab_table *table, const lab_task_class *class, unsigned where, lab_score_value *value,
                     const void *context);

#endif
