/* SPDX-License-Identifier: MIT */
/* loss = ln Σ_j exp(z_j − z_max) − (z_target − z_max);  dL/dz_j = softmax_j − [j = target]; with smoothing the
 * wanted distribution stands for [j = target]. Sums in double. */
#include "nn/loss.h"
#include <math.h>

size_t lab_argmax(size_t count, const float *x) {
    size_t best = 0;
    for (size_t j = 1; j < count; ++j) {
        if (x[j] > x[best])
            best = j;
    }
    return best;
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
    double log_total = log(total) + (double)top, smoothing = (double)call->smoothing;
    if (smoothing > 0.0) /* (1 − ε) (ln Σ − z_target) + ε (ln Σ − mean z) */
        return log_total - (1.0 - smoothing) * (double)wanted - smoothing * sum / (double)classes;
    return log(total) - ((double)wanted - (double)top);
}

void lab_cross_entropy(const lab_loss *call, lab_rows rows, double *loss) {
    for (size_t r = rows.first; r < rows.first + rows.count; ++r) {
        float *row = call->logits + r * call->classes;
        size_t target = (size_t)call->targets[r], best = lab_argmax(call->classes, row);
        call->correct[r] = best == target;
        *loss += row_loss(call, target, best, row);
    }
}
