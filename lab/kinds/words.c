/* SPDX-License-Identifier: MIT */
/* Words: the sequence tasks of Kogkalidis, Bernardy and Garg 2024, Table 1: copy w → w, reverse w → wᴿ, repeat w → w w.
 *
 * Sample i of a set has its own stream of random numbers, keyed by (seed, set, i): number 0 is the standard normal z of
 * its length max(1, ⌊mean + deviation · z⌋), number 1 + j its symbol j. A sample therefore depends neither on how many
 * are drawn nor on threads, and test sets of different mean lengths are prefixes or extensions of the same words. */
#include "io/fail.h"
#include "kinds/class_parts.h"
#include "samples/portrait.h"
#include "samples/sample_lines.h"
#include "task/word_task.h"

#include <errno.h>
#include <locus/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TOKENS ((size_t)1 << 31)

/* A task's rule: writes the target of one input word into `target` (room for the length that is returned), or NULL to
 * ask for the length only. */
typedef struct word_rule {
    size_t (*transform)(size_t n, const int32_t *input, int32_t *target);
} word_rule;
#define TRANSFORM(task, ...) ((const word_rule *)(task)->rule)->transform(__VA_ARGS__)

static size_t transform_copy(size_t n, const int32_t *input, int32_t *target) {
    if (target != NULL)
        memcpy(target, input, n * sizeof *input);
    return n;
}

static size_t transform_reverse(size_t n, const int32_t *input, int32_t *target) {
    for (size_t i = 0; target != NULL && i < n; i++)
        target[i] = input[n - 1 - i];
    return n;
}

static size_t transform_repeat(size_t n, const int32_t *input, int32_t *target) {
    if (target != NULL) {
        memcpy(target, input, n * sizeof *input);
        memcpy(target + n, input, n * sizeof *input);
    }
    return 2 * n;
}

/* ---- sets ---- */

static locus_status check(const lab_word_options *of, locus_error *error) {
    if (!(of->length_mean >= 1.0 && of->length_mean <= 1e6)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "length", "the mean length %g is not between 1 and 1000000",
                        of->length_mean);
    }
    if (!(of->length_deviation >= 0.0 && of->length_deviation <= of->length_mean)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "length-deviation",
                        "the deviation of lengths %g is not between 0 and the mean %g", of->length_deviation,
                        of->length_mean);
    }
    if (of->symbols < 1 || of->symbols > 1000000)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "symbols", "%zu symbols: give 1 to 1000000", of->symbols);
    return LOCUS_OK;
}

static locus_random sample_stream(const lab_draw *draw, size_t sample) {
    locus_random random = {draw->seed, LAB_PURPOSE_DATA + (uint32_t)draw->which, (uint32_t)sample};
    return random;
}

static size_t sample_length(const locus_random *random, const lab_word_options *of) {
    const double length = floor(of->length_mean + of->length_deviation * locus_random_normal(random, 0));
    return length < 1.0 ? 1 : (size_t)length;
}

/* Lengths first: the buffers are then allocated at their size. */
static locus_status allocate(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    set->samples = draw->samples;
    set->input_offsets = calloc(set->samples + 1, sizeof *set->input_offsets);
    set->target_offsets = calloc(set->samples + 1, sizeof *set->target_offsets);
    if (set->input_offsets == NULL || set->target_offsets == NULL)
        return lab_fail_memory(error, "the offsets of a data set");
    for (size_t i = 0; i < set->samples; i++) {
        locus_random random = sample_stream(draw, i);
        size_t n = sample_length(&random, LAB_WORDS(draw->options));
        set->input_offsets[i + 1] = set->input_offsets[i] + n;
        set->target_offsets[i + 1] = set->target_offsets[i] + TRANSFORM(draw->task, n, NULL, NULL);
        if (set->input_offsets[i + 1] > MOST_TOKENS || set->target_offsets[i + 1] > MOST_TOKENS) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "n",
                            "the set has more than %zu tokens: give fewer samples or shorter words", MOST_TOKENS);
        }
    }
    set->input = malloc((set->input_offsets[set->samples] + 1) * sizeof *set->input);
    set->target = malloc((set->target_offsets[set->samples] + 1) * sizeof *set->target);
    return set->input == NULL || set->target == NULL ? lab_fail_memory(error, "the tokens of a data set") : LOCUS_OK;
}

