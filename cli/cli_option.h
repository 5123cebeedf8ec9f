/* SPDX-License-Identifier: MIT */
/* A row of a command's table of options. */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include <stddef.h>

typedef enum cli_kind {
    CLI_FLAG = 0, /* no value */
    CLI_TEXT = 1,
    CLI_INTEGER = 2,
    CLI_NUMBER = 3,
    CLI_CHOICE = 4, /* `value` lists the choices, "paper|code"; the first one is the default */
    CLI_LIST = 5,   /* separated by commas outside parentheses: "rope,algebraic(group=seq, decay=0.98)" */
    CLI_TEXTS = 6   /* a text each time that it is given; cli_list has all of them */
} cli_kind;

#define CLI_MANY 1e15 /* for `most`: no upper limit */

typedef struct cli_option {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    cli_kind kind;
    const char
        *value; /* the value's name in help, "FILE"; for CLI_CHOICE the choices. Completion knows FILE, DIR, SPEC */
    const char *initial; /* default as text; NULL: none, or the first choice */
    const char *help;    /* half a sentence */
    double least, most;  /* limits of numbers; checked if least < most */
} cli_option;

/* Rows of the usual kinds: without a default, without limits. */
#define CLI_ROW_FLAG(called, says) \
    { called, 0, CLI_FLAG, NULL, NULL, says, 0, 0 }
#define CLI_ROW_TEXT(called, short_name, shown, says) \
    { called, short_name, CLI_TEXT, shown, NULL, says, 0, 0 }
#define CLI_ROW_CHOICE(called, choices, says) \
    { called, 0, CLI_CHOICE, choices, NULL, says, 0, 0 }

#endif
