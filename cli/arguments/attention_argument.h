/* SPDX-License-Identifier: MIT */
/* --attention KIND of commands that compute one attention, and the options that said what KIND says now. */
#ifndef CLI_ATTENTION_ARGUMENT_H
#define CLI_ATTENTION_ARGUMENT_H

#include "options.h"

#include <locus/attention_kind.h>

#define CLI_ATTENTION_OPTIONS \
    { \
        "attention", 0,    CLI_TEXT, \
        "KIND",      NULL, "how weights are made: linear, 'soft(landmarks=32)', … (default: softmax)", \
        0,           0}, \
        {"landmarks", 0, CLI_INTEGER, "N", NULL, "the same as --attention 'soft(landmarks=N)'", 1, CLI_MANY}, \
        {"clusters", 0, CLI_INTEGER, "N", NULL, "the same as --attention 'clustered(clusters=N)'", 1, CLI_MANY}, { \
        "iterations", 0, CLI_INTEGER, "N", NULL, "likewise, of soft or clustered attention", 1, CLI_MANY \
    }

/* 0, else the exit status after the error's lines. Release with locus_attention_kind_destroy. */
int cli_attention_read(const cli_arguments *arguments, locus_attention_kind **kind);

/* Refuses an option that goes with scores where the kind has none. */
int cli_attention_need_scores(const cli_arguments *arguments, const locus_attention_kind *kind, const char *option);

#endif
