/* SPDX-License-Identifier: MIT */
/* Published numbers and the specs that they belong to. Percentages of the source are shares here. */
#include "report/published.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char algebraic_source[] = "Algebraic Positional Encodings (Kogkalidis, Bernardy, Garg 2024), Table 1";

static const lab_published published[] = {
    {"copy", "sinusoidal", "paper", 0.1380, 0.035, algebraic_source},
    {"copy", "relative", "paper", 1.0000, -1.0, algebraic_source},
    {"copy", "rope", "paper", 0.9999, 0.000, algebraic_source},
    {"copy", "algebraic (seq)", "paper", 1.0000, 0.000, algebraic_source},
    {"reverse", "sinusoidal", "paper", 0.1330, 0.003, algebraic_source},
    {"reverse", "relative", "paper", 0.6480, 0.028, algebraic_source},
    {"reverse", "rope", "paper", 0.9700, 0.008, algebraic_source},
    {"reverse", "algebraic (seq)", "paper", 0.9981, 0.001, algebraic_source},
    {"repeat", "sinusoidal", "paper", 0.1280, 0.005, algebraic_source},
    {"repeat", "relative", "paper", 0.9234, 0.003, algebraic_source},
    {"repeat", "rope", "paper", 0.9976, 0.003, algebraic_source},
    {"repeat", "algebraic (seq)", "paper", 0.9990, 0.000, algebraic_source},
};

/* Specs as `normal` makes them: without spaces, a window as '#' (the source sets it to the mean length of the words:
 * 100 there, another number at a smaller budget). */
static const struct {
    const char *spec, *scheme;
} schemes[] = {
    {"sinusoidal", "sinusoidal"},
    {"relative", "relative"},
    {"relative(window=#)", "relative"},
    {"rope", "rope"},
    {"rope(learned=on)", "rope"},
    {"algebraic", "algebraic (seq)"},
    {"algebraic(decay=0.98)", "algebraic (seq)"},
    {"algebraic(group=seq)", "algebraic (seq)"},
    {"algebraic(group=seq,decay=0.98)", "algebraic (seq)"},
};

static bool normal(const char *spec, char *text, size_t size) {
    static const char window[] = "(window=";
    size_t used = 0;
    for (; *spec != '\0'; spec++) {
        if (isspace((unsigned char)*spec)) {
            continue;
        }
        if (used + 2 >= size) {
            return false;
        }
        text[used++] = *spec;
        text[used] = '\0';
        size_t digits = strspn(spec + 1, "0123456789");
        if (used >= sizeof window - 1 && strcmp(text + used - (sizeof window - 1), window) == 0 && digits > 0) {
            text[used++] = '#';
            spec += digits;
        }
    }
    text[used] = '\0';
    return true;
}

const lab_published *lab_published_find(const char *task, const char *encoding) {
    char text[64];
    if (task == NULL || encoding == NULL || !normal(encoding, text, sizeof text)) {
        return NULL;
    }
    for (size_t i = 0; i < COUNT(schemes); i++) {
        if (strcmp(schemes[i].spec, text) != 0) {
            continue;
        }
        for (size_t j = 0; j < COUNT(published); j++) {
            if (strcmp(published[j].task, task) == 0 && strcmp(published[j].scheme, schemes[i].scheme) == 0) {
                return &published[j];
            }
        }
    }
    return NULL;
}

size_t lab_published_count(void) {
    return COUNT(published);
}

const lab_published *lab_published_at(size_t index) {
    return index < COUNT(published) ? &published[index] : NULL;
}
