/* SPDX-License-Identifier: MIT */
/* See task_table.h. */
#include "task_table.h"

#include "train/configuration/config_options.h"

#include <string.h>

enum { MOST = 96 }; /* of trainings and tasks; more are not shown */

typedef struct table {
    cli_option options[MOST];
    size_t count;
} table;

static bool has_use(const lab_option *option, cli_task_use use) {
    const bool scored = (option->flags & LAB_OPTION_SCORED) != 0;
    switch (use) {
    case CLI_USE_TRAIN:
        return !scored;
    case CLI_USE_DATA:
        return (option->flags & LAB_OPTION_DATA) != 0;
    case CLI_USE_EVAL:
        return scored || (option->flags & LAB_OPTION_EVAL) != 0;
    case CLI_USE_NONE:
        break;
    }
    return false;
}

static cli_kind kind_of(const lab_option *option) {
    switch (option->type) {
    case LAB_OPTION_SIZE:
    case LAB_OPTION_COUNT:
    case LAB_OPTION_SEED:
        return CLI_INTEGER;
    case LAB_OPTION_REAL:
        return CLI_NUMBER;
    case LAB_OPTION_LIST:
        return CLI_LIST;
    case LAB_OPTION_NAMED:
    case LAB_OPTION_TEXT:
    case LAB_OPTION_TASK:
    case LAB_OPTION_ATTENTION:
    case LAB_OPTION_ARCHITECTURE:
        break;
    }
    return strchr(option->value, '|') != NULL ? CLI_CHOICE : CLI_TEXT;
}

/* Kinds that have an option of the same name share it: the first row that explains it does so for all. */
static void add(table *to, const lab_option *option, cli_task_use use) {
    if (option->name == NULL || !has_use(option, use))
        return;
    for (size_t i = 0; i < to->count; i++)
        if (strcmp(to->options[i].name, option->name) == 0)
            return;
    if (option->help != NULL && to->count < MOST) {
        to->options[to->count++] = (cli_option){option->name,    option->letter, kind_of(option), option->value,
                                                option->initial, option->help,   option->least,   option->most};
    }
}

static void fill(table *to, cli_task_use use) {
    for (size_t i = 0; use == CLI_USE_TRAIN && i < lab_config_option_count; i++)
        add(to, &lab_config_options[i], use);
    for (size_t c = 0; c < lab_class_count(); c++)
        for (size_t i = 0; i < lab_class_at(c)->option_count; i++)
            add(to, &lab_class_at(c)->options[i], use);
}

static const table *table_of(cli_task_use use) {
    static table tables[CLI_USE_EVAL + 1];
    if (tables[use].count == 0)
        fill(&tables[use], use);
    return &tables[use];
}

size_t cli_task_option_count(cli_task_use use) {
    return table_of(use)->count;
}

const cli_option *cli_task_option_at(cli_task_use use, size_t index) {
    return &table_of(use)->options[index];
}
