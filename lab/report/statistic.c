/* SPDX-License-Identifier: MIT */
#include "report/statistic.h"

#include <math.h>

double lab_student_95(size_t degrees) {
    static const double table[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281};
    if (degrees == 0) {
        return INFINITY;
    }
    if (degrees <= sizeof table / sizeof *table) {
        return table[degrees - 1];
    }
    /* Cornish–Fisher, exact to four digits from 11 degrees on. */
    double n = (double)degrees, z = 1.959964;
    return z + (pow(z, 3) + z) / (4 * n) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * n * n) +
           (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / (384 * n * n * n);
}

lab_statistic lab_statistic_of(const double *values, size_t count) {
    lab_statistic statistic = {.count = count};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    if (count == 0) {
        return statistic;
    }
    statistic.mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        squares += (values[i] - statistic.mean) * (values[i] - statistic.mean);
    }
    statistic.deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    statistic.half_width = count > 1 ? lab_student_95(count - 1) * statistic.deviation / sqrt((double)count) : INFINITY;
    return statistic;
}

bool lab_statistic_overlap(const lab_statistic *a, const lab_statistic *b) {
    return a->count < 2 || b->count < 2 || fabs(a->mean - b->mean) <= a->half_width + b->half_width;
}
