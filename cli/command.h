/* SPDX-License-Identifier: MIT */
/* All commands, in the order of the help. Each is a cli_command_<name> of commands/cmd_<name>.c; those of two words
 * stand with others of the same first word. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "options.h"

/* clang-format off */
#define CLI_COMMANDS(_) \
    _(encodings) _(path) _(encode) _(apply) _(attend) _(check) _(fold) _(import_rope) \
    _(data_make) _(data_inspect) _(data_get) \
    _(train) _(eval) _(generate) _(compare) _(reproduce) _(runs) _(report) \
    _(plot_group) _(plot_similarity) _(plot_spectrum) _(plot_frequencies) _(plot_table) \
    _(plot_curves) _(plot_lengths) _(plot_costs) _(plot_attention) \
    _(bench) _(completion)
/* clang-format on */

#define CLI_DECLARED(name) extern const cli_command cli_command_##name;
CLI_COMMANDS(CLI_DECLARED)

extern const cli_command *const cli_commands[]; /* ends with NULL */

#endif
