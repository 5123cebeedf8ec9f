/* SPDX-License-Identifier: MIT */
/* What the training set of pairs (pairs.h) says of tokens: which there are, and how trees of them grow. */
#ifndef LAB_PAIR_VOCABULARY_H
#define LAB_PAIR_VOCABULARY_H

#include "task/own/own_rows.h"

/* {0} is empty. */
typedef struct lab_pair_vocabulary {
    lab_token_kind kind;
    bool ids, trees;
    lab_word_index words;        /* of texts, unless they are bytes */
    size_t first, most;          /* ids: the first one's token, 0 or 1, and the largest id */
    size_t arity;                /* the most children of a node */
    unsigned orders;             /* in which the nodes of all targets stand */
    int32_t *children;           /* [token_count]: of each token in targets; UNSEEN, VARIES */
    size_t token_count, longest; /* tokens without the end token; most tokens of a target */
} lab_pair_vocabulary;

enum { LAB_CHILDREN_UNSEEN = -1, LAB_CHILDREN_VARY = -2 };

/* From the rows of the training set. IO: it has nothing to learn from. */
locus_status lab_pair_vocabulary_learn(lab_pair_vocabulary *of, const lab_own_rows *rows, locus_error *error);
/* IO, with the line: an id, a branch or an order that the training set does not have. */
locus_status lab_pair_vocabulary_check(const lab_pair_vocabulary *of, const lab_own_row *row, locus_error *error);
void lab_pair_vocabulary_free(lab_pair_vocabulary *of);

locus_status lab_pair_vocabulary_keep(const lab_pair_vocabulary *of, const char *folder, locus_error *error);
locus_status lab_pair_vocabulary_recall(lab_pair_vocabulary *of, const char *folder, locus_error *error);

/* The model's: tokens, and of sequences the end token. */
size_t lab_pair_vocabulary_size(const lab_pair_vocabulary *of);
/* Level by level if that will do. */
lab_order lab_pair_vocabulary_order(const lab_pair_vocabulary *of);
/* Why outputs don't grow; static. NULL: they do, or they are sequences. */
const char *lab_pair_vocabulary_stuck(const lab_pair_vocabulary *of);

/* Writes a side's tokens ([side->count]; NULL: none are written) and returns how many of them are unknown. */
size_t lab_pair_encode(const lab_pair_vocabulary *of, const lab_own_side *side, int32_t *tokens);
/* set->names, joined, children, longest. */
locus_status lab_pair_vocabulary_lend(const lab_pair_vocabulary *of, lab_dataset *set, locus_error *error);

#endif
