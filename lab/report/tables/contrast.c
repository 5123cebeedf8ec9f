/* SPDX-License-Identifier: MIT */
/* Contrasts of groups of runs: their difference, its standard error and degrees of freedom, its interval and p. */
#include "report/tables/contrast.h"

#include "report/tables/student.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define MOST_PAIRS 2016 /* of 64 rows */

double lab_contrast_miss(size_t count) {
    return LAB_MISS / (double)(count > 1 ? count : 1);
}

lab_contrast lab_contrast_of(const lab_statistic *const *fields, const double *weights, size_t count, double miss) {
    lab_contrast contrast = {.seeds = SIZE_MAX};
    double variance = 0, spread = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t seeds = fields[i]->count;
        contrast.seeds = seeds < contrast.seeds ? seeds : contrast.seeds;
        contrast.difference += weights[i] * fields[i]->mean;
        if (seeds > 1) {
            const double own = weights[i] * weights[i] * fields[i]->deviation * fields[i]->deviation / (double)seeds;
            variance += own;
            spread += own * own / (double)(seeds - 1);
        }
    }
    if (contrast.seeds == 0)
        return (lab_contrast){.error = INFINITY, .half_width = INFINITY, .missing = true};
    contrast.error = contrast.seeds < 2 ? INFINITY : sqrt(variance);
    contrast.degrees = spread > 0 ? variance * variance / spread : 1;
    lab_contrast_widen(&contrast, miss);
    return contrast;
}

lab_contrast lab_contrast_two(const lab_statistic *a, const lab_statistic *b, double miss) {
    const lab_statistic *const fields[2] = {a, b};
    static const double weights[2] = {1, -1};
    return lab_contrast_of(fields, weights, 2, miss);
}

lab_contrast lab_contrast_one(const lab_statistic *a, double known, double miss) {
    static const double weight = 1;
    lab_contrast contrast = lab_contrast_of(&a, &weight, 1, miss);
    contrast.difference -= contrast.missing ? 0 : known;
    return contrast;
}

/* Without any spread the interval is a point, with an infinite error it is everything. */
void lab_contrast_widen(lab_contrast *contrast, double miss) {
    contrast->half_width = lab_student(miss, contrast->degrees) * contrast->error;
}

double lab_contrast_p(const lab_contrast *contrast, double distance) {
    if (contrast->missing || !isfinite(contrast->error))
        return 1;
    return contrast->error > 0 ? lab_student_tails(distance / contrast->error, contrast->degrees) : !(distance > 0);
}

/* ---- all pairs ---- */

static double pair_p(const lab_statistic *a, const lab_statistic *b) {
    const lab_contrast contrast = lab_contrast_two(a, b, LAB_MISS);
    return lab_contrast_p(&contrast, fabs(contrast.difference));
}

static int compare(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static size_t count_rows(lab_row_at *at, const void *context, size_t count) {
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += at(context, i) != NULL;
    return rows;
}

bool lab_contrast_tells(lab_row_at *at, const void *context, size_t count, size_t i, size_t j) {
    double p[MOST_PAIRS];
    const double own = pair_p(at(context, i), at(context, j));
    const size_t rows = count_rows(at, context, count), pairs = rows * (rows - 1) / 2;
    size_t used = 0;
    if (!(own < LAB_MISS))
        return false; /* a row and itself, too */
    if (pairs > MOST_PAIRS)
        return own < LAB_MISS / (double)pairs; /* all of them by the first step: right, though told more rarely */
    for (size_t a = 0; a < count; a++) {
        for (size_t b = a + 1; b < count; b++)
            if (at(context, a) != NULL && at(context, b) != NULL)
                p[used++] = pair_p(at(context, a), at(context, b));
    }
    qsort(p, used, sizeof *p, compare);
    for (size_t k = 0; k < used && p[k] <= own; k++)
        if (!(p[k] < LAB_MISS / (double)(used - k)))
            return false;
    return true;
}

bool lab_contrast_is_best(lab_row_at *at, const void *context, size_t count, size_t row, double sign) {
    const lab_statistic *own = at(context, row), *best = NULL;
    size_t place = 0, rivals = 0;
    for (size_t i = 0; i < count; i++) {
        const lab_statistic *other = at(context, i);
        if (other == NULL || other->count == 0)
            continue;
        if (best == NULL || sign * (other->mean - best->mean) > 0) {
            best = other;
            place = i;
        }
        rivals += other->count > 1 && i != row;
    }
    return rivals > 0 && own != NULL && own->count > 1 && best->count > 1 &&
           (row == place || !lab_contrast_tells(at, context, count, row, place));
}

bool lab_contrast_separates(const lab_contrast *contrast) {
    return !contrast->missing && fabs(contrast->difference) > contrast->half_width;
}
