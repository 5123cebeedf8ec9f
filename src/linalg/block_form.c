/* SPDX-License-Identifier: MIT */
/* Into the basis of a block form and out of it. */
#include "linalg/block_form.h"

#include "linalg/dense.h"

/* U B first: each block mixes two columns of U. */
void locus_block_compose(const locus_block_form *form, double *W, double *work) {
    size_t n = form->n;
    const double *U = form->U;
    double *mixed = work, *transposed = work + n * n;
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < n / 2; i++) {
            double x = U[r * n + 2 * i], y = U[r * n + 2 * i + 1], c = form->real[i], s = form->imaginary[i];
            mixed[r * n + 2 * i] = c * x + s * y;
            mixed[r * n + 2 * i + 1] = c * y - s * x;
        }
        if (n % 2)
            mixed[r * n + n - 1] = form->last * U[r * n + n - 1];
    }
    locus_dense_transpose(n, U, transposed);
    locus_dense_multiply(n, mixed, transposed, W);
}

void locus_block_to_basis(size_t n, const double *U, const double *G, double *M, double *work) {
    double *transposed = work, *product = work + n * n;
    locus_dense_transpose(n, U, transposed);
    locus_dense_multiply(n, transposed, G, product);
    locus_dense_multiply(n, product, U, M);
}

void locus_block_from_basis(size_t n, const double *U, const double *M, double *G, double *work) {
    double *transposed = work, *product = work + n * n;
    locus_dense_transpose(n, U, transposed);
    locus_dense_multiply(n, U, M, product);
    locus_dense_multiply(n, product, transposed, G);
}
