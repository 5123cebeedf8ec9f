/* SPDX-License-Identifier: MIT */
/* ListOps (Nangia and Bowman 2018) as Long Range Arena (Tay et al. 2021) draws and writes it: nested operators over
 * digits, whose value is a digit.
 *
 *   text      ( ( ( [MAX 2 ) ( ( ( [MIN 4 ) 7 ) ] ) ) ] )        [SM is the sum mod 10, [MED the median, cut
 *   tokens    ^  [MAX  2  [MIN  4  7  ]  ]                        ^ is the start token; round brackets are dropped
 *   parents  −1   0    1   1    3  3  3  1
 *   branches  0   0    1   2    1  2  0  0                        0: at the parent's own node
 *   paths     0   0    1   2  2+1 2+2 2  0
 *
 * Lengths are counted without the start token. An expression may be a single digit.
 *
 * Random expressions: a node at depth d < D (the outermost has 1) is an operator with probability 1/4, else a digit; at
 * depth D it is a digit. An operator has 2 … K arguments, all numbers as probable, and is one of the four. Expressions
 * whose length does not lie between the bounds, both excluded, are drawn again.
 *
 * No function here recurses: files may nest as deep as they like. */
#ifndef LAB_LISTOPS_H
#define LAB_LISTOPS_H

#include "task/task.h"

enum {
    LAB_LISTOPS_START = 0,
    LAB_LISTOPS_ZERO = 1, /* digit d is token ZERO + d */
    LAB_LISTOPS_MIN = 11,
    LAB_LISTOPS_MAX,
    LAB_LISTOPS_MED,
    LAB_LISTOPS_SM,
    LAB_LISTOPS_END,
    LAB_LISTOPS_TOKENS
};

extern const char *const lab_listops_texts[LAB_LISTOPS_TOKENS];

static inline bool lab_listops_is_operator(int32_t token) {
    return token >= LAB_LISTOPS_MIN && token <= LAB_LISTOPS_SM;
}

/* ---- options ---- */

/* What is asked of an expression: its value, one of ten classes, or whether that is odd. */
typedef enum lab_asked { LAB_ASKED_DIGIT = 0, LAB_ASKED_PARITY = 1 } lab_asked;
extern const char *const lab_asked_names[]; /* by lab_asked, ends with NULL */

typedef struct lab_expression_options {
    size_t depth;             /* operators stand at depths 1 … depth − 1 */
    size_t arguments;         /* the most that an operator has */
    size_t shortest, longest; /* lengths lie between them, both excluded */
    lab_asked asked;
} lab_expression_options;
#define LAB_EXPRESSIONS(options) LAB_OF_KIND(lab_expression_options, options)

/* The seed's sizes (the published defaults) and Long Range Arena's own. */
typedef struct lab_listops_preset {
    const char *name; /* "seed", "lra" */
    size_t depth, arguments, shortest, longest;
    size_t samples[3]; /* by lab_set */
} lab_listops_preset;
enum { LAB_LISTOPS_PRESETS = 2 };
extern const lab_listops_preset lab_listops_presets[LAB_LISTOPS_PRESETS];
/* Sets the four sizes; all else stays. */
void lab_listops_preset_apply(const lab_listops_preset *preset, lab_task_options *options);

#define LAB_LISTOPS_MOST_DEPTH 256
#define LAB_LISTOPS_MOST_ARGUMENTS 1000
#define LAB_LISTOPS_MOST_LENGTH 1000000

/* Draws the set, or reads it from options->path. */
lab_draw_function lab_listops_generate;

/* ---- structure and value ---- */

typedef enum lab_listops_flaw {
    LAB_LISTOPS_FINE = 0,
    LAB_LISTOPS_EMPTY,       /* there is no expression */
    LAB_LISTOPS_BEHIND,      /* something follows the expression's end */
    LAB_LISTOPS_STRAY_END,   /* a closing bracket closes no operator */
    LAB_LISTOPS_NO_ARGUMENT, /* an operator has none */
    LAB_LISTOPS_UNCLOSED     /* an operator is not closed */
} lab_listops_flaw;

