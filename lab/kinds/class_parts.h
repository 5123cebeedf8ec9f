/* SPDX-License-Identifier: MIT */
/* What the files of this room share. */
#ifndef LAB_CLASS_PARTS_H
#define LAB_CLASS_PARTS_H

#include "model/architecture.h"
#include "task/task_class.h"
#include "train/configuration/budgets.h"
#include "train/configuration/config_options.h"
#include "train/outcome.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define AT(member) offsetof(lab_train_config, member)
#define LAB_AT_KIND(type, member) (AT(data.of_kind) + offsetof(type, member))

/* Functions of classes that read the options, `of`, and no more. */
#define LAB_READS(type, name, value) \
    static type name(const lab_task_options *of) { \
        (void)of; \
        return value; \
    }
#define LAB_TOKENS(value) \
    static size_t vocabulary(const lab_task *task, const lab_task_options *of) { \
        (void)task, (void)of; \
        return value; \
    }

/* A smaller budget: `paper` with these sizes. */
#define LAB_SMALLER(name, ...) \
    static void name(lab_train_config *config) { \
        const lab_budget_size shrunk = {__VA_ARGS__}; \
        paper(config); \
        lab_budget_shrink(config, &shrunk); \
    }

/* Fields of classes, from what the files call alike. */
#define LAB_TASKS_AND_OPTIONS(type) \
    .tasks = tasks, .task_count = COUNT(tasks), .options = options, .option_count = COUNT(options), \
    .own_size = sizeof(type)
#define LAB_COLUMNS(table) .columns = table, .column_count = COUNT(table)
/* Of kinds that decoders read: problems, text. */
#define LAB_OF_SEQUENCES \
    .architecture = &lab_decoder, .compared = "roper", .ordered = true, .curves = &lab_curves_of_sequences, \
    .turns = "along the order", .speed_note = LAB_READ_SPEED_NOTE, .read_input = read_input, \
    .name_tokens = name_tokens
/* Options of `generate` for those that go on with a prompt. */
#define LAB_PROMPT_OPTIONS "prompt prompts tokens temperature top-k top-p seed"
/* Of the user's own data. */
#define LAB_OWN_DATA .whole = true, .read = true, .look = look, .tell = tell, .model_samples = LAB_PAIR_SAMPLES

/* ---- scores of a set (lab_score_column) ---- */

double lab_value_accuracy(const struct lab_outcome *outcome);
double lab_value_exact(const struct lab_outcome *outcome);
double lab_value_greedy(const struct lab_outcome *outcome);
double lab_value_loss(const struct lab_outcome *outcome);
double lab_value_common(const struct lab_outcome *outcome); /* share of the most common target or class */
double lab_value_chance(const struct lab_outcome *outcome); /* one of the classes */

