/* SPDX-License-Identifier: MIT */
/* What the environment's variables say. */
#ifndef LOCUS_ENVIRONMENT_H
#define LOCUS_ENVIRONMENT_H

#include <stddef.h>

/* A mask of locus_isa: the level that is named and those below it; 0 for a name that is not known. */
unsigned locus_environment_isa(const char *name);

/* The levels that the machine has and the mask allows (cpu.c). */
unsigned locus_cpu_usable(void);

/* 1 to LOCUS_MAX_THREADS; 0 for a text that is no such number. */
size_t locus_environment_threads(const char *text);

#endif
