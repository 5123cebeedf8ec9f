/* SPDX-License-Identifier: MIT */
/* What the scales of a table's columns do: the effect of each where the other is as it is and where it is mended, and
 * both against embeddings of variance 1/D. A scheme that adds nothing to tokens has fewer of them: what would be the
 * difference of a training and itself is left empty, and so is what would stand there twice. */
#include "report/reproduction/reproduction_report.h"

#include <string.h>

typedef struct effect {
    const char *text, *with, *without; /* variants */
} effect;

static const effect effects[] = {{"positions times √D, logits as they are", "unit positions", "unit"},
                                 {"positions times √D, logits over √D", "unit both", "unit logits"},
                                 {"logits over √D, positions as they are", "unit logits", "unit"},
                                 {"logits over √D, positions times √D", "unit both", "unit positions"},
                                 {"unit with both, less scaled", "unit both", "scaled"}};
enum { EFFECTS = sizeof effects / sizeof *effects };

/* The column of a task and a variant; column_count: there is none. */
static size_t column_of(const lab_reproduction *table, const char *task, const char *variant) {
    size_t column = 0;
    while (column < table->column_count && (strcmp(table->columns[column].config.task->name, task) != 0 ||
                                            strcmp(lab_reproduction_variant(&table->columns[column]), variant) != 0))
        column++;
    return column;
}

typedef struct pair {
    size_t with, without; /* columns */
} pair;

static bool find_pair(const lab_reproduction *table, const char *task, size_t which, size_t row, pair *found) {
    *found = (pair){column_of(table, task, effects[which].with), column_of(table, task, effects[which].without)};
    return found->with < table->column_count && found->without < table->column_count &&
           lab_reproduction_has(table, row, found->with) && lab_reproduction_has(table, row, found->without) &&
           !lab_reproduction_alike(table, row, found->with, found->without);
}

static bool is_compared(const lab_reproduction *table, const char *task, size_t which, size_t row, pair *found) {
    bool good = find_pair(table, task, which, row, found);
    for (size_t i = 0; good && i < which; i++) {
        pair before;
        good = !find_pair(table, task, i, row, &before) ||
               !lab_reproduction_alike(table, row, before.with, found->with) ||
               !lab_reproduction_alike(table, row, before.without, found->without);
    }
    return good;
}

/* Effects of a task over all rows. */
static size_t count_compared(const lab_reproduction *table, const char *task) {
    size_t count = 0;
    for (size_t i = 0; i < EFFECTS * table->row_count; i++) {
        pair of;
        count += is_compared(table, task, i / table->row_count, i % table->row_count, &of);
    }
    return count;
}

static bool begins_task(const lab_reproduction *table, size_t column) {
    for (size_t i = 0; i < column; i++)
        if (table->columns[i].config.task == table->columns[column].config.task)
            return false;
    return true;
}

static void write_effect(const lab_reproduction_view *view, const char *task, size_t which, double miss, FILE *stream) {
    const lab_reproduction *table = view->table;
    fprintf(stream, "| %s: %s |", task, effects[which].text);
    for (size_t row = 0; row < table->row_count; row++) {
        pair of;
        char text[64] = "";
        if (is_compared(table, task, which, row, &of)) {
            const lab_contrast contrast =
                lab_contrast_two(lab_result_score(view->result, table, row, of.with),
                                 lab_result_score(view->result, table, row, of.without), miss);
            lab_contrast_text(&contrast, table->columns[of.with].measure, text, sizeof text);
        }
        fprintf(stream, " %s |", text);
    }
    fputc('\n', stream);
}

void lab_factors_write(const lab_reproduction_view *view, FILE *stream) {
    const lab_reproduction *table = view->table;
    size_t count = 0;
    for (size_t column = 0; column < table->column_count; column++)
        count += begins_task(table, column) ? count_compared(table, table->columns[column].config.task->name) : 0;
    if (!lab_reproduction_has_scales(table) || count == 0)
        return;
    fprintf(stream,
            "\n## What each scale does\n\nOf embeddings of variance 1: with less without, in points, with intervals "
            "that all %zu together hold with 95 %%. Empty: the two are one training, or it stands above.\n\n| |",
            count);
    for (size_t row = 0; row < table->row_count; row++)
        fprintf(stream, " %s |", table->columns[0].rows[row].name);
    fputs("\n|---|", stream);
    for (size_t row = 0; row < table->row_count; row++)
        fputs("---|", stream);
    fputc('\n', stream);
    for (size_t column = 0; column < table->column_count; column++)
        for (size_t which = 0; begins_task(table, column) && which < EFFECTS; which++)
            write_effect(view, table->columns[column].config.task->name, which, lab_contrast_miss(count), stream);
}
