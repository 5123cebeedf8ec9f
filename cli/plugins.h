/* SPDX-License-Identifier: MIT */
/* Encodings from shared objects (<locus/extension.h>): `locus --plugin FILE.so COMMAND …`. */
#ifndef CLI_PLUGINS_H
#define CLI_PLUGINS_H

/* Loads the plugins that stand before the command, in their order; *words is how many words of the line they take. 0,
 * or exit status 2 after one line. What is loaded stays. */
int cli_plugins_load(int argc, char **argv, int *words);

#endif
