/* SPDX-License-Identifier: MIT */
/* What a kind of task has to say of itself. Each kind is one file of lab/kinds, or a family of files, that defines one
 * lab_task_class, and one line in task_registry.c. Everything above asks the class: trainings, scores, tables, pages,
 * the command line. Nothing asks which kind it is.
 *
 *   options ─budget→ configuration ─look (files)→ what follows ─sets→ batches ─model→ scores ─columns→ tables, pages
 *
 * What may be NULL says so; a kind that has nothing to say there is treated as its comment tells. */
#ifndef LAB_TASK_CLASS_H
#define LAB_TASK_CLASS_H

#include "task/measure.h"
#include "task/task.h"
#include "task/task_option.h"

struct cJSON;
struct lab_architecture;
struct lab_outcome;
struct lab_portrait;
struct lab_portrait_request;
struct lab_train_config;

/* ---- scores ---- */

enum {
    LAB_SCORE_RUN = 1,        /* in a table of one trained run */
    LAB_SCORE_SET = 2,        /* of a set that is scored now */
    LAB_SCORE_SIDE = 4,       /* where encodings are set side by side: terminal, page, JSON */
    LAB_SCORE_LEADS = 8,      /* what tables are about; of several the first that a table has */
    LAB_SCORE_OPTIONAL = 16,  /* side by side only where some row has it */
    LAB_SCORE_PAGE_HEAD = 32, /* side by side it has its page's head in the terminal, too */
    LAB_SCORE_COMMON = 64,    /* in JSON of all kinds, be it null */
    LAB_SCORE_ALWAYS = LAB_SCORE_RUN | LAB_SCORE_SET | LAB_SCORE_SIDE
};

/* A column of tables. */
typedef struct lab_score_column {
    const char *name;    /* as stores and JSON call it: "greedy_exact" */
    lab_measure measure; /* how it is printed, which way is better, what counts as no difference */
    unsigned flags;
    const char *head; /* "greedy exact" */
    const char *page; /* its head side by side on pages; NULL: `head` */
    const char *unit; /* below that: "exact, %"; {half}, {epochs} and {classes} are put in, or "%" stands alone */
    /* Of a set that is scored now; NAN: it has none. NULL: only a whole run has it. */
    double (*value)(const struct lab_outcome *outcome);
} lab_score_column;

/* Sizes of further test sets that trainings score, and whose scores stand in tables. */
typedef struct lab_size_axis {
    const char *name;   /* "length", "depth" */
    const char *option; /* of trainings: "test-lengths" */
} lab_size_axis;

/* What is drawn against these sizes. */
typedef struct lab_length_panel {
    const char *score, *title, *label; /* as stores call it; of the chart and its y; score NULL: there is no panel */
} lab_length_panel;
enum { LAB_LENGTH_PANELS = 2 };

/* What test sets of other sizes than the trained one vary: `eval` scores them, stores them as "test:200", and pages and
 * pictures draw them. */
typedef struct lab_length_axis {
    const char *name;            /* "length", "depth", "context" */
    const char *option;          /* of `eval`: "lengths" */
    const char *others;          /* "lengths", "mean depths" */
    const char *label, *caption; /* of the chart's x; what the panels show */
    size_t most;
    bool parts; /* such sets are parts of the test set, which has all sizes itself */
    /* Data of another mean size, which may be all that is asked of a sample. */
    void (*set)(lab_task_options *options, size_t mean);
    /* How many samples of that size say as much as `samples` of the trained one. NULL: as many. */
    size_t (*samples)(const lab_task_options *trained, const lab_task_options *other, size_t samples);
    lab_length_panel panels[LAB_LENGTH_PANELS];
} lab_length_axis;

/* ---- words ---- */

/* What a configuration says of the data of its runs. All 0 where it says nothing. */
typedef struct lab_data_facts {
    char title[64];   /* "tree-copy, depth first"; "": the task's name */
    char data[160];   /* "words of length N(24, 2.4) over 20 symbols" */
    char note[64];    /* behind these in the description of a task: "read and written level by level" */
    double mean_size; /* of the training samples, by the axis of lengths */
    lab_order order;
    const char *variant; /* static; NULL: as where nothing is said */
    bool unpublished;    /* nothing is published of such data, whatever the task's name */
    uint64_t epoch_steps;
    double epochs;
} lab_data_facts;

/* What the legend of a table may depend on. */
typedef struct lab_legend_facts {
    bool sizes;                      /* there are columns of other sizes */
    bool solved;                     /* some row has been decoded */
    double epochs, chance, majority; /* 0: unknown */
} lab_legend_facts;

