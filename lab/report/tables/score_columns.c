/* SPDX-License-Identifier: MIT */
/* See score_columns.h. */
#include "report/tables/score_columns.h"

#include <math.h>

lab_table *lab_score_table(const char *const *first, size_t first_count, const lab_task_class *class, unsigned where) {
    const char *heads[LAB_MOST_SCORE_COLUMNS];
    char texts[LAB_MOST_SCORE_COLUMNS][40];
    size_t used = 0;
    for (size_t i = 0; i < first_count && used < LAB_MOST_SCORE_COLUMNS; i++)
        heads[used++] = first[i];
    for (size_t i = 0; i < class->column_count && used < LAB_MOST_SCORE_COLUMNS; i++) {
        if ((class->columns[i].flags & where) != 0) {
            snprintf(texts[used], sizeof texts[used], ">%s%s", class->columns[i].head,
                     lab_measure_is_share(class->columns[i].measure) ? "|%" : "");
            heads[used] = texts[used];
            used++;
        }
    }
    return lab_table_create(heads, used);
}

void lab_score_cells(lab_table *table, const lab_task_class *class, unsigned where, lab_score_value *value,
                     const void *context) {
    for (size_t i = 0; i < class->column_count; i++) {
        const lab_score_column *column = &class->columns[i];
        if ((column->flags & where) == 0)
            continue;
        const double score = value(context, column->name);
        const double shown = lab_measure_scale(column->measure) * score;
        if (isnan(score))
            lab_table_none(table);
        else if (lab_measure_is_share(column->measure))
            lab_table_number(table, shown, "%.2f %%", shown);
        else
            lab_table_mean(table, shown, lab_measure_decimals(column->measure), (double)NAN, 0);
    }
}
