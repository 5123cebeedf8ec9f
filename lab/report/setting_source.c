/* SPDX-License-Identifier: MIT */
/* Words, trees and images: Kogkalidis, Bernardy and Garg 2024, appendix B (Tables 4 and 5), section 4.2 and Table 3's
 * columns; their code of 2024 for the rest: 6,000, 2,000 and 2,000 samples, 400 epochs, batches of 64, dropout of 0.1.
 * That of December 2023 has 10,000, 1,000 and 1,000 samples, 200 epochs, dropout of 0.15 and none on attention.
 * Problems: Harik and Jayasiri 2022. Expressions: Hastings 2024 for the data, Long Range Arena for the encoder. */
#include "report/setting_source.h"

#include <string.h>

#define KIND(name) (1u << LAB_TASK_##name)
enum { PAIRS = KIND(WORDS) | KIND(TREES), TABLES = PAIRS | KIND(IMAGES), MODELS = TABLES | KIND(PROBLEMS) };

static const char paper[] = "paper", code[] = "code of 2024", arena[] = "Long Range Arena", ours[] = "ours";

typedef struct setting {
    const char *field;
    unsigned kinds;
    const char *source;
} setting;

static const setting settings[] = {
    {"dim", MODELS, paper},
    {"heads", MODELS, paper},
    {"encoder_layers", TABLES, paper},
    {"decoder_layers", PAIRS | KIND(PROBLEMS), paper},
    {"feed_forward", TABLES, paper},
    {"norm", MODELS, paper},
    {"activation", TABLES, paper},
    {"length_mean", KIND(WORDS), paper},
    {"length_deviation", KIND(WORDS), paper},
    {"symbols", PAIRS, paper},
    {"depth_mean", KIND(TREES), paper},
    {"depth_deviation", KIND(TREES), paper},
    {"arity", KIND(TREES) | KIND(EXPRESSIONS), paper},
    {"rate_initial", PAIRS, paper},
    {"rate_peak", PAIRS, paper},
    {"rate_final", PAIRS, paper},
    {"warmup_share", PAIRS, paper},
    {"attention_dropout", KIND(IMAGES), paper},
    {"stochastic_depth", KIND(IMAGES), paper},
    {"weight_decay", KIND(IMAGES), paper},
    {"train_samples", KIND(IMAGES) | KIND(EXPRESSIONS), paper},
    {"dev_samples", KIND(IMAGES) | KIND(EXPRESSIONS), paper},
    {"test_samples", KIND(IMAGES) | KIND(EXPRESSIONS), paper},
    {"steps", KIND(IMAGES) | KIND(PROBLEMS), paper},
    {"batch", KIND(PROBLEMS), paper},
    {"sequence", KIND(PROBLEMS), paper},
    {"digits", KIND(PROBLEMS), paper},
    {"expression_depth", KIND(EXPRESSIONS), paper},
    {"shortest", KIND(EXPRESSIONS), paper},
    {"longest", KIND(EXPRESSIONS), paper},

    {"steps", PAIRS, code},
    {"batch", TABLES, code},
    {"train_samples", PAIRS, code},
    {"dev_samples", PAIRS, code},
    {"test_samples", PAIRS, code},
    {"dropout", PAIRS, code},
    {"attention_dropout", PAIRS, code},
    {"weight_decay", PAIRS, code},
    {"label_smoothing", KIND(IMAGES), code},
    {"augment", KIND(IMAGES), code},
    {"rate_initial", KIND(IMAGES), code},
    {"rate_peak", KIND(IMAGES), code},
    {"rate_final", KIND(IMAGES), code},

    {"dim", KIND(EXPRESSIONS), arena},
    {"heads", KIND(EXPRESSIONS), arena},
    {"encoder_layers", KIND(EXPRESSIONS), arena},
    {"feed_forward", KIND(EXPRESSIONS), arena},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* What set-up code has from there instead (lab/train/budgets.c). */
static const setting of_code[] = {
    {"norm", TABLES, code},
    {"warmup_share", TABLES, code},
    {"attention_dropout_on", TABLES, code},
    {"survivors", KIND(IMAGES), code},
    {"tree_paths", KIND(TREES), code},
};

static const char *find(const setting *list, size_t count, lab_task_kind kind, const char *field) {
    for (size_t i = 0; i < count; i++)
        if ((list[i].kinds & 1u << kind) != 0 && strcmp(list[i].field, field) == 0)
            return list[i].source;
    return NULL;
}

const char *lab_setting_source(lab_task_kind kind, lab_setup setup, const char *field) {
    const char *source = setup == LAB_SETUP_CODE ? find(of_code, sizeof of_code / sizeof *of_code, kind, field) : NULL;
    if (source == NULL)
        source = find(settings, SETTINGS, kind, field);
    return source != NULL ? source : ours;
}

const char *lab_setting_at(lab_task_kind kind, size_t index) {
    for (size_t i = 0; i < SETTINGS; i++)
        if ((settings[i].kinds & 1u << kind) != 0 && index-- == 0)
            return settings[i].field;
    return NULL;
}
