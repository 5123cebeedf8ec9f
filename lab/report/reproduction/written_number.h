/* SPDX-License-Identifier: MIT */
/* Numbers as people write them into prose. */
#ifndef LAB_WRITTEN_NUMBER_H
#define LAB_WRITTEN_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lab_written_number {
    const char *begin, *end; /* without sign and unit */
    char digits[32];         /* without the commas of 1,000 */
    char sign;               /* '+', '-' (of both forms) or 0: a dash between two numbers is none */
    size_t decimals;
    bool percent;
} lab_written_number;

/* Reads a number at `text`, where a digit stands, of a text that begins at `start`. False for a version or a date:
 * found->end is behind it anyway. */
bool lab_written_number_read(const char *start, const char *text, lab_written_number *found);
/* The next number from `at` on, or false; digits inside a word are none. */
bool lab_written_number_next(const char *start, const char *at, lab_written_number *found);

/* Whether two are the same: 100 and 100.00 are, 5 and −5 only if the first one has no sign. */
bool lab_written_number_is(const lab_written_number *wanted, const lab_written_number *found);
/* "52, 74 and 100 %": whether it is followed by a per cent sign, or is one of a list whose last one is. */
bool lab_written_number_is_percent(const char *start, const lab_written_number *one);
/* "18 of 20", "18 of the 20"; *second is 20's. */
bool lab_written_number_counts(const char *start, const lab_written_number *first, lab_written_number *second);

bool lab_written_is_word(char c);

#endif