/* An operator that is being read. */
typedef struct lab_listops_frame {
    int32_t operator_at, operation; /* index of its token, and the token */
    int32_t arguments;
    int32_t sum;        /* of them, mod 10 */
    int32_t counts[10]; /* arguments of each value */
} lab_listops_frame;

/* What a walk through tokens finds: the first flaw, and at which token it stands; or the value, the most operators
 * that are open at once, and the most arguments of one. */
typedef struct lab_listops_findings {
    lab_listops_flaw flaw;
    size_t at;
    int32_t value;
    size_t depth, arguments;
} lab_listops_findings;

/* Walks through `n` tokens, the start token first, and fills parents and branches [n]. `frames` has room for as many
 * operators as are open at once, n at most. */
lab_listops_findings lab_listops_walk(size_t n, const int32_t *tokens, int32_t *parents, int32_t *branches,
                                      lab_listops_frame *frames);

/* ---- text ---- */

/* The text of a sample (start token first) with its nodes, from malloc; NULL: out of memory. */
char *lab_listops_string(size_t n, const int32_t *tokens, const int32_t *parents, const int32_t *branches);

/* One sample as it is read, and room to read it in. {0} is empty; the same one serves one line after another. */
typedef struct lab_listops_reader {
    int32_t *tokens, *parents, *branches; /* [count] */
    size_t count;
    lab_listops_findings found;
    size_t room;
    lab_listops_frame *frames;
    size_t frame_room;
} lab_listops_reader;

/* Reads an expression's text: with all its round brackets or with none. SPEC with the offset of what is wrong: an
 * unknown word, brackets that don't pair, an operator without arguments. */
locus_status lab_listops_read(lab_listops_reader *reader, const char *text, locus_error *error);
void lab_listops_reader_destroy(lab_listops_reader *reader);

/* ---- drawing ---- */

/* Where in its sample's stream of random numbers an expression lies. */
typedef struct lab_listops_shape {
    uint64_t first; /* number of the word that it begins with */
    size_t length;  /* of its tokens, without the start token; 0: none was found */
    uint64_t trees; /* expressions that were drawn for it, itself included */
} lab_listops_shape;

/* Finds the shape of sample i of a set: a function of (seed, set, i, sizes) alone. Gives up after 2²⁶ words. */
lab_listops_shape lab_listops_shape_draw(const lab_expression_options *sizes, uint64_t seed, lab_set set,
                                         uint32_t sample);
/* Writes its tokens, shape->length + 1 of them, the start token first. */
void lab_listops_shape_fill(const lab_expression_options *sizes, const lab_listops_shape *shape, uint64_t seed,
                            lab_set set, uint32_t sample, int32_t *tokens);

/* ---- sets of what is read ---- */

/* A set that grows. {0} but for the first three; the set starts empty. The reader is to be destroyed afterwards. */
typedef struct lab_listops_builder {
    lab_dataset *set;
    lab_asked asked;
    size_t arguments; /* the most that an operator may have */
    lab_listops_reader reader;
    size_t token_room, sample_room;
} lab_listops_builder;

/* Appends an expression whose class is written down: its value, or, where parity is asked for, its value or its parity.
 * SPEC: what is wrong with the expression; IO: the class is another one, an operator has too many arguments. */
locus_status lab_listops_append(lab_listops_builder *builder, const char *text, int32_t told, locus_error *error);

/* ---- files ---- */

/* Text with a header "Source<tab>Target", a line for each sample, lines ended by CRLF as csv writers do it. The class
 * is the sample's label. */
locus_status lab_listops_write(FILE *stream, const lab_dataset *set, locus_error *error);

/* Reads set->samples lines at most (0: all; fewer than asked for is an error) of options->path: a file, or a folder
 * with basic_train.tsv, basic_val.tsv, basic_test.tsv. Lines end in LF or CRLF. Every expression is evaluated and held
 * against its Target, as lab_listops_append does. IO: what is wrong with which line. */
locus_status lab_listops_load(lab_dataset *set, const lab_draw *draw, locus_error *error);

/* Whether a path is such a folder: a single file is the same for all three sets, so that nothing can be trained on
 * it. */
bool lab_listops_has_sets(const char *path);

/* Of the content of such a file, or of a folder's three; never 0. */
locus_status lab_listops_digest(const char *path, uint64_t *digest, locus_error *error);

#endif
