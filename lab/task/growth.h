/* SPDX-License-Identifier: MIT */
/* How output trees grow while they are decoded: for each token that a sample gets, where it stands and whether a child
 * is still open. The first token is the root; a token that opens children (lab_task.children says how many) has them
 * filled before anything else in depth order, and after all that opened earlier in breadth order.
 *
 *   depth:    the open nodes are a stack, the newest gets the next token
 *   breadth:  the open nodes are a queue, the oldest gets the next token
 *
 * Any symbols are taken: what is no operator is a leaf, and a sample is over after `limits` tokens whatever they were.
 * Memory is Σ limits entries, taken at the beginning: growing allocates nothing. */
#ifndef LAB_GROWTH_H
#define LAB_GROWTH_H

#include "task/task.h"

typedef struct lab_grower lab_grower; /* opaque */

/* Packed inputs, and the most tokens that each output may get. All are borrowed until the grower is destroyed. */
typedef struct lab_grower_input {
    const lab_task *task; /* whose outputs are trees */
    const lab_task_options *options;
    const int32_t *table; /* children by token, where the set says them (lab_dataset.children); NULL: the task does */
    size_t samples;
    const size_t *input_offsets; /* [samples + 1] */
    const int32_t *input;
    const size_t *limits; /* [samples] */
} lab_grower_input;

locus_status lab_grower_create(lab_grower **grower, const lab_grower_input *input, locus_error *error);
void lab_grower_destroy(lab_grower **grower); /* accepts NULL; nulls the pointer */

/* Sample `sample` got `token`: its parent among the sample's tokens (−1: it is the root) and which child of it it is
 * (0: the root). False: no child is open, or the limit is reached, and the output is complete; a token after that
 * stands nowhere (−1, 0) and changes nothing. `context` is the grower, so that this fits lab_growth.grow of
 * model/model.h. Different samples may grow at the same time. */
bool lab_grower_grow(void *context, size_t sample, int32_t token, int32_t *parent, int32_t *branch);

/* All samples stand at their beginning again. */
void lab_grower_restart(lab_grower *grower);

#endif
