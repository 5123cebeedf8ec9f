/* SPDX-License-Identifier: MIT */
/* Published numbers, as data with their source: what reports show beside the measured ones. */
#ifndef LAB_PUBLISHED_H
#define LAB_PUBLISHED_H

#include <stddef.h>

typedef struct lab_published {
    const char *task;   /* as on the command line */
    const char *scheme; /* "sinusoidal", "relative", "rope", "algebraic (seq)": as the source's table calls it */
    const char *budget; /* the budget that the source trained with: "paper" */
    double accuracy;    /* token accuracy on the test set, teacher-forced, in [0, 1]; mean over repetitions */
    double deviation;   /* over repetitions, in [0, 1]; < 0: not printed in the source */
    const char *source;
} lab_published;

/* The number for a task and an encoding spec (canonical or as typed), or NULL. A scheme covers the specs that the
 * source trained: its options at their published values, the decay on or off (`rope` fixed or learned: the paper says
 * one, its code does the other). Static storage. */
const lab_published *lab_published_find(const char *task, const char *encoding);

size_t lab_published_count(void);
const lab_published *lab_published_at(size_t index); /* NULL past the end */

#endif
