/* SPDX-License-Identifier: MIT */
/* Problems in characters: the tasks of RoPER (problem.h says how they are written), for a decoder. The training set is
 * endless, so that nothing can be learned by heart. The third task has a smaller model, and nothing to solve: its score
 * is the loss. */
#include "io/fail.h"
#include "kinds/class_parts.h"
#include "samples/portrait.h"
#include "samples/sample_lines.h"
#include "task/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static const lab_option options[] = {
    LAB_ROW("length_mean", REAL, LAB_AT_KIND(lab_problem_options, length_mean), LAB_NUMBER("length", "MEAN", 1, 1e6),
            LAB_HELP("mean length of a string (13, 16)"), .letter = 'l', .flags = LAB_OPTION_DATA),
    LAB_ROW("length_deviation", REAL, LAB_AT_KIND(lab_problem_options, length_deviation),
            LAB_NUMBER("length-deviation", "SD", 0, 1e6), LAB_HELP("its standard deviation (0)"),
            .flags = LAB_OPTION_DATA),
    LAB_ROW("symbols", SIZE, LAB_AT_KIND(lab_problem_options, symbols), LAB_NUMBER("symbols", "N", 1, 1e6),
            LAB_HELP("letters of strings (26, 4)"), .flags = LAB_OPTION_DATA),
    LAB_ROW("sequence", SIZE, LAB_AT_KIND(lab_problem_options, sequence), LAB_NUMBER("sequence", "N", 2, 1e9),
            LAB_HELP("tokens of a sequence; a decoder reads all but one"), .silent = "0", .flags = LAB_OPTION_DATA),
    LAB_ROW("digits", SIZE, LAB_AT_KIND(lab_problem_options, digits),
            LAB_NUMBER("digits", "N", 1, LAB_PROBLEM_MOST_DIGITS), LAB_HELP("digits of the longest numbers (8)"),
            .silent = "0", .flags = LAB_OPTION_DATA),
    LAB_ROW(NULL, LIST, LAB_OPTION_NOWHERE, LAB_WORD("lengths", "L,L,…"), LAB_HELP("of just so many digits or letters"),
            .letter = 'l', .flags = LAB_OPTION_SCORED, .instead_of = "depths"),
};

/* Numbers of just so many digits, strings of just so many letters. */
static void set_size(lab_task_options *of, size_t size) {
    lab_problem_options *problems = LAB_PROBLEMS(of);
    problems->same_digits = problems->digits > 0;
    problems->digits = problems->digits > 0 ? size : 0;
    problems->length_mean = problems->length_mean > 0 ? (double)size : 0;
    problems->length_deviation = 0;
}

static const lab_length_axis lengths = {
    .name = "size",
    .option = "lengths",
    .others = "sizes",
    .label = "digits of the numbers, letters of the strings",
    .caption = "All problems of a set have that size. Left: problems that greedy decoding solves to the letter, where "
               "they have an answer; right: characters right, teacher-forced.",
    .most = LAB_PROBLEM_MOST_STRING,
    .set = set_size,
    .panels = {{"greedy_exact", "Problems solved against their size", "problems solved, %"},
               {"accuracy", "Characters right against the size of the problems", "characters right, %"}},
};

static bool uses(const lab_task *task, const char *option) {
    const lab_problem_options *has = task->published;
    if (strcmp(option, "digits") == 0)
        return has->digits > 0;
    if (strcmp(option, "symbols") == 0)
        return has->symbols > 0;
    if (strcmp(option, "length") == 0 || strcmp(option, "length-deviation") == 0)
        return has->length_mean > 0.0;
    return strcmp(option, "greedy-samples") != 0 || task->solved;
}

/* Of strings all letters, however many of them they are made of: "s" is one. */
static size_t vocabulary(const lab_task *task, const lab_task_options *of) {
    const size_t letters =
        LAB_PROBLEMS(of)->symbols < LAB_PROBLEM_LETTERS ? LAB_PROBLEMS(of)->symbols : LAB_PROBLEM_LETTERS;
    return task->solved ? strlen(task->characters) : 1 + letters;
}

/* ---- budgets ---- */

static void search_paper(lab_train_config *config) {
    const lab_budget_size published = {LAB_SIZES(128, 4, 512, 3), LAB_SCORED(64, 256, 0),
                                       LAB_STEPS(16, 65000, 1000, 1e-3)};
    lab_budget_shrink(config, &published);
    config->model.norm = LAB_NORM_BEFORE;
    LAB_PROBLEMS(&config->data)->sequence = 513;
}

static void paper(lab_train_config *config) {
    lab_budget_training(config);
    LAB_PROBLEMS(&config->data)->sequence = 641;
    config->dev_samples = 64;
    config->test_samples = 128;
    config->greedy_samples = 128;
    config->batch = 32;
    config->steps = 5000;
    config->evaluate_every = 250;
    config->warmup_share = 0.1;
    if (!config->task->solved)
        search_paper(config);
}

static void small(lab_train_config *config, const lab_budget_size *shrunk, size_t sequence) {
    paper(config);
    lab_budget_shrink(config, shrunk);
    LAB_PROBLEMS(&config->data)->sequence = sequence;
    config->greedy_samples = config->task->solved ? shrunk->greedy_samples : 0;
    lab_budget_no_dropout(config);
}

static void quick(lab_train_config *config) {
    lab_problem_options *of = LAB_PROBLEMS(&config->data);
    const lab_budget_size shrunk = {LAB_SIZES(128, 4, 512, 3), LAB_SCORED(32, 128, 128),
                                    LAB_STEPS(16, 1500, 100, 1e-3)};
    small(config, &shrunk, 321);
    of->digits = of->digits > 0 ? 6 : 0;
    if (!config->task->solved) {
        of->sequence = 193;
        of->length_mean = 8.0;
        config->steps = 2000;
        config->rate_peak = 2e-3;
    }
}

