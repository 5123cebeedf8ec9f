/* SPDX-License-Identifier: MIT */
/* The mean in one pass over the values, the deviation from it in a second. */
#include "report/tables/statistic.h"

#include "report/tables/student.h"

#include <math.h>

lab_statistic lab_statistic_of(const double *values, size_t count) {
    lab_statistic statistic = {.count = count};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    if (count == 0)
        return statistic;
    statistic.mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - statistic.mean) * (values[i] - statistic.mean);
    statistic.deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    statistic.half_width =
        count > 1 ? lab_student(0.05, (double)(count - 1)) * statistic.deviation / sqrt((double)count) : INFINITY;
    return statistic;
}
