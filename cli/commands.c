/* SPDX-License-Identifier: MIT */
/* The list of commands, in the order of the help. */
#include "command.h"

const cli_command *const cli_commands[] = {
    &cli_command_encodings,      &cli_command_path,
    &cli_command_encode,         &cli_command_apply,
    &cli_command_attend,         &cli_command_check,
    &cli_command_fold,           &cli_command_import_rope,
    &cli_command_data_make,      &cli_command_data_inspect,
    &cli_command_data_get,       &cli_command_train,
    &cli_command_eval,           &cli_command_generate,
    &cli_command_compare,        &cli_command_reproduce,
    &cli_command_runs,           &cli_command_report,
    &cli_command_plot_group,     &cli_command_plot_similarity,
    &cli_command_plot_spectrum,  &cli_command_plot_frequencies,
    &cli_command_plot_table,     &cli_command_plot_curves,
    &cli_command_plot_lengths,   &cli_command_plot_costs,
    &cli_command_plot_attention, &cli_command_bench,
    &cli_command_completion,     NULL,
};
