/* SPDX-License-Identifier: MIT */
/* Differences of means over seeds, with Welch's interval at any level:
 *
 *   d = Σ w x̄ over fields,  s_d² = Σ w² s²/n,  interval d ± t(ν) s_d,  ν = s_d⁴ / Σ (w² s²/n)² / (n − 1)   (Welch 1947)
 *
 * m comparisons that are judged together each get the interval that misses with 0.05 / m: together they miss with 5 %
 * at most (Bonferroni). A field with one seed has no interval. */
#ifndef LAB_CONTRAST_H
#define LAB_CONTRAST_H

#include "report/statistic.h"

#include <stdbool.h>

#define LAB_MISS 0.05 /* how often one of the intervals that are judged together may miss */

typedef struct lab_contrast {
    double difference;
    double half_width; /* infinite: a field has a single seed */
    size_t seeds;      /* of the field that has the fewest */
    bool missing;      /* a field has none */
} lab_contrast;

/* What each of `count` intervals may miss with. */
double lab_contrast_miss(size_t count);
/* The same for all pairs of `rows` rows. */
double lab_contrast_miss_of_pairs(size_t rows);
/* Σ weights[i] · mean of fields[i], with the interval that misses with `miss`. */
lab_contrast lab_contrast_of(const lab_statistic *const *fields, const double *weights, size_t count, double miss);
lab_contrast lab_contrast_two(const lab_statistic *a, const lab_statistic *b, double miss); /* a − b */
/* A mean less a number that is known. */
lab_contrast lab_contrast_one(const lab_statistic *a, double known, double miss);
/* Whether two of `rows` rows, of which all pairs are judged together, are told apart; of one seed nothing is. */
bool lab_contrast_tells(const lab_statistic *a, const lab_statistic *b, size_t rows);
/* 0 is outside the interval. */
bool lab_contrast_separates(const lab_contrast *contrast);

#endif
