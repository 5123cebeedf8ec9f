/* SPDX-License-Identifier: MIT */
/* The learning rate by step: a line up, then half a cosine down (Loshchilov and Hutter 2017, without restarts).
 *
 *   step < warmup:  initial + (peak − initial) · step / warmup
 *   else:           final + (peak − final) · (1 + cos(π x)) / 2,  x = (step − warmup) / (total − warmup), at most 1 */
#include "train/optimizer.h"
#include <math.h>

double lab_schedule_rate(const lab_schedule *schedule, uint64_t step) {
    if (step < schedule->warmup)
        return schedule->initial + (schedule->peak - schedule->initial) * ((double)step / (double)schedule->warmup);
    if (step >= schedule->total)
        return schedule->final;
    double x = (double)(step - schedule->warmup) / (double)(schedule->total - schedule->warmup);
    return schedule->final + (schedule->peak - schedule->final) * 0.5 * (1.0 + cos(3.14159265358979323846 * x));
}
