/* SPDX-License-Identifier: MIT */
/* See wide_rows.h. */
#include "spec/wide_rows.h"

#include "kernels/half_rows.h"

#include <locus/parallel.h>

#define PIECE_TOKENS 128

void locus_wide_rows_copy(const locus_wide_rows *rows, size_t first, size_t count, float *wide, bool narrow) {
    const locus_half_rows half = {rows->dtype, rows->heads, rows->dim, rows->tensor.token, rows->tensor.head};
    for (size_t t = first, end; t < first + count; t = end) { /* as many as lie together */
        end = rows->tensor.apart ? locus_token_side_find(rows->side, t).end : first + count;
        end = end < first + count ? end : first + count;
        uint16_t *there = (uint16_t *)rows->tensor.data + locus_token_rows_at(&rows->tensor, rows->side, t);
        float *here = wide + (t - first) * rows->heads * rows->dim;
        if (narrow)
            locus_half_rows_narrow(&half, end - t, here, there);
        else
            locus_half_rows_widen(&half, end - t, there, here);
    }
}

typedef struct locus_wide_copy {
    const locus_wide_rows *rows;
    float *wide;
    bool narrow;
} locus_wide_copy;

/* Sequences lie in order, gaps between them. */
static void copy_piece(void *context, size_t index, size_t worker) {
    const locus_wide_copy *copy = context;
    const locus_wide_rows *rows = copy->rows;
    const size_t begin = index * PIECE_TOKENS, stop = begin + PIECE_TOKENS;
    (void)worker;
    for (size_t s = locus_token_side_find(rows->side, begin).number; s < rows->side->sequences; s++) {
        const locus_token_sequence sequence = locus_token_side_sequence(rows->side, s);
        const size_t first = sequence.first > begin ? sequence.first : begin;
        const size_t end = sequence.end < stop ? sequence.end : stop;
        if (sequence.first >= stop)
            return;
        if (first < end)
            locus_wide_rows_copy(rows, first, end - first, copy->wide + first * rows->heads * rows->dim, copy->narrow);
    }
}

void locus_wide_rows_copy_all(const locus_wide_rows *rows, float *wide, bool narrow) {
    locus_wide_copy copy = {rows, wide, narrow};
    if (rows->side->sequences > 0)
        locus_parallel_for((rows->side->tokens + PIECE_TOKENS - 1) / PIECE_TOKENS, copy_piece, &copy);
}
