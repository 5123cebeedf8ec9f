/* SPDX-License-Identifier: MIT */
/* What a long piece of work tells on the way, kept as text: "phase done/total" in a line for each call. */
#ifndef LOCUS_TESTS_UNIT_HEARD_H
#define LOCUS_TESTS_UNIT_HEARD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct heard {
    char text[400];
} heard;

/* For a lab_watch, whose context is a heard. */
static bool hear(void *context, const char *phase, uint64_t done, uint64_t total) {
    heard *all = context;
    const size_t used = strlen(all->text);
    snprintf(all->text + used, sizeof all->text - used, "%s %llu/%llu\n", phase, (unsigned long long)done,
             (unsigned long long)total);
    return true;
}

#endif
