/* SPDX-License-Identifier: MIT */
/* The laws of positions as a group action, measured on random elements. */
#ifndef CLI_LAWS_H
#define CLI_LAWS_H

#include "encoding_argument.h"

#define CLI_LAWS_MAX 12

typedef struct cli_law {
    const char *name;
    const char *meaning; /* the formula whose error is given */
    double error;        /* of the largest element, or of scores relative to their size */
    double tolerance;
    bool promised; /* by what the encoding is documented to be */
    bool holds;    /* error ≤ tolerance */
} cli_law;

typedef struct cli_laws {
    size_t count;
    cli_law items[CLI_LAWS_MAX];
} cli_laws;

/* Measures every law that makes sense for the bound encoding's sites and group; `seed` draws elements and vectors.
 * 0 and filled, else the exit status after a line on standard error. */
int cli_laws_measure(cli_laws *laws, const cli_encoding *encoding, uint64_t seed);

#endif
