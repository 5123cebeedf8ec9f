/* SPDX-License-Identifier: MIT */
/* Which laws an encoding promises, from its documented properties. */
#ifndef CLI_LAW_PROMISES_H
#define CLI_LAW_PROMISES_H

#include <locus/encoding.h>
#include <stdbool.h>

typedef struct cli_promises {
    bool homomorphism; /* ⌈a + b⌉ = ⌈a⌉⌈b⌉ */
    bool orthogonal;   /* ⌈a⌉ is orthogonal, and ⌈−a⌉ its inverse */
    bool relativity;   /* scores and outputs depend on −a + b only */
} cli_promises;

/* 0 and filled, else the exit status after a line on standard error. */
int cli_promises_read(cli_promises *promises, const locus_encoding *encoding);

#endif
