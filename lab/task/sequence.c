/* SPDX-License-Identifier: MIT */
/* The sequence tasks of Kogkalidis, Bernardy and Garg 2024, Table 1: copy w → w, reverse w → wᴿ, repeat w → w w.
 *
 * Sample i of a set has its own stream of random numbers, keyed by (seed, set, i): number 0 is the standard normal z of
 * its length max(1, ⌊mean + deviation · z⌋), number 1 + j its symbol j. A sample therefore depends neither on how many
 * are drawn nor on threads, and test sets of different mean lengths are prefixes or extensions of the same words. */
#include "io/fail.h"
#include "task/family.h"

#include <locus/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TOKENS ((size_t)1 << 31)

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

static locus_status check(const lab_task_options *options, locus_error *error) {
    if (!(options->length_mean >= 1.0 && options->length_mean <= 1e6)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "length", "the mean length %g is not between 1 and 1000000",
                        options->length_mean);
    }
    if (!(options->length_deviation >= 0.0 && options->length_deviation <= options->length_mean)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "length-deviation",
                        "the deviation of lengths %g is not between 0 and the mean %g", options->length_deviation,
                        options->length_mean);
    }
    if (options->symbols < 1 || options->symbols > 1000000)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "symbols", "%zu symbols: give 1 to 1000000", options->symbols);
    return LOCUS_OK;
}

static locus_random sample_stream(const lab_draw *draw, size_t sample) {
    locus_random random = {draw->seed, LAB_PURPOSE_DATA + (uint32_t)draw->which, (uint32_t)sample};
    return random;
}

static size_t sample_length(const locus_random *random, const lab_task_options *options) {
    double length = floor(options->length_mean + options->length_deviation * locus_random_normal(random, 0));
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
        size_t n = sample_length(&random, draw->options);
        set->input_offsets[i + 1] = set->input_offsets[i] + n;
        set->target_offsets[i + 1] = set->target_offsets[i] + draw->task->transform(n, NULL, NULL);
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
    locus_status status = check(draw->options, error);
    if (status == LOCUS_OK)
        status = allocate(set, draw, error);
    for (size_t i = 0; status == LOCUS_OK && i < set->samples; i++) {
        locus_random random = sample_stream(draw, i);
        int32_t *word = set->input + set->input_offsets[i];
        size_t n = set->input_offsets[i + 1] - set->input_offsets[i];
        for (size_t j = 0; j < n; j++)
            word[j] = 1 + (int32_t)locus_random_below(&random, 1 + j, draw->options->symbols);
        draw->task->transform(n, word, set->target + set->target_offsets[i]);
    }
    return status;
}

#define WORD_TASK(task, says, makes) \
    { \
        .name = task, .summary = says, .generate = generate, .transform = makes, \
        .published = {.length_mean = 100.0, .length_deviation = 10.0, .symbols = 20}, \
    }

static const lab_task tasks[] = {
    WORD_TASK("copy", "w → w", transform_copy),
    WORD_TASK("reverse", "w → w backwards", transform_reverse),
    WORD_TASK("repeat", "w → w w", transform_repeat),
};

const lab_task_family lab_task_sequence = {tasks, sizeof tasks / sizeof *tasks};
