/* SPDX-License-Identifier: MIT */
/* Runs of a store gathered into tables: one section for each (task, budget, set-up, embedding initialisation, and
 * all that a configuration holds besides seed and encoding), one row for each encoding, one value for each seed.
 * Sections are never mixed. Only finished runs count. Used by the page, by the terminal's tables and by JSON. */
#ifndef LAB_SUMMARY_H
#define LAB_SUMMARY_H

#include "train/store.h"
#include <stdbool.h>

/* One quantity over the seeds of a row. */
typedef struct lab_statistic {
    size_t count;           /* seeds that have it; 0: nobody */
    double mean, deviation; /* deviation over seeds with n − 1; 0 for one seed */
    double half_width;      /* of the 95 % confidence interval of the mean, t·s/√n; infinite for one seed */
} lab_statistic;

#define LAB_SUMMARY_MAX_LENGTHS 16

typedef struct lab_summary_row {
    const char *encoding;
    size_t run_count; /* all of them, finished or not */
    const lab_run **runs;
    size_t done;                                       /* finished */
    lab_statistic accuracy, exact, greedy_exact, loss; /* on the test set, teacher-forced; shares in [0, 1] */
    lab_statistic steps_to_99;                         /* over the seeds that got there */
    lab_statistic tokens_per_second, wall_seconds, peak_bytes, parameters;
    lab_statistic at_length[LAB_SUMMARY_MAX_LENGTHS]; /* accuracy on test sets of the section's other lengths */
    lab_statistic greedy_at_length[LAB_SUMMARY_MAX_LENGTHS];
    bool has_published;
    double published, published_deviation; /* token accuracy in [0, 1] at budget paper; deviation < 0: not printed */
} lab_summary_row;

typedef struct lab_summary_section {
    const char *task, *budget, *setup, *embedding_init;
    const char *config;    /* JSON of its first run: what all runs of a section share, but seed and encoding */
    char data[160];        /* "words of length N(24, 2.4) over 20 symbols" if the runs say so, else "" */
    double trained_length; /* mean length of the training words; 0: unknown */
    size_t lengths[LAB_SUMMARY_MAX_LENGTHS], length_count; /* further mean lengths tested, ascending */
    lab_summary_row *rows;
    size_t row_count;
} lab_summary_section;

typedef struct lab_summary {
    lab_summary_section *sections;
    size_t section_count;
    lab_run *runs; /* all runs chosen */
    size_t run_count;
} lab_summary;

/* Which runs. NULL or 0: all. */
typedef struct lab_summary_filter {
    const char *task, *budget, *setup, *embedding_init;
    const int64_t *runs; /* only these ids */
    size_t run_count;
} lab_summary_filter;

locus_status lab_summary_create(lab_summary *summary, lab_store *store, const lab_summary_filter *filter,
                                locus_error *error);
void lab_summary_free(lab_summary *summary);

/* The sections as JSON: {"sections": [{"task": …, "rows": [{"encoding": …, "accuracy": {"mean": …}, …}]}]}. A
 * statistic that no seed has is null. NULL: out of memory. Release with cJSON_Delete. */
struct cJSON *lab_summary_json(const lab_summary *summary);

/* Mean, deviation and t interval of `count` values. */
lab_statistic lab_statistic_of(const double *values, size_t count);
/* Quantile of Student's t for a two-sided 95 % interval. */
double lab_student_95(size_t degrees);
/* The 95 % intervals of two means touch: the numbers do not separate them. Needs two seeds each, else it is true. */
bool lab_statistic_overlap(const lab_statistic *a, const lab_statistic *b);

#endif
