/* SPDX-License-Identifier: MIT */
/* See task_class.h. */
#include "task/task_class.h"

#include <string.h>

size_t lab_task_vocabulary(const lab_task *task, const lab_task_options *options) {
    return task->class->vocabulary != NULL ? task->class->vocabulary(task, options) : 0;
}

size_t lab_task_classes(const lab_task *task, const lab_task_options *options) {
    return task->class->classes != NULL ? task->class->classes(options) : 0;
}

lab_order lab_task_order(const lab_task *task, const lab_task_options *options) {
    const char *variant = task->class->variant != NULL ? task->class->variant(options) : "";
    return strcmp(variant, "depth") == 0 ? LAB_ORDER_DEPTH : LAB_ORDER_BREADTH;
}

const lab_option *lab_class_field(const lab_task_class *class, const char *field) {
    for (size_t i = 0; i < class->option_count; i++)
        if (class->options[i].field != NULL && strcmp(class->options[i].field, field) == 0)
            return &class->options[i];
    return NULL;
}

const lab_option *lab_class_option(const lab_task_class *class, const char *name) {
    for (size_t i = 0; i < class->option_count; i++)
        if (class->options[i].name != NULL && strcmp(class->options[i].name, name) == 0)
            return &class->options[i];
    return NULL;
}

bool lab_class_has_score(const lab_task_class *class, const char *name) {
    for (size_t i = 0; i < class->column_count; i++)
        if (strcmp(class->columns[i].name, name) == 0)
            return true;
    return false;
}

bool lab_class_among(const lab_task_class *class, const char *names) {
    const size_t length = strlen(class->name);
    for (const char *at = names; (at = strstr(at, class->name)) != NULL; at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' '))
            return true;
    return false;
}
