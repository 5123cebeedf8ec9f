/* SPDX-License-Identifier: MIT */
/* What data sets of all kinds have in common. */
#include "task/task.h"

#include "io/fail.h"

#include <stdlib.h>
#include <string.h>

size_t lab_longest(size_t samples, const size_t *offsets) {
    size_t longest = 0;
    for (size_t s = 0; offsets != NULL && s < samples; s++) {
        const size_t tokens = offsets[s + 1] - offsets[s];
        longest = tokens > longest ? tokens : longest;
    }
    return longest;
}

static locus_status draw_set(lab_dataset *set, const lab_draw *draw, lab_draw_function *function, locus_error *error) {
    memset(set, 0, sizeof *set);
    if ((unsigned)draw->which > LAB_SET_TEST)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "set", "set %d: there are train, dev and test", (int)draw->which);
    if (draw->samples > UINT32_MAX) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "n", "%zu samples: a set has at most %lu", draw->samples,
                        (unsigned long)UINT32_MAX);
    }
    locus_status status = function(set, draw, error);
    if (status != LOCUS_OK)
        lab_dataset_destroy(set);
    return status;
}

locus_status lab_dataset_generate(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    if (draw->task->generate == NULL) {
        memset(set, 0, sizeof *set);
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "task", "%s has sequences only, no pairs of input and target",
                        draw->task->name);
    }
    return draw_set(set, draw, draw->task->generate, error);
}

locus_status lab_dataset_sequences(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    if (draw->task->open_sequences == NULL) {
        memset(set, 0, sizeof *set);
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "task", "%s has no sequences for a decoder", draw->task->name);
    }
    return draw_set(set, draw, draw->task->open_sequences, error);
}

void lab_dataset_destroy(lab_dataset *set) {
    if (set == NULL)
        return;
    free(set->input_offsets);
    free(set->target_offsets);
    free(set->input);
    free(set->target);
    free(set->input_tree.parents);
    free(set->input_tree.branches);
    free(set->target_tree.parents);
    free(set->target_tree.branches);
    free(set->images.pixels);
    free(set->images.labels);
    free(set->labels);
    for (size_t i = 0; i < set->name_count; i++)
        free(set->names[i]);
    free(set->names);
    free(set->children);
    if (set->sequences.release != NULL)
        set->sequences.release(&set->sequences);
    memset(set, 0, sizeof *set);
}

/* Classes are fewer than 256. */
static double class_chance(const lab_dataset *set) {
    size_t counts[UINT8_MAX + 1] = {0}, most = 0, samples = set->labels != NULL ? set->samples : set->images.count;
    for (size_t i = 0; i < samples; i++) {
        size_t count = ++counts[set->labels != NULL ? (uint8_t)set->labels[i] : set->images.labels[i]];
        most = count > most ? count : most;
    }
    return samples > 0 ? (double)most / (double)samples : 0.0;
}

/* How often the most common of the target tokens from `first` on occurs, of as many as are counted at once: without
 * memory, want of which nobody could tell from a chance of 0. */
enum { COUNTED = 512 };

static size_t most_common(const lab_dataset *set, size_t tokens, size_t first, size_t vocabulary) {
    size_t counts[COUNTED] = {0}, most = 0;
    const size_t end = vocabulary - first < COUNTED ? vocabulary : first + COUNTED;
    for (size_t i = 0; i < tokens; i++) {
        if (set->target[i] >= 0 && (size_t)set->target[i] >= first && (size_t)set->target[i] < end) {
            const size_t count = ++counts[(size_t)set->target[i] - first];
            most = count > most ? count : most;
        }
    }
    return most;
}

double lab_dataset_common(const lab_dataset *set, size_t vocabulary, size_t ends) {
    if (set->target_offsets == NULL || set->samples == 0)
        return 0.0;
    size_t tokens = set->target_offsets[set->samples], most = ends;
    for (size_t first = 0; first < vocabulary; first += COUNTED) {
        const size_t count = most_common(set, tokens, first, vocabulary);
        most = count > most ? count : most;
    }
    return tokens + ends > 0 ? (double)most / (double)(tokens + ends) : 0.0;
}

double lab_dataset_chance(const lab_dataset *set, size_t vocabulary) {
    if (set->images.pixels != NULL || set->labels != NULL)
        return class_chance(set);
    /* Words have one end token each. */
    return lab_dataset_common(set, vocabulary, set->target_tree.parents == NULL ? set->samples : 0);
}
