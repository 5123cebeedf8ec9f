/* SPDX-License-Identifier: MIT */
/* LOCUS_ISA and LOCUS_THREADS: read here, used in cpu.c and parallel.c, which pass over what they cannot read, since
 * the library never prints; locus_environment_check tells. */
#include "core/environment.h"

#include "core/error.h"
#include "core/pool.h"

#include <locus/cpu.h>
#include <stdlib.h>
#include <string.h>

unsigned locus_environment_isa(const char *name) {
    static const struct {
        const char *name;
        unsigned mask;
    } levels[] = {{"scalar", LOCUS_ISA_SCALAR},
                  {"avx2", LOCUS_ISA_SCALAR | LOCUS_ISA_AVX2},
                  {"avx512", LOCUS_ISA_SCALAR | LOCUS_ISA_AVX2 | LOCUS_ISA_AVX512},
                  {"avx512bf16", LOCUS_ISA_SCALAR | LOCUS_ISA_AVX2 | LOCUS_ISA_AVX512 | LOCUS_ISA_AVX512_BF16},
                  {"amx", LOCUS_ISA_SCALAR | LOCUS_ISA_AVX2 | LOCUS_ISA_AVX512 | LOCUS_ISA_AVX512_BF16 | LOCUS_ISA_AMX},
                  {"neon", LOCUS_ISA_SCALAR | LOCUS_ISA_NEON}};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(name, levels[i].name) == 0)
            return levels[i].mask;
    return 0;
}

size_t locus_environment_threads(const char *text) {
    size_t number = 0;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || number > LOCUS_MAX_THREADS)
            return 0;
        number = 10 * number + (size_t)(*c - '0');
    }
    return number <= LOCUS_MAX_THREADS ? number : 0;
}

locus_status locus_environment_check(locus_error *error) {
    const char *isa = getenv("LOCUS_ISA"), *threads = getenv("LOCUS_THREADS");
    if (isa && *isa && locus_environment_isa(isa) == 0)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "LOCUS_ISA",
                          "LOCUS_ISA is '%.40s': expected scalar, avx2, avx512, avx512bf16, amx or neon", isa);
    if (threads && *threads && locus_environment_threads(threads) == 0)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "LOCUS_THREADS",
                          "LOCUS_THREADS is '%.40s': expected an integer from 1 to %d", threads, LOCUS_MAX_THREADS);
    return LOCUS_OK;
}
