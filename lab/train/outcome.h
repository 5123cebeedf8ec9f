/* SPDX-License-Identifier: MIT */
/* What a trained model scores on one set, by the columns of its task's class (lab/kinds):
 *
 *   loss          nats a predicted token, an image, an expression; teacher-forced, like accuracy and exact
 *   exact         share of the samples whose every token is right
 *   greedy_exact  share of the samples, or of other problems of that set, that greedy decoding gets to the letter
 *   perplexity    exp(loss); bits_per_byte = loss / ln 2 / b, where b bytes of text stand for a predicted token, on the
 *                 whole set, whatever part of it is scored
 *   chance        what guessing scores: the share of the most common target token or class; of expressions one of the
 *                 classes, where majority is the share of the most common one */
#ifndef LAB_OUTCOME_H
#define LAB_OUTCOME_H

#include "model/model.h"
#include "ranks/ranks.h"
#include "train/feed/train_data.h"
#include "train/feed/tree_groups.h"

typedef struct lab_outcome {
    const lab_task *task;
    lab_score score;
    bool has_greedy;
    double greedy;
    double common;          /* share of the most common target token, or class */
    size_t classes;         /* 0: none */
    double bytes_per_token; /* 0: no text */
    lab_tree_group *groups; /* by depth and size; from malloc */
    size_t group_count;
    char note[256]; /* of paths that the encoding cuts; "": none is */
} lab_outcome;

typedef struct lab_outcome_request {
    lab_train_set_request set;
    size_t greedy_samples;                                                     /* 0: nothing is decoded */
    bool groups;                                                               /* of trees and expressions */
    bool (*look)(void *context, const char *phase, size_t done, size_t total); /* as in lab_scoring */
    void *context;
    lab_ranks *ranks; /* as in lab_scoring */
} lab_outcome_request;

/* Release what it holds with lab_outcome_free, after a failure too. */
locus_status lab_outcome_make(lab_outcome *outcome, lab_model *model, const lab_train_config *config,
                              const lab_outcome_request *request, locus_error *error);
void lab_outcome_free(lab_outcome *outcome);

typedef struct lab_outcome_value {
    const char *name;
    double value;
} lab_outcome_value;
enum { LAB_OUTCOME_VALUES = 16 };

/* Fills those that the class's columns have and returns how many. */
size_t lab_outcome_values(const lab_outcome *outcome, lab_outcome_value values[LAB_OUTCOME_VALUES]);

#endif