static locus_status generate(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    locus_status status = check(LAB_WORDS(draw->options), error);
    if (status == LOCUS_OK)
        status = allocate(set, draw, error);
    for (size_t i = 0; status == LOCUS_OK && i < set->samples; i++) {
        locus_random random = sample_stream(draw, i);
        int32_t *word = set->input + set->input_offsets[i];
        size_t n = set->input_offsets[i + 1] - set->input_offsets[i];
        for (size_t j = 0; j < n; j++)
            word[j] = 1 + (int32_t)locus_random_below(&random, 1 + j, LAB_WORDS(draw->options)->symbols);
        TRANSFORM(draw->task, n, word, set->target + set->target_offsets[i]);
    }
    return status;
}

/* ---- options ---- */

static const lab_option options[] = {
    LAB_ROW("length_mean", REAL, LAB_AT_KIND(lab_word_options, length_mean), LAB_NUMBER("length", "MEAN", 1, 1e6),
            LAB_HELP("mean length (100 as published)"), .letter = 'l', .flags = LAB_OPTION_DATA | LAB_OPTION_GENERATED,
            .instead_of = "depth sequence"),
    LAB_ROW("length_deviation", REAL, LAB_AT_KIND(lab_word_options, length_deviation),
            LAB_NUMBER("length-deviation", "SD", 0, 1e6), LAB_HELP("its standard deviation (a tenth)"),
            .flags = LAB_OPTION_DATA, .instead_of = "depth-deviation"),
    LAB_ROW("symbols", SIZE, LAB_AT_KIND(lab_word_options, symbols), LAB_NUMBER("symbols", "N", 1, 1e6),
            LAB_HELP("how many there are (20)"), .flags = LAB_OPTION_DATA),
    LAB_ROW(NULL, LIST, LAB_OPTION_NOWHERE, LAB_WORD("test-lengths", "L,L,…"),
            LAB_HELP("further test sets of these mean lengths"), .instead_of = "test-depths"),
    LAB_ROW(NULL, LIST, LAB_OPTION_NOWHERE, LAB_WORD("lengths", "L,L,…"),
            LAB_HELP("sets of these mean lengths instead of the trained one"), .letter = 'l',
            .flags = LAB_OPTION_SCORED, .instead_of = "depths sides"),
};

/* Another mean length keeps the deviation's share of it. */
static bool changed(lab_train_config *config, const char *option, const char *value, const lab_task_options *before) {
    lab_word_options *words = LAB_WORDS(&config->data);
    (void)value;
    if (strcmp(option, "length") == 0)
        words->length_deviation *= words->length_mean / LAB_WORDS(before)->length_mean;
    return false;
}

static void set_mean(lab_task_options *of, size_t mean) {
    LAB_WORDS(of)->length_deviation *= (double)mean / LAB_WORDS(of)->length_mean;
    LAB_WORDS(of)->length_mean = (double)mean;
}

static const lab_size_axis size = {"length", "test-lengths"};

static const lab_length_axis lengths = {
    .name = "length",
    .option = "lengths",
    .others = "lengths",
    .label = "mean length of the test words",
    .caption = "Left: token accuracy, teacher-forced; right: whole outputs right by greedy decoding.",
    .most = 1000000,
    .set = set_mean,
    .panels = {{"accuracy", "Test accuracy against the mean length of the words", "test accuracy, %"},
               {"greedy_exact", "Greedy exact matches against the mean length of the words",
                "greedy exact matches, %"}},
};

LAB_TOKENS(LAB_WORDS(of)->symbols + 2) /* start and end */

