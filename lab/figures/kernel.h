/* SPDX-License-Identifier: MIT */
/* The score kernel: what a query scores on an identical key at each distance, with everything that an encoding
 * does. */
#ifndef LAB_KERNEL_H
#define LAB_KERNEL_H

#include <locus/locus.h>
#include <stdbool.h>

typedef struct lab_kernel {
    size_t count;
    double *distance, *mean, *low, *high; /* [count] each, one block, from `distance`; low, high: ± one deviation */
    bool embedding;                       /* the normalised product of two rows of the table, not a score */
} lab_kernel;

/*   s(Δ) = qᵀ ⌈−m + n⌉ k with factors and biases, q = k of length 1, scale 1, m = 0, n = Δ from −reach to reach
 *
 * Mean and deviation over heads and `directions` random q. Encodings that act on the embedding only: e_m·e_n /
 * |e_m||e_n|. A reach beyond the positions that the encoding has is halved until it fits. */
locus_status lab_kernel_compute(lab_kernel *kernel, const locus_binding *binding, unsigned sites,
                                const locus_shape *shape, size_t reach, locus_error *error);
void lab_kernel_free(lab_kernel *kernel);

/* What similarities (figure.h) are measured with, too: a random vector of length 1, made of the `dim` numbers of
 * `random` from `first` on; the cosine between two vectors, 0 if one of them is 0. */
void lab_draw_direction(float *vector, size_t dim, const locus_random *random, uint64_t first);
double lab_cosine(const double *a, const double *b, size_t dim);

#endif
