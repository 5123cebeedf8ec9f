/* SPDX-License-Identifier: MIT */
/* Tasks: sources of samples. A data set is packed: tokens end to end with offsets, no padding. What differs between
 * the kinds of tasks is asked of their classes (task_class.h).
 *
 * A set is of pairs (input, target), of which models with a decoder add start and end tokens themselves; of inputs with
 * a class, which begin with their start token, since a classifier reads inputs as they are; of pictures with a class;
 * or of sequences for a decoder. Token 0 is the start token where there is one. */
#ifndef LAB_TASK_H
#define LAB_TASK_H

#include <locus/status.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum lab_set { LAB_SET_TRAIN = 0, LAB_SET_DEV = 1, LAB_SET_TEST = 2 } lab_set;
/* In which order the nodes of an output tree are written: level by level, or each node before its children, first child
 * first. Inputs are always read level by level. */
typedef enum lab_order { LAB_ORDER_BREADTH = 0, LAB_ORDER_DEPTH = 1 } lab_order;

/* Room for the options that a kind of task has of its own: a struct of plain values, which its files declare. It lies
 * in the block, so that options and configurations are copied by assignment. */
enum { LAB_KIND_ROOM = 64 };
/* That struct: const if what `options` points to is. One without room does not compile. */
#define LAB_OF_KIND(type, options) \
    ((void)sizeof(char[sizeof(type) <= LAB_KIND_ROOM ? 1 : -1]), \
     _Generic((options), const lab_task_options *: (const type *)(const void *)(options)->of_kind, lab_task_options *: \
              (type *)(void *)(options)->of_kind))

typedef struct lab_task_options {
    const char *path; /* the folder, archive or file that is read; borrowed. NULL: the task's own place, or drawn */
    const char *dev, *test; /* where these sets are; borrowed. NULL: the class knows, or they are parts of the first */
    const char *kept;       /* the folder of a run that keeps what its data need; borrowed. NULL: there is none */
    uint64_t digest;        /* of what is read: another one is another task; 0: unknown, or samples are drawn */
    size_t trained, within; /* tokens of the longest training input, 0: unknown; of a set those inputs that have more
                               than half of so many, and no more, 0: all */
    size_t pieces, most_pieces; /* with a pretrained encoder its vocabulary, and the most word pieces of a sample */
    alignas(max_align_t) unsigned char of_kind[LAB_KIND_ROOM];
} lab_task_options;

/* The trees that tokens are nodes of, for all tokens of a packed set or batch. A token's parent stands before it.
 * Several tokens may stand at one node: an expression's closing bracket stands where its operator does. */
typedef struct lab_tree_nodes {
    int32_t *parents;  /* index of the parent among the tokens of the same sample; −1: the root */
    int32_t *branches; /* 1 … arity: which child of its parent it is; 0: it stands at its parent's node, or the root */
} lab_tree_nodes;

/* Images as bytes, [count, channels, side, side]: red, green, blue planes, row by row. */
typedef struct lab_images {
    size_t count, channels, side, classes;
    uint8_t *pixels;
    uint8_t *labels;                /* [count], below classes */
    const char *const *class_names; /* [classes]; static, or the set's own */
} lab_images;

/* Sequences of tokens for a decoder, made or read when they are asked for. */
typedef struct lab_sequences {
    uint64_t count; /* UINT64_MAX: as many as one likes */
    size_t length;  /* tokens of a sequence; the last one of a text may have fewer, but 2 */
    /* Writes sequence `index` into `tokens` (room for `length`) and returns how many they are. A function of the index
     * alone, never fails, may be called by several threads at once. NULL: there are no sequences. */
    size_t (*read)(const struct lab_sequences *sequences, uint64_t index, int32_t *tokens);
    void (*release)(struct lab_sequences *sequences); /* of `source`; NULL: nothing to do */
    void *source;
    double bytes_per_token; /* text: bytes that a token that is predicted stands for, on the whole set; else 0 */
} lab_sequences;

