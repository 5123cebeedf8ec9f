/* SPDX-License-Identifier: MIT */
/* All kinds of tasks, one line for each. Their order is that of listings, tasks within a kind in the class's order.
 * Each is a lab_<name>_class of lab/kinds, which stands above: this table alone names upward. */
#include "io/word_distance.h"
#include "task/task_class.h"

#include <string.h>

/* What a program adds that compiles this file itself. */
#ifndef LAB_FURTHER_KINDS
#define LAB_FURTHER_KINDS(_)
#endif

/* clang-format off */
#define KINDS(_) \
    _(words) \
    _(trees) \
    _(images) \
    _(problems) \
    _(text) \
    _(expressions) \
    _(labelled) \
    _(pairs) \
    _(pictures) \
    LAB_FURTHER_KINDS(_)
/* clang-format on */

#define DECLARED(name) extern const lab_task_class lab_##name##_class;
#define LISTED(name) &lab_##name##_class,
KINDS(DECLARED)

static const lab_task_class *const classes[] = {KINDS(LISTED)};

enum { CLASSES = sizeof classes / sizeof *classes };

size_t lab_class_count(void) {
    return CLASSES;
}

const lab_task_class *lab_class_at(size_t index) {
    return index < CLASSES ? classes[index] : NULL;
}

size_t lab_task_count(void) {
    size_t count = 0;
    for (size_t c = 0; c < CLASSES; c++)
        count += classes[c]->task_count;
    return count;
}

const lab_task *lab_task_at(size_t index) {
    for (size_t c = 0; c < CLASSES; c++) {
        if (index < classes[c]->task_count)
            return &classes[c]->tasks[index];
        index -= classes[c]->task_count;
    }
    return NULL;
}

const lab_task *lab_task_find(const char *name) {
    for (size_t i = 0; name != NULL && i < lab_task_count(); i++)
        if (strcmp(lab_task_at(i)->name, name) == 0)
            return lab_task_at(i);
    return NULL;
}

const char *lab_task_nearest(const char *name) {
    const char *nearest = lab_task_at(0)->name;
    size_t best = SIZE_MAX;
    for (size_t i = 0; name != NULL && i < lab_task_count(); i++) {
        size_t distance = lab_word_distance(name, lab_task_at(i)->name);
        if (distance < best) {
            best = distance;
            nearest = lab_task_at(i)->name;
        }
    }
    return nearest;
}
