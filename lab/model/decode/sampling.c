/* SPDX-License-Identifier: MIT */
/* Tokens drawn from a distribution that is sharpened and cut:
 *
 *   w_j = exp((z_j − z_max) / temperature);  the top_k greatest are kept;  of these the fewest whose share of what is
 *   kept reaches top_p  (top-k: Fan et al. 2018; nucleus: Holtzman et al. 2019);  u Σ w falls into the token's w
 *
 * What is kept comes off a heap, greatest first, so that a vocabulary is sorted only as far as it is wanted. u is
 * number t of stream (seed, sample): the other samples of a batch, and threads, are nothing to it. */
#include "model/decode/sampling.h"

#include "io/fail.h"
#include "nn/loss.h"
#include <math.h>

bool lab_sampling_draws(const lab_sampling *sampling) {
    return sampling && sampling->temperature > 0.0 && sampling->top_k != 1;
}

locus_status lab_sampling_check(const lab_sampling *sampling, locus_error *error) {
    if (sampling == NULL)
        return LOCUS_OK;
    if (!(sampling->temperature >= 0.0 && isfinite(sampling->temperature)))
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "temperature",
                        "temperature is %g: it must be 0 (the most probable token) or more", sampling->temperature);
    if (!(sampling->top_p > 0.0 && sampling->top_p <= 1.0))
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "top_p",
                        "top_p is %g: it must be above 0, and at most 1 (all tokens)", sampling->top_p);
    return LOCUS_OK;
}

/* Weights as a heap of their indices, the greatest at its top; of equal ones the first. */
typedef struct heap {
    size_t count;
    const float *weights;
    uint32_t *order;
} heap;

static bool above(const heap *h, uint32_t a, uint32_t b) {
    return h->weights[a] > h->weights[b] || (h->weights[a] == h->weights[b] && a < b);
}

static void sink(heap *h, size_t at) {
    const uint32_t own = h->order[at];
    for (size_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && above(h, h->order[child + 1], h->order[child]))
            ++child;
        if (!above(h, h->order[child], own))
            break;
        h->order[at] = h->order[child];
    }
    h->order[at] = own;
}

static heap heap_make(size_t count, const float *weights, uint32_t *order) {
    heap h = {count, weights, order};
    for (size_t i = 0; i < count; ++i)
        order[i] = (uint32_t)i;
    for (size_t i = count / 2; i-- > 0;)
        sink(&h, i);
    return h;
}

/* The greatest goes to the place that becomes free behind the heap. */
static uint32_t heap_pop(heap *h) {
    const uint32_t top = h->order[0];
    h->order[0] = h->order[--h->count];
    sink(h, 0);
    h->order[h->count] = top;
    return top;
}

static double weights_make(size_t count, double temperature, float *logits) {
    const double top = (double)logits[lab_argmax(count, logits)];
    double sum = 0.0;
    for (size_t j = 0; j < count; ++j) {
        logits[j] = (float)exp(((double)logits[j] - top) / temperature);
        sum += (double)logits[j];
    }
    return sum;
}

/* Of all tokens, in their order. */
static size_t draw_all(size_t count, const float *weights, double target) {
    double sum = 0.0;
    size_t last = 0;
    for (size_t j = 0; j < count; ++j) {
        sum += (double)weights[j];
        if (sum > target)
            return j;
        last = weights[j] > 0.0f ? j : last;
    }
    return last;
}

/* Of the greatest, which stand in `order` from its end on, the greatest last. */
static size_t draw_greatest(size_t count, const heap *h, size_t kept, double target) {
    double sum = 0.0;
    for (size_t i = 0; i < kept; ++i) {
        sum += (double)h->weights[h->order[count - 1 - i]];
        if (sum > target)
            return h->order[count - 1 - i];
    }
    return h->order[count - kept];
}

size_t lab_sampling_choose(const lab_sampling *sampling, const lab_sampling_place *place, size_t count, float *logits,
                           uint32_t *order) {
    if (!lab_sampling_draws(sampling))
        return lab_argmax(count, logits);
    const locus_random random = {sampling->seed, LAB_PURPOSE_SAMPLING, (uint32_t)place->sample};
    const double u = locus_random_uniform(&random, place->token);
    double total = weights_make(count, sampling->temperature, logits);
    const bool some = sampling->top_k > 0 && sampling->top_k < count;
    if (!some && sampling->top_p >= 1.0)
        return draw_all(count, logits, u * total);
    heap h = heap_make(count, logits, order);
    size_t most = some ? sampling->top_k : count, kept = 0;
    if (some)
        total = 0.0;
    for (size_t i = 0; some && i < most; ++i)
        total += (double)logits[heap_pop(&h)];
    double mass = 0.0;
    while (kept < most && (kept == 0 || mass < sampling->top_p * total)) {
        mass += (double)logits[some ? order[count - 1 - kept] : heap_pop(&h)];
        ++kept;
    }
    return draw_greatest(count, &h, kept, u * mass);
}
