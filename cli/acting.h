/* SPDX-License-Identifier: MIT */
/* An encoding without what it adds to the embedding: operators exist where a table has no row. */
#ifndef CLI_ACTING_H
#define CLI_ACTING_H

#include "encoding_argument.h"

/* The terms that act on queries, keys, values and scores, with the same parameters, bound. 0 and filled, else the exit
 * status after a line on standard error. Close it in either case. */
int cli_acting_open(cli_encoding *acting, const cli_encoding *encoding);
/* The same with the terms that make biases and factors alone: their operators too, where they have some. */
int cli_acting_scores(cli_encoding *acting, const cli_encoding *encoding);

#endif
