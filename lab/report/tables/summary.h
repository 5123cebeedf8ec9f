/* SPDX-License-Identifier: MIT */
/* Runs of a store gathered into tables: one section for each (task, budget, set-up, embedding initialisation, and
 * all that a configuration holds besides seed and encoding), one row for each encoding, one value for each seed.
 * Sections are never mixed. Only finished runs count. Used by the page, by the terminal's tables and by JSON. */
#ifndef LAB_SUMMARY_H
#define LAB_SUMMARY_H

#include "report/tables/published.h"
#include "report/tables/shown.h"
#include "report/tables/statistic.h"
#include "task/measure.h"
#include "task/task_class.h"
#include "train/store/store.h"

#define LAB_SUMMARY_MAX_LENGTHS 16
#define LAB_SUMMARY_MAX_BINS 32
#define LAB_SUMMARY_MAX_SCORES 8

/* Trees of one depth, or of so many nodes. */
typedef struct lab_summary_bin {
    size_t low, high; /* both included; high is SIZE_MAX where there is no bound */
    size_t samples;   /* of the test set, the most that any run scored */
} lab_summary_bin;

typedef struct lab_summary_bins {
    size_t count;
    lab_summary_bin bins[LAB_SUMMARY_MAX_BINS]; /* ascending */
} lab_summary_bins;

/* The scores of a row in one bin: means over seeds, each seed weighted by its samples. */
typedef struct lab_summary_bin_score {
    lab_statistic scores[LAB_BIN_MEASURES];
} lab_summary_bin_score;

typedef struct lab_summary_row {
    const char *encoding;
    size_t colour;    /* of the encoding, everywhere: lab_encoding_colour() */
    size_t mark;      /* its number in the summary: dash and markers of its lines, the same in all sections */
    size_t run_count; /* all of them, finished or not */
    const lab_run **runs;
    size_t done;                                  /* finished */
    lab_statistic scores[LAB_SUMMARY_MAX_SCORES]; /* on the test set, by the columns of the section's class */
    lab_statistic steps_to_99;                    /* over the seeds that got there */
    lab_statistic tokens_per_second, wall_seconds, peak_bytes, parameters;
    lab_statistic at_length[LAB_SUMMARY_MAX_LENGTHS]; /* accuracy on test sets of the section's other lengths */
    lab_statistic greedy_at_length[LAB_SUMMARY_MAX_LENGTHS];
    lab_statistic drawn_at_length[LAB_LENGTH_PANELS][LAB_SUMMARY_MAX_LENGTHS]; /* what the class draws against them */
    lab_summary_bin_score *at_depth, *at_nodes; /* trees, expressions: [depths.count], [nodes.count]; else NULL */
    const lab_published *published[LAB_SPANS];  /* by lab_span; NULL: nothing is */
} lab_summary_row;

typedef struct lab_summary_section {
    const char *task, *budget, *setup, *embedding_init;
    const lab_task_class *class; /* of an unknown task: words */
    size_t lead;                 /* the column of the class that its tables are about */
    lab_measure measure;         /* of that */
    lab_order order;             /* trees */
    const char *variant;         /* static; NULL: none */
    bool unpublished;            /* nothing is published of such data, whatever the task's name */
    char title[64];              /* the task's name, of trees with its order, of expressions with what is asked:
                              "tree-copy, depth first", "listops, parity", "listops, digit, pretrained" */
    char apart[160];       /* "rate 0.0003, layers 2": in what it differs from others of the same name; "": nothing */
    const char *config;    /* JSON of its first run: what all runs of a section share, but seed and encoding */
    char scales[80];       /* ", positions times √D, logits over √D, bfloat16 products", behind the embedding's
                        initialisation; "": none of them */
    char data[160];        /* "words of length N(24, 2.4) over 20 symbols", "binary trees of depth N(5, 1), 20 symbols",
                              "CIFAR-10, 50,000 training images" if the runs say so, else "" */
    char note[64];         /* behind these where a task is described: "read and written level by level" */
    double trained_length; /* size of the training samples by the class's axis of lengths; 0: unknown */
    size_t lengths[LAB_SUMMARY_MAX_LENGTHS], length_count; /* further sizes tested; ascending */
    bool more_lengths;                                     /* there are larger ones, for which there is no room */
    lab_summary_bins depths, nodes;                        /* trees; of expressions nodes are tokens */
    double chance, majority; /* expressions: what one of the classes, and the most common one, scores; 0: unknown */
    uint64_t epoch_steps;    /* images: steps of an epoch; 0: unknown */
    double epochs;           /* images: of a whole training; 0: unknown */
    lab_summary_row *rows;
    size_t row_count;
} lab_summary_section;

typedef struct lab_summary {
    lab_summary_section *sections;
    size_t section_count;
    lab_run *runs; /* all runs chosen, and behind them the others of the store */
    size_t run_count, store_count;
} lab_summary;

/* Which runs. NULL or 0: all. */
typedef struct lab_summary_filter {
    const char *task, *budget, *setup, *embedding_init;
    const int64_t *runs; /* only these ids, in this order */
    size_t run_count;
} lab_summary_filter;

locus_status lab_summary_create(lab_summary *summary, lab_store *store, const lab_summary_filter *filter,
                                locus_error *error);
void lab_summary_free(lab_summary *summary);

/* Whether a finished run of the section ran while another run of the store did, on the same kind of machine: then its
 * times and speeds may be those of a shared machine. The second says which. */
bool lab_summary_ran_beside(const lab_summary *summary, const lab_summary_section *section, const lab_run **run,
                            const lab_run **other);
bool lab_summary_shared_machine(const lab_summary *summary, const lab_summary_section *section);

/* The sections as JSON: {"sections": [{"task": …, "rows": [{"encoding": …, "accuracy": {"mean": …}, …}]}]}. A
 * statistic that no seed has is null. NULL: out of memory. Release with cJSON_Delete. */
struct cJSON *lab_summary_json(const lab_summary *summary);
/* For a terminal: for each section a table of scores and one of costs. Opens the shown. */
locus_status lab_summary_show(lab_shown *shown, const lab_summary *summary, locus_error *error);

/* A score by its name; one without values if the class has no such column. */
const lab_statistic *lab_summary_named(const lab_summary_section *section, const lab_summary_row *row,
                                       const char *name);
/* Whether a column of the class stands in the section's tables. */
bool lab_summary_shows(const lab_summary_section *section, size_t column);
/* How many of the lengths stand in the section's tables: all, or none. */
size_t lab_summary_length_columns(const lab_summary_section *section);
/* How many columns published numbers have, from the last lab_span down; 0: nothing is published. */
size_t lab_summary_spans(const lab_summary_section *section);
/* Whether any seed of any row has been finished. */
bool lab_summary_has_scores(const lab_summary_section *section);
/* What a legend of the section's tables depends on. */
lab_legend_facts lab_summary_facts(const lab_summary_section *section);

/* The score that a section is about. */
const lab_statistic *lab_summary_score(const lab_summary_section *section, const lab_summary_row *row);
/* The same for which = 0, else the accuracy at the which-th other length. */
const lab_statistic *lab_summary_at(const lab_summary_section *section, size_t row, size_t which);
/* Whether two rows are told apart by it, all pairs of rows looked at together. */
bool lab_summary_tells(const lab_summary_section *section, size_t i, size_t j, size_t which);
/* Whether a row is the best by it, or not told from the best. */
bool lab_summary_is_best(const lab_summary_section *section, size_t row, size_t which);

#endif
