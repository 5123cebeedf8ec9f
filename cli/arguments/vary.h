/* SPDX-License-Identifier: MIT */
/* --vary OPTION=VALUE,VALUE,…: the points of a sweep. Given several times its options make a grid, the last one the
 * fastest. */
#ifndef CLI_VARY_H
#define CLI_VARY_H

#include "options.h"

enum { CLI_VARY_MOST = 8, CLI_VARY_POINTS = 1024, CLI_VARY_TEXT = 160 };

typedef struct cli_vary {
    size_t count, points; /* varied options; points of the grid: 1 of none */
    struct cli_vary_axis {
        const char *name; /* of an option of training */
        char **values;
        size_t count;
    } axes[CLI_VARY_MOST];
} cli_vary;

/* Reads what was given: 0; or 1 or 2 after one line on standard error. Release in any case, after the arguments were
 * last used. */
int cli_vary_read(cli_vary *vary, const cli_arguments *arguments);
void cli_vary_free(cli_vary *vary);

/* Sets the options of a point, as if they had been given; `text` says them: "rate 0.0003, layers 2". 0, or 2 after one
 * line for a value that the option does not take. */
int cli_vary_set(const cli_vary *vary, size_t point, cli_arguments *arguments, char text[CLI_VARY_TEXT]);

#endif
