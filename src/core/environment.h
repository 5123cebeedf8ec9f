/* SPDX-License-Identifier: MIT */
/* What the environment's variables say. */
#ifndef LOCUS_ENVIRONMENT_H
#define LOCUS_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* A mask of locus_isa: the level that is named and those below it; 0 for a name that is not known. */
unsigned locus_environment_isa(const char *name);

/* The levels that the machine has and the mask allows (cpu.c). */
unsigned locus_cpu_usable(void);

/* Whether VDPBF16PS is wanted where there is nothing better: on Intel's processors it has half the rate of fused
 * multiply-adds, so that there the mask must leave out AMX on purpose (LOCUS_ISA=avx512bf16). */
bool locus_cpu_wants_bfloat16_vectors(void);

/* Linux lets a process use the registers of tiles, which threads would have to save, only after it has asked: done by
 * the first call that has a use for them. False: they are not to be had. */
bool locus_cpu_take_tiles(void);

/* 1 to LOCUS_MAX_THREADS; 0 for a text that is no such number. */
size_t locus_environment_threads(const char *text);

#endif
