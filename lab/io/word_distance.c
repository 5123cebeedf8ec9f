/* SPDX-License-Identifier: MIT */
/* See word_distance.h. */
#include "io/word_distance.h"

#include <string.h>

size_t lab_word_distance(const char *a, const char *b) {
    enum { LONGEST = 47 };
    size_t distance[3][LONGEST + 1];
    size_t n = strlen(a), m = strlen(b);
    n = n > LONGEST ? LONGEST : n;
    m = m > LONGEST ? LONGEST : m;
    for (size_t j = 0; j <= m; j++)
        distance[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = distance[i % 3], *above = distance[(i + 2) % 3], *above2 = distance[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && above2[j - 2] + 1 < best)
                best = above2[j - 2] + 1;
            row[j] = best;
        }
    }
    return distance[n % 3][m];
}

bool lab_word_among(const char *word, const char *words) {
    const size_t length = strlen(word);
    for (const char *at = length > 0 ? words : NULL; at != NULL && (at = strstr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' '))
            return true;
    return false;
}
