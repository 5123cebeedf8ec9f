/* SPDX-License-Identifier: MIT */
/* Tokens at positions of a sequence, and the gradient of L = Σ_t g_tᵀ W^{p_t} x_t as the library takes it: from
 * sums. */
#ifndef POWER_TOKENS_H
#define POWER_TOKENS_H

#include "orthogonal_case.h"

typedef struct power_tokens {
    size_t n, count;
    double *p, *x, *g; /* [count], [count, n], [count, n] */
} power_tokens;

/* Random ones; positions are `reach`, −reach, 0, ±1, 2, then whatever lies between. */
power_tokens power_tokens_create(size_t n, size_t count, double reach);
void power_tokens_free(power_tokens *t);

/* The gradient's size without cancellation, Σ |p| |g| |x|. */
double power_tokens_size(const power_tokens *t);

/* What of the moments is handed in: all of it; nothing off the diagonal blocks; of those the antisymmetric part only.
 * */
typedef enum extent { WHOLE, DIAGONAL, ANTISYMMETRIC } extent;

/* G_outer = U G Uᵀ (orthogonal.h) and, from it, dL/dA. The span is the farthest position. */
void power_tokens_gradient(locus_orthogonal_kind kind, const double *A, const power_tokens *t, double near, extent what,
                           double *G_outer, double *G_A);

#endif
