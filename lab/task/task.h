/* SPDX-License-Identifier: MIT */
/* Tasks: sources of (input, target) samples. A data set is packed: tokens end to end with offsets, no padding.
 * Symbols are numbered from 1; 0 is the start token and vocabulary − 1 the end token; sets hold neither. */
#ifndef LAB_TASK_H
#define LAB_TASK_H

#include <locus/status.h>
#include <stdbool.h>
#include <stdio.h>

typedef enum lab_set { LAB_SET_TRAIN = 0, LAB_SET_DEV = 1, LAB_SET_TEST = 2 } lab_set;

typedef struct lab_task_options {
    double length_mean, length_deviation; /* words of length max(1, ⌊N(mean, deviation)⌋) */
    size_t symbols;                       /* size of the alphabet: 20 as published */
} lab_task_options;

typedef struct lab_dataset {
    size_t samples;
    size_t *input_offsets, *target_offsets; /* [samples + 1] */
    int32_t *input, *target;
} lab_dataset;

typedef struct lab_task lab_task;
struct lab_task {
    const char *name;    /* "copy" */
    const char *summary; /* "w → w" */
    /* Writes the target of one input word into `target` (room for target_length(n)), or NULL to ask for the length
     * only. */
    size_t (*transform)(size_t n, const int32_t *input, int32_t *target);
};

size_t lab_task_count(void);
const lab_task *lab_task_at(size_t index);
const lab_task *lab_task_find(const char *name); /* NULL: unknown */
const char *lab_task_nearest(const char *name);  /* the nearest known name, for messages */

lab_task_options lab_task_default(void);                     /* length N(100,10), 20 symbols */
size_t lab_task_vocabulary(const lab_task_options *options); /* symbols + 2 */

/* Draws `samples` samples of a set from `seed`; sample i of a set depends on (seed, set, i) only. */
locus_status lab_dataset_generate(lab_dataset *set, const lab_task *task, const lab_task_options *options,
                                  lab_set which, size_t samples, uint64_t seed, locus_error *error);
void lab_dataset_destroy(lab_dataset *set);

/* Mean and most common token share of the targets: what guessing scores. */
double lab_dataset_chance(const lab_dataset *set, size_t vocabulary);

#endif
