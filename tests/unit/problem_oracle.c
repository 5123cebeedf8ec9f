/* SPDX-License-Identifier: MIT */
/* A reader that eats a problem's text from left to right and looks everything up anew. */
#include "problem_oracle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool eats(const char **text, const char *word) {
    size_t length = strlen(word);
    bool there = strncmp(*text, word, length) == 0;
    *text += there ? length : 0;
    return there;
}

/* Without a sign, without a 0 before other digits. */
static bool eats_number(const char **text, uint64_t *number, size_t *digits) {
    size_t length = strspn(*text, "0123456789");
    if (length == 0 || length > 19 || (length > 1 && **text == '0'))
        return false;
    *number = strtoull(*text, NULL, 10);
    *digits = length;
    *text += length;
    return true;
}

/* "7e1": a number, and the place that is expected. */
static bool eats_term(const char **text, uint64_t place, uint64_t *value) {
    uint64_t exponent;
    size_t digits;
    return eats_number(text, value, &digits) && eats(text, "e") && eats_number(text, &exponent, &digits) &&
           exponent == place;
}

static uint64_t power(size_t exponent) {
    uint64_t result = 1;
    while (exponent-- > 0)
        result *= 10;
    return result;
}

/* The digit of 10^place, from the number's own text. */
static uint64_t digit_of(uint64_t number, size_t place) {
    char text[24];
    int length = snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return place < (size_t)length ? (uint64_t)(text[(size_t)length - 1 - place] - '0') : 0;
}

/* What the places below carry over is the part of their sum that doesn't fit them. */
static bool eats_clause(const char **text, const sum_read *of, size_t place) {
    uint64_t x, y, carry, sum, below = power(place);
    return eats_term(text, place, &x) && eats(text, "+") && eats_term(text, place, &y) && eats(text, "+") &&
           eats_term(text, place, &carry) && eats(text, "==") && eats_term(text, place, &sum) && eats(text, " and ") &&
           x == digit_of(of->first, place) && y == digit_of(of->second, place) && sum == x + y + carry &&
           carry == (of->first % below + of->second % below) / below;
}

bool oracle_reads_sum(const char **text, sum_read *found) {
    uint64_t result;
    size_t digits;
    *found = (sum_read){0};
    if (!eats(text, "?d=") || !eats_number(text, &found->first, &found->first_digits) || !eats(text, "+") ||
        !eats_number(text, &found->second, &found->second_digits) || !eats(text, "; "))
        return false;
    while (**text != 'd') {
        if (!eats_clause(text, found, found->clauses))
            return false;
        found->clauses++;
    }
    size_t longer = found->first_digits > found->second_digits ? found->first_digits : found->second_digits;
    found->carried = found->first + found->second >= power(longer);
    return eats(text, "d==") && eats_number(text, &result, &digits) && eats(text, "#") &&
           result == found->first + found->second && found->clauses == longer + found->carried;
}

static size_t letters(const char *text) {
    size_t count = 0;
    while (islower((unsigned char)text[count]))
        count++;
    return count;
}

bool oracle_reads_suffix(const char **text, suffix_read *found) {
    uint64_t index;
    size_t digits;
    if (!eats(text, "?s='"))
        return false;
    *found = (suffix_read){*text, letters(*text), 0};
    *text += found->length;
    if (!eats(text, "'; s[") || !eats_number(text, &index, &digits) || !eats(text, ":]=='") || index >= found->length)
        return false;
    found->index = (size_t)index;
    size_t rest = found->length - found->index;
    bool same = letters(*text) == rest && strncmp(*text, found->string + index, rest) == 0;
    *text += same ? rest : 0;
    return same && eats(text, "'#");
}
