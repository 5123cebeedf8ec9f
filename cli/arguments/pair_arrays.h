/* SPDX-License-Identifier: MIT */
/* Arrays over pairs of a query and a key: a bias that is read for attention's scores. */
#ifndef CLI_PAIR_ARRAYS_H
#define CLI_PAIR_ARRAYS_H

#include "io/array.h"

/* --bias FILE: [heads, queries, keys], or [queries, keys] for all heads, each dimension also 1 for all; numbers, or −∞
 * where a key is hidden. 0, else 1 after a line on standard error. */
int cli_bias_read(lab_array *bias, const char *path, int64_t heads, int64_t queries, int64_t keys);

#endif
