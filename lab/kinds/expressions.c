/* SPDX-License-Identifier: MIT */
/* Expressions: ListOps (listops.h), drawn or read, for an encoder with a classifier, or a pretrained one that reads
 * their text. */
#include "io/fail.h"
#include "kinds/class_parts.h"
#include "samples/expression_lines.h"
#include "samples/portrait.h"
#include "task/listops/listops.h"

#include <stdio.h>
#include <string.h>

/* ---- options ---- */

static const lab_option options[] = {
    LAB_ROW(NULL, TEXT, LAB_OPTION_NOWHERE, LAB_WORD("preset", "seed|lra"),
            LAB_HELP("sizes as published, or Long Range Arena's"), .flags = LAB_OPTION_DATA),
    {.field = "symbols", .type = LAB_OPTION_SIZE, .offset = AT(data.pieces)},
    LAB_ROW("arity", SIZE, LAB_AT_KIND(lab_expression_options, arguments),
            LAB_NUMBER("arguments", "N", 2, LAB_LISTOPS_MOST_ARGUMENTS), LAB_HELP("most arguments of an operator (7)"),
            .silent = "0", .flags = LAB_OPTION_DATA, .instead_of = "arity"),
    LAB_ROW("sequence", SIZE, AT(data.most_pieces), LAB_NUMBER("sequence", "N", 2, 1e9),
            LAB_HELP("most word pieces that a pretrained encoder reads"), .silent = "0"),
    LAB_ROW("expression_depth", SIZE, LAB_AT_KIND(lab_expression_options, depth),
            LAB_NUMBER("expression-depth", "N", 1, LAB_LISTOPS_MOST_DEPTH),
            LAB_HELP("at this depth there are only digits (7)"), .silent = "0", .flags = LAB_OPTION_DATA,
            .instead_of = "depth"),
    LAB_ROW("shortest", SIZE, LAB_AT_KIND(lab_expression_options, shortest), LAB_NUMBER("shortest", "N", 0, 1e6),
            LAB_HELP("with more tokens than this (250)"), .silent = "0", .flags = LAB_OPTION_DATA),
    LAB_ROW("longest", SIZE, LAB_AT_KIND(lab_expression_options, longest), LAB_NUMBER("longest", "N", 1, 1e6),
            LAB_HELP("with fewer tokens than this (1000)"), .silent = "0", .flags = LAB_OPTION_DATA),
    LAB_ROW("asked", NAMED, LAB_AT_KIND(lab_expression_options, asked), LAB_CHOICE("target", "digit|parity"),
            LAB_HELP("their value, or whether it is odd"), .names = lab_asked_names, .silent = "digit",
            .flags = LAB_OPTION_DATA | LAB_OPTION_FREE),
    LAB_ROW("digest", SEED, AT(data.digest), .silent = "0"),
    LAB_ROW(NULL, TEXT, AT(data.path), LAB_WORD("data", "PATH"), LAB_HELP("read from .tsv (they are drawn)"),
            .flags = LAB_OPTION_FREE | LAB_OPTION_DATA | LAB_OPTION_EVAL | LAB_OPTION_REPRODUCED),
    LAB_ROW(NULL, LIST, LAB_OPTION_NOWHERE, LAB_WORD("lengths", "L,L,…"),
            LAB_HELP("at most so many tokens, and more than half of them"), .letter = 'l', .flags = LAB_OPTION_SCORED,
            .instead_of = "depths sides"),
};

/* Of so many tokens at most, and of more than half of them. */
static void set_longest(lab_task_options *of, size_t tokens) {
    LAB_EXPRESSIONS(of)->shortest = tokens / 2;
    LAB_EXPRESSIONS(of)->longest = tokens + 1;
}

static const lab_length_axis lengths = {
    .name = "length",
    .option = "lengths",
    .others = "lengths",
    .label = "tokens of the longest expressions",
    .caption = "Those of a further set have more than half of that length. Drawn is how many get their class.",
    .most = 1000000,
    .set = set_longest,
    .panels = {{"accuracy", "Test accuracy against the length of the expressions", "test accuracy, %"}},
};

