/* SPDX-License-Identifier: MIT */
/* Tasks: sources of (input, target) samples. A data set is packed: tokens end to end with offsets, no padding.
 *
 * Words and trees: symbols are numbered from 1 and 0 is the start token. Words end with an end token, vocabulary − 1;
 * trees have none, they are over when no child is open. Sets hold neither start nor end tokens.
 * Images: pixels and classes; there are no tokens. */
#ifndef LAB_TASK_H
#define LAB_TASK_H

#include <locus/status.h>
#include <stdbool.h>
#include <stdio.h>

typedef enum lab_set { LAB_SET_TRAIN = 0, LAB_SET_DEV = 1, LAB_SET_TEST = 2 } lab_set;
typedef enum lab_task_kind { LAB_TASK_WORDS = 0, LAB_TASK_TREES = 1, LAB_TASK_IMAGES = 2 } lab_task_kind;

/* In which order the nodes of an output tree are written: level by level, or each node before its children, first child
 * first. Inputs are always read level by level. */
typedef enum lab_order { LAB_ORDER_BREADTH = 0, LAB_ORDER_DEPTH = 1 } lab_order;

/* What a kind does not use is 0. */
typedef struct lab_task_options {
    double length_mean, length_deviation; /* words: of length max(1, ⌊N(mean, deviation)⌋) */
    size_t symbols;                       /* words: size of the alphabet, 20 as published; trees: leaves and operators,
                                             as each task's own table says (20, 4, 128) */
    double depth_mean, depth_deviation;   /* trees: of depth max(0, ⌊N(mean, deviation)⌋), a leaf has depth 0 */
    lab_order order;                      /* trees */
    size_t arity;                         /* trees: children of an inner node, 2 as published */
    const char *path;                     /* images: the folder or archive that they are read from; borrowed */
} lab_task_options;

/* The trees that tokens are nodes of, for all tokens of a packed set or batch. A token's parent stands before it. */
typedef struct lab_tree_nodes {
    int32_t *parents;  /* index of the parent among the tokens of the same sample; −1: the root */
    int32_t *branches; /* 1 … arity: which child of its parent it is; 0 for the root */
} lab_tree_nodes;

/* Images as bytes, [count, channels, side, side]: red, green, blue planes, row by row. */
typedef struct lab_images {
    size_t count, channels, side, classes;
    uint8_t *pixels;
    uint8_t *labels;                /* [count], below classes */
    const char *const *class_names; /* [classes]; static */
} lab_images;

typedef struct lab_dataset {
    size_t samples;
    size_t *input_offsets, *target_offsets; /* [samples + 1]; NULL for images */
    int32_t *input, *target;
    lab_tree_nodes input_tree, target_tree; /* NULLs unless the samples are trees */
    lab_images images;                      /* pixels NULL unless they are images */
} lab_dataset;

typedef struct lab_task lab_task;

/* What is asked of a task's generator. */
typedef struct lab_draw {
    const lab_task *task;
    const lab_task_options *options;
    lab_set which;
    size_t samples; /* words, trees: drawn from `seed`; images: the first of the set, 0: all of them */
    uint64_t seed;
} lab_draw;

struct lab_task {
    const char *name;    /* "copy" */
    const char *summary; /* "w → w" */
    lab_task_kind kind;
    size_t symbols;                 /* trees: how many the task has; else 0 */
    const char *const *class_names; /* images: of each class; else NULL */
    /* Fills an empty set; checks the options of its kind. What it has allocated before a failure stays in the set. */
    locus_status (*generate)(lab_dataset *set, const lab_draw *draw, locus_error *error);
    /* Words: writes the target of one input word into `target` (room for the length that is returned), or NULL to ask
     * for the length only. */
    size_t (*transform)(size_t n, const int32_t *input, int32_t *target);
    /* Trees: how many children the output token `symbol` has, given the sample's input; any symbol is answered. */
    size_t (*children)(const lab_task_options *options, size_t n, const int32_t *input, int32_t symbol);
};

size_t lab_task_count(void);
const lab_task *lab_task_at(size_t index);
const lab_task *lab_task_find(const char *name); /* NULL: unknown */
const char *lab_task_nearest(const char *name);  /* the nearest known name, for messages */

/* As published. copy, reverse, repeat: length N(100,10), 20 symbols. Trees: depth N(7,1), arity 2, breadth first. */
lab_task_options lab_task_default(const lab_task *task);
/* Of the model's embedding: symbols + 2 (start, end) for words, symbols + 1 for trees, 0 for images. */
size_t lab_task_vocabulary(const lab_task *task, const lab_task_options *options);

/* Draws, or reads, samples of a set; sample i of a synthetic set depends on (options, seed, set, i) only. */
locus_status lab_dataset_generate(lab_dataset *set, const lab_draw *draw, locus_error *error);
void lab_dataset_destroy(lab_dataset *set);

/* What guessing scores: the share of the most common target token (an end token counts), or of the most common
 * class. */
double lab_dataset_chance(const lab_dataset *set, size_t vocabulary);

#endif
