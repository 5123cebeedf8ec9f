/* SPDX-License-Identifier: MIT */
/* Colours of encodings: see encoding_colour.h. */
#include "figures/encoding_colour.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Those that are often compared are far apart; who shares a hue is seldom beside the other. */
typedef struct family {
    const char *name, *option; /* of its options one begins so; "": any */
    size_t hue, tone;          /* the tone of one without options */
} family;

static const family families[] = {
    {"none", "", 0, 0},
    {"rope", "values=on", 6, 0},
    {"rope", "", 1, 0},
    {"roper", "", 6, 0},
    {"algebraic", "group=tree", 5, 0},
    {"algebraic", "group=grid", 7, 0},
    {"algebraic", "", 2, 0},
    {"sinusoidal", "", 3, 0},
    {"relative", "", 4, 0},
    {"alibi", "", 8, 0},
    {"shiv-quirk", "", 9, 0},
    {"chebyshev", "", 11, 0},
    {"mixed", "", 10, 0},
    {"string", "", 8, 1},
    {"liere", "", 5, 1},
    {"t5", "", 9, 1},
    {"kerple", "", 11, 1},
    {"fire", "", 7, 1},
    {"cope", "", 10, 1},
    {"learned", "", 9, 2},
};

/* FNV-1a, 32 bits. */
static size_t hash_of(const char *text) {
    uint32_t hash = 2166136261u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash ^ hash >> 16;
}

static const family *family_of(const char *encoding) {
    const size_t length = strcspn(encoding, "( +;");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const family *one = &families[i];
        if (strlen(one->name) == length && strncmp(one->name, encoding, length) == 0 &&
            (one->option[0] == '\0' || strstr(encoding, one->option) != NULL))
            return one;
    }
    return NULL;
}

/* The family of an encoding that stands alone; of sums and patterns NULL. */
static const family *own_family(const char *encoding) {
    const size_t name = strcspn(encoding, "( +;"), length = strlen(encoding);
    const int alone = name == length || (encoding[name] == '(' && strcspn(encoding, ")") == length - 1);
    return alone ? family_of(encoding) : NULL;
}

size_t lab_encoding_colour(const char *encoding) {
    const family *one = own_family(encoding);
    if (one == NULL)
        return hash_of(encoding) % LAB_COLOURS;
    const char *options = encoding + strlen(one->name);
    return one->hue * LAB_COLOUR_TONES + (options[0] == '\0' ? one->tone : hash_of(options) % LAB_COLOUR_TONES);
}
