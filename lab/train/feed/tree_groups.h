/* SPDX-License-Identifier: MIT */
/* Scores of a set of trees by the depth and by the number of nodes of the input tree; of expressions, each with one
 * class to be told, by the depth and by the number of tokens without the start token. */
#ifndef LAB_TREE_GROUPS_H
#define LAB_TREE_GROUPS_H

#include "task/task.h"

typedef struct lab_tree_group {
    char set[32]; /* "depth:5"; "nodes:17-32" of the bins 1, 2-4, 5-8, 9-16, …, of expressions "length:17-32" */
    size_t samples, tokens, correct, exact;
    size_t decoded, greedy; /* of the samples that were decoded greedily, those right */
} lab_tree_group;

/* What is known of each sample: its right tokens under teacher forcing, and of the first `decoded` whether greedy
 * decoding got them. */
typedef struct lab_sample_scores {
    const uint32_t *correct; /* [samples] */
    const uint8_t *greedy;   /* [decoded] */
    size_t decoded;
} lab_sample_scores;

/* The groups that have samples: depths, then bins, each ascending. From malloc. */
locus_status lab_tree_groups(const lab_dataset *set, const lab_sample_scores *scores, lab_tree_group **groups,
                             size_t *count, locus_error *error);

#endif
