/* SPDX-License-Identifier: MIT */
/* See task_options.h. */
#include "task_options.h"

#include "command.h"
#include "io/word_distance.h"
#include "output.h"
#include "train/configuration/config_options.h"
#include "train/configuration/option_use.h"

#include <string.h>

/* ---- what a task has no use for ---- */

bool cli_was_given(const cli_arguments *arguments, const char *name) {
    return cli_option_find(arguments->command, name) != SIZE_MAX && cli_given_by_user(arguments, name);
}

const char *cli_list_kinds(cli_kind_takes *takes, const char *option, char text[CLI_KINDS_TEXT]) {
    size_t last = 0, used = 0;
    for (size_t c = 0; c < lab_class_count(); c++)
        last = takes(lab_class_at(c), option) ? c : last;
    text[0] = '\0';
    for (size_t c = 0; c <= last; c++) {
        if (takes(lab_class_at(c), option)) {
            used += (size_t)snprintf(text + used, CLI_KINDS_TEXT - used, "%s%s",
                                     used == 0   ? ""
                                     : c == last ? " or "
                                                 : ", ",
                                     lab_class_at(c)->name);
        }
    }
    return text;
}

/* What the class has in the place of another kind's option, if this command has it. */
static const char *instead_of(const cli_arguments *arguments, const lab_task_class *class, const char *name) {
    for (size_t i = 0; i < class->option_count; i++) {
        const lab_option *own = &class->options[i];
        if (lab_word_among(name, own->instead_of) && cli_option_find(arguments->command, own->name) != SIZE_MAX)
            return own->name;
    }
    return class->develops_on_test && strcmp(name, "dev-samples") == 0 ? "test-samples" : NULL;
}

int cli_refuse_kind(const cli_arguments *arguments, const lab_task *task, const char *name, cli_kind_takes *takes) {
    char whose[CLI_KINDS_TEXT];
    const char *instead = instead_of(arguments, task->class, name);
    cli_list_kinds(takes, name, whose);
    return instead != NULL ? cli_usage_error("--%s needs a task of %s; %s has --%s", name, whose, task->name, instead)
                           : cli_usage_error("--%s needs a task of %s; %s is a task of %s", name, whose, task->name,
                                             task->class->name);
}

int cli_refuse_other_kinds(const cli_arguments *arguments, const lab_task *task) {
    const lab_task_class *class = task->class;
    const cli_command *command = arguments->command;
    const cli_option *option;
    /* What `data` calls --output is no training's. */
    for (size_t i = (command->tasks & LAB_OPTION_DATA) != 0 ? command->option_count : 0;
         (option = cli_option_at(command, i)) != NULL; i++) {
        if (!cli_given_by_user(arguments, option->name))
            continue;
        if (!lab_class_takes(class, option->name))
            return cli_refuse_kind(arguments, task, option->name, lab_class_takes);
        if (class->uses != NULL && !class->uses(task, option->name))
            return cli_usage_error("--%s: %s has none", option->name, task->name);
    }
    return 0;
}

/* ---- values ---- */

static bool put_whole(uint64_t given, const lab_option *option, void *at) {
    uint64_t before;
    if (option->type == LAB_OPTION_SIZE) {
        before = *(size_t *)at;
        *(size_t *)at = (size_t)given;
    } else {
        before = *(uint64_t *)at;
        *(uint64_t *)at = given;
    }
    return given != before;
}

static bool put_named(const char *given, const lab_option *option, void *at) {
    unsigned before, now = 0;
    memcpy(&before, at, sizeof before);
    while (option->names[now + 1] != NULL && strcmp(option->names[now], given) != 0)
        now++;
    memcpy(at, &now, sizeof now);
    return now != before;
}

/* Whether the value is another one than before. */
static bool put(const cli_arguments *arguments, const lab_option *option, lab_train_config *config) {
    void *at = (char *)config + option->offset;
    switch (option->type) {
    case LAB_OPTION_SIZE:
    case LAB_OPTION_COUNT:
    case LAB_OPTION_SEED:
        return put_whole((uint64_t)cli_integer(arguments, option->name), option, at);
    case LAB_OPTION_REAL: {
        const double before = *(double *)at, given = cli_number(arguments, option->name);
        *(double *)at = given;
        return given < before || given > before;
    }
    case LAB_OPTION_NAMED:
        return put_named(cli_text(arguments, option->name), option, at);
    case LAB_OPTION_TEXT:
        *(const char **)at = cli_text(arguments, option->name);
        return true;
    case LAB_OPTION_TASK:
    case LAB_OPTION_ATTENTION:
    case LAB_OPTION_ARCHITECTURE:
    case LAB_OPTION_LIST:
        break;
    }
    return false;
}

static bool put_given(const cli_arguments *arguments, const lab_option *option, lab_train_config *config) {
    const lab_task_class *class = config->task->class;
    const lab_task_options before = config->data;
    if (option->name == NULL || (option->flags & LAB_OPTION_BY_HAND) != 0 || !cli_was_given(arguments, option->name))
        return false;
    bool differs = option->offset != LAB_OPTION_NOWHERE && put(arguments, option, config);
    if (class->changed != NULL)
        differs = class->changed(config, option->name, cli_text(arguments, option->name), &before) || differs;
    return differs && (option->flags & LAB_OPTION_FREE) == 0;
}

bool cli_put_options(const cli_arguments *arguments, lab_train_config *config) {
    const lab_task_class *class = config->task->class;
    bool differs = false;
    for (size_t i = 0; i < class->option_count; i++)
        differs = put_given(arguments, &class->options[i], config) || differs;
    for (size_t i = 0; i < lab_config_option_count; i++)
        differs = put_given(arguments, &lab_config_options[i], config) || differs;
    return differs;
}
