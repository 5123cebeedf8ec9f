/* SPDX-License-Identifier: MIT */
/* loss = ln Σ_j exp(z_j − z_max) − (z_target − z_max);  dL/dz_j = softmax_j − [j = target]; with smoothing the
 * wanted distribution stands for [j = target]. Sums in double. Many classes: in vectors (loss_wide.h). */
#include "nn/loss.h"
#include "nn/loss_wide.h"
#include <math.h>

size_t lab_argmax(size_t count, const float *x) {
    size_t best = 0;
    if (count >= LAB_WIDE_CLASSES)
        return lab_wide_argmax(count, x);
    for (size_t j = 1; j < count; ++j)
        if (x[j] > x[best])
            best = j;
    return best;
}

static double sum_of(size_t count, const float *x) {
    double sum = 0.0;
    for (size_t j = 0; j < count; ++j)
        sum += (double)x[j];
    return sum;
}

/* (1 − ε) (ln Σ − z_target) + ε (ln Σ − mean z); `total` is Σ exp(z − top). */
static double smoothed_loss(const lab_loss *call, double total, double top, double wanted, double sum) {
    const double log_total = log(total) + top, smoothing = (double)call->smoothing;
    return log_total - (1.0 - smoothing) * wanted - smoothing * sum / (double)call->classes;
}

/* As below, in vectors. */
static double wide_row_loss(const lab_loss *call, size_t target, size_t best, float *logits) {
    const size_t classes = call->classes;
    const bool gradient = call->scale != 0.0f;
    const double top = (double)logits[best], wanted = (double)logits[target];
    const double sum = call->smoothing > 0.0f ? sum_of(classes, logits) : 0.0;
    const double total = lab_wide_exponentials(classes, logits[best], logits, gradient);
    if (gradient) {
        const float spread = call->scale * call->smoothing / (float)classes;
        lab_wide_scale(classes, (float)((double)call->scale / total), spread, logits);
        logits[target] -= call->scale * (1.0f - call->smoothing);
    }
    return call->smoothing > 0.0f ? smoothed_loss(call, total, top, wanted, sum) : log(total) - (wanted - top);
}

/* Returns the loss of one row. */
static double row_loss(const lab_loss *call, size_t target, size_t best, float *logits) {
    const size_t classes = call->classes;
    float top = logits[best], wanted = logits[target];
    double total = 0.0, sum = 0.0;
    for (size_t j = 0; j < classes; ++j) {
        sum += (double)logits[j];
        float e = expf(logits[j] - top);
        total += (double)e;
        if (call->scale != 0.0f)
            logits[j] = e;
    }
    if (call->scale != 0.0f) {
        float factor = (float)((double)call->scale / total), spread = call->scale * call->smoothing / (float)classes;
        for (size_t j = 0; j < classes; ++j)
            logits[j] = logits[j] * factor - spread;
        logits[target] -= call->scale * (1.0f - call->smoothing);
    }
    if (call->smoothing > 0.0f)
        return smoothed_loss(call, total, (double)top, (double)wanted, sum);
    return log(total) - ((double)wanted - (double)top);
}

void lab_cross_entropy(const lab_loss *call, lab_rows rows, double *loss) {
    for (size_t r = rows.first; r < rows.first + rows.count; ++r) {
        float *row = call->logits + r * call->classes;
        size_t target = (size_t)call->targets[r], best = lab_argmax(call->classes, row);
        call->correct[r] = best == target;
        *loss += call->classes < LAB_WIDE_CLASSES ? row_loss(call, target, best, row)
                                                  : wide_row_loss(call, target, best, row);
    }
}
