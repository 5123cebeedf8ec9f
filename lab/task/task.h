/* SPDX-License-Identifier: MIT */
/* Tasks: sources of samples. A data set is packed: tokens end to end with offsets, no padding. What differs between
 * the kinds of tasks is asked of their classes (task_class.h).
 *
 * Words and trees: (input, target). Symbols are numbered from 1 and 0 is the start token. Words end with an end token,
 * vocabulary − 1; trees have none, they are over when no child is open. Sets hold neither start nor end tokens.
 * Images: pixels and classes; there are no tokens.
 * Problems: characters for a decoder. A sample is one problem: input the prompt, target the rest of it. Training reads
 * sequences instead, problems laid end to end. No start or end tokens.
 * Text: sequences only, windows of a token file.
 * Own pairs: as words or trees (own/pairs.h).
 * Expressions: input and a class. Symbols are numbered from 1 and 0 is the start token, with which each sample's input
 * begins: a classifier reads inputs as they are. */
#ifndef LAB_TASK_H
#define LAB_TASK_H

#include <locus/status.h>
#include <stdbool.h>
#include <stdio.h>

typedef enum lab_set { LAB_SET_TRAIN = 0, LAB_SET_DEV = 1, LAB_SET_TEST = 2 } lab_set;
/* In which order the nodes of an output tree are written: level by level, or each node before its children, first child
 * first. Inputs are always read level by level. */
typedef enum lab_order { LAB_ORDER_BREADTH = 0, LAB_ORDER_DEPTH = 1 } lab_order;

/* What is asked of an expression: its value, one of ten classes, or whether that is odd. */
typedef enum lab_asked { LAB_ASKED_DIGIT = 0, LAB_ASKED_PARITY = 1 } lab_asked;

/* Words of length max(1, ⌊N(mean, deviation)⌋) over an alphabet. */
typedef struct lab_word_options {
    double length_mean, length_deviation;
    size_t symbols; /* 20 as published */
} lab_word_options;

/* Trees of depth max(0, ⌊N(mean, deviation)⌋); a leaf has depth 0. */
typedef struct lab_tree_options {
    double depth_mean, depth_deviation;
    size_t symbols; /* leaves and operators, as each task's own table says (20, 4, 128) */
    size_t arity;   /* children of an inner node, 2 as published */
    lab_order order;
} lab_tree_options;

/* Problems for a decoder, laid end to end in sequences, all but whose last token are read. What a task of them does not
 * have is 0. */
typedef struct lab_problem_options {
    double length_mean, length_deviation; /* of the strings of substring-index and the pieces of substring-search */
    size_t symbols;                       /* letters of the substring tasks */
    size_t digits;                        /* addition: of the longest numbers */
    bool same_digits;                     /* addition: all numbers have as many */
    size_t sequence;                      /* tokens */
} lab_problem_options;

typedef struct lab_text_options {
    size_t symbols;  /* the token files' vocabulary */
    size_t sequence; /* tokens of a window, all but the last of which are read */
} lab_text_options;

typedef struct lab_expression_options {
    size_t depth;             /* operators stand at depths 1 … depth − 1 */
    size_t arguments;         /* the most that an operator has */
    size_t shortest, longest; /* lengths lie between them, both excluded */
    lab_asked asked;
} lab_expression_options;

/* What texts of one's own are cut into; or there are no texts. */
typedef enum lab_token_kind {
    LAB_TOKENS_WORDS = 0,
    LAB_TOKENS_CHARACTERS = 1,
    LAB_TOKENS_BYTES = 2,
    LAB_TOKENS_IDS = 3 /* pairs: found in the files, never asked for */
} lab_token_kind;

/* What follows is 0 until the files have been looked at. */
typedef struct lab_labelled_options {
    lab_token_kind tokens;
    size_t symbols, classes; /* of the training set */
} lab_labelled_options;

typedef struct lab_pair_options {
    lab_token_kind tokens;
    size_t symbols;  /* the model's vocabulary */
    size_t arity;    /* of trees the most children; else 0 */
    lab_order order; /* of targets that are trees */
} lab_pair_options;

typedef struct lab_picture_options {
    size_t side; /* that pictures are brought to; 0: they are as they are */
    size_t classes;
} lab_picture_options;

typedef struct lab_task_options {
    const char *path; /* the folder, archive or file that is read; borrowed. NULL: the task's own place, or drawn */
    const char *dev, *test; /* own data: where these sets are; borrowed. NULL: they are parts of the first one */
    const char *kept;       /* the folder of a run that keeps what its data need; borrowed. NULL: there is none */
    uint64_t digest;        /* of what text and expressions are read from: another one is another task; else 0 */
    size_t trained, within; /* own sequences: tokens of the longest training input, 0: unknown; of a set those inputs
                                   that have more than half of so many, and no more, 0: all */
    size_t pieces, most_pieces; /* with a pretrained encoder its vocabulary, and the most word pieces of a sample */
    union {                     /* of the task's kind */
        lab_word_options words;
        lab_tree_options trees;
        lab_problem_options problems;
        lab_text_options text;
        lab_expression_options expressions;
        lab_labelled_options labelled;
        lab_pair_options pairs;
        lab_picture_options pictures;
    };
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
    size_t *input_offsets, *target_offsets; /* [samples + 1]; NULL for images and sequences; targets only of pairs */
    int32_t *input, *target;
    lab_tree_nodes input_tree, target_tree; /* NULLs unless tokens are nodes of trees */
    lab_images images;                      /* pixels NULL unless they are images */
    int32_t *labels;                        /* [samples] of expressions; else NULL */
    lab_sequences sequences;
    /* Own data; else NULL. */
    char **names; /* [name_count], of pairs what each token is written as, of pictures the classes */
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
    lab_task_options published;               /* the options as published */
    bool solved;                              /* problems that have an answer, so that decoding can solve them */
    const char *const *class_names;           /* images: of each class; else NULL */
    const char *characters;                   /* problems: of each token; else NULL */
    const struct lab_published_set *download; /* that it reads; NULL: there is nothing to download */
    /* Samples; checks the options of its kind. Text: NULL, it has sequences only. */
    lab_draw_function *generate;
    /* Problems and text: set->sequences and set->samples; 0 samples are asked for: all of a text, endless problems.
     * Else NULL. */
    lab_draw_function *open_sequences;
    /* Words: writes the target of one input word into `target` (room for the length that is returned), or NULL to ask
     * for the length only. */
    size_t (*transform)(size_t n, const int32_t *input, int32_t *target);
    lab_children_function *children; /* trees; else NULL */
};

/* As published. copy, reverse, repeat: length N(100,10), 20 symbols. Trees: depth N(7,1), arity 2, breadth first. */
lab_task_options lab_task_default(const lab_task *task);

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
