/* SPDX-License-Identifier: MIT */
/* loss = ln Σ_j exp(z_j − z_max) − (z_target − z_max);  dL/dz_j = softmax_j − [j = target]. Sums in double. */
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
static double row_loss(size_t classes, size_t target, size_t best, float scale, float *logits) {
    float top = logits[best], wanted = logits[target];
    double total = 0.0;
    for (size_t j = 0; j < classes; ++j) {
        float e = expf(logits[j] - top);
        total += (double)e;
        if (scale != 0.0f)
            logits[j] = e;
    }
    if (scale != 0.0f) {
        float factor = (float)((double)scale / total);
        for (size_t j = 0; j < classes; ++j)
            logits[j] *= factor;
        logits[target] -= scale;
    }
    return log(total) - ((double)wanted - (double)top);
}

void lab_cross_entropy(lab_rows rows, size_t classes, const int32_t *targets, float scale, float *logits, double *loss,
                       uint8_t *correct) {
    for (size_t r = rows.first; r < rows.first + rows.count; ++r) {
        float *row = logits + r * classes;
        size_t target = (size_t)targets[r], best = lab_argmax(classes, row);
        correct[r] = best == target;
        *loss += row_loss(classes, target, best, scale, row);
    }
}
