/* SPDX-License-Identifier: MIT */
/* Colours of encodings: see encoding_colour.h. */
#include "figures/encoding_colour.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Those that are often compared are far apart; who shares a hue is seldom beside the other. */
typedef struct family {
    const char *name, *option; /* of its options one begins so; "": any */
    size_t hue;
} family;

static const family families[] = {
    {"none", "", 0},
    {"rope", "values=on", 6},
    {"rope", "", 1},
    {"roper", "", 6},
    {"algebraic", "group=tree", 5},
    {"algebraic", "group=grid", 7},
    {"algebraic", "", 2},
    {"sinusoidal", "", 3},
    {"relative", "", 4},
    {"alibi", "", 8},
    {"shiv-quirk", "", 9},
    {"chebyshev", "", 11},
    {"mixed", "", 10},
    {"string", "", 8},
    {"liere", "", 5},
    {"t5", "", 9},
    {"kerple", "", 11},
    {"fire", "", 7},
    {"cope", "", 10},
    {"learned", "", 9},
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
    const size_t length = strcspn(encoding, ")");
    const int alone = encoding[length] == '\0' ? strpbrk(encoding, " +;") == NULL : encoding[length + 1] == '\0';
    return alone ? family_of(encoding) : NULL;
}

size_t lab_encoding_colour(const char *encoding) {
    const family *one = own_family(encoding);
    if (one == NULL)
        return hash_of(encoding) % LAB_COLOURS;
    const char *options = encoding + strlen(one->name);
    return one->hue * LAB_COLOUR_TONES + (options[0] == '\0' ? 0 : hash_of(options) % LAB_COLOUR_TONES);
}

/* To another hue, and through all colours: 7 and 36 have no common factor. */
static size_t next_colour(size_t colour) {
    return (colour + 7) % LAB_COLOURS;
}

void lab_encoding_colours(const char *const *encodings, size_t count, size_t *colours) {
    size_t users[LAB_COLOURS] = {0}, free_colours = LAB_COLOURS;
    for (size_t i = 0; i < count; i++) {
        colours[i] = lab_encoding_colour(encodings[i]);
        if (own_family(encodings[i]) != NULL)
            free_colours -= users[colours[i]]++ == 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (own_family(encodings[i]) != NULL)
            continue;
        while (users[colours[i]] > 0 && free_colours > 0)
            colours[i] = next_colour(colours[i]);
        free_colours -= users[colours[i]]++ == 0;
    }
}
