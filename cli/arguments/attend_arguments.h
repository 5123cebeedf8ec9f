/* SPDX-License-Identifier: MIT */
/* What attention is told: --attention KIND and the options that said what KIND says now, and --bias FILE. */
#ifndef CLI_ATTEND_ARGUMENTS_H
#define CLI_ATTEND_ARGUMENTS_H

#include "io/array.h"
#include "options.h"

#include <locus/attention_kind.h>

/* 0, else the exit status after the error's lines. Release with locus_attention_kind_destroy. */
int cli_attention_read(const cli_arguments *arguments, locus_attention_kind **kind);

/* Refuses an option that goes with scores where the kind has none. */
int cli_attention_need_scores(const cli_arguments *arguments, const locus_attention_kind *kind, const char *option);

/* --bias FILE: [heads, queries, keys], or [queries, keys] for all heads, each dimension also 1 for all; numbers, or −∞
 * where a key is hidden. 0, else 1 after a line on standard error. */
int cli_bias_read(lab_array *bias, const char *path, int64_t heads, int64_t queries, int64_t keys);

#endif
