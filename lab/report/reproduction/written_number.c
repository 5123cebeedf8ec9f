/* SPDX-License-Identifier: MIT */
#include "report/reproduction/written_number.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MINUS "\xe2\x88\x92" /* U+2212 */

static bool begins_with(const char *text, const char *word) {
    return strncmp(text, word, strlen(word)) == 0;
}

/* Behind spaces of any kind and the end of a line. */
static const char *skip_space(const char *text) {
    for (;;)
        if (*text == ' ' || *text == '\n')
            text++;
        else if (begins_with(text, "\xc2\xa0") || begins_with(text, "\xe2\x80\xaf"))
            text += *text == '\xc2' ? 2 : 3;
        else
            return text;
}

bool lab_written_is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The sign of a number at `begin`; a dash between two numbers is none. */
static char sign_before(const char *start, const char *begin) {
    const char *at = begin;
    char sign = 0;
    if (at > start && (at[-1] == '-' || at[-1] == '+')) {
        sign = *--at;
    } else if (at - start >= 3 && begins_with(at - 3, MINUS)) {
        sign = '-';
        at -= 3;
    }
    return sign != 0 && (at == start || strchr(" \n(|*[=", at[-1]) != NULL) ? sign : 0;
}

bool lab_written_number_read(const char *start, const char *text, lab_written_number *found) {
    size_t used = 0, dots = 0;
    const char *at = text;
    *found = (lab_written_number){.begin = text, .sign = sign_before(start, text)};
    for (;; at++) {
        const bool group = *at == ',' && dots == 0 && isdigit((unsigned char)at[1]) && isdigit((unsigned char)at[2]) &&
                           isdigit((unsigned char)at[3]) && !isdigit((unsigned char)at[4]);
        const bool dot = *at == '.' && isdigit((unsigned char)at[1]);
        if (!isdigit((unsigned char)*at) && !group && !dot)
            break;
        dots += dot;
        found->decimals += dots > 0 && !dot;
        if (!group && used + 1 < sizeof found->digits)
            found->digits[used++] = *at;
    }
    found->digits[used] = '\0';
    found->end = at;
    const char *unit = skip_space(at);
    found->percent = *unit == '%' || begins_with(unit, "per cent");
    return dots < 2 && !(dots == 0 && at[0] == '-' && isdigit((unsigned char)at[1]) && used == 4 && !found->percent);
}

bool lab_written_number_next(const char *start, const char *at, lab_written_number *found) {
    for (; *at != '\0'; at++) {
        if (isdigit((unsigned char)*at) && (at == start || (!lab_written_is_word(at[-1]) && at[-1] != '.'))) {
            if (lab_written_number_read(start, at, found))
                return true;
            at = found->end - 1;
        }
    }
    return false;
}

/* Without zeros behind the point: 100 and 100.00 are the same. */
static void shorten(const char *digits, char text[32]) {
    snprintf(text, 32, "%s", digits);
    if (strchr(text, '.') != NULL) {
        size_t length = strlen(text);
        while (text[length - 1] == '0')
            text[--length] = '\0';
        if (text[length - 1] == '.')
            text[length - 1] = '\0';
    }
}

bool lab_written_number_is(const lab_written_number *wanted, const lab_written_number *found) {
    char one[32], other[32];
    shorten(wanted->digits, one);
    shorten(found->digits, other);
    return strcmp(one, other) == 0 && (wanted->sign == 0 || wanted->sign == found->sign);
}

bool lab_written_number_is_percent(const char *start, const lab_written_number *one) {
    static const char *const joints[] = {", and ", ", ", " and ", " or ", " to ", "\xe2\x80\x93", "/", " / "};
    lab_written_number last = *one;
    while (!last.percent) {
        size_t i = 0, count = sizeof joints / sizeof *joints;
        while (i < count && !(begins_with(last.end, joints[i]) && isdigit((unsigned char)last.end[strlen(joints[i])])))
            i++;
        if (i == count || !lab_written_number_read(start, last.end + strlen(joints[i]), &last))
            return false;
    }
    return true;
}

bool lab_written_number_counts(const char *start, const lab_written_number *first, lab_written_number *second) {
    const char *at = skip_space(first->end);
    if (first->decimals > 0 || !begins_with(at, "of") || lab_written_is_word(at[2]))
        return false;
    at = skip_space(at + 2);
    if (begins_with(at, "the ") || begins_with(at, "all "))
        at = skip_space(at + 4);
    return isdigit((unsigned char)*at) && lab_written_number_read(start, at, second) && second->decimals == 0 &&
           !second->percent;
}
