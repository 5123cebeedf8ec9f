/* SPDX-License-Identifier: MIT */
/* Problems in characters, for a decoder: the tasks of RoPER (Harik and Jayasiri, Rotary Positional Embeddings with
 * Relative distances, 2022). The formats are the paper's, to the letter.
 *
 *   addition          ?d=66623+401; 3e0+1e0+0e0==4e0 and … and 6e4+0e4+0e4==6e4 and d==67024#
 *                     place by place from the last digit: both digits, the carry, their sum. There are as many places
 *                     as the longer number has digits, and one more where a carry is left over:
 *                     ?d=5+7; 5e0+7e0+0e0==12e0 and 0e1+0e1+1e1==1e1 and d==12#
 *   substring-index   ?s='dyjeofuxvejmg'; s[8:]=='vejmg'#
 *   substring-search  [random]>[substring][random]>[substring]…, without problems of their own: one sequence
 *
 * A problem's prompt ends where a solution begins: after "; ", or after the quotation mark that opens the suffix.
 * Tokens are characters: token t is lab_task.characters[t]. */
#ifndef LAB_PROBLEM_H
#define LAB_PROBLEM_H

#include "task/task.h"

#include <stdint.h>

#define LAB_PROBLEM_MOST_DIGITS 18   /* so that sums fit 64 bits */
#define LAB_PROBLEM_MOST_STRING 4096 /* characters of a string */
#define LAB_PROBLEM_LETTERS 26

/* Problems for a decoder, laid end to end in sequences, all but whose last token are read. What a task of them does not
 * have is 0. */
typedef struct lab_problem_options {
    double length_mean, length_deviation; /* of the strings of substring-index and the pieces of substring-search */
    size_t symbols;                       /* letters of the substring tasks */
    size_t digits;                        /* addition: of the longest numbers */
    bool same_digits;                     /* addition: all numbers have as many */
    size_t sequence;                      /* tokens */
} lab_problem_options;
#define LAB_PROBLEMS(options) LAB_OF_KIND(lab_problem_options, options)

/* Sets of single problems, and of sequences. */
lab_draw_function lab_problem_generate_addition, lab_problem_generate_index, lab_problem_generate_search;
lab_draw_function lab_problem_open_addition, lab_problem_open_index, lab_problem_open_search;

typedef struct lab_problem {
    size_t prompt, length;                       /* characters of the prompt, and of all */
    char text[2 * LAB_PROBLEM_MOST_STRING + 64]; /* with a 0 at its end */
} lab_problem;

/* Both numbers have at most LAB_PROBLEM_MOST_DIGITS digits. */
void lab_problem_addition(lab_problem *problem, uint64_t first, uint64_t second);
/* `string` has 1 … LAB_PROBLEM_MOST_STRING characters; index is below that. */
void lab_problem_index(lab_problem *problem, const char *string, size_t index);

/* The token of a character; −1: the task has no such one. */
int32_t lab_problem_token(const lab_task *task, const lab_task_options *options, char character);
/* Writes the tokens of a text into `tokens`, which has room for strlen(text), as many as are written. ARGUMENT, about
 * "prompt", names the first character that the task doesn't have, and those that it has. */
locus_status lab_problem_encode(const lab_task *task, const lab_task_options *options, const char *text,
                                int32_t *tokens, locus_error *error);
/* Writes `count` characters and a 0; '?' stands for what is no token. */
void lab_problem_decode(const lab_task *task, const int32_t *tokens, size_t count, char *text);

#endif
