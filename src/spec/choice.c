/* SPDX-License-Identifier: MIT */
/* Lists of words "a|b|c", and the word that someone may have meant (Damerau–Levenshtein distance, adjacent swaps
 * counted once). */
#include "spec/option.h"

#include <string.h>

#define WORD_MAX 32 /* longer words have no nearest one */

locus_option_text locus_choice_at(const char *choices, size_t index) {
    locus_option_text word = {choices, 0, 0};
    while (choices) {
        word.text = choices;
        word.length = strcspn(choices, "|");
        if (index-- == 0)
            return word;
        choices = choices[word.length] ? choices + word.length + 1 : NULL;
    }
    word.length = 0;
    return word;
}

size_t locus_choice_find(const char *choices, const char *text, size_t length) {
    for (size_t i = 0;; i++) {
        locus_option_text word = locus_choice_at(choices, i);
        if (word.length == 0)
            return SIZE_MAX;
        if (word.length == length && memcmp(word.text, text, length) == 0)
            return i;
    }
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t edits(locus_option_text a, locus_option_text b) {
    size_t cost[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= a.length; i++)
        cost[i][0] = i;
    for (size_t j = 0; j <= b.length; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= a.length; i++)
        for (size_t j = 1; j <= b.length; j++) {
            char left = a.text[i - 1], right = b.text[j - 1];
            size_t best = cost[i - 1][j - 1] + (left != right);
            best = least(best, least(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && left == b.text[j - 2] && a.text[i - 2] == right)
                best = least(best, cost[i - 2][j - 2] + 1);
            cost[i][j] = best;
        }
    return cost[a.length][b.length];
}

locus_option_text locus_choice_nearest(const char *choices, const char *text, size_t length) {
    locus_option_text wanted = {text, length, 0}, nearest = {text, 0, 0};
    if (length == 0 || length > WORD_MAX)
        return nearest;
    size_t limit = length < 3 ? 1 : length < 6 ? 2 : 3;
    for (size_t i = 0;; i++) {
        locus_option_text word = locus_choice_at(choices, i);
        if (word.length == 0)
            return nearest;
        if (word.length > WORD_MAX)
            continue;
        size_t distance = edits(wanted, word);
        if (distance <= limit && distance < word.length) {
            nearest = word;
            limit = distance - (distance > 0);
            if (distance <= 1)
                return nearest;
        }
    }
}
