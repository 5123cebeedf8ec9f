/* SPDX-License-Identifier: MIT */
/* loss = ln Σ_j exp(z_j − z_max) − (z_target − z_max);  dL/dz_j = softmax_j − [j = target]; with smoothing the
 * wanted distribution stands for [j = target]. Sums in double.
 *
 * Rows of many classes are walked through in vectors, in blocks that stay in registers and the first-level cache: sums
 * are of float lanes within a block, of doubles across blocks. */
#include "nn/loss.h"
#include "nn/exponential.h"
#include <math.h>

enum { WIDE_CLASSES = 128 /* from so many on vectors pay */, BLOCK = 512 };

/* ---- the greatest ---- */

LAB_CLONES static float wide_block_greatest(size_t count, const float *restrict x) {
    float lanes[LAB_LANES], greatest = -INFINITY;
    size_t j = 0;
    for (size_t l = 0; l < LAB_LANES; ++l)
        lanes[l] = -INFINITY;
    for (; j + LAB_LANES <= count; j += LAB_LANES)
        for (size_t l = 0; l < LAB_LANES; ++l)
            lanes[l] = x[j + l] > lanes[l] ? x[j + l] : lanes[l];
    for (; j < count; ++j)
        greatest = x[j] > greatest ? x[j] : greatest;
    for (size_t l = 0; l < LAB_LANES; ++l)
        greatest = lanes[l] > greatest ? lanes[l] : greatest;
    return greatest;
}

static size_t wide_argmax(size_t count, const float *x) {
    float greatest = -INFINITY;
    size_t block = 0;
    for (size_t first = 0; first < count; first += BLOCK) {
        const float own = wide_block_greatest(count - first < BLOCK ? count - first : BLOCK, x + first);
        if (own > greatest) {
            greatest = own;
            block = first;
        }
    }
    for (size_t j = block; j < count; ++j)
        if (x[j] == greatest)
            return j;
    return 0; /* no number is greater than −∞ */
}

size_t lab_argmax(size_t count, const float *x) {
    size_t best = 0;
    if (count >= WIDE_CLASSES)
        return wide_argmax(count, x);
    for (size_t j = 1; j < count; ++j)
        if (x[j] > x[best])
            best = j;
    return best;
}

/* ---- sums ---- */

static double sum_of(size_t count, const float *x) {
    double sum = 0.0;
    for (size_t j = 0; j < count; ++j)
        sum += (double)x[j];
    return sum;
}

/* Σ_j exp(z_j − top), top the greatest; with `write` they take the place of the numbers. */
static double exponentials(size_t count, float top, float *z, bool write) {
    double sum = 0.0;
    for (size_t j = 0; j < count; ++j) {
        const float e = expf(z[j] - top);
        sum += (double)e;
        if (write)
            z[j] = e;
    }
    return sum;
}

/* e [BLOCK]: zeros behind the last. */
LAB_CLONES static float wide_block_exponentials(size_t count, float top, const float *restrict z, float *restrict e) {
    float sum[LAB_LANES] = {0};
    for (size_t j = 0; j < count; ++j) {
        const float y = z[j] - top;
        e[j] = lab_exponential(y < LAB_EXPONENTIAL_LEAST ? LAB_EXPONENTIAL_LEAST : y);
    }
    for (size_t j = count; j % LAB_LANES != 0; ++j)
        e[j] = 0.0f;
    for (size_t j = 0; j < count; j += LAB_LANES)
        for (size_t l = 0; l < LAB_LANES; ++l)
            sum[l] += e[j + l];
    return lab_lanes_sum(sum);
}

/* The same in vectors. Relative error 5e-7. */
static double wide_exponentials(size_t count, float top, float *z, bool write) {
    float e[BLOCK];
    double sum = 0.0;
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t own = count - first < BLOCK ? count - first : BLOCK;
        sum += (double)wide_block_exponentials(own, top, z + first, e);
        if (write)
            memcpy(z + first, e, own * sizeof *e);
    }
    return sum;
}

LAB_CLONES static void loss_scale_run(size_t count, float factor, float shift, float *restrict z) {
    for (size_t j = 0; j < count; ++j)
        z[j] = z[j] * factor - shift;
}

/* ---- one row ---- */

/* (1 − ε) (ln Σ − z_target) + ε (ln Σ − mean z); `total` is Σ exp(z − top). */
static double smoothed_loss(const lab_loss *call, double total, double top, double wanted, double sum) {
    const double log_total = log(total) + top, smoothing = (double)call->smoothing;
    return log_total - (1.0 - smoothing) * wanted - smoothing * sum / (double)call->classes;
}

/* Returns the loss of one row. */
static double row_loss(const lab_loss *call, size_t target, size_t best, float *logits) {
    const size_t classes = call->classes;
    const bool gradient = call->scale != 0.0f, smooth = call->smoothing > 0.0f;
    const double top = (double)logits[best], wanted = (double)logits[target];
    const double sum = smooth ? sum_of(classes, logits) : 0.0;
    const double total =
        (classes < WIDE_CLASSES ? exponentials : wide_exponentials)(classes, logits[best], logits, gradient);
    if (gradient) {
        const float spread = call->scale * call->smoothing / (float)classes;
        loss_scale_run(classes, (float)((double)call->scale / total), spread, logits);
        logits[target] -= call->scale * (1.0f - call->smoothing);
    }
    return smooth ? smoothed_loss(call, total, top, wanted, sum) : log(total) - (wanted - top);
}

void lab_cross_entropy(const lab_loss *call, lab_rows rows, double *loss) {
    for (size_t r = rows.first; r < rows.first + rows.count; ++r) {
        float *row = call->logits + r * call->classes;
        const size_t target = (size_t)call->targets[r], best = lab_argmax(call->classes, row);
        call->correct[r] = best == target;
        *loss += row_loss(call, target, best, row);
    }
}
