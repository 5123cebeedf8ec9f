/* SPDX-License-Identifier: MIT */
/* Labelled sequences of one's own (task/own/labelled.h), for an encoder with a classifier. */
#include "io/fail.h"
#include "kinds/class_parts.h"
#include "samples/portrait.h"
#include "task/own/labelled.h"
#include "task/own/own_text.h"

#include <stdio.h>
#include <string.h>

/* ---- options ---- */

static const lab_option options[] = {
    {.field = "symbols", .type = LAB_OPTION_SIZE, .offset = LAB_AT_KIND(lab_labelled_options, symbols)},
    LAB_ROW("digest", SEED, AT(data.digest), .silent = "0"),
    LAB_ROW("labels", SIZE, LAB_AT_KIND(lab_labelled_options, classes), .silent = "0", .flags = LAB_OPTION_LATER),
    LAB_ROW("tokens", NAMED, LAB_AT_KIND(lab_labelled_options, tokens), LAB_CHOICE("tokens", "words|characters|bytes"),
            LAB_HELP("what texts are cut into"), .names = lab_token_names, .silent = "words",
            .flags = LAB_OPTION_LATER | LAB_OPTION_FREE | LAB_OPTION_DATA),
    LAB_OWN_ROWS("a file, .tsv or .jsonl", 0),
    LAB_OWN_LENGTH_ROWS,
};

static const lab_length_axis lengths = {
    LAB_OWN_LENGTHS("Drawn is how many get their label."),
    .panels = {{"accuracy", "Test accuracy against the length of the inputs", "test accuracy, %"}},
};

LAB_TOKENS(LAB_LABELLED(of)->symbols)
LAB_READS(size_t, classes, LAB_LABELLED(of)->classes)

static locus_status look(lab_train_config *config, locus_error *error) {
    lab_class_facts facts;
    const locus_status status = lab_labelled_look(&config->data, config->data_seed, &facts, error);
    if (status != LOCUS_OK)
        return status;
    LAB_LABELLED(&config->data)->symbols = facts.vocabulary;
    LAB_LABELLED(&config->data)->classes = facts.classes.count;
    config->data.digest = facts.digest;
    config->data.trained = facts.trained;
    lab_own_cap(config, facts.samples);
    lab_class_facts_free(&facts);
    return LOCUS_OK;
}

static bool tell(const lab_train_config *config, char *text, size_t room) {
    lab_class_facts facts;
    if (config->data.path == NULL || lab_labelled_look(&config->data, config->data_seed, &facts, NULL) != LOCUS_OK)
        return false;
    const bool shares = lab_own_tell(facts.samples, facts.shared, text, room);
    lab_class_facts_free(&facts);
    return shares;
}

/* ---- budgets ---- */

static void paper(lab_train_config *config) {
    lab_budget_training(config);
    config->batch = 32;
    config->steps = 20000;
    config->evaluate_every = 500;
    config->rate_peak = 3e-4;
}

LAB_SMALLER(quick, LAB_SIZES(128, 4, 256, 4), LAB_STEPS(32, 3000, 250, 1e-3))
LAB_SMALLER(smoke, LAB_SIZES(64, 4, 128, 2), LAB_STEPS(32, 500, 50, 2e-3))

/* ---- words for tables and pages ---- */

static void describe(const struct cJSON *config, const char *task, lab_data_facts *facts) {
    const char *tokens = lab_said_text(config, "tokens"); /* words are not written */
    (void)task;
    facts->mean_size = lab_said_number(config, "longest_input");
    if (lab_said_number(config, "labels") > 0) {
        snprintf(facts->data, sizeof facts->data, "%g training samples of own data, %g labels, a vocabulary of %g (%s)",
                 lab_said_number(config, "train_samples"), lab_said_number(config, "labels"),
                 lab_said_number(config, "symbols"), tokens ? tokens : "words");
    }
}

static const lab_curve_words curves = LAB_CLASS_CURVES("a sample", "label", "with dropout");

static const lab_score_column columns[] = LAB_CLASS_COLUMNS("labels");

/* ---- the class ---- */

extern const lab_task_class lab_labelled_class;

static const lab_task tasks[] = {{
    .name = "classify",
    .summary = "sequences of your own → their labels",
    .class = &lab_labelled_class,
    .generate = lab_labelled_generate,
}};

const lab_task_class lab_labelled_class = {
    .name = "labelled sequences",
    LAB_TASKS_AND_OPTIONS(lab_labelled_options),
    .architecture = &lab_text_classifier,
    .lengths = &lengths,
    .vocabulary = vocabulary,
    .classes = classes,
    .looks_ahead = true,
    .stores_chance = true,
    .ordered = true,
    .budgets = {smoke, quick, paper},
    .makes = LAB_MAKES_NOTHING,
    .portray = lab_portray_labelled,
    LAB_COLUMNS(columns),
    .token = "sample",
    .sample = "sample",
    LAB_OF_CLASSES("label", "labels"),
    .source = "accuracy",
    .describe = describe,
    LAB_OWN_DATA,
    .keep = lab_labelled_keep,
    .legend = "Samples right in %[chance?: chance is {chance}, always the most common label {majority}|].",
    .curves = &curves,
    .turns = "along the order",
    .speed_note = LAB_READ_SPEED_NOTE,
    .read_input = lab_labelled_sample,
    .name_tokens = lab_labelled_names,
    .no_generate = "tells labels and generates nothing: 'locus eval' scores it",
};
