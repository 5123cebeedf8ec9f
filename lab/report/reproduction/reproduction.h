/* SPDX-License-Identifier: MIT */
/* What the published comparisons are made of, as data: schemes with their specs, a table's columns, each with what is
 * measured there, its rows, and the training behind each of its fields. */
#ifndef LAB_REPRODUCTION_H
#define LAB_REPRODUCTION_H

#include "report/tables/published.h"
#include "task/measure.h"
#include "train/train.h"

#include <stdbool.h>

#define LAB_MOST_SCHEMES 16
#define LAB_MOST_COLUMNS 16
#define LAB_MOST_SEEDS 100
#define LAB_SCHEME_SPEC 96 /* bytes of a scheme's spec */

/* ---- schemes ---- */

/* Who has the decay. Published: the algebraic schemes of table1 to table3, and nobody else. */
typedef enum lab_decay_choice {
    LAB_DECAY_AS_PUBLISHED = 0,
    LAB_DECAY_NOBODY = 1,
    LAB_DECAY_BOTH = 2 /* every orthogonal scheme with and without */
} lab_decay_choice;

typedef enum lab_scheme_place {
    LAB_SCHEME_PUBLISHED = 0, /* a row of the published table */
    LAB_SCHEME_BEYOND = 1,    /* asked for with `more`: not in the paper */
    LAB_SCHEME_ABLATION = 2   /* the other one of a pair with and without decay */
} lab_scheme_place;

typedef struct lab_scheme {
    const char *name;           /* as published.h calls it; an ablation has the name of the scheme that it varies */
    char key[32];               /* names the row on the command line: "algebraic-tree", "rope-decay" */
    char spec[LAB_SCHEME_SPEC]; /* what is trained; "": it makes no sense here, its field stays empty */
    bool pretrained;            /* its training begins from a pretrained encoder */
    bool orthogonal;            /* acts on queries and keys, so that it can have a decay */
    bool decay;                 /* and has it */
    lab_scheme_place place;
} lab_scheme;

typedef struct lab_scheme_request {
    const char *table; /* NULL: the one that tasks of the class belong to */
    const lab_task_class *class;
    const lab_train_config
        *config; /* mean length or depth, arity: sizes of a window, of a table of steps, of a group */
    lab_setup setup;
    lab_decay_choice decay;
    bool more;       /* also those beyond the paper (images: rope on two axes, mixed, string, none) */
    bool pretrained; /* also those that begin from a pretrained encoder */
    bool gaps;       /* also those that make no sense for the kind, with an empty spec */
} lab_scheme_request;

/* A comparison's schemes for a kind of task, in the order of its rows; returns how many. Never fails. */
size_t lab_schemes(const lab_scheme_request *request, lab_scheme schemes[LAB_MOST_SCHEMES]);

/* ---- tables ---- */

typedef struct lab_reproduction_column {
    char name[48];               /* on the command line: "tree-copy-depth", "copy-unit", "cifar10-half", "text-loss" */
    char head[64];               /* in tables: "copy depth", "addition, solved" */
    lab_train_config config;     /* of its trainings, but encoding and seed; its texts are static */
    lab_train_config pretrained; /* of the rows that begin from a pretrained encoder; else unused */
    char pretrained_own[LAB_SCHEME_SPEC]; /* and the checkpoint's own encoding, which the row's spec is added to */
    const lab_task_class *class;          /* of its task */
    lab_measure measure;
    lab_span span;
    size_t training;                   /* columns of the same number are scores of the same trainings */
    size_t epochs;                     /* images: up to which the score is the best; else 0 */
    lab_scheme rows[LAB_MOST_SCHEMES]; /* with the specs of this column's sizes */
} lab_reproduction_column;

typedef enum lab_inits { LAB_INITS_AS_PUBLISHED_TABLE = 0, LAB_INITS_SCALED, LAB_INITS_UNIT, LAB_INITS_BOTH } lab_inits;

