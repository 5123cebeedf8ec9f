/* SPDX-License-Identifier: MIT */
/* What a training can be told, as data: a value's name in stores, its name and help on the command line, and where
 * it lies in the configuration. Configurations as JSON, their hash and differences, the commands' options, their
 * help, completions and man page are loops over such tables: train/configuration/config_options.c has what all kinds
 * of tasks share, a kind's class its own. */
#ifndef LAB_OPTION_H
#define LAB_OPTION_H

#include <stdbool.h>
#include <stddef.h>

typedef enum lab_option_type {
    LAB_OPTION_TASK,         /* const lab_task *, as its name */
    LAB_OPTION_TEXT,         /* const char *, borrowed */
    LAB_OPTION_SIZE,         /* size_t */
    LAB_OPTION_COUNT,        /* uint64_t */
    LAB_OPTION_SEED,         /* uint64_t, in JSON a text: a double would cut it at 53 bits */
    LAB_OPTION_REAL,         /* double */
    LAB_OPTION_NAMED,        /* an enumeration */
    LAB_OPTION_ATTENTION,    /* the text of a kind of attention */
    LAB_OPTION_ARCHITECTURE, /* the kind's, as its name */
    LAB_OPTION_LIST          /* numbers; on the command line alone */
} lab_option_type;

enum {
    LAB_OPTION_FREE = 1,     /* no size of a budget: another value does not make it "custom" */
    LAB_OPTION_APART = 2,    /* decides neither parameters nor scores */
    LAB_OPTION_BY_HAND = 4,  /* the command line puts it where it belongs by a rule of its own */
    LAB_OPTION_LATER = 64,   /* of a kind: brought by a later version, recorded behind the others */
    LAB_OPTION_CALLED = 128, /* its value may be another option's: the hash has its name, too */
    /* On the command line, which commands take it: without any of these `train` and `compare`. */
    LAB_OPTION_DATA = 8,         /* and `data make`, `data inspect` */
    LAB_OPTION_EVAL = 16,        /* and `eval`, `plot attention` */
    LAB_OPTION_GENERATED = 256,  /* and `generate` */
    LAB_OPTION_REPRODUCED = 512, /* and `reproduce` */
    LAB_OPTION_SCORED = 32,      /* `eval` alone */
    LAB_OPTION_MADE = 1024,      /* `data make` alone */
    LAB_OPTION_TRAINED = 2048    /* of commands: all but those of the last two */
};

typedef struct lab_option {
    const char *field; /* in stores: "length_mean"; NULL: it is not recorded by itself */
    lab_option_type type;
    size_t offset;            /* in lab_train_config */
    const char *const *names; /* of an enumeration's values, ends with NULL */
    const char *silent;       /* the value, as text, that is not written; NULL: each is */
    unsigned flags;

    const char *name; /* on the command line: "length"; NULL: it can't be given there */
    char letter;
    const char *value;   /* its value's name in help, "MEAN"; of an enumeration the choices, "breadth|depth" */
    const char *initial; /* default as text; NULL: the budget's, or the first choice */
    /* Half a sentence. Rows of kinds do not say whose they are: of those that share a name all are told, "words: mean
     * length (100); trees: …"; NULL: there is nothing to say of this one. */
    const char *help;
    double least, most;     /* of numbers */
    const char *instead_of; /* options of other kinds, parted by spaces, in whose place this one is named */
} lab_option;

/* ---- rows of such tables ---- */

/* `stored`: the field's name in stores, or NULL; `kind`: REAL, SIZE, …; `place`: in the configuration; then any of
 * those below, and .silent, .flags, .initial, .instead_of. */
#define LAB_ROW(stored, kind, place, ...) \
    { .field = stored, .type = LAB_OPTION_##kind, .offset = place, __VA_ARGS__ }

#define LAB_NUMBER(called, unit, low, high) .name = called, .value = unit, .least = low, .most = high
#define LAB_CHOICE(called, list) .name = called, .value = list
#define LAB_WORD(called, what) .name = called, .value = what
#define LAB_HELP(words) .help = words

#endif
