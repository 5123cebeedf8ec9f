/* SPDX-License-Identifier: MIT */
/* Command-line options from declarative tables. The tables also make the usage text, the shell completions and the
 * list of options that the man page is tested against.
 *
 *   --name VALUE, --name=VALUE, -n VALUE; "--" ends the options; a word that begins like a negative number (-3, -5:10,
 *   -.5) is never an option; an option given twice: the last one counts. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli_option.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Options that many commands share; a command names the ones that it takes. --help is everywhere. */
/* CLI_FORMAT comes with CLI_JSON. CLI_RANKS: under mpirun all ranks run it and share the work; of others rank 0 alone
 * does it. */
enum { CLI_JSON = 1, CLI_QUIET = 2, CLI_THREADS = 4, CLI_FORMAT = 8, CLI_RANKS = 16 };
#define CLI_FORMATS "text|json|csv|latex|markdown" /* as lab_table_format; a command with others has its own --format */

#define CLI_MAX_LIST 256

struct cli_arguments;
typedef struct cli_command {
    const char *name;    /* "train"; a two-word command is "data make" */
    const char *summary; /* one line, no full stop */
    const char
        *operands; /* "SPEC", "RUN [RUN…]", "[NAME]": brackets for optional ones, … for any number; "" for none */
    const char *details;  /* paragraphs for --help and the man page; may be "" */
    const char *examples; /* lines as one would type them, each ending in \n */
    unsigned shared;      /* mask of CLI_JSON, CLI_QUIET, CLI_THREADS */
    const cli_option *options;
    size_t option_count;
    unsigned tasks; /* options of trainings and kinds behind its own: by flags of lab_option (task_table.h); 0: none */
    int (*run)(struct cli_arguments *arguments); /* exit status: 0 done, 1 failed while running, 2 bad usage */
} cli_command;

#define CLI_OPTIONS(table) .options = (table), .option_count = sizeof(table) / sizeof *(table)

typedef struct cli_given {
    const char *text; /* the value given or the default; NULL: neither */
    bool given;
    char **items; /* of a list */
    size_t item_count;
    int64_t *integers;
    char choice[32]; /* the default choice's own copy */
} cli_given;

typedef struct cli_arguments {
    const cli_command *command;
    cli_given *values; /* of each option that the command takes, in the order of cli_option_at */
    char **operands;   /* words that are not options */
    size_t operand_count;
    const char *command_line;           /* the whole line as one would type it, quoted where needed */
    const cli_command *const *commands; /* all of the program, for what tells of them; ends with NULL */
} cli_arguments;

/* Parses what stands after the command's name. 0 and filled; or the exit status 2 after one line on standard
 * error. */
int cli_arguments_parse(cli_arguments *arguments, const cli_command *command, int argc, char **argv);
void cli_arguments_free(cli_arguments *arguments);

/* Values by name; the name must be one of the command's own or shared options. */
bool cli_flag(const cli_arguments *arguments, const char *name);
bool cli_given_by_user(const cli_arguments *arguments, const char *name);
const char *cli_text(const cli_arguments *arguments, const char *name);           /* NULL: not given and no default */
int64_t cli_integer(const cli_arguments *arguments, const char *name);            /* 0 if not given and no default */
double cli_number(const cli_arguments *arguments, const char *name);              /* 0 likewise */
size_t cli_choice(const cli_arguments *arguments, const char *name);              /* index of the choice */
size_t cli_list(const cli_arguments *arguments, const char *name, char ***items); /* number of items; 0: not given */
/* As if an own option of the command had been given with this value: 0, or 2 after one line on standard error. `value`
 * must outlive `arguments`. */
int cli_set(cli_arguments *arguments, const char *name, const char *value);
/* The first option that was given and is none of those that spaces part; NULL: all are. */
const char *cli_given_beside(const cli_arguments *arguments, const char *names);
/* 0 if the option was given (or has a default); else 2 after one line on standard error. */
int cli_require(const cli_arguments *arguments, const char *name);
/* Refuses a missing --output, and a name that says no format of pictures (figures/svg_file.h): likewise. */
int cli_need_picture(const cli_arguments *arguments);
/* The items of a list as integers in [least, most]: 0 and filled, or 2 after one line on standard error. Owned by
 * `arguments`. */
int cli_list_integers(cli_arguments *arguments, const char *name, int64_t least, int64_t most, const int64_t **values,
                      size_t *count);

/* Usage text of a command, with its options and example, on standard output. */
void cli_usage(const cli_command *command);

/* All options of a command, its own first, then the shared ones and --help. NULL past the end. */
const cli_option *cli_option_at(const cli_command *command, size_t index);
/* The index of the option of that name; SIZE_MAX: the command has none. */
size_t cli_option_find(const cli_command *command, const char *name);
/* The option that a word of the line is ("--name", "--name=value", "-n"; two characters at least, the first a dash),
 * and its index; NULL: none. */
const cli_option *cli_option_of_word(const cli_command *command, const char *word, size_t *index);

/* The known word nearest to `word` by edits, or NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *known, size_t count);

#endif
