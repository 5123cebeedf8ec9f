/* SPDX-License-Identifier: MIT */
/* Pairs of one's own, sequence to sequence or tree to tree, from files with a JSON object to a line:
 *
 *   {"input": [3, 1], "target": [1, 3]}                      ids from 0 on, as `locus data make` writes them
 *   {"input_text": "a b", "target_text": "b a"}              texts, cut into words, characters or bytes
 *   {…, "input_paths": ["0", "1"], "target_paths": ["0", "1"]}   the tokens are nodes of trees (symbol_tree.h)
 *
 * Whatever is wrong with a line is told with its number; empty lines at the end are skipped. What a file says beside
 * these is not looked at, and ids go before texts. Tokens are numbered:
 *
 *   ids    id i is token i, 0 being the start token; where the training set has the id 0, it is token i + 1
 *   texts  0 the start token, 1 what the vocabulary lacks, then the vocabulary, inputs and targets alike, in the order
 *          in which the training set shows it (bytes: all 256)
 *
 * and of sequences the last one is the end token. So the files of a task of locus train the model that the task itself
 * would.
 *
 * An output tree grows from its symbols (growth.h) if each has the same number of children wherever the training set's
 * targets have it, and if all of these stand level by level or all depth first; else nothing is decoded.
 *
 * Development and test set are files of their own, or a tenth of the first file each, drawn by the data's seed. What
 * was trained keeps its vocabulary beside it (`vocabulary.json`), so that other files can be scored and inputs be
 * decoded without the first one. */
#ifndef LAB_PAIRS_H
#define LAB_PAIRS_H

#include "task/own/own_text.h"

typedef struct lab_pair_options {
    lab_token_kind tokens;
    size_t symbols;  /* the model's vocabulary */
    size_t arity;    /* of trees the most children; else 0 */
    lab_order order; /* of targets that are trees */
} lab_pair_options;
#define LAB_PAIRS(options) LAB_OF_KIND(lab_pair_options, options)

lab_draw_function lab_pairs_generate;

/* What the three files say. */
typedef struct lab_pair_facts {
    size_t vocabulary, arity; /* arity: of trees; else 0 */
    size_t trained;           /* tokens of the longest training input */
    lab_order order;          /* of targets */
    bool ids;                 /* there are no texts */
    const char *stuck;        /* why outputs that are trees don't grow; static. NULL: they do, or there are none */
    size_t samples[3];        /* by lab_set */
    size_t shared[3];         /* of development and test samples those whose input is in the training set, too */
    size_t unknown[3];        /* their tokens that the vocabulary lacks */
    uint64_t digest;          /* of the files; never 0 */
} lab_pair_facts;
/* IO: a file that can't be read, or a line that is none; ARGUMENT: too few samples for three sets. */
locus_status lab_pairs_look(const lab_task_options *options, uint64_t seed, lab_pair_facts *facts, locus_error *error);

/* Writes the vocabulary of the training set into a folder. */
locus_status lab_pairs_keep(const lab_task_options *options, uint64_t seed, const char *folder, locus_error *error);

/* A set of one sample whose input is `text`, cut as the training's texts, or ids between spaces, by the vocabulary in
 * options->kept; of trees "(a b c)", of tokens without blanks and parentheses, which is read level by level. Its target
 * is not known. ARGUMENT, with the argument "input": the text has no token, or one that can't be. */
locus_status lab_pairs_typed(lab_dataset *set, const lab_task_options *options, const char *text, locus_error *error);

#endif