/* Words for these facts: {chance} and {majority} in per cent, {epochs}, and "[solved?these|or those]", likewise of
 * sizes, chance and epochs, as they are known. */
void lab_legend_text(const char *words, const lab_legend_facts *facts, char *text, size_t size);

/* What is said of learning curves. */
typedef struct lab_curve_words {
    const char *titles[2], *x_label, *y_labels[2], *caption; /* left: the development set, right: the training loss */
    bool loss; /* left is a loss as well, and logarithmic; else an accuracy in per cent */
} lab_curve_words;

enum { LAB_BIN_MEASURES = 3 };

/* Scores by depth and by size of the test set's samples. */
typedef struct lab_bin_words {
    const char *prefix;                   /* of the sets by size in the store: "nodes:" */
    const char *field;                    /* of the bins in JSON: "nodes" */
    const char *scores[LAB_BIN_MEASURES]; /* as stores and JSON call them */
    const char *titles[2][LAB_BIN_MEASURES], *x_labels[2], *y_labels[LAB_BIN_MEASURES], *heads[2];
    size_t drawn; /* panels: two, or four with greedy decoding */
    const char *caption, *summary;
} lab_bin_words;

/* What a token is called: a symbol, a piece of text, cut where it is longer. */
typedef struct lab_token_name {
    char text[24];
} lab_token_name;

/* ---- samples to look at ---- */

/* What `data make` makes of samples. */
typedef enum lab_making {
    LAB_MAKES_LINES = 0, /* a file with a sample to a line, by `write` */
    LAB_MAKES_PICTURES,  /* one of them as a picture */
    LAB_MAKES_TOKENS,    /* a folder of token files of texts */
    LAB_MAKES_NOTHING    /* they are the user's own */
} lab_making;

/* Writes a set, a sample to a line; `tabbed`: as tab-separated text, if there is such a form. */
typedef locus_status lab_write_samples(FILE *out, const lab_dataset *set, const lab_task *task, bool tabbed,
                                       locus_error *error);
/* Says what a set looks like (samples/portrait.h). */
typedef locus_status lab_portray(struct lab_portrait *portrait, const struct lab_portrait_request *request,
                                 locus_error *error);

/* ---- the class ---- */

typedef void lab_budget_fill(struct lab_train_config *config);

struct lab_task_class {
    const char *name; /* what its tasks are on: "words" */
    const lab_task *tasks;
    size_t task_count;
    const struct lab_architecture *architecture; /* which reads it (model/architecture.h) */
    const char *compared; /* the published table whose encodings are compared where nobody names any; NULL: none */

    /* Its own options: their rows, and the size of the struct in which they lie (LAB_OF_KIND). */
    const lab_option *options;
    size_t option_count, own_size;
    /* Whether a task of the kind has a use for one of its options, or for "greedy-samples". NULL: for all. */
    bool (*uses)(const lab_task *task, const char *option);
    /* What follows from an option that was given with this text, before which the data had been `before`: whether yet
     * another size is another one. NULL: nothing. */
    bool (*changed)(struct lab_train_config *config, const char *option, const char *value,
                    const lab_task_options *before);
    const lab_size_axis *size;      /* NULL: trainings score no sets of other sizes */
    const lab_length_axis *lengths; /* NULL: sets differ in no size */

    /* What its model has. */
    size_t (*vocabulary)(const lab_task *task, const lab_task_options *options); /* NULL: no tokens */
    size_t (*classes)(const lab_task_options *options);                          /* NULL: none */
    size_t (*arity)(const lab_task_options *options); /* tokens are nodes of trees; NULL: they are not */
    /* What stands beside a task's name, since it is no size: "depth", "parity". NULL: nothing. */
    const char *(*variant)(const lab_task_options *options);
    const char *variant_field; /* its name in JSON */

    bool endless;          /* training samples may be drawn anew in every step, without end */
    bool whole;            /* sets may be read as they are, however large: 0 samples */
    bool develops_on_test; /* the development set is the test set, scored on the way: the best accuracy is kept */
    bool decodes;          /* samples have targets that are decoded greedily; else only tasks that are `solved` */
    bool looks_ahead;      /* what its test set has that can't be scored shows in its length, before the training */
    bool classifies_text;  /* a pretrained encoder can read its samples, as `text` writes them */
    bool stores_chance;    /* what guessing scores is kept with the scores */
    bool read;             /* samples are read from files, never drawn */
    bool balanced;         /* there are as many samples of each class, so that chance is one of them */
    bool ordered;          /* tokens stand in one order alone: no paths, no places of a grid */