/* A preset's samples are those of the published size; sizes that are given, too, stand behind it. */
static bool changed(lab_train_config *config, const char *option, const char *value, const lab_task_options *before) {
    const lab_expression_options *was = LAB_EXPRESSIONS(before), *is = LAB_EXPRESSIONS(&config->data);
    if (strcmp(option, "preset") != 0)
        return false;
    for (size_t i = 0; i < LAB_LISTOPS_PRESETS; i++) {
        const lab_listops_preset *preset = &lab_listops_presets[i];
        if (strcmp(preset->name, value) != 0)
            continue;
        lab_listops_preset_apply(preset, &config->data);
        if (config->budget != NULL && strcmp(config->budget, "paper") == 0 && config->pretrained == NULL)
            config->train_samples = preset->samples[LAB_SET_TRAIN];
    }
    return was->depth != is->depth || was->arguments != is->arguments || was->shortest != is->shortest ||
           was->longest != is->longest;
}

LAB_TOKENS(LAB_LISTOPS_TOKENS)
LAB_READS(size_t, classes, LAB_EXPRESSIONS(of)->asked == LAB_ASKED_PARITY ? 2 : 10)
LAB_READS(size_t, arity, LAB_EXPRESSIONS(of)->arguments)
LAB_READS(const char *, variant, lab_asked_names[LAB_EXPRESSIONS(of)->asked])

/* One file would be training, development and test set at once. */
static locus_status look(lab_train_config *config, locus_error *error) {
    uint64_t digest = 0;
    const char *path = config->data.path;
    if (path == NULL)
        return LOCUS_OK;
    const locus_status status = lab_listops_digest(path, &digest, error);
    if (status == LOCUS_OK && !lab_listops_has_sets(path)) {
        return lab_fail_file(error, path,
                             "is one file for all sets, so that the test set would be trained on: name a folder with "
                             "basic_train.tsv, basic_val.tsv and basic_test.tsv");
    }
    config->data.digest = digest;
    return status;
}

/* As a pretrained encoder reads it: round brackets and all. */
static char *text(const lab_dataset *set, size_t sample) {
    const size_t start = set->input_offsets[sample];
    return lab_listops_string(set->input_offsets[sample + 1] - start, set->input + start,
                              set->input_tree.parents + start, set->input_tree.branches + start);
}

static const char *const written[] = {"(", ")", "0", "1",    "2",    "3",    "4",   "5", "6",
                                      "7", "8", "9", "[MIN", "[MAX", "[MED", "[SM", "]", NULL};

/* ---- budgets ---- */

static void paper(lab_train_config *config) {
    const lab_listops_preset *published = &lab_listops_presets[0];
    lab_budget_training(config);
    lab_listops_preset_apply(published, &config->data);
    config->train_samples = published->samples[LAB_SET_TRAIN];
    config->dev_samples = published->samples[LAB_SET_DEV];
    config->test_samples = published->samples[LAB_SET_TEST];
    config->batch = 32;
    config->epochs = 3;
    config->evaluate_every = 500;
    config->rate_peak = 3e-4;
}

static void small(lab_train_config *config, const lab_budget_size *shrunk, lab_expression_options sizes) {
    paper(config);
    lab_budget_shrink(config, shrunk);
    config->epochs = 0;
    *LAB_EXPRESSIONS(&config->data) = sizes;
}

static void quick(lab_train_config *config) {
    const lab_budget_size shrunk = {LAB_SIZES(128, 4, 256, 4), LAB_SCORED(1000, 2000, 0),
                                    LAB_STEPS(32, 5000, 250, 1e-3)};
    small(config, &shrunk, (lab_expression_options){.depth = 5, .arguments = 5, .shortest = 9, .longest = 101});
}

static void smoke(lab_train_config *config) {
    const lab_budget_size shrunk = {LAB_SIZES(64, 4, 128, 2), LAB_SCORED(256, 512, 0), LAB_STEPS(32, 3000, 200, 2e-3)};
    small(config, &shrunk, (lab_expression_options){.depth = 4, .arguments = 4, .shortest = 9, .longest = 41});
    config->train_samples = 16000;
}

/* ---- words for tables and pages ---- */

