/* SPDX-License-Identifier: MIT */
/* Every choice that decides what a training ends with. */
#ifndef LAB_TRAIN_CONFIG_H
#define LAB_TRAIN_CONFIG_H

#include "model/model.h"
#include "task/task_class.h"
#include "train/optimizer.h"

#define LAB_MAX_TEST_LENGTHS 16
#define LAB_SPEC_SIZE 4096 /* bytes of an encoding's text */

/* CONSTANT: the peak rate from the first step to the last, so that it does not depend on how many there are. */
typedef enum lab_schedule_kind {
    LAB_SCHEDULE_COSINE = 0,
    LAB_SCHEDULE_STEPS = 1,
    LAB_SCHEDULE_CONSTANT = 2
} lab_schedule_kind;

/* What becomes of a training image: nothing, or AutoAugment's CIFAR-10 policy, crop and flip. */
typedef enum lab_augmentation { LAB_AUGMENT_NONE = 0, LAB_AUGMENT_POLICY = 1 } lab_augmentation;

/* Raised by a change of the program that alters bits of trainings: runs of before are then other runs, with other
 * names, and are not gone on with. tests/golden/test_golden_bits.c notices such changes. */
enum { LAB_NUMERICS = 0 };

/* Every choice that decides the result; written as JSON into the run's row and its checkpoints. */
typedef struct lab_train_config {
    const lab_task *task;
    const char *encoding, *budget; /* budget: "smoke", "quick", "paper" or "custom" */
    size_t numerics;               /* LAB_NUMERICS of the program that made it */
    lab_setup setup;
    lab_model_config model; /* vocabulary and encoding are filled in */
    lab_task_options data;  /* its path is not written down: data may lie elsewhere when a run goes on */
    size_t train_samples;   /* problems: sequences; 0: drawn anew in every step, without end. Text: 0: all windows */
    size_t dev_samples, test_samples; /* problems, text: sequences; text: at most so many, 0: all windows */
    uint64_t data_seed, seed;
    lab_augmentation augment;
    size_t batch;   /* samples */
    size_t shards;  /* that a batch is dealt to, a power of two; 0: one. lab_config_shards */
    uint64_t steps; /* 0: epochs · ⌈train_samples / batch⌉ */
    uint64_t epochs;
    uint64_t evaluate_every;     /* steps; 0: once an epoch */
    uint64_t checkpoint_seconds; /* at most this long between resumable checkpoints */
    lab_optimizer_config optimizer;
    double rate_initial, rate_peak, rate_final, warmup_share;
    lab_schedule_kind schedule;
    double rate_factor; /* LAB_SCHEDULE_STEPS: of the rate, every rate_epochs epochs */
    uint64_t rate_epochs;
    uint64_t patience;     /* evaluations without a better one after which training ends; 0: never */
    size_t greedy_samples; /* of the test set that are decoded greedily; 0: none. Problems: how many are solved */
    /* A folder with a pretrained encoder (model/pretrained/pretrained.h) that the training begins with; NULL: none. Its
     * digest, of weights and vocabulary, is what counts; the path is not written down. */
    const char *pretrained;
    uint64_t pretrained_digest;
    /* A file of parameters of this very model that the training begins with; NULL: it begins with drawn ones. Likewise
     * the digest counts, not the path. */
    const char *init_from;
    uint64_t init_digest;
    uint64_t continued_at;   /* the steps of the run that it goes on from; 0: it begins itself */
    uint64_t continued_from; /* a hash of that run's configuration, without its seed and encoding: runs that go on from
                                other trainings are others */
    size_t test_lengths[LAB_MAX_TEST_LENGTHS], test_length_count; /* further test sets of these mean
                                                                     lengths, or mean depths of trees */
} lab_train_config;

#endif
