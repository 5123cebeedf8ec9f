/* SPDX-License-Identifier: MIT */
/* Reads problems of addition and substring-index as a person checks them: clause by clause, against numbers and strings
 * that are looked at in other ways than the generator does. */
#ifndef PROBLEM_ORACLE_H
#define PROBLEM_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sum_read {
    uint64_t first, second;
    size_t first_digits, second_digits, clauses;
    bool carried; /* a carry was left over */
} sum_read;

typedef struct suffix_read {
    const char *string;
    size_t length, index;
} suffix_read;

/* Moves *text behind one whole problem; false, standing at what is wrong: it isn't one, or is solved wrongly. */
bool oracle_reads_sum(const char **text, sum_read *found);
bool oracle_reads_suffix(const char **text, suffix_read *found);

#endif