/* "1 2 3"; its target is what the task makes of it. */
static locus_status read_input(lab_dataset *set, const lab_task *task, const lab_task_options *of, const char *text,
                               locus_error *error) {
    size_t n = 0;
    *set = (lab_dataset){.samples = 1};
    set->input = malloc((strlen(text) / 2 + 1) * sizeof *set->input);
    set->input_offsets = calloc(2, sizeof *set->input_offsets);
    set->target_offsets = calloc(2, sizeof *set->target_offsets);
    if (set->input == NULL || set->input_offsets == NULL || set->target_offsets == NULL)
        return lab_fail_memory(error, "an input");
    for (const char *at = text + strspn(text, " ,\t"); *at != '\0'; at += strspn(at, " ,\t")) {
        char *end;
        errno = 0;
        const long symbol = strtol(at, &end, 10);
        if (end == at || errno != 0 || symbol < 1 || (size_t)symbol > LAB_WORDS(of)->symbols) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                            "'%.20s' is no symbol: give numbers from 1 to %zu between spaces", at,
                            LAB_WORDS(of)->symbols);
        }
        set->input[n++] = (int32_t)symbol;
        at = end;
    }
    if (n == 0) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                        "the word is empty; give numbers from 1 to %zu between spaces", LAB_WORDS(of)->symbols);
    }
    set->input_offsets[1] = n;
    set->target_offsets[1] = TRANSFORM(task, n, NULL, NULL);
    set->target = malloc((set->target_offsets[1] + 1) * sizeof *set->target);
    if (set->target == NULL)
        return lab_fail_memory(error, "an input");
    TRANSFORM(task, n, set->input, set->target);
    return LOCUS_OK;
}

/* ---- budgets ---- */

static void small(lab_train_config *config, const lab_budget_size *shrunk, double length) {
    lab_budget_pairs(config);
    lab_budget_shrink(config, shrunk);
    LAB_WORDS(&config->data)->length_mean = length;
    LAB_WORDS(&config->data)->length_deviation = length / 10.0;
}

static void quick(lab_train_config *config) {
    const lab_budget_size shrunk = {LAB_SIZES(64, 4, 256, 0), LAB_SCORED(256, 512, 128), LAB_STEPS(32, 2500, 50, 2e-3)};
    small(config, &shrunk, 20.0);
}

static void smoke(lab_train_config *config) {
    const lab_budget_size shrunk = {LAB_SIZES(64, 4, 256, 0), LAB_SCORED(128, 256, 128), LAB_STEPS(32, 1500, 25, 2e-3)};
    small(config, &shrunk, 16.0);
}

/* ---- words for tables and pages ---- */

static void describe(const struct cJSON *config, const char *task, lab_data_facts *facts) {
    const double mean = lab_said_number(config, "length_mean"), symbols = lab_said_number(config, "symbols");
    (void)task;
    if (mean > 0 && symbols > 0) {
        facts->mean_size = mean;
        snprintf(facts->data, sizeof facts->data, "words of length N(%g, %g) over %g symbols", mean,
                 lab_said_number(config, "length_deviation"), symbols);
    }
}

static const lab_score_column columns[] = LAB_PAIR_COLUMNS("tokens, %");

/* ---- the class ---- */

#define WORD_TASK(task, says, makes) \
    { \
        .name = task, .summary = says, .class = &lab_words_class, .generate = generate, \
        .rule = &(const word_rule){makes}, \
        .published = &(const lab_word_options){.length_mean = 100.0, .length_deviation = 10.0, .symbols = 20}, \
    }

extern const lab_task_class lab_words_class;

static const lab_task tasks[] = {
    WORD_TASK("copy", "w → w", transform_copy),
    WORD_TASK("reverse", "w → w backwards", transform_reverse),
    WORD_TASK("repeat", "w → w w", transform_repeat),
};

const lab_task_class lab_words_class = {
    .name = "words",
    LAB_TASKS_AND_OPTIONS(lab_word_options),
    .architecture = &lab_encoder_decoder,
    .compared = "table1",
    .changed = changed,
    .size = &size,
    .lengths = &lengths,
    .read_input = read_input,
    .vocabulary = vocabulary,
    .decodes = true,
    .looks_ahead = true,
    .ordered = true,
    .budgets = {smoke, quick, lab_budget_pairs},
    .as_code = lab_budget_tables_code,
    .write = lab_samples_write,
    .portray = lab_portray_drawn,
    LAB_COLUMNS(columns),
    .token = "token",
    .sample = "output",
    .source = "tokens",
    .describe = describe,
    .legend = "Shares in %: tokens right and whole outputs right under teacher forcing, whole outputs right by greedy "
              "decoding;\n\"length N\", \"greedy N\": tokens, and greedy, on words of mean length N.",
    .page_legend = LAB_PAIR_PAGE_LEGEND,
    .model_samples = LAB_PAIR_SAMPLES,
    .curves = &lab_curves_by_steps,
    .speed_note = LAB_PAIR_SPEED_NOTE,
    .generate = "words: give --input, or -n",
    .generate_options = "input n",
};
