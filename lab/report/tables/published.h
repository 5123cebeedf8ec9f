/* SPDX-License-Identifier: MIT */
/* Published numbers, as data with their source: what reports show beside the measured ones. */
#ifndef LAB_PUBLISHED_H
#define LAB_PUBLISHED_H

#include "task/task.h"

#include <stddef.h>

/* Up to where a score is the best: after all epochs, or (images) after half of them. */
typedef enum lab_span { LAB_SPAN_FULL = 0, LAB_SPAN_HALF = 1 } lab_span;
enum { LAB_SPANS = 2, LAB_PUBLISHED_EPOCHS = 300 }; /* of images, which LAB_SPAN_HALF has half of */

typedef struct lab_published {
    const char *task;   /* as on the command line */
    lab_order order;    /* trees; else LAB_ORDER_BREADTH */
    lab_span span;      /* images; else LAB_SPAN_FULL */
    const char *scheme; /* "sinusoidal", "shiv-quirk", "algebraic (seq)", …: one name for each row of the source */
    const char *budget; /* the budget that the source trained with: "paper" */
    double accuracy;    /* on the test set, in [0, 1]; mean over repetitions. Tokens, teacher-forced; images: top-1 */
    double deviation;   /* over repetitions, in [0, 1]; < 0: not printed in the source, or illegible there */
    const char *source;
    const char *doubt; /* what makes the number doubtful, or NULL */
} lab_published;

/* The number for a task and an encoding spec (canonical or as typed), or NULL. A scheme covers the specs that the
 * source trained: its options at their published values, the decay on or off (`rope` fixed or learned: the paper says
 * one, its code does the other). A window is the mean length of the words, a depth about that of the trees: any is
 * taken, since both are smaller at smaller budgets. Static storage. */
const lab_published *lab_published_look(const char *task, lab_order order, lab_span span, const char *encoding);

/* The comparison of Hastings 2024, Table 2, on ListOps: numbers of models, from the highest down, that belong to no
 * spec. `doubt` says what is wrong with one, or is NULL. */
typedef struct lab_published_model {
    const char *name;
    double accuracy; /* in [0, 1], of ten classes but where `doubt` says otherwise */
    const char *source, *doubt;
} lab_published_model;
size_t lab_published_listops_count(void);
const lab_published_model *lab_published_listops_at(size_t index); /* NULL past the end */

size_t lab_published_count(void);
const lab_published *lab_published_at(size_t index); /* NULL past the end */

#endif
