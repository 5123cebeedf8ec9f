/* SPDX-License-Identifier: MIT */
/* The learning rate by step: a line up, then half a cosine down (Loshchilov and Hutter 2017, without restarts), or
 * stairs, as torch.optim.lr_scheduler.StepLR has them.
 *
 *   step < warmup:  initial + (peak − initial) · step / warmup
 *   cosine:         final + (peak − final) · (1 + cos(π x)) / 2,  x = (step − warmup) / (total − warmup), at most 1
 *   stairs:         peak · factor^⌊(step − warmup) / every⌋
 *   constant:       no warmup, and `final` from step 0 on */
#include "train/optimizer.h"
#include <math.h>

double lab_schedule_rate(const lab_schedule *schedule, uint64_t step) {
    if (step < schedule->warmup)
        return schedule->initial + (schedule->peak - schedule->initial) * ((double)step / (double)schedule->warmup);
    if (schedule->every > 0) {
        const uint64_t times = (step - schedule->warmup) / schedule->every;
        return schedule->peak * pow(schedule->factor, (double)times);
    }
    if (step >= schedule->total)
        return schedule->final;
    double x = (double)(step - schedule->warmup) / (double)(schedule->total - schedule->warmup);
    return schedule->final + (schedule->peak - schedule->final) * 0.5 * (1.0 + cos(3.14159265358979323846 * x));
}
