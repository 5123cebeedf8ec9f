/* SPDX-License-Identifier: MIT */
/* See overlap.h. Elements i of a and j of b are the same memory where
 *
 *   Σ j_k·t_k − Σ i_k·s_k = data of a − data of b,   all in elements
 *
 * with i and j inside of their shapes. Strides that both views have are one unknown. It is looked for from the largest
 * stride to the smallest: at each, what the smaller ones can still make up leaves one or two values for views of one
 * buffer, whatever their layouts. Views that need more than SEARCH_MAX steps count as overlapping. */
#include "core/overlap.h"

#include <stddef.h>

enum { AXES_MAX = 2 * LOCUS_MAX_RANK, SEARCH_MAX = 4096 };

/* stride · k, low ≤ k ≤ high. */
typedef struct overlap_axis {
    int64_t stride, low, high; /* stride > 0 */
    int64_t least, most;       /* what this and the axes behind it can add up to */
} overlap_axis;

typedef struct overlap_search {
    overlap_axis axes[AXES_MAX];
    size_t count, steps;
} overlap_search;

/* ---- the bytes that a view reaches over ---- */

typedef enum overlap_reach { REACHES_NOTHING, REACHES, REACHES_TOO_FAR } overlap_reach;

/* Nothing for an empty view, too far where the bytes are more than any memory has. */
static overlap_reach byte_bounds(const locus_tensor *tensor, int64_t *low, int64_t *high) {
    const int64_t size = (int64_t)locus_dtype_size(tensor->dtype);
    bool far = false;
    *low = (int64_t)(intptr_t)tensor->data;
    *high = *low + size;
    for (size_t i = 0; i < tensor->rank; i++) {
        int64_t reach, *bound;
        if (tensor->shape[i] <= 0)
            return REACHES_NOTHING;
        if (__builtin_mul_overflow(tensor->shape[i] - 1, tensor->stride[i], &reach) ||
            __builtin_mul_overflow(reach, size, &reach)) {
            far = true;
            continue;
        }
        bound = reach < 0 ? low : high;
        if (__builtin_add_overflow(*bound, reach, bound))
            far = true;
    }
    return far ? REACHES_TOO_FAR : REACHES;
}

/* ---- the search ---- */

/* Bounds of all views are known to fit: so do sums of these. */
static void add_axis(overlap_search *search, int64_t stride, int64_t extent, bool negative) {
    const bool down = (stride < 0) != negative;
    size_t at = 0;
    stride = stride < 0 ? -stride : stride;
    while (at < search->count && search->axes[at].stride > stride)
        at++;
    if (at == search->count || search->axes[at].stride != stride) {
        for (size_t i = search->count++; i > at; i--)
            search->axes[i] = search->axes[i - 1];
        search->axes[at] = (overlap_axis){.stride = stride};
    }
    *(down ? &search->axes[at].low : &search->axes[at].high) += down ? -extent : extent;
}

static void add_axes(overlap_search *search, const locus_tensor *tensor, bool negative) {
    for (size_t i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] > 1 && tensor->stride[i] != 0)
            add_axis(search, tensor->stride[i], tensor->shape[i] - 1, negative);
}

static void add_up(overlap_search *search) {
    int64_t least = 0, most = 0;
    for (size_t i = search->count; i-- > 0;) {
        overlap_axis *axis = &search->axes[i];
        least = axis->least = least + axis->stride * axis->low;
        most = axis->most = most + axis->stride * axis->high;
    }
}

/* Of a division by a positive number. */
static int64_t quotient_down(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Whether the axes from number `at` on can add up to `sum`. */
static bool finds(overlap_search *search, size_t at, int64_t sum) {
    if (at == search->count)
        return sum == 0;
    const overlap_axis *axis = &search->axes[at];
    if (sum < axis->least || sum > axis->most)
        return false;
    const bool last = at + 1 == search->count;
    const int64_t least = last ? 0 : axis[1].least, most = last ? 0 : axis[1].most;
    int64_t from = -quotient_down(most - sum, axis->stride), to = quotient_down(sum - least, axis->stride);
    from = from > axis->low ? from : axis->low;
    to = to < axis->high ? to : axis->high;
    for (int64_t k = from; k <= to; k++)
        if (++search->steps > SEARCH_MAX || finds(search, at + 1, sum - k * axis->stride))
            return true;
    return false;
}

static bool share_an_element(const locus_tensor *a, const locus_tensor *b) {
    const int64_t size = (int64_t)locus_dtype_size(a->dtype);
    const int64_t bytes = (int64_t)(intptr_t)a->data - (int64_t)(intptr_t)b->data;
    overlap_search search = {.count = 0};
    if (a->dtype != b->dtype || bytes % size != 0)
        return true;
    add_axes(&search, a, true);
    add_axes(&search, b, false);
    add_up(&search);
    return finds(&search, 0, bytes / size);
}

bool locus_tensors_overlap(const locus_tensor *a, const locus_tensor *b) {
    int64_t a_low, a_high, b_low, b_high;
    const overlap_reach a_reach = byte_bounds(a, &a_low, &a_high), b_reach = byte_bounds(b, &b_low, &b_high);
    if (a_reach == REACHES_NOTHING || b_reach == REACHES_NOTHING)
        return false;
    if (a_reach == REACHES_TOO_FAR || b_reach == REACHES_TOO_FAR)
        return true;
    return a_low < b_high && b_low < a_high && share_an_element(a, b);
}

bool locus_tensors_same(const locus_tensor *a, const locus_tensor *b) {
    if (a->data != b->data || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (size_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i] || (a->stride[i] != b->stride[i] && a->shape[i] > 1))
            return false;
    return true;
}
