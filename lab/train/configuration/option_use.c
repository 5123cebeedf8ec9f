/* SPDX-License-Identifier: MIT */
/* See option_use.h. */
#include "train/configuration/option_use.h"

#include "io/word_distance.h"
#include "model/architecture.h"

#include <string.h>

/* Options that all kinds share but those whose models, or sets, have no use for them. */
static bool has_use(const lab_task_class *class, const char *name) {
    const lab_architecture *model = class->architecture;
    const struct {
        const char *name;
        bool used;
    } options[] = {
        {"embedding-init", model->vocabulary},
        {"position-scale", model->vocabulary},
        {"logit-scale", model->vocabulary && !model->classes},
        {"output", model->decoder && !model->encoder},
        {"pool", model->vocabulary && model->classes},
        {"pretrained", class->classifies_text},
        {"dev-samples", !class->develops_on_test},
        {"greedy-samples", class->decodes},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(options[i].name, name) == 0)
            return options[i].used;
    return true;
}

bool lab_class_takes(const lab_task_class *class, const char *name) {
    if (lab_class_option(class, name) != NULL)
        return true;
    for (size_t c = 0; c < lab_class_count(); c++)
        if (lab_class_option(lab_class_at(c), name) != NULL)
            return false;
    return has_use(class, name);
}

bool lab_class_generates(const lab_task_class *class, const char *name) {
    const lab_option *row = lab_class_option(class, name);
    return (row != NULL && (row->flags & LAB_OPTION_GENERATED) != 0) || lab_word_among(name, class->generate_options);
}
