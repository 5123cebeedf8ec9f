/* SPDX-License-Identifier: MIT */
/* Samples of one's own as the lines of files have them: labelled sequences (labelled.h) and pairs (pairs.h). Ids or
 * texts, and where they have paths the trees that their tokens are nodes of. */
#ifndef LAB_OWN_ROWS_H
#define LAB_OWN_ROWS_H

#include "io/fail.h"
#include "task/own/own_text.h"
#include "task/own/word_index.h"

struct cJSON;

enum { LAB_OWN_INPUT = 0, LAB_OWN_TARGET = 1 };

/* One side of a sample. */
typedef struct lab_own_side {
    char *text; /* its bytes; of ids NULL */
    size_t bytes;
    int32_t *ids;                /* NULL: it is text */
    size_t count;                /* tokens */
    int32_t *parents, *branches; /* [count], as lab_tree_nodes has them; NULL: it is a sequence */
    unsigned orders;             /* of trees: those (1 << lab_order) in which their nodes stand */
} lab_own_side;

typedef struct lab_own_row {
    lab_own_side sides[2]; /* target: of pairs */
    char *label;           /* of labelled sequences */
    size_t line;           /* in its file, from 1 */
    lab_set set;
    const char *path; /* the caller's */
} lab_own_row;

enum { LAB_OWN_LEFT_OUT = LAB_SET_TEST + 1 }; /* the set of rows that are in none */

/* How a line becomes a row. */
typedef struct lab_own_form {
    const char *what; /* such rows: "pairs" */
    locus_status (*object)(lab_own_row *row, const struct cJSON *root, lab_token_kind kind, locus_error *error);
    /* Of files that end in .tsv. NULL: they are JSON, too. */
    locus_status (*tabbed)(lab_own_row *row, const char *line, size_t bytes, lab_token_kind kind, locus_error *error);
} lab_own_form;
extern const lab_own_form lab_labelled_form, lab_pair_form;

/* Empty but for the first two. All rows are texts or all are ids, all sequences or all trees. */
typedef struct lab_own_rows {
    const lab_own_form *form;
    lab_token_kind kind; /* how texts are cut */
    lab_own_row *rows;
    size_t count, room;
    bool ids, trees;
} lab_own_rows;

/* Appends the rows of a file, as rows of that set. IO, with the line: what is wrong with it. */
locus_status lab_own_rows_read(lab_own_rows *rows, const char *path, lab_set set, locus_error *error);
/* The rows of a training's files: those of sets without one are parts of the first. */
locus_status lab_own_rows_train(lab_own_rows *rows, const lab_task_options *options, uint64_t seed, locus_error *error);
void lab_own_rows_free(lab_own_rows *rows);

size_t lab_own_rows_count(const lab_own_rows *rows, lab_set set);
/* Leaves rows of the drawn set out, of no set from then on, if less are wanted than there are. */
void lab_own_rows_choose(lab_own_rows *rows, const lab_draw *draw, size_t wanted);
/* How many rows of the development and test set have an input that is in the training set, too. */
locus_status lab_own_rows_shared(const lab_own_rows *rows, size_t shared[3], locus_error *error);

/* "'F.jsonl', line 3: <what>". IO. */
LAB_PRINTF(3, 4)
locus_status lab_own_fail(const lab_own_row *row, locus_error *error, const char *format, ...);

/* ---- sides ---- */

/* Copies a text and counts its tokens; false: no memory. */
bool lab_own_take_text(lab_own_side *side, const char *text, size_t bytes, lab_token_kind kind);
/* The numbers of an array, the value of "<name>". */
locus_status lab_own_take_ids(lab_own_row *row, size_t which, const char *name, const struct cJSON *array,
                              locus_error *error);
/* An input as it is typed: a text or, with `ids`, numbers between spaces, "3 0 7", from the least to the most.
 * ARGUMENT, about "input". */
typedef struct lab_own_ids {
    size_t least, most;
} lab_own_ids;
locus_status lab_own_typed(lab_own_side *side, const char *text, lab_token_kind kind, const lab_own_ids *ids,
                           locus_error *error);

/* ---- tokens: a start token, one for what is unknown, then words, bytes or ids ---- */

enum { LAB_OWN_UNKNOWN = 1, LAB_OWN_FIRST = 2, LAB_OWN_BYTE_VALUES = 256 };

/* Adds the words of a text, unless its tokens are bytes; false: no memory. */
bool lab_own_learn(lab_word_index *words, lab_token_kind kind, const lab_own_side *side);
/* Of texts. */
size_t lab_own_vocabulary(const lab_word_index *words, lab_token_kind kind);
/* Writes a side's tokens ([side->count]; NULL: none are written; id 0 is token `first_id`) and returns how many of them
 * are unknown. */
size_t lab_own_encode(const lab_word_index *words, lab_token_kind kind, size_t first_id, const lab_own_side *side,
                      int32_t *tokens);

#endif
