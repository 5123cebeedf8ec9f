/* SPDX-License-Identifier: MIT */
/* See task_class.h. */
#include "task/task_class.h"

#include "io/word_distance.h"

#include <stdio.h>
#include <string.h>

lab_task_options lab_task_with(const lab_task *task, const void *of_kind) {
    lab_task_options options = {0};
    if (of_kind != NULL)
        memcpy(options.of_kind, of_kind, task->class->own_size);
    return options;
}

lab_task_options lab_task_default(const lab_task *task) {
    return lab_task_with(task, task->published);
}

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
    return lab_word_among(class->name, names);
}

/* ---- legends ---- */

static bool is_known(const lab_legend_facts *facts, const char *name) {
    const struct {
        const char *name;
        bool known;
    } all[] = {{"solved?", facts->solved},
               {"sizes?", facts->sizes},
               {"chance?", facts->chance > 0},
               {"epochs?", facts->epochs > 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strncmp(name, all[i].name, strlen(all[i].name)) == 0)
            return all[i].known;
    return false;
}

static int put_number(const lab_legend_facts *facts, const char *name, char *text, size_t size) {
    if (strncmp(name, "epochs", 6) == 0)
        return snprintf(text, size, "%g", facts->epochs);
    return snprintf(text, size, "%.2f", 100 * (*name == 'c' ? facts->chance : facts->majority));
}

void lab_legend_text(const char *words, const lab_legend_facts *facts, char *text, size_t size) {
    size_t used = 0;
    bool said = true, choice = false;
    for (const char *at = words; *at != '\0' && used + 1 < size; at++) {
        if (*at == '[') {
            said = is_known(facts, at + 1);
            choice = true;
            at += strcspn(at, "?");
        } else if (choice && *at == '|') {
            said = !said;
        } else if (choice && *at == ']') {
            said = true;
            choice = false;
        } else if (*at == '{') {
            used += said ? (size_t)put_number(facts, at + 1, text + used, size - used) : 0;
            at += strcspn(at, "}");
        } else if (said) {
            text[used++] = *at;
        }
    }
    text[used < size ? used : size - 1] = '\0';
}
