/* SPDX-License-Identifier: MIT */
/* One quantity over seeds:
 *
 *   mean = Σ x / n,  s² = Σ (x − mean)² / (n − 1),  95 % interval: mean ± t(n−1) · s / √n   (Student 1908) */
#ifndef LAB_STATISTIC_H
#define LAB_STATISTIC_H

#include <stddef.h>

typedef struct lab_statistic {
    size_t count;           /* seeds that have it; 0: nobody */
    double mean, deviation; /* deviation over seeds with n − 1; 0 for one seed */
    double half_width;      /* of the 95 % confidence interval of the mean, t·s/√n; infinite for one seed */
} lab_statistic;

/* Mean, deviation and t interval of `count` values. */
lab_statistic lab_statistic_of(const double *values, size_t count);

#endif