static void smoke(lab_train_config *config) {
    lab_problem_options *of = LAB_PROBLEMS(&config->data);
    const lab_budget_size shrunk = {LAB_SIZES(64, 4, 256, 2), LAB_SCORED(16, 32, 32), LAB_STEPS(16, 1500, 100, 2e-3)};
    small(config, &shrunk, 129);
    of->digits = of->digits > 0 ? 2 : 0;
    of->length_mean = of->length_mean > 0.0 ? 6.0 : 0.0;
    of->length_deviation = 0.0;
}

/* ---- words for tables and pages ---- */

/* Characters that stand end to end in a sequence of which all but the first are predicted. */
static void describe(const struct cJSON *config, const char *task, lab_data_facts *facts) {
    const double digits = lab_said_number(config, "digits"), mean = lab_said_number(config, "length_mean");
    char what[96] = "";
    facts->mean_size = digits > 0 ? digits : mean;
    if (digits > 0) {
        snprintf(what, sizeof what, "numbers of up to %g digits", digits);
    } else if (mean > 0) {
        snprintf(what, sizeof what, "%s of length N(%g, %g) over %g letters",
                 strcmp(task, "substring-search") == 0 ? "pieces" : "strings", mean,
                 lab_said_number(config, "length_deviation"), lab_said_number(config, "symbols"));
    }
    if (what[0] != '\0') {
        snprintf(facts->data, sizeof facts->data, "%s, sequences of %g characters", what,
                 lab_said_number(config, "sequence"));
    }
}

static const lab_score_column columns[] = {
    {"greedy_exact", LAB_MEASURE_SOLVED, LAB_SCORE_ALWAYS | LAB_SCORE_LEADS | LAB_SCORE_OPTIONAL, "solved", NULL,
     "problems, %", lab_value_greedy},
    {"loss", LAB_MEASURE_LOSS, LAB_SCORE_ALWAYS | LAB_SCORE_LEADS, "loss", NULL, "nats a character, lower is better",
     lab_value_loss},
    {"accuracy", LAB_MEASURE_ACCURACY, LAB_SCORE_ALWAYS, "accuracy", NULL, "characters, %", lab_value_accuracy},
};

/* ---- samples from text ---- */

static locus_status read_input(lab_dataset *set, const lab_task *task, const lab_task_options *of, const char *text,
                               locus_error *error) {
    set->input = calloc(strlen(text) + 1, sizeof *set->input);
    set->input_offsets = calloc(2, sizeof *set->input_offsets);
    if (set->input == NULL || set->input_offsets == NULL)
        return lab_fail_memory(error, "a sample");
    set->samples = 1;
    set->input_offsets[1] = strlen(text);
    return lab_problem_encode(task, of, text, set->input, error);
}

static locus_status name_tokens(lab_token_name *names, const lab_task *task, const lab_task_options *of,
                                const int32_t *tokens, size_t count, locus_error *error) {
    (void)of, (void)error;
    for (size_t i = 0; i < count; i++) {
        char one[2];
        lab_problem_decode(task, &tokens[i], 1, one);
        snprintf(names[i].text, sizeof names[i].text, "%s", one[0] == ' ' ? "␣" : one);
    }
    return LOCUS_OK;
}

/* ---- the class ---- */

extern const lab_task_class lab_problems_class;

static const lab_task tasks[] = {
    {.name = "addition",
     .summary = "two numbers → their sum, digit by digit",
     .class = &lab_problems_class,
     .published = &(const lab_problem_options){.digits = 8, .sequence = 641},
     .characters = " #+0123456789;=?aden",
     .solved = true,
     .generate = lab_problem_generate_addition,
     .open_sequences = lab_problem_open_addition},
    {.name = "substring-index",
     .summary = "a string and an index → the rest of the string from there",
     .class = &lab_problems_class,
     .published = &(const lab_problem_options){.length_mean = 13.0, .symbols = LAB_PROBLEM_LETTERS, .sequence = 641},
     .characters = " #'0123456789:;=?[]abcdefghijklmnopqrstuvwxyz",
     .solved = true,
     .generate = lab_problem_generate_index,
     .open_sequences = lab_problem_open_index},
    {.name = "substring-search",
     .summary = "random strings, each followed by a part of what stands before",
     .class = &lab_problems_class,
     .published = &(const lab_problem_options){.length_mean = 16.0, .symbols = 4, .sequence = 513},
     .characters = ">abcdefghijklmnopqrstuvwxyz",
     .generate = lab_problem_generate_search,
     .open_sequences = lab_problem_open_search},
};

const lab_task_class lab_problems_class = {
    .name = "problems",
    LAB_TASKS_AND_OPTIONS(lab_problem_options),
    LAB_OF_SEQUENCES,
    .uses = uses,
    .vocabulary = vocabulary,
    .lengths = &lengths,
    .endless = true,
    .decodes = true,
    .budgets = {smoke, quick, paper},
    .write = lab_samples_write,
    .portray = lab_portray_drawn,
    LAB_COLUMNS(columns),
    .token = "character",
    .sample = "problem",
    .scores_note = "Problems solved to the letter by greedy decoding; nats a character, and characters right, under "
                   "teacher forcing.",
    .describe = describe,
    .legend = "Characters right in % and nats a character, teacher-forced[solved?; problems solved to the letter by "
              "greedy decoding in %|].",
    .page_legend = "[solved?<i>solved</i>: random problems that greedy decoding gets to the letter. |]<i>loss</i> and "
                   "<i>accuracy</i> are teacher-forced, of every character. ",
    .generate = "problems: give --prompt, or -n",
    .generate_options = "n " LAB_PROMPT_OPTIONS,
};
