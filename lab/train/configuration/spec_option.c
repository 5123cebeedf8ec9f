/* SPDX-License-Identifier: MIT */
#include "train/configuration/spec_option.h"

#include <locus/pattern.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t least_of(const locus_encoding *encoding, const char *name, const char *option) {
    size_t least = SIZE_MAX;
    char value[32];
    for (size_t t = 0; t < locus_encoding_term_count(encoding); t++) {
        if (strcmp(locus_encoding_term(encoding, t)->name, name) == 0 &&
            locus_encoding_option(encoding, t, option, value, sizeof value) != SIZE_MAX) {
            const size_t own = strtoul(value, NULL, 10);
            least = own < least ? own : least;
        }
    }
    return least;
}

size_t lab_spec_least(const char *pattern, const char *name, const char *option) {
    locus_pattern *parsed = NULL;
    size_t least = SIZE_MAX;
    if (locus_pattern_parse(pattern, &parsed, NULL) != LOCUS_OK)
        return least;
    for (size_t i = 0; i < locus_pattern_size(parsed); i++) {
        const size_t own = least_of(locus_pattern_encoding(parsed, i), name, option);
        least = own < least ? own : least;
    }
    locus_pattern_destroy(&parsed);
    return least;
}
