/* SPDX-License-Identifier: MIT */
/* See half_rows.h. Stretches are as long as the strides allow: a head, a row, or everything. */
#include "kernels/half_rows.h"

#include "kernels/kernels.h"

/* How `count` rows fall into `outer` × `inner` stretches of `length` elements. */
typedef struct locus_half_stretches {
    size_t outer, inner, length;
} locus_half_stretches;

static locus_half_stretches stretches_of(const locus_half_rows *rows, size_t count) {
    const size_t row = rows->heads * rows->dim;
    if (rows->heads > 1 && rows->head != (ptrdiff_t)rows->dim)
        return (locus_half_stretches){count, rows->heads, rows->dim};
    if (count > 1 && rows->row != (ptrdiff_t)row)
        return (locus_half_stretches){count, 1, row};
    return (locus_half_stretches){1, 1, count * row};
}

void locus_half_rows_widen(const locus_half_rows *rows, size_t count, const void *from, float *to) {
    const locus_kernels_half *kernels = locus_kernels_half_get();
    const locus_half_stretches cut = stretches_of(rows, count);
    for (size_t t = 0; t < cut.outer; t++)
        for (size_t h = 0; h < cut.inner; h++, to += cut.length) {
            const uint16_t *x = (const uint16_t *)from + (ptrdiff_t)t * rows->row + (ptrdiff_t)h * rows->head;
            if (rows->dtype == LOCUS_FLOAT16)
                kernels->widen_float16(cut.length, x, to);
            else
                kernels->widen_bfloat16(cut.length, x, to);
        }
}

void locus_half_rows_narrow(const locus_half_rows *rows, size_t count, const float *from, void *to) {
    const locus_kernels_half *kernels = locus_kernels_half_get();
    const locus_half_stretches cut = stretches_of(rows, count);
    for (size_t t = 0; t < cut.outer; t++)
        for (size_t h = 0; h < cut.inner; h++, from += cut.length) {
            uint16_t *y = (uint16_t *)to + (ptrdiff_t)t * rows->row + (ptrdiff_t)h * rows->head;
            if (rows->dtype == LOCUS_FLOAT16)
                kernels->narrow_float16(cut.length, from, y);
            else
                kernels->narrow_bfloat16(cut.length, from, y);
        }
}
