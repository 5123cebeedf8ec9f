/* SPDX-License-Identifier: MIT */
/* Texts that a stranger may have written into a run store, and the places where they stand there. */
#ifndef TESTS_PLANTED_TEXT_H
#define TESTS_PLANTED_TEXT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct planted_text {
    const char *name, *text; /* text NULL: a million letters */
} planted_text;
extern const planted_text planted_texts[];
extern const size_t planted_text_count;

/* What only shows up if a planted text was run: a file of this name in the working folder. */
#define PLANTED_PROOF "pwned"

/* Places: the text columns of the tables run, evaluation, final, note and parent, and the texts within run.config. */
extern const char *const planted_places[];
extern const size_t planted_place_count;
/* Whether a place only describes the run: with its own text there, the run is as before. */
bool planted_place_describes(size_t place);

/* Writes the text into the place, of run 1. */
void planted_put(sqlite3 *store, size_t place, const planted_text *text);

#endif
