/* SPDX-License-Identifier: MIT */
/* One entry for each command; main.c lists them in the order of the help. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "options.h"

extern const cli_command cli_command_encodings;   /* cmd_encodings.c */
extern const cli_command cli_command_path;        /* cmd_path.c */
extern const cli_command cli_command_encode;      /* cmd_encode.c */
extern const cli_command cli_command_apply;       /* cmd_apply.c */
extern const cli_command cli_command_attend;      /* cmd_attend.c */
extern const cli_command cli_command_check;       /* cmd_check.c */
extern const cli_command cli_command_fold;        /* cmd_fold.c */
extern const cli_command cli_command_import_rope; /* cmd_import_rope.c */
extern const cli_command cli_command_data_make;   /* cmd_data.c: "data make", "data inspect" */
extern const cli_command cli_command_data_inspect;
extern const cli_command cli_command_data_get;   /* cmd_data_get.c */
extern const cli_command cli_command_train;      /* cmd_train.c */
extern const cli_command cli_command_eval;       /* cmd_eval.c */
extern const cli_command cli_command_generate;   /* cmd_generate.c */
extern const cli_command cli_command_compare;    /* cmd_compare.c */
extern const cli_command cli_command_reproduce;  /* cmd_reproduce.c */
extern const cli_command cli_command_runs;       /* cmd_runs.c */
extern const cli_command cli_command_report;     /* cmd_report.c */
extern const cli_command cli_command_plot_group; /* cmd_plot.c: "plot group", "plot similarity", "plot spectrum" */
extern const cli_command cli_command_plot_similarity;
extern const cli_command cli_command_plot_spectrum;
extern const cli_command cli_command_plot_frequencies; /* cmd_plot_frequencies.c: that and "plot table" */
extern const cli_command cli_command_plot_table;
extern const cli_command cli_command_plot_curves; /* cmd_plot_runs.c: "plot curves", "plot lengths", "plot costs" */
extern const cli_command cli_command_plot_lengths;
extern const cli_command cli_command_plot_costs;
extern const cli_command cli_command_plot_attention; /* cmd_plot_attention.c */
extern const cli_command cli_command_bench;          /* cmd_bench.c */
extern const cli_command cli_command_completion;     /* cmd_completion.c */

/* All commands, ends with NULL. */
extern const cli_command *const cli_commands[];

#endif
