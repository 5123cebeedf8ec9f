/* SPDX-License-Identifier: MIT */
/* Differences of means over seeds, with Welch's interval at any level:
 *
 *   d = Σ w x̄ over fields,  s_d² = Σ w² s²/n,  interval d ± t(ν) s_d,  ν = s_d⁴ / Σ (w² s²/n)² / (n − 1)   (Welch 1947)
 *
 * A field with one seed has no interval. Where m differences are looked at together they are told from 0 by Holm's
 * procedure (1979): the surest by the interval that misses with 0.05 / m, the next by 0.05 / (m − 1) and so on, up to
 * the first that is not. So one of them is told wrongly with 5 % at most. */
#ifndef LAB_CONTRAST_H
#define LAB_CONTRAST_H

#include "report/tables/statistic.h"

#include <stdbool.h>

#define LAB_MISS 0.05 /* how often one of the intervals that are judged together may miss */

typedef struct lab_contrast {
    double difference;
    double error;      /* s_d; infinite: a field has a single seed */
    double degrees;    /* ν */
    double half_width; /* t(ν) s_d, infinite likewise */
    size_t seeds;      /* of the field that has the fewest */
    bool missing;      /* a field has none */
} lab_contrast;

/* What each of `count` intervals may miss with so that all of them hold with 95 % (Bonferroni). */
double lab_contrast_miss(size_t count);
/* Σ weights[i] · mean of fields[i], with the interval that misses with `miss`. */
lab_contrast lab_contrast_of(const lab_statistic *const *fields, const double *weights, size_t count, double miss);
lab_contrast lab_contrast_two(const lab_statistic *a, const lab_statistic *b, double miss); /* a − b */
/* A mean less a number that is known. */
lab_contrast lab_contrast_one(const lab_statistic *a, double known, double miss);
/* A row of those that are looked at together; NULL: it is none of them. */
typedef const lab_statistic *lab_row_at(const void *context, size_t row);
/* Whether rows i and j of `count` are told apart, all pairs of rows looked at together; nothing is told of one seed. */
bool lab_contrast_tells(lab_row_at *at, const void *context, size_t count, size_t i, size_t j);
/* Whether a row is the best, which has the highest mean (`sign` 1) or the lowest (−1), or is not told from it; false
 * where one of the two, or all others, have a single seed. */
bool lab_contrast_is_best(lab_row_at *at, const void *context, size_t count, size_t row, double sign);
/* Gives it the interval that misses with `miss`. */
void lab_contrast_widen(lab_contrast *contrast, double miss);
/* With what the interval may miss at least that leaves out what is this far from the difference; 1 where it is not
 * known. */
double lab_contrast_p(const lab_contrast *contrast, double distance);
/* 0 is outside the interval. */
bool lab_contrast_separates(const lab_contrast *contrast);

#endif
