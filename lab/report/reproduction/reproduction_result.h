/* SPDX-License-Identifier: MIT */
/* The measured table: what a store has of the trainings behind it. */
#ifndef LAB_REPRODUCTION_RESULT_H
#define LAB_REPRODUCTION_RESULT_H

#include "report/reproduction/reproduction.h"
#include "report/tables/learning.h"
#include "report/tables/summary.h"

typedef struct lab_field {
    lab_statistic accuracy, exact, greedy_exact, loss, perplexity; /* over seeds, of finished runs, on the test set */
    size_t done, of;                                               /* runs */
    bool dropped;          /* the worst seed by the column's measure is in none of these statistics */
    lab_learning learning; /* of all finished runs, by the column's measure */
} lab_field;

typedef struct lab_result {
    lab_field fields[LAB_MOST_SCHEMES][LAB_MOST_COLUMNS];
    double chance[LAB_MOST_COLUMNS];  /* what always giving the most common answer scores; 0: unknown, or no share */
    double uniform[LAB_MOST_COLUMNS]; /* expressions: what drawing one of the classes scores; else 0 */
    size_t samples[LAB_MOST_COLUMNS]; /* of the test set; problems: those that are decoded; 0: unknown */
    size_t done, of, failed;          /* trainings */
    double wall_seconds, peak_bytes;  /* of the finished trainings: all, and the largest */
    char machine[160], version[160];  /* the distinct ones, joined */
    char began[24], ended[24];        /* of the first and the last; "" if none */
    char asked[160]; /* how many seeds the commands that trained them asked for, if not all alike: "2; 3"; else "" */
    int64_t runs[LAB_MOST_SCHEMES * LAB_MOST_COLUMNS * LAB_MOST_SEEDS]; /* ids of what there is, finished or not */
    size_t run_count;
} lab_result;

/* Reads the store (NULL: there is none yet; everything is missing). About 300 KiB: not for the stack. */
locus_status lab_result_read(lab_result *result, const lab_reproduction *table, lab_store *store, locus_error *error);
/* Whether the table follows from a run: it is one of its trainings, or one of the longer ones that say who is still
 * learning. */
bool lab_result_uses(const lab_result *result, int64_t run);
/* What a column is about, of one of its fields: accuracy, the share that is decoded exactly, loss, perplexity. */
const lab_statistic *lab_field_score(const lab_field *field, lab_measure measure);
/* The same of a field by the measure of its column. */
const lab_statistic *lab_result_score(const lab_result *result, const lab_reproduction *table, size_t row,
                                      size_t column);

/* What guessing scores in each column, from its own test data; images: one in their classes. Does not need a store. */
locus_status lab_result_chance(lab_result *result, const lab_reproduction *table, locus_error *error);

#endif
