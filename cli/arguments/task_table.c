/* SPDX-License-Identifier: MIT */
/* See task_table.h. */
#include "task_table.h"

#include "train/configuration/config_options.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 96, HELP = 512 }; /* of trainings and tasks; more are not shown, nor is more help */

typedef struct table {
    cli_option options[MOST];
    char helps[MOST][HELP]; /* of options of kinds */
    size_t count;
    unsigned use;
} table;

static bool has_use(const lab_option *option, unsigned use) {
    return use == LAB_OPTION_TRAINED ? (option->flags & (LAB_OPTION_SCORED | LAB_OPTION_MADE)) == 0
                                     : (option->flags & use) != 0;
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

static const char *help_of(size_t class, const char *name, unsigned use) {
    const lab_option *row = class < lab_class_count() ? lab_class_option(lab_class_at(class), name) : NULL;
    return row != NULL && has_use(row, use) ? row->help : NULL;
}

/* "words: mean length (100); problems: …", kinds that say the same together. */
static void join_helps(char text[HELP], const char *name, unsigned use) {
    const size_t count = lab_class_count();
    size_t used = 0;
    for (size_t c = 0; c < count; c++) {
        const char *help = help_of(c, name, use);
        bool told = help == NULL;
        for (size_t i = 0; i < c && !told; i++)
            told = help_of(i, name, use) != NULL && strcmp(help_of(i, name, use), help) == 0;
        for (size_t i = c; i < count && !told && used < HELP; i++)
            if (help_of(i, name, use) != NULL && strcmp(help_of(i, name, use), help) == 0)
                used += (size_t)snprintf(text + used, HELP - used, "%s%s",
                                         used == 0 ? ""
                                         : i == c  ? "; "
                                                   : ", ",
                                         lab_class_at(i)->name);
        if (!told && used < HELP)
            used += (size_t)snprintf(text + used, HELP - used, ": %s", help);
    }
}

/* Kinds that have an option of the same name share it. */
static void add(table *to, const lab_option *option, bool of_kind, unsigned use) {
    if (option->name == NULL || !has_use(option, use) || to->count == MOST)
        return;
    for (size_t i = 0; i < to->count; i++)
        if (strcmp(to->options[i].name, option->name) == 0)
            return;
    char *help = to->helps[to->count];
    if (of_kind)
        join_helps(help, option->name, use);
    to->options[to->count++] = (cli_option){option->name,  option->letter,  kind_of(option),
                                            option->value, option->initial, of_kind ? help : option->help,
                                            option->least, option->most};
}

static void fill(table *to, unsigned use) {
    for (size_t i = 0; i < lab_config_option_count; i++)
        add(to, &lab_config_options[i], false, use);
    for (size_t c = 0; c < lab_class_count(); c++)
        for (size_t i = 0; i < lab_class_at(c)->option_count; i++)
            add(to, &lab_class_at(c)->options[i], true, use);
}

static const table *table_of(unsigned use) {
    static table tables[8]; /* one for each use; of none the first that is free */
    size_t i = 0;
    while (i + 1 < sizeof tables / sizeof *tables && tables[i].use != 0 && tables[i].use != use)
        i++;
    if (use != 0 && tables[i].use == 0) {
        tables[i].use = use;
        fill(&tables[i], use);
    }
    return &tables[i];
}

size_t cli_task_option_count(unsigned use) {
    return table_of(use)->count;
}

const cli_option *cli_task_option_at(unsigned use, size_t index) {
    return &table_of(use)->options[index];
}