typedef struct lab_reproduction_request {
    const char *table, *budget; /* "table1" to "table3", "roper", "listops"; "smoke", "quick", "paper" */
    lab_setup setup;            /* table1 to table3 */
    lab_decay_choice decay;
    bool more;
    bool factors;     /* table1: with embeddings unit also what is added to tokens, and the logits, scaled */
    lab_inits inits;  /* as the table: both for words, scaled for trees; images have no embedding */
    bool paths_given; /* where trees' tokens stand; not given: as the set-up says */
    lab_tree_paths tree_paths;
    lab_precision precision;
    uint64_t first_seed;
    size_t seeds;           /* 0: 3; of images 1 below budget paper; of roper 10 at budget paper */
    bool drop_worst;        /* roper; at budget paper without `seeds` so or so, as published */
    const char *data_path;  /* images: NULL: where `locus data get` puts them; text: NULL: data/text. Borrowed */
    const char *pretrained; /* listops: folder of an encoder, for the rows that begin from it; NULL: no such rows */
    /* Where what a table takes from files is looked up instead, in the configurations of its runs (NULL: nowhere): the
     * data need not be there. */
    lab_store *recorded;
    char *const *columns; /* a part of the table: names, or their beginnings up to a dash. None: all */
    size_t column_count;
    char *const *rows; /* keys of schemes likewise */
    size_t row_count;
} lab_reproduction_request;

typedef struct lab_reproduction {
    const char *name, *title, *budget; /* "table2", "Trees (Table 2)", "quick" */
    lab_setup setup;
    lab_decay_choice decay;
    uint64_t first_seed;
    size_t seeds, row_count, column_count;
    size_t training_count;          /* columns that have trainings of their own */
    bool drop_worst;                /* the worst seed of a field is left out of its mean, once all of them are there */
    bool part;                      /* rows or columns were left out */
    char left_out[400];             /* why a column is left out that nobody asked to leave out; "" */
    lab_reproduction_request asked; /* without what was chosen: the whole table's */
    lab_reproduction_column columns[LAB_MOST_COLUMNS];
} lab_reproduction;

size_t lab_reproduction_table_count(void);
const char *lab_reproduction_table_name(size_t index);
/* Whether a task of the table takes an option of trainings, by its name. */
bool lab_reproduction_takes(const char *table, const char *option);

/* ARGUMENT with the names that there are, for a table, column or row that is not there; whatever else the data and the
 * pretrained encoder that were asked for bring. Text that nobody asked for and that is not there is left out. About
 * 300 KiB: not for the stack. */
locus_status lab_reproduction_make(lab_reproduction *table, const lab_reproduction_request *request,
                                   locus_error *error);

/* The names of the whole table that `table` is a part of: rows, columns, specs. Nothing is read, so that specs have
 * not the sizes of any data. The texts of the request must still be there. */
locus_status lab_reproduction_whole(lab_reproduction *whole, const lab_reproduction *table, locus_error *error);

/* Whether a field has trainings: its scheme makes sense there. */
bool lab_reproduction_has(const lab_reproduction *table, size_t row, size_t column);
/* How many trainings a table is made of, all seeds. */
size_t lab_reproduction_trainings(const lab_reproduction *table);

/* The configuration of a training: of a row, a column and the `repetition`th seed. `encoding` receives the canonical
 * text, which the configuration then points to. */
typedef struct lab_reproduction_place {
    size_t row, column, repetition;
} lab_reproduction_place;
locus_status lab_reproduction_config(const lab_reproduction *table, lab_reproduction_place place,
                                     lab_train_config *config, char encoding[LAB_SPEC_SIZE], locus_error *error);

/* What is trained in a field: the canonical text of its spec in the table's set-up, as runs record it. */
const char *lab_reproduction_encoding(const lab_reproduction *table, size_t row, size_t column,
                                      char encoding[LAB_SPEC_SIZE]);

/* Whether a column is the first one of its trainings. */
bool lab_reproduction_leads(const lab_reproduction *table, size_t column);
/* Whether a field is: it has trainings, and no column before has the same. A scheme that adds nothing to tokens is
 * trained alike in columns that differ in what is added only. */
bool lab_reproduction_begins(const lab_reproduction *table, size_t row, size_t column);
/* Whether a row, which column b has, has the same trainings in both columns. */
bool lab_reproduction_alike(const lab_reproduction *table, size_t row, size_t a, size_t b);
/* Whether some columns scale what is added to tokens, or the logits. */
bool lab_reproduction_has_scales(const lab_reproduction *table);

/* How a column's model begins: "scaled", "unit"; with factors "unit positions", "unit logits", "unit both". */
const char *lab_reproduction_variant(const lab_reproduction_column *column);

/* The first spec of a row: of the first column that has one. */
const char *lab_reproduction_row_encoding(const lab_reproduction *table, size_t row, char encoding[LAB_SPEC_SIZE]);

/* "Trees (Table 2) at budget quick". */
void lab_reproduction_title(const lab_reproduction *table, char *text, size_t size);

/* "algebraic (tree), no decay": a row's name, which says of an ablation what it varies. */
void lab_reproduction_row_name(const lab_reproduction *table, size_t row, char *text, size_t size);

#endif
