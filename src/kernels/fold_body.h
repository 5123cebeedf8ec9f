/* SPDX-License-Identifier: MIT */
/* Products of rows with rows end as vectors, one for each product, whose elements are still to be added up: that many
 * vectors at once, in an order that depends on the level alone. */
#ifndef LOCUS_KERNELS_FOLD_BODY_H
#define LOCUS_KERNELS_FOLD_BODY_H

#include "kernels/simd.h"

/* Products of a tile: as many chains as hide the latency of an fma, and whole vectors of them. */
#define DOTS_TILE ((size_t)(LANES < 8 ? 8 : LANES))

/* Two vectors in a row become one, of the sums of neighbouring elements; `width` is a constant. */
SIMD void dots_fold(vreal sum[], const size_t width) {
    SIMD_UNROLL
    for (size_t j = 0; j < width; j++) {
        vreal even, odd;
        v_deinterleave(sum[2 * j], sum[2 * j + 1], &even, &odd);
        sum[j] = v_add(even, odd);
    }
}

/* out[j] = Σ sum[j], with half the shuffles of a transposition. */
SIMD void dots_reduce(vreal sum[], real out[]) {
    if (LANES >= 2)
        dots_fold(sum, LANES / 2);
    if (LANES >= 4)
        dots_fold(sum, LANES / 4);
    if (LANES >= 8)
        dots_fold(sum, LANES / 8);
    if (LANES >= 16)
        dots_fold(sum, LANES / 16);
    v_store(out, sum[0]);
}

#endif
