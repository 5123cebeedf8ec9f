/* SPDX-License-Identifier: MIT */
/* What other tools call the options of this one: who types such a name is told ours. */
#ifndef CLI_FOREIGN_OPTIONS_H
#define CLI_FOREIGN_OPTIONS_H

#include <stddef.h>

typedef struct cli_foreign_option {
    const char *ours, *theirs; /* theirs: parted by spaces; a command that does not have `ours` does not name it */
} cli_foreign_option;

extern const cli_foreign_option cli_foreign_options[];
extern const size_t cli_foreign_option_count;

#endif
