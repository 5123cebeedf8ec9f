/* SPDX-License-Identifier: MIT */
/* The network of `fire` as what it is, a piecewise linear function of one number x ≥ 0 (fire.c learns and places it):
 *
 *   f_h(x) = Σ_i output_weight[h][i]·relu(hidden_weight[i]·x + hidden_bias[i]) + output_bias[h]
 *          = slope[h][s]·x + intercept[h][s]     in segment s, between edges s − 1 and s
 *
 * Segments are shared by heads: a unit turns on or off at x = −hidden_bias/hidden_weight. */
#ifndef LOCUS_FIRE_NETWORK_H
#define LOCUS_FIRE_NETWORK_H

#include "spec/class.h"

typedef struct locus_fire_network {
    size_t heads, hidden, segments;
    const double *hidden_weight, *hidden_bias; /* [hidden] */
    const double *output_weight;               /* [heads, hidden] */
    const double *output_bias;                 /* [heads] */
    const double *edges;                       /* [segments − 1], rising, above 0 */
    const double *inside;                      /* [segments] a point of each */
    size_t cells;                              /* that [0, 1) is cut into */
    const uint32_t *below;                     /* [cells] edges at most where a cell begins */
    const double *slope, *intercept;           /* [heads, segments] */
} locus_fire_network;

/* Of `values`, which outlive it: hidden_weight, hidden_bias, output_weight, output_bias. */
locus_status locus_fire_network_create(locus_fire_network *network, const double *const *values, locus_owned *memory,
                                       locus_error *error);

/* Segment of the point whose multiple by `scale`, 1/`inverse`, is `scaled`: edges are multiplied, so that all keys of a
 * row are compared with the same numbers. Of two segments that meet there the left one. Below 1 a table says where to
 * look; beyond, which takes keys behind the query, edges are searched without branches, since keys come in no order. */
static inline size_t locus_fire_segment(const locus_fire_network *network, double scaled, double scale,
                                        double inverse) {
    const double *edges = network->edges, cell = scaled * inverse * (double)network->cells;
    size_t low = 0;
    if (cell < (double)network->cells) {
        low = network->below[(size_t)cell];
        while (low > 0 && !(edges[low - 1] * scale < scaled))
            low--;
        while (low + 1 < network->segments && edges[low] * scale < scaled)
            low++;
        return low;
    }
    for (size_t left = network->segments; left > 1;) {
        const size_t half = left / 2;
        low = edges[low + half - 1] * scale < scaled ? low + half : low;
        left -= half;
    }
    return low;
}

/* Adds the gradients of head `head` from Σ g and Σ g·x over each segment's pairs, to the four tensors. */
void locus_fire_network_gradient(const locus_fire_network *network, size_t head, const double *sums,
                                 const double *moments, const locus_tensor *tensors);

#endif
