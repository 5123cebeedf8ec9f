/* SPDX-License-Identifier: MIT */
/* The registry of tasks, and data sets drawn from it.
 *
 * Sample i of a set has its own stream of random numbers, keyed by (seed, set, i): number 0 is the standard normal z of
 * its length max(1, ⌊mean + deviation · z⌋), number 1 + j its symbol j. A sample therefore depends neither on how many
 * are drawn nor on threads, and test sets of different mean lengths are prefixes or extensions of the same words. */
#include "task/task.h"

#include "io/fail.h"
#include "task/family.h"

#include <locus/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PURPOSE_DATA (LOCUS_RANDOM_USER + 0x1000u) /* + the set */
#define MOST_TOKENS ((size_t)1 << 31)
#define MOST_NAME 32

static const lab_task_family *const families[] = {
    &lab_task_sequence,
};

size_t lab_task_count(void) {
    size_t count = 0;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        count += families[f]->count;
    }
    return count;
}

const lab_task *lab_task_at(size_t index) {
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        if (index < families[f]->count) {
            return &families[f]->tasks[index];
        }
        index -= families[f]->count;
    }
    return NULL;
}

const lab_task *lab_task_find(const char *name) {
    for (size_t i = 0; name != NULL && i < lab_task_count(); i++) {
        if (strcmp(lab_task_at(i)->name, name) == 0) {
            return lab_task_at(i);
        }
    }
    return NULL;
}

/* Levenshtein's distance of two words; words that are longer than any name are as far as can be. */
static size_t edits(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b), row[MOST_NAME + 1];
    if (n > MOST_NAME || m > MOST_NAME) {
        return n > m ? n : m;
    }
    for (size_t j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replace = corner + (a[i - 1] != b[j - 1]);
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            corner = row[j];
            row[j] = replace < least ? replace : least;
        }
    }
    return row[m];
}

const char *lab_task_nearest(const char *name) {
    const char *nearest = lab_task_at(0)->name;
    size_t best = SIZE_MAX;
    for (size_t i = 0; name != NULL && i < lab_task_count(); i++) {
        size_t distance = edits(name, lab_task_at(i)->name);
        if (distance < best) {
            best = distance;
            nearest = lab_task_at(i)->name;
        }
    }
    return nearest;
}

lab_task_options lab_task_default(void) {
    lab_task_options options = {100.0, 10.0, 20};
    return options;
}

size_t lab_task_vocabulary(const lab_task_options *options) {
    return options->symbols + 2;
}

static locus_status check(const lab_task_options *options, lab_set which, size_t samples, locus_error *error) {
    if (!(options->length_mean >= 1.0 && options->length_mean <= 1e6)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "length", "the mean length %g is not between 1 and 1000000",
                        options->length_mean);
    }
    if (!(options->length_deviation >= 0.0 && options->length_deviation <= options->length_mean)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "length-deviation",
                        "the deviation of lengths %g is not between 0 and the mean %g", options->length_deviation,
                        options->length_mean);
    }
    if (options->symbols < 1 || options->symbols > 1000000) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "symbols", "%zu symbols: give 1 to 1000000", options->symbols);
    }
    if ((unsigned)which > LAB_SET_TEST) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "set", "set %d: there are train, dev and test", (int)which);
    }
    if (samples > UINT32_MAX) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "n", "%zu samples: a set has at most %lu", samples,
                        (unsigned long)UINT32_MAX);
    }
    return LOCUS_OK;
}

static locus_random sample_stream(uint64_t seed, lab_set which, size_t sample) {
    locus_random random = {seed, PURPOSE_DATA + (uint32_t)which, (uint32_t)sample};
    return random;
}

static size_t sample_length(const locus_random *random, const lab_task_options *options) {
    double length = floor(options->length_mean + options->length_deviation * locus_random_normal(random, 0));
    return length < 1.0 ? 1 : (size_t)length;
}

/* Lengths first: the buffers are then allocated at their size. */
static locus_status allocate(lab_dataset *set, const lab_task *task, const lab_task_options *options, lab_set which,
                             uint64_t seed, locus_error *error) {
    set->input_offsets = calloc(set->samples + 1, sizeof *set->input_offsets);
    set->target_offsets = calloc(set->samples + 1, sizeof *set->target_offsets);
    if (set->input_offsets == NULL || set->target_offsets == NULL) {
        return lab_fail_memory(error, "the offsets of a data set");
    }
    for (size_t i = 0; i < set->samples; i++) {
        locus_random random = sample_stream(seed, which, i);
        size_t n = sample_length(&random, options);
        set->input_offsets[i + 1] = set->input_offsets[i] + n;
        set->target_offsets[i + 1] = set->target_offsets[i] + task->transform(n, NULL, NULL);
        if (set->input_offsets[i + 1] > MOST_TOKENS || set->target_offsets[i + 1] > MOST_TOKENS) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "n",
                            "the set has more than %zu tokens: give fewer samples or shorter words", MOST_TOKENS);
        }
    }
    set->input = malloc((set->input_offsets[set->samples] + 1) * sizeof *set->input);
    set->target = malloc((set->target_offsets[set->samples] + 1) * sizeof *set->target);
    return set->input == NULL || set->target == NULL ? lab_fail_memory(error, "the tokens of a data set") : LOCUS_OK;
}

locus_status lab_dataset_generate(lab_dataset *set, const lab_task *task, const lab_task_options *options,
                                  lab_set which, size_t samples, uint64_t seed, locus_error *error) {
    memset(set, 0, sizeof *set);
    locus_status status = check(options, which, samples, error);
    if (status != LOCUS_OK) {
        return status;
    }
    set->samples = samples;
    status = allocate(set, task, options, which, seed, error);
    if (status != LOCUS_OK) {
        lab_dataset_destroy(set);
        return status;
    }
    for (size_t i = 0; i < samples; i++) {
        locus_random random = sample_stream(seed, which, i);
        int32_t *word = set->input + set->input_offsets[i];
        size_t n = set->input_offsets[i + 1] - set->input_offsets[i];
        for (size_t j = 0; j < n; j++) {
            word[j] = 1 + (int32_t)locus_random_below(&random, 1 + j, options->symbols);
        }
        task->transform(n, word, set->target + set->target_offsets[i]);
    }
    return LOCUS_OK;
}

void lab_dataset_destroy(lab_dataset *set) {
    if (set == NULL) {
        return;
    }
    free(set->input_offsets);
    free(set->target_offsets);
    free(set->input);
    free(set->target);
    memset(set, 0, sizeof *set);
}

double lab_dataset_chance(const lab_dataset *set, size_t vocabulary) {
    size_t *counts = calloc(vocabulary, sizeof *counts);
    if (counts == NULL || set->samples == 0) {
        free(counts);
        return 0.0;
    }
    size_t tokens = set->target_offsets[set->samples], most = set->samples; /* every sample has one end token */
    for (size_t i = 0; i < tokens; i++) {
        if (set->target[i] >= 0 && (size_t)set->target[i] < vocabulary) {
            counts[set->target[i]]++;
        }
    }
    for (size_t v = 0; v < vocabulary; v++) {
        most = counts[v] > most ? counts[v] : most;
    }
    free(counts);
    return (double)most / (double)(tokens + set->samples);
}
