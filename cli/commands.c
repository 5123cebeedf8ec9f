/* SPDX-License-Identifier: MIT */
/* The list of commands. */
#include "command.h"

#define LISTED(name) &cli_command_##name,

const cli_command *const cli_commands[] = {CLI_COMMANDS(LISTED) NULL};