typedef struct lab_dataset {
    size_t samples;                         /* of sequences: as many as are read of them */
    size_t *input_offsets, *target_offsets; /* [samples + 1]; NULL: samples have no such tokens */
    int32_t *input, *target;
    lab_tree_nodes input_tree, target_tree; /* NULLs: tokens are no nodes of trees */
    lab_images images;                      /* pixels NULL: samples are no images */
    int32_t *labels;                        /* [samples], the classes of inputs; NULL: they have none */
    lab_sequences sequences;
    char **names; /* [name_count], what tokens are written as, or the classes of images; NULL: the set does not say */
    size_t name_count;
    bool joined;       /* tokens are written without a space between them */
    int32_t *children; /* [name_count], of trees: how many each token has as a node of an output; NULL: it varies */
    size_t longest;    /* most tokens of an output, where targets are not known; else 0 */
} lab_dataset;

typedef struct lab_task lab_task;
typedef struct lab_task_class lab_task_class;

/* Random streams of the data: + the set. A kind that draws otherwise has a purpose of its own. */
#define LAB_PURPOSE_DATA (LOCUS_RANDOM_USER + 0x1000u)

/* What is asked of a task's generator. */
typedef struct lab_draw {
    const lab_task *task;
    const lab_task_options *options;
    lab_set which;
    size_t samples; /* drawn from `seed`; of what is read from a file the first of the set, 0: all of them */
    uint64_t seed;
} lab_draw;

/* Fills an empty set. What it has allocated before a failure stays in the set. */
typedef locus_status lab_draw_function(lab_dataset *set, const lab_draw *draw, locus_error *error);
/* How many children the output token `symbol` has, given the sample's input; any symbol is answered. */
typedef size_t lab_children_function(const lab_task_options *options, size_t n, const int32_t *input, int32_t symbol);

struct lab_task {
    const char *name;    /* "copy" */
    const char *summary; /* "w → w" */
    const lab_task_class *class;
    const void *published;                    /* the kind's own options as published; NULL: all are 0 */
    const void *rule;                         /* what the class alone knows of the task; may be NULL */
    bool solved;                              /* problems that have an answer, so that decoding can solve them */
    const char *const *class_names;           /* of images whose classes do not depend on the data; else NULL */
    const char *characters;                   /* what each token is written as; NULL: tokens are no characters */
    const struct lab_published_set *download; /* that it reads; NULL: there is nothing to download */
    /* Samples; checks the options of its kind. NULL: it has sequences only. */
    lab_draw_function *generate;
    /* set->sequences and set->samples; 0 samples are asked for: all that there are, or without end. NULL: samples
     * only. */
    lab_draw_function *open_sequences;
    /* NULL: outputs are no trees, or the set says how they grow. */
    lab_children_function *children;
};

/* The most tokens of a sample; `offsets` [samples + 1], NULL: none has any. */
size_t lab_longest(size_t samples, const size_t *offsets);

/* Draws, or reads, samples of a set; sample or sequence i of a synthetic set depends on (options, seed, set, i)
 * only. */
locus_status lab_dataset_generate(lab_dataset *set, const lab_draw *draw, locus_error *error);
/* The sequences that a decoder is trained and scored on: problems and text have them. */
locus_status lab_dataset_sequences(lab_dataset *set, const lab_draw *draw, locus_error *error);
void lab_dataset_destroy(lab_dataset *set);

/* What guessing scores: of words and trees the share of the most common target token (the end token of words counts),
 * else of the most common class. 0 of sequences. Not for problems, which it would give an end token. */
double lab_dataset_chance(const lab_dataset *set, size_t vocabulary);
/* The share of the most common one of the target tokens and so many end tokens. */
double lab_dataset_common(const lab_dataset *set, size_t vocabulary, size_t ends);

#endif
