/* SPDX-License-Identifier: MIT */
/* A bias against rows of scores, for bodies that make them, in one element type (kernels/real.h).
 *
 * An element of −∞ hides its key from the query, as a mask does: whatever the key and its value hold, nothing of them
 * may reach the row, so such scores are made −∞ rather than added to, and weights and their gradients are made 0. */
#ifndef LOCUS_ATTENTION_BIAS_BODY_H
#define LOCUS_ATTENTION_BIAS_BODY_H

#include "attention/attention_bias.h"
#include "core/error.h"

#include <assert.h>

/* Elements of one row in `real`: where they stand, or in `room`, for `count` of them. */
static const real *bias_values(const attention_bias *bias, size_t sequence, size_t head, size_t query, size_t key,
                               size_t count, real *room) {
    char *const at = locus_attention_bias_at(bias, sequence, head, query, key);
    const real *stored = (const real *)(const void *)at;
    if (bias->dtype != REAL_DTYPE) {
        const int64_t extent = (int64_t)count;
        locus_tensor from = locus_tensor_view(at, bias->dtype, 1, &extent);
        const locus_tensor to = locus_tensor_view(room, REAL_DTYPE, 1, &extent);
        from.stride[0] = bias->key;
        const locus_status status = locus_tensor_convert(&from, &to, NULL);
        assert(status == LOCUS_OK);
        (void)status;
        return room;
    }
    if (bias->key == 1 && (uintptr_t)at % sizeof(real) == 0)
        return stored;
    for (size_t j = 0; j < count; j++)
        memcpy(&room[j], at + (ptrdiff_t)j * bias->key * (ptrdiff_t)sizeof(real), sizeof(real));
    return room;
}

/* row[j] = value at the keys that are hidden; mostly there are none. */
static void bias_hide(size_t count, const real *values, real value, real *row) {
    int hides = 0;
    for (size_t j = 0; j < count; j++)
        hides |= values[j] == -(real)INFINITY;
    for (size_t j = 0; hides && j < count; j++)
        row[j] = values[j] == -(real)INFINITY ? value : row[j];
}

#endif