    /* Trainings: "smoke", "quick", "paper"; then what set-up code changes besides dropout (NULL: nothing). */
    lab_budget_fill *budgets[3], *as_code;
    /* What follows from files, where that hasn't been done. NULL: nothing. */
    locus_status (*look)(struct lab_train_config *config, locus_error *error);
    /* What the user should know of the data before it is trained on them, as one line; false: nothing. NULL: never. */
    bool (*tell)(const struct lab_train_config *config, char *text, size_t size);
    /* Writes what else scoring needs into a run's folder; `seed`: of the data. NULL: nothing. */
    locus_status (*keep)(const lab_task_options *options, uint64_t seed, const char *folder, locus_error *error);
    /* The folder with the tokenizer that a run keeps a copy of. NULL: none. */
    const char *(*tokenizer)(const lab_task_options *options);
    /* A sample's input as text, from malloc; NULL: there is no such text, or no memory. */
    char *(*text)(const lab_dataset *set, size_t sample);
    const char *const *written; /* words that such texts always have, ends with NULL; of kinds that classify text */

    lab_making makes;
    lab_write_samples *write; /* of lines */
    lab_portray *portray;
    bool (*owns)(const char *path); /* whether a file of samples is one of its own; NULL: all kinds read it alike */

    const lab_score_column *columns;
    size_t column_count;

    /* Words for tables and pages. */
    const char *token, *sample; /* what is right or wrong, and what is right as a whole: "node", "tree" */
    const char *source;         /* what published numbers are, in the terminal's table */
    const char *scores_note;    /* below the scores of one run or set; NULL: their heads say it */
    void (*describe)(const struct cJSON *config, const char *task, lab_data_facts *facts);
    const char *legend, *page_legend; /* of the terminal's table; of the page's, in HTML: see lab_legend_text */
    const char *model_samples; /* templates of the page's setting, {fields} of the configuration: how many samples */
    const lab_curve_words *curves;
    const lab_bin_words *bins; /* NULL: none */
    const char *turns;         /* where one step leads: "along an axis"; NULL: angles are not drawn */
    const char *speed_note;
    const char *generate; /* how `generate` is asked of it; NULL: never, and `no_generate` says what does instead */
    const char *no_generate;
    const char *generate_options; /* of that command, which its runs take beside rows flagged so, parted by spaces */

    /* A set of one sample, from its input as one types it, of pictures a file's path, with the target that the task
     * asks for; where that is not known the set says how long it may be. `options->kept` is the run's folder. ARGUMENT,
     * about "input": what is wrong with the text. The set, zero at first, is destroyed after a failure, too. NULL:
     * samples come from the test set alone. */
    locus_status (*read_input)(lab_dataset *set, const lab_task *task, const lab_task_options *options,
                               const char *text, locus_error *error);
    /* What tokens are called; NULL: by their numbers. */
    locus_status (*name_tokens)(lab_token_name *names, const lab_task *task, const lab_task_options *options,
                                const int32_t *tokens, size_t count, locus_error *error);
};

/* ---- the registry ---- */

size_t lab_class_count(void);
const lab_task_class *lab_class_at(size_t index);

/* All tasks, kind by kind. */
size_t lab_task_count(void);
const lab_task *lab_task_at(size_t index);
const lab_task *lab_task_find(const char *name); /* NULL: unknown */
const char *lab_task_nearest(const char *name);  /* the nearest known name, for messages */

/* ---- answers that need no registry ---- */

/* Options with these of the kind, a struct of class->own_size bytes; NULL: all are 0. And those as published. */
lab_task_options lab_task_with(const lab_task *task, const void *of_kind);
lab_task_options lab_task_default(const lab_task *task);
/* Of the model's embedding: with start and end tokens, where there are any; 0: there are no tokens. */
size_t lab_task_vocabulary(const lab_task *task, const lab_task_options *options);
/* 0: its samples have no classes. */
size_t lab_task_classes(const lab_task *task, const lab_task_options *options);
/* In which order output trees are written; breadth where there are none. */
lab_order lab_task_order(const lab_task *task, const lab_task_options *options);
/* The kind's own option by its name in stores; NULL: it has none of that name. */
const lab_option *lab_class_field(const lab_task_class *class, const char *field);
/* Likewise by its name on the command line. */
const lab_option *lab_class_option(const lab_task_class *class, const char *name);
bool lab_class_has_score(const lab_task_class *class, const char *name);
/* Whether the class is one of those named, parted by spaces: "words trees". For tables of what was published. */
bool lab_class_among(const lab_task_class *class, const char *names);

#endif
