/* SPDX-License-Identifier: MIT */
/* Trainings in processes of their own, which may be stopped or killed, and what they leave: best.safetensors byte for
 * byte, metrics and scores bit for bit. */
#ifndef TESTS_TRAINING_CASE_H
#define TESTS_TRAINING_CASE_H

#include "train/train.h"

/* A folder of their own; group set-up and tear-down of cmocka. */
int training_setup(void **state);
int training_teardown(void **state);
const char *training_folder(void);

typedef struct training_plan {
    lab_train_config config;
    const char *name;
    size_t threads;
    size_t ranks;           /* threads that share it, as ranks; 0: it is trained alone */
    size_t kill_rank;       /* which of them is asked to die at kill_at */
    uint64_t stop_at;       /* progress asks to stop from this step on; 0: never */
    const char *stop_phase; /* and in this phase alone, as a scheduler does; NULL: in any, as Ctrl-C does */
    uint64_t kill_at;       /* killed after this step, before its checkpoint; 0: never */
    const char *says;       /* the whole of what it must say where it fails; NULL: anything */
} training_plan;

enum { TRAINING_QUEUE_AGAIN = 75, TRAINING_SAYS_OTHER = 76 };
/* The status, TRAINING_QUEUE_AGAIN if a scheduler stopped it, TRAINING_SAYS_OTHER; −1 if it was killed.
 * What went wrong is printed. */
int training_run(const training_plan *plan);

typedef struct training_remains {
    lab_run run; /* id 0: there is no row of that name */
    char *best;
    size_t best_bytes;
    lab_metric *metrics[5]; /* train.loss, train.gradient_norm, train.rate, dev.loss, dev.accuracy */
    size_t counts[5];
    lab_final *finals;
    size_t final_count;
} training_remains;
training_remains training_look(const char *name);
void training_forget(training_remains *remains);
double training_final(const training_remains *remains, const char *set, const char *name); /* −1: it is not there */

/* Everything but times, memory and the name. */
void training_assert_same(const char *name, const char *other);

/* Trains "whole-NAME" at once with one thread, and "parts-NAME" with two, killed after steps 3, 9 and 21 and stopped at
 * 22: they must leave the same. */
void training_assert_resumes(const lab_train_config *config, const char *name);

#endif
