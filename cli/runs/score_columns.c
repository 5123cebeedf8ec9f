/* SPDX-License-Identifier: MIT */
#include "score_columns.h"

#include <math.h>
#include <string.h>

static const cli_score_column pairs[] = {{">accuracy|%", "accuracy", CLI_SCORE_SHARE},
                                         {">exact|%", "exact", CLI_SCORE_SHARE},
                                         {">greedy exact|%", "greedy_exact", CLI_SCORE_SHARE},
                                         {">loss", "loss", CLI_SCORE_LOSS},
                                         {">chance|%", "chance", CLI_SCORE_SHARE}};
static const cli_score_column images[] = {{">accuracy|%", "accuracy", CLI_SCORE_SHARE},
                                          {">at half|%", "accuracy_half", CLI_SCORE_SHARE},
                                          {">last|%", "accuracy_last", CLI_SCORE_SHARE},
                                          {">loss", "loss", CLI_SCORE_LOSS},
                                          {">best step", "best_step", CLI_SCORE_STEP}};
static const cli_score_column scored_images[] = {{">accuracy|%", "accuracy", CLI_SCORE_SHARE},
                                                 {">loss", "loss", CLI_SCORE_LOSS},
                                                 {">chance|%", "chance", CLI_SCORE_SHARE}};
static const cli_score_column problems[] = {{">solved|%", "greedy_exact", CLI_SCORE_SHARE},
                                            {">accuracy|%", "accuracy", CLI_SCORE_SHARE},
                                            {">loss", "loss", CLI_SCORE_LOSS}};
static const cli_score_column texts[] = {{">perplexity", "perplexity", CLI_SCORE_NUMBER},
                                         {">bits per byte", "bits_per_byte", CLI_SCORE_LOSS},
                                         {">loss", "loss", CLI_SCORE_LOSS},
                                         {">accuracy|%", "accuracy", CLI_SCORE_SHARE}};
static const cli_score_column expressions[] = {{">accuracy|%", "accuracy", CLI_SCORE_SHARE},
                                               {">loss", "loss", CLI_SCORE_LOSS},
                                               {">chance|%", "chance", CLI_SCORE_SHARE},
                                               {">majority|%", "majority", CLI_SCORE_SHARE}};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

size_t cli_score_columns(lab_task_kind kind, const cli_score_column **columns) {
    switch (kind) {
    case LAB_TASK_IMAGES:
        *columns = images;
        return LENGTH(images);
    case LAB_TASK_PROBLEMS:
        *columns = problems;
        return LENGTH(problems);
    case LAB_TASK_TEXT:
        *columns = texts;
        return LENGTH(texts);
    case LAB_TASK_EXPRESSIONS:
        *columns = expressions;
        return LENGTH(expressions);
    case LAB_TASK_WORDS:
    case LAB_TASK_TREES:
        break;
    }
    *columns = pairs;
    return LENGTH(pairs) - 1;
}

size_t cli_eval_columns(lab_task_kind kind, const cli_score_column **columns) {
    if (kind == LAB_TASK_IMAGES) {
        *columns = scored_images;
        return LENGTH(scored_images);
    }
    const size_t count = cli_score_columns(kind, columns);
    return *columns == pairs ? LENGTH(pairs) : count;
}

lab_table *cli_score_table(const char *const *first, size_t first_count, const cli_score_column *columns,
                           size_t count) {
    const char *heads[CLI_MOST_COLUMNS];
    size_t used = 0;
    for (size_t i = 0; i < first_count && used < CLI_MOST_COLUMNS; i++)
        heads[used++] = first[i];
    for (size_t i = 0; i < count && used < CLI_MOST_COLUMNS; i++)
        heads[used++] = columns[i].head;
    return lab_table_create(heads, used);
}

void cli_score_cell(lab_table *table, const cli_score_column *column, double value) {
    static const int decimals[] = {[CLI_SCORE_LOSS] = 4, [CLI_SCORE_NUMBER] = 2, [CLI_SCORE_STEP] = 0};
    if (isnan(value))
        lab_table_none(table);
    else if (column->format == CLI_SCORE_SHARE)
        lab_table_number(table, 100.0 * value, "%.2f %%", 100.0 * value);
    else
        lab_table_mean(table, value, decimals[column->format], (double)NAN, 0);
}

double cli_final(const lab_final *finals, size_t count, const char *set, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(finals[i].set, set) == 0 && strcmp(finals[i].name, name) == 0)
            return finals[i].value;
    return (double)NAN;
}

const char *cli_score_legend(lab_task_kind kind) {
    switch (kind) {
    case LAB_TASK_IMAGES:
        return "Best accuracy of all epochs, best up to half of them, that of the last; loss and step of the best.";
    case LAB_TASK_PROBLEMS:
        return "Problems solved to the letter by greedy decoding; characters right, and nats a character, under "
               "teacher forcing.";
    case LAB_TASK_TEXT:
        return "Perplexity is exp(loss), loss in nats a token; bits per byte of the text that the tokens stand for.";
    case LAB_TASK_EXPRESSIONS:
        return "Chance is one of the classes; majority is the share of the most common one.";
    case LAB_TASK_WORDS:
    case LAB_TASK_TREES:
        break;
    }
    return "";
}
