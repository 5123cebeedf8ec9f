/* SPDX-License-Identifier: MIT */
/* Words that the bodies of linear, softmax-free and clustered attention share; see attention_kinds_typed.c. */
#ifndef LOCUS_ATTENTION_KINDS_BODY_H
#define LOCUS_ATTENTION_KINDS_BODY_H

#include "attention/attention_rows_body.h"

/* A row or number of the views by its number within a sequence, whose first token is `first`. */
static real *kinds_row(attention_view view, size_t sequence, size_t first, size_t row, size_t head) {
    return row_of(&view, sequence, first, first + row, head);
}

/* log_sum_exp, if it is wanted. */
static void kinds_set(real *number, double value) {
    if (number)
        *number = (real)value;
}

static real *kinds_carve(attention_carver *carver, size_t count) {
    return locus_attention_carve(carver, count, sizeof(real));
}

/* `count` rows from `row` on. */
static void kinds_zero_rows(attention_view view, real *row, size_t count, size_t dim) {
    for (size_t t = 0; t < count; t++)
        memset(row + (ptrdiff_t)t * view.token, 0, dim * sizeof(real));
}

/* state[left_dim, right_dim] += Σ_t left_tᵀ right_t. */
static void kinds_add_products(const KERNELS *kernels, size_t count, const real *left, ptrdiff_t left_row,
                               size_t left_dim, const real *right, ptrdiff_t right_row, size_t right_dim, real *state) {
    kernels->gemm(left_dim, right_dim, count, left, 1, left_row, right, right_row, state, (ptrdiff_t)right_dim, true);
}

#endif
