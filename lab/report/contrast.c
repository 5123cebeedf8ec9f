/* SPDX-License-Identifier: MIT */
#include "report/contrast.h"

#include "report/student.h"

#include <math.h>
#include <stdint.h>

double lab_contrast_miss(size_t count) {
    return LAB_MISS / (double)(count > 1 ? count : 1);
}

double lab_contrast_miss_of_pairs(size_t rows) {
    return lab_contrast_miss(rows > 1 ? rows * (rows - 1) / 2 : 1);
}

lab_contrast lab_contrast_of(const lab_statistic *const *fields, const double *weights, size_t count, double miss) {
    lab_contrast contrast = {.seeds = SIZE_MAX};
    double variance = 0, spread = 0, degrees = 1;
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
    if (contrast.seeds == 0) {
        return (lab_contrast){.half_width = INFINITY, .missing = true};
    }
    if (spread > 0) {
        degrees = variance * variance / spread;
    }
    /* No spread at all: no seed differs from another, and the interval is a point. */
    contrast.half_width = contrast.seeds < 2 ? INFINITY
                          : variance > 0     ? lab_student(miss, degrees) * sqrt(variance)
                                             : 0;
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

bool lab_contrast_tells(const lab_statistic *a, const lab_statistic *b, size_t rows) {
    const lab_contrast contrast = lab_contrast_two(a, b, lab_contrast_miss_of_pairs(rows));
    return lab_contrast_separates(&contrast);
}

bool lab_contrast_separates(const lab_contrast *contrast) {
    return !contrast->missing && fabs(contrast->difference) > contrast->half_width;
}