static void describe(const struct cJSON *config, const char *task, lab_data_facts *facts) {
    const char *asked = lab_said_text(config, "asked"); /* digit is not written */
    const bool pieces = lab_said_number(config, "sequence") > 0;
    snprintf(facts->title, sizeof facts->title, "%.30s, %.16s%s", task, asked ? asked : "digit",
             pieces ? ", pretrained" : "");
    if (lab_said_number(config, "longest") > 0) {
        facts->mean_size = lab_said_number(config, "longest") - 1;
        snprintf(facts->data, sizeof facts->data,
                 "expressions of %g to %g tokens, at most %g deep, with up to %g arguments%s",
                 lab_said_number(config, "shortest") + 1, lab_said_number(config, "longest") - 1,
                 lab_said_number(config, "expression_depth"), lab_said_number(config, "arity"),
                 pieces ? "; read as word pieces by a pretrained encoder" : "");
    }
}

static const lab_curve_words curves = LAB_CLASS_CURVES("an expression", "class", "with dropout");

static const lab_bin_words bins = {
    "length:",
    "token_lengths",
    {"accuracy", "exact", "greedy_exact"},
    {{"Test accuracy by depth of the expression", "", ""}, {"Test accuracy by length of the expression", "", ""}},
    {"depth of the expression, and how many such", "tokens of the expression, and how many such"},
    {"test accuracy, %", "", ""},
    {"depth", "tokens"},
    2,
    "Expressions of the test set by their depth and by their number of tokens: how many of them get their class. Means "
    "over seeds, each weighted by its samples; bars are ± one standard deviation. Under each bin: how many it has.",
    ""};

static const lab_score_column columns[] = LAB_CLASS_COLUMNS("classes");

/* ---- samples from text ---- */

static locus_status read_input(lab_dataset *set, const lab_task *task, const lab_task_options *of, const char *words,
                               locus_error *error) {
    lab_listops_builder builder = {
        .set = set, .asked = LAB_EXPRESSIONS(of)->asked, .arguments = LAB_EXPRESSIONS(of)->arguments};
    lab_listops_reader reader = {0};
    (void)task;
    locus_status status = lab_listops_read(&reader, words, error);
    if (status == LOCUS_OK)
        status = lab_listops_append(&builder, words, reader.found.value, error);
    lab_listops_reader_destroy(&reader);
    lab_listops_reader_destroy(&builder.reader);
    return status;
}

static locus_status name_tokens(lab_token_name *names, const lab_task *task, const lab_task_options *of,
                                const int32_t *tokens, size_t count, locus_error *error) {
    (void)task, (void)of, (void)error;
    for (size_t i = 0; i < count; i++)
        snprintf(names[i].text, sizeof names[i].text, "%s",
                 tokens[i] == LAB_LISTOPS_START ? "start" : lab_listops_texts[tokens[i]]);
    return LOCUS_OK;
}

/* ---- the class ---- */

extern const lab_task_class lab_expressions_class;

static const lab_task tasks[] = {{
    .name = "listops",
    .summary = "expression over digits → its value, or whether that is odd",
    .class = &lab_expressions_class,
    .published = &(const lab_expression_options){.depth = 7, .arguments = 7, .shortest = 250, .longest = 1000},
    .generate = lab_listops_generate,
}};

const lab_task_class lab_expressions_class = {
    .name = "expressions",
    LAB_TASKS_AND_OPTIONS(lab_expression_options),
    .architecture = &lab_text_classifier,
    .compared = "listops",
    .changed = changed,
    .vocabulary = vocabulary,
    .classes = classes,
    .arity = arity,
    .lengths = &lengths,
    .read_input = read_input,
    .name_tokens = name_tokens,
    .variant = variant,
    .variant_field = "asked",
    .looks_ahead = true,
    .classifies_text = true,
    .stores_chance = true,
    .budgets = {smoke, quick, paper},
    .look = look,
    .text = text,
    .written = written,
    .write = lab_expressions_write,
    .portray = lab_portray_expressions,
    .owns = lab_expressions_are_in,
    LAB_COLUMNS(columns),
    .token = "expression",
    .sample = "expression",
    LAB_OF_CLASSES("class", "classes"),
    .source = "accuracy",
    .describe = describe,
    .legend = "Expressions right in %[chance?: chance is {chance}, always the most common class {majority}|].",
    .model_samples = "{train_samples} / {dev_samples} / {test_samples} expressions for training, development and test; "
                     "data seed {data_seed}",
    .curves = &curves,
    .bins = &bins,
    .turns = "along the order or down a branch",
    .speed_note = LAB_READ_SPEED_NOTE,
    .no_generate = "classifies expressions and generates nothing: 'locus eval' scores it",
};