#define LAB_SCORE_SHOWN (LAB_SCORE_RUN | LAB_SCORE_SET)
#define LAB_SCORE_ALL (LAB_SCORE_ALWAYS | LAB_SCORE_COMMON)
#define LAB_COLUMN(name, measure, flags, ...) \
    { name, LAB_MEASURE_##measure, flags, __VA_ARGS__ }

/* ---- of classes: expressions, own labels and pictures ---- */

/* Of kinds whose targets are classes; `them`: what they are called, `one` one of them. */
#define LAB_CLASS_COLUMNS(them) \
    { \
        LAB_COLUMN("accuracy", ACCURACY, LAB_SCORE_ALWAYS | LAB_SCORE_LEADS, "accuracy", NULL, \
                   "of {classes} " them ", %", lab_value_accuracy), \
            LAB_COLUMN("loss", LOSS, LAB_SCORE_ALWAYS, "loss", NULL, "nats, lower is better", lab_value_loss), \
            LAB_COLUMN("chance", ACCURACY, LAB_SCORE_SHOWN, "chance", NULL, NULL, lab_value_chance), \
            LAB_COLUMN("majority", ACCURACY, LAB_SCORE_SHOWN, "majority", NULL, NULL, lab_value_common) \
    }
/* Their learning curves: the loss is of a `sample` ("an expression"), which has `one` ("class"); `with` stands in
 * parentheses behind the training loss ("with dropout"). */
#define LAB_CLASS_CURVES(sample, one, with) \
    { \
        {"Accuracy on the development set against training steps", "Training loss against training steps"}, \
            "training steps", {"development accuracy, %", "training loss, nats " sample}, \
            "Learning curves: mean over seeds, band or bars from the lowest to the highest. Left: accuracy on the " \
            "development set, grey what always giving the most common " one " of the test set scores; right: " \
            "training loss (" with "), logarithmic.", \
            false \
    }
#define LAB_OF_CLASSES(one, them) \
    .scores_note = "Chance is one of the " them "; majority is the share of the most common one.", \
    .page_legend = \
        "<i>majority</i>: always the most common " one " of the test set; <i>chance</i>: any " one ", at random. "

/* ---- of pairs of sequences: words, own pairs ---- */

/* `right`: what is right or wrong, "tokens, %". */
#define LAB_PAIR_COLUMNS(right) \
    { \
        LAB_COLUMN("accuracy", ACCURACY, LAB_SCORE_ALL | LAB_SCORE_LEADS, "accuracy", NULL, right, \
                   lab_value_accuracy), \
            LAB_COLUMN("exact", ACCURACY, LAB_SCORE_ALL, "exact", NULL, "whole, %", lab_value_exact), \
            LAB_COLUMN("greedy_exact", ACCURACY, LAB_SCORE_ALL, "greedy exact", "greedy", "exact, %", \
                       lab_value_greedy), \
            LAB_COLUMN("loss", LOSS, LAB_SCORE_SHOWN | LAB_SCORE_COMMON, "loss", NULL, NULL, lab_value_loss), \
            LAB_COLUMN("chance", ACCURACY, LAB_SCORE_SET, "chance", NULL, NULL, lab_value_common) \
    }
#define LAB_PAIR_PAGE_LEGEND \
    "<i>accuracy</i> and <i>exact</i> are teacher-forced; <i>greedy</i> is decoded token by token. <i>steps</i>: " \
    "until 99 % accuracy on the development set. "

/* ---- of pictures ---- */

/* The classifier of pictures with its training at budget paper; a small one; and what set-up code changes. */
lab_budget_fill lab_budget_images, lab_budget_images_small, lab_budget_images_code;
/* How they are varied, which is made, and the test pictures brought to other sides, which the model reads with as many
 * more or fewer places. */
#define LAB_PICTURE_ROWS \
    LAB_ROW("augment", NAMED, AT(augment), LAB_CHOICE("augment", "autoaugment|none"), \
            LAB_HELP("policy, crop and flip, or as they are"), .names = lab_augmentation_names, .silent = "none"), \
        LAB_ROW(NULL, SIZE, LAB_OPTION_NOWHERE, LAB_NUMBER("image", "I", 0, 4294967295.0), \
                LAB_HELP("which one of the set, counted from 0"), .initial = "0", .flags = LAB_OPTION_MADE), \
        LAB_ROW(NULL, LIST, LAB_OPTION_NOWHERE, LAB_WORD("sides", "S,S,…"), \
                LAB_HELP("the test pictures brought to these sides instead of the trained one"), \
                .flags = LAB_OPTION_SCORED, .instead_of = "lengths depths")
extern const lab_length_axis lab_picture_sides;
/* Steps of an epoch, and epochs, of a training that says how many samples and of which batch. */
void lab_describe_epochs(const struct cJSON *config, lab_data_facts *facts);

/* ---- words ---- */

#define LAB_PAIR_SAMPLES \
    "{train_samples} / {dev_samples} / {test_samples} samples for training, development and test; data seed " \
    "{data_seed}"
#define LAB_MEMORY_NOTE " Memory is the process's peak resident size."
#define LAB_PAIR_SPEED_NOTE "Real tokens are those of inputs and targets; nothing is padded." LAB_MEMORY_NOTE
#define LAB_READ_SPEED_NOTE "Tokens are those that the model reads; nothing is padded." LAB_MEMORY_NOTE

extern const lab_curve_words lab_curves_by_steps, lab_curves_of_sequences;
extern const lab_bin_words lab_bins_of_trees;

/* ---- own data (task/own/own_sets.h) ---- */

/* Of sequences: their rows of lengths, and the axis, whose caption goes on with `words`. */
#define LAB_OWN_LENGTH_ROWS \
    LAB_ROW("longest_input", SIZE, AT(data.trained), .silent = "0", \
            .flags = LAB_OPTION_LATER | LAB_OPTION_FREE | LAB_OPTION_APART), \
        LAB_ROW(NULL, LIST, LAB_OPTION_NOWHERE, LAB_WORD("lengths", "L,L,…"), \
                LAB_HELP("test samples whose input has at most so many tokens, and more than half of them"), \
                .letter = 'l', .flags = LAB_OPTION_SCORED, .instead_of = "depths sides")
#define LAB_OWN_LENGTHS(words) \
    .name = "length", .option = "lengths", .others = "lengths", .label = "tokens of the longest inputs", \
    .caption = "A point is of the test samples whose input has more than half of that length, and no more. " words, \
    .most = 1000000, .parts = true, .set = lab_own_set_length
void lab_own_set_length(lab_task_options *of, size_t tokens);

/* Rows of all such kinds: where the sets are, the first of which is `what`; `more` is flags. */
#define LAB_OWN_FLAGS (LAB_OPTION_FREE | LAB_OPTION_DATA | LAB_OPTION_EVAL)
#define LAB_OWN_ROWS(what, more) \
    LAB_ROW(NULL, TEXT, AT(data.path), LAB_WORD("data", "PATH"), LAB_HELP(what), .flags = LAB_OWN_FLAGS | (more)), \
        LAB_ROW(NULL, TEXT, AT(data.dev), LAB_WORD("dev", "PATH"), LAB_HELP("development set (a tenth of --data)"), \
                .flags = LAB_OWN_FLAGS | (more)), \
        LAB_ROW(NULL, TEXT, AT(data.test), LAB_WORD("test", "PATH"), LAB_HELP("test set (a tenth of --data)"), \
                .flags = LAB_OWN_FLAGS | (more))

/* Sets are as large as their files, unless less is asked for. */
void lab_own_cap(lab_train_config *config, const size_t samples[3]);
/* What sets share, as one line; false: nothing. */
bool lab_own_tell(const size_t samples[3], const size_t shared[3], char *text, size_t room);

/* A configuration's own numbers and texts: 0 and NULL where it does not say. */
double lab_said_number(const struct cJSON *config, const char *name);
const char *lab_said_text(const struct cJSON *config, const char *name);
/* 50000 as "50,000". */
const char *lab_grouped(double value, char *text, size_t size);

/* A piece of text as a token's name: blanks and line ends are shown, what is longer is cut. */
void lab_token_name_put(lab_token_name *name, const char *piece, size_t bytes);

#endif
