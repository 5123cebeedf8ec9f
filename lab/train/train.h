/* SPDX-License-Identifier: MIT */
/* The training loop: batches, development-set selection, checkpoints, resume, final scores, all recorded in the
 * store. The parameters of the best development loss are kept; but of images the development set is the test set, as in
 * the published experiments, and those of the best accuracy are kept. */
#ifndef LAB_TRAIN_H
#define LAB_TRAIN_H

#include "model/model.h"
#include "task/task.h"
#include "train/optimizer.h"
#include "train/store.h"

#define LAB_MAX_TEST_LENGTHS 16
#define LAB_SPEC_SIZE 4096 /* bytes of an encoding's text */

typedef enum lab_schedule_kind { LAB_SCHEDULE_COSINE = 0, LAB_SCHEDULE_STEPS = 1 } lab_schedule_kind;

/* What becomes of a training image: nothing, or AutoAugment's CIFAR-10 policy, crop and flip. */
typedef enum lab_augmentation { LAB_AUGMENT_NONE = 0, LAB_AUGMENT_POLICY = 1 } lab_augmentation;

/* Raised by a change of the program that alters bits of trainings: runs of before are then other runs, with other
 * names, and are not gone on with. tests/golden/test_golden_bits.c notices such changes. */
enum { LAB_NUMERICS = 0 };

/* Every choice that decides the result; written as JSON into the run's row and its checkpoints. */
typedef struct lab_train_config {
    const char *task, *encoding, *budget; /* budget: "smoke", "quick", "paper" or "custom" */
    size_t numerics;                      /* LAB_NUMERICS of the program that made it */
    lab_setup setup;
    lab_model_config model; /* vocabulary and encoding are filled in */
    lab_task_options data;  /* its path is not written down: data may lie elsewhere when a run goes on */
    size_t train_samples;   /* problems: sequences; 0: drawn anew in every step, without end. Text: 0: all windows */
    size_t dev_samples, test_samples; /* problems, text: sequences; text: at most so many, 0: all windows */
    uint64_t data_seed, seed;
    lab_augmentation augment;
    size_t batch;   /* samples */
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
    /* A folder with a pretrained encoder (model/pretrained.h) that the training begins with; NULL: none. Its digest, of
     * weights and vocabulary, is what counts; the path is not written down. */
    const char *pretrained;
    uint64_t pretrained_digest;
    size_t test_lengths[LAB_MAX_TEST_LENGTHS], test_length_count; /* further test sets of these mean
                                                                     lengths, or mean depths of trees */
} lab_train_config;

/* Sizes of a budget for a task of this kind. paper: as published; quick and smoke: smaller, see docs/budgets.md. */
locus_status lab_train_config_budget(lab_train_config *config, const lab_task *task, const char *budget,
                                     lab_setup setup, locus_error *error);

/* Turns a configuration of expressions into the published fine-tuning of the pretrained encoder in `folder` (borrowed):
 * fine_tuning.c says how. */
locus_status lab_train_config_pretrained(lab_train_config *config, const char *folder, locus_error *error);
/* The text of its encoding: the checkpoint's own positions, and `spec` ("none": nothing) on top. */
locus_status lab_train_pretrained_encoding(const char *folder, const char *spec, char *text, size_t size,
                                           locus_error *error);

/* The canonical text of a spec, or of a pattern over layers, as a training of this configuration uses it: with set-up
 * code, rotary frequencies are learned; a learned table begins with the deviation of the tokens, and the text says
 * which. SPEC with an offset into `spec` if it cannot be parsed; at most LAB_SPEC_SIZE bytes. */
locus_status lab_train_encoding(const char *spec, const lab_train_config *config, char *text, size_t size,
                                locus_error *error);

/* What the caller sees while it runs. Called a few times a second at most; return false to stop cleanly (state
 * STOPPED). */
typedef struct lab_progress {
    const char *phase; /* "train", "dev", "test", "greedy" */
    uint64_t step, steps;
    uint64_t epoch_steps; /* images: steps of an epoch; else 0 */
    double loss, dev_loss, dev_accuracy, rate, tokens_per_second, seconds_left;
} lab_progress;
typedef bool lab_progress_function(void *context, const lab_progress *progress);

/* Trains, or goes on with, the run `name` below `folder` (checkpoints at folder/name/). A run that is done is not
 * trained again: its record is returned. `run` receives the final record. INTERRUPTED if progress asked to stop;
 * NUMERIC if the loss was not finite (the last good checkpoint is kept). */
typedef struct lab_train_request {
    lab_train_config config;
    const char *folder, *name, *command;
    bool restart;    /* throw what there is of that name away */
    bool every_step; /* progress is called after every step, not a few times a second */
    lab_progress_function *progress;
    void *context;
} lab_train_request;
locus_status lab_train(lab_store *store, const lab_train_request *request, lab_run *run, locus_error *error);

/* The standard name of a run: task-encoding-…-s<seed>, safe as a file name, with a short hash of the configuration. */
void lab_train_name(const lab_train_config *config, char *name, size_t size);

/* Loads the best model of a finished or stopped run, for eval and generate. The texts of `config` belong to `run`. */
locus_status lab_train_load(const lab_run *run, const char *folder, lab_train_config *config, lab_model **model,
                            locus_error *error);

/* How a set is scored. */
typedef struct lab_scoring {
    const lab_task *task; /* with its options: how output trees grow; other kinds: may be NULL */
    const lab_task_options *options;
    size_t batch;
    const lab_dataset *problems; /* what is decoded greedily, where it isn't the set itself: a decoder's problems */
    size_t greedy_samples;       /* the first ones, which are decoded greedily */
    uint32_t *sample_correct;    /* NULL, or [samples] to be filled with the right tokens of each */
    uint8_t *sample_greedy;      /* NULL, or [samples]: 1 for each that is decoded right */
    /* NULL, or asked between batches with the samples done so far; false: stop with INTERRUPTED. */
    bool (*look)(void *context, const char *phase, size_t done, size_t total);
    void *context;
    const char *phase; /* of what is teacher-forced: "dev", "test" */
} lab_scoring;

/* Scores a model on a set in batches, without dropout. `greedy` may be NULL (teacher forcing only): the share of the
 * samples, or problems, that greedy decoding gets whole, of words the end token included. */
locus_status lab_train_score(lab_model *model, const lab_dataset *set, const lab_scoring *how, lab_score *score,
                             double *greedy, locus_error *error);

#endif
