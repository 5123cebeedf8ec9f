/* SPDX-License-Identifier: MIT */
/* See overlap.h. */
#include "core/overlap.h"

static void byte_bounds(const locus_tensor *tensor, intptr_t *low, intptr_t *high) {
    intptr_t size = (intptr_t)locus_dtype_size(tensor->dtype);
    *low = (intptr_t)tensor->data;
    *high = *low + size;
    for (size_t i = 0; i < tensor->rank; i++) {
        intptr_t reach = (intptr_t)(tensor->shape[i] - 1) * (intptr_t)tensor->stride[i] * size;
        *(reach < 0 ? low : high) += reach;
    }
}

/* Elements of a row that do not lie side by side are not told apart. */
static bool is_dense(const locus_tensor *tensor) {
    return tensor->shape[tensor->rank - 1] == 1 || tensor->stride[tensor->rank - 1] == 1;
}

/* Views of one fused buffer interleave without sharing an element. With equal strides s0, s1 two elements of different
 * views meet only if  distance + dh·s1  falls, modulo s0, into the width of a row. */
static bool interleaved_apart(const locus_tensor *a, const locus_tensor *b) {
    if (a->rank != b->rank || (a->rank != 2 && a->rank != 3) || !is_dense(a) || !is_dense(b))
        return false;
    const bool single = a->rank == 2; /* one head */
    const int64_t size = (int64_t)locus_dtype_size(a->dtype), tokens = a->stride[0];
    const int64_t heads = single ? 0 : a->stride[1], a_heads = single ? 1 : a->shape[1];
    const int64_t a_dim = a->shape[a->rank - 1], b_heads = single ? 1 : b->shape[1], b_dim = b->shape[b->rank - 1];
    int64_t bytes = (int64_t)((intptr_t)b->data - (intptr_t)a->data), distance = bytes / size;
    if (a->dtype != b->dtype || tokens <= 0 || tokens != b->stride[0] || (!single && heads != b->stride[1]) ||
        bytes % size != 0)
        return false;
    for (int64_t h = 1 - a_heads; h < b_heads; h++) { /* head of b less head of a */
        int64_t place = (distance + h * heads) % tokens;
        place = place < 0 ? place + tokens : place;
        if (place < a_dim || place > tokens - b_dim)
            return false;
    }
    return true;
}

bool locus_tensors_overlap(const locus_tensor *a, const locus_tensor *b) {
    intptr_t a_low, a_high, b_low, b_high;
    if (locus_tensor_count(a) == 0 || locus_tensor_count(b) == 0)
        return false;
    byte_bounds(a, &a_low, &a_high);
    byte_bounds(b, &b_low, &b_high);
    return a_low < b_high && b_low < a_high && !interleaved_apart(a, b);
}

bool locus_tensors_same(const locus_tensor *a, const locus_tensor *b) {
    if (a->data != b->data || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (size_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i] || (a->stride[i] != b->stride[i] && a->shape[i] > 1))
            return false;
    return true;
}
