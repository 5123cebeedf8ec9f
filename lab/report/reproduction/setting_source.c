/* SPDX-License-Identifier: MIT */
/* Words, trees and images: Kogkalidis, Bernardy and Garg 2024, appendix B (Tables 4 and 5), section 4.2 and Table 3's
 * columns; their code of 2024 for the rest: 6,000, 2,000 and 2,000 samples, 400 epochs, batches of 64, dropout of 0.1.
 * Inferred: steps, from epochs (of words and trees that code's, of images the 300 of Table 3) in that code's batches;
 * and depths of tree-ops, since the appendix gives those of the three other tasks of trees alone.
 * That of December 2023 has 10,000, 1,000 and 1,000 samples, 200 epochs, dropout of 0.15 and none on attention.
 * Problems: Harik and Jayasiri 2022. Expressions: Hastings 2024 for the data, Long Range Arena for the encoder. */
#include "report/reproduction/setting_source.h"

#include <string.h>

#define PAIRS "words trees"
#define TABLES PAIRS " images"
#define MODELS TABLES " problems"

static const char paper[] = "paper", code[] = "code of 2024", arena[] = "Long Range Arena", ours[] = "ours",
                  inferred[] = "inferred";

typedef struct setting {
    const char *field;
    const char *kinds;
    const char *source;
} setting;

static const setting settings[] = {
    {"dim", MODELS, paper},
    {"heads", MODELS, paper},
    {"encoder_layers", TABLES, paper},
    {"decoder_layers", PAIRS " problems", paper},
    {"feed_forward", TABLES, paper},
    {"norm", MODELS, paper},
    {"activation", TABLES, paper},
    {"length_mean", "words", paper},
    {"length_deviation", "words", paper},
    {"symbols", PAIRS, paper},
    {"depth_mean", "trees", paper},
    {"depth_deviation", "trees", paper},
    {"arity", "trees expressions", paper},
    {"rate_initial", PAIRS, paper},
    {"rate_peak", PAIRS, paper},
    {"rate_final", PAIRS, paper},
    {"warmup_share", PAIRS, paper},
    {"attention_dropout", "images", paper},
    {"stochastic_depth", "images", paper},
    {"weight_decay", "images", paper},
    {"train_samples", "images expressions", paper},
    {"dev_samples", "images expressions", paper},
    {"test_samples", "images expressions", paper},
    {"steps", "problems", paper},
    {"batch", "problems", paper},
    {"sequence", "problems", paper},
    {"digits", "problems", paper},
    {"expression_depth", "expressions", paper},
    {"shortest", "expressions", paper},
    {"longest", "expressions", paper},

    {"batch", TABLES, code},
    {"train_samples", PAIRS, code},
    {"dev_samples", PAIRS, code},
    {"test_samples", PAIRS, code},
    {"dropout", PAIRS, code},
    {"attention_dropout", PAIRS, code},
    {"weight_decay", PAIRS, code},
    {"label_smoothing", "images", code},
    {"augment", "images", code},
    {"rate_initial", "images", code},
    {"rate_peak", "images", code},
    {"rate_final", "images", code},

    {"steps", TABLES, inferred},

    {"dim", "expressions", arena},
    {"heads", "expressions", arena},
    {"encoder_layers", "expressions", arena},
    {"feed_forward", "expressions", arena},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* What set-up code has from there instead (as_code of lab/kinds). */
static const setting of_code[] = {
    {"norm", TABLES, code},        {"warmup_share", TABLES, code}, {"attention_dropout_on", TABLES, code},
    {"survivors", "images", code}, {"tree_paths", "trees", code},
};

static const char *find(const setting *list, size_t count, const lab_task_class *class, const char *field) {
    for (size_t i = 0; i < count; i++)
        if (lab_class_among(class, list[i].kinds) && strcmp(list[i].field, field) == 0)
            return list[i].source;
    return NULL;
}

const char *lab_setting_source(const lab_task *task, lab_setup setup, const char *field) {
    const char *source =
        setup == LAB_SETUP_CODE ? find(of_code, sizeof of_code / sizeof *of_code, task->class, field) : NULL;
    if (source == NULL && strcmp(task->name, "tree-ops") == 0 && strncmp(field, "depth_", 6) == 0)
        return inferred;
    if (source == NULL)
        source = find(settings, SETTINGS, task->class, field);
    return source != NULL ? source : ours;
}

const char *lab_setting_at(const lab_task_class *class, size_t index) {
    for (size_t i = 0; i < SETTINGS; i++)
        if (lab_class_among(class, settings[i].kinds) && index-- == 0)
            return settings[i].field;
    return NULL;
}
