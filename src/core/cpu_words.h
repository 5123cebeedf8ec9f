/* SPDX-License-Identifier: MIT */
/* What an x86-64 processor and its operating system say of themselves, and what follows from that: apart from asking,
 * so that any machine can be thought of. */
#ifndef LOCUS_CORE_CPU_WORDS_H
#define LOCUS_CORE_CPU_WORDS_H

#include <stdbool.h>

typedef struct locus_cpu_words {
    unsigned ecx_1, ebx_7, edx_7, eax_7_1; /* of cpuid, by its leaf; 0 where there is none */
    unsigned saved;                        /* XCR0: register files that are saved; 0 if that cannot be asked */
    bool tiles;                            /* a process may have those of tiles */
} locus_cpu_words;

/* LOCUS_ISA_… that can be used. On x86-64 alone. */
unsigned locus_cpu_isas_of(const locus_cpu_words *words);

#endif
