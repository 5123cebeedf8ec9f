/* SPDX-License-Identifier: MIT */
/* See fire_network.h. */
#include "scores/fire_network.h"

#include <stdlib.h>

#define CELLS_OF_A_UNIT 2

static int rising(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static bool is_on(const locus_fire_network *network, size_t unit, size_t segment) {
    return network->hidden_weight[unit] * network->inside[segment] + network->hidden_bias[unit] > 0;
}

static void find_edges(locus_fire_network *network, double *edges, double *inside, uint32_t *below) {
    size_t count = 0, passed = 0;
    for (size_t i = 0; i < network->hidden; i++) {
        const double edge = -network->hidden_bias[i] / network->hidden_weight[i];
        if (network->hidden_weight[i] != 0 && edge > 0 && edge < 1e300)
            edges[count++] = edge;
    }
    qsort(edges, count, sizeof *edges, rising);
    for (size_t s = 0; s <= count; s++) {
        const double left = s > 0 ? edges[s - 1] : 0, right = s < count ? edges[s] : 2 * left + 1;
        inside[s] = left + (right - left) / 2;
    }
    for (size_t c = 0; c < network->cells; below[c++] = (uint32_t)passed)
        while (passed < count && edges[passed] * (double)network->cells <= (double)c)
            passed++;
    network->below = below;
    network->segments = count + 1;
    network->edges = edges;
    network->inside = inside;
}

static void find_lines(const locus_fire_network *network, double *slope, double *intercept) {
    for (size_t h = 0; h < network->heads; h++)
        for (size_t s = 0; s < network->segments; s++) {
            const double *weight = network->output_weight + h * network->hidden;
            double rise = 0, base = network->output_bias[h];
            for (size_t i = 0; i < network->hidden; i++)
                if (is_on(network, i, s)) {
                    rise += weight[i] * network->hidden_weight[i];
                    base += weight[i] * network->hidden_bias[i];
                }
            slope[h * network->segments + s] = rise;
            intercept[h * network->segments + s] = base;
        }
}

locus_status locus_fire_network_create(locus_fire_network *network, const double *const *values, locus_owned *memory,
                                       locus_error *error) {
    const size_t heads = network->heads, hidden = network->hidden, lines = heads * (hidden + 1);
    double *edges = locus_owned_get(memory, hidden, sizeof *edges);
    double *inside = locus_owned_get(memory, hidden + 1, sizeof *inside);
    double *slope = locus_owned_get(memory, lines, sizeof *slope);
    double *intercept = locus_owned_get(memory, lines, sizeof *intercept);
    network->cells = CELLS_OF_A_UNIT * hidden;
    uint32_t *below = locus_owned_get(memory, network->cells, sizeof *below);
    if (!edges || !inside || !slope || !intercept || !below)
        return locus_owned_fail(error);
    network->hidden_weight = values[0];
    network->hidden_bias = values[1];
    network->output_weight = values[2];
    network->output_bias = values[3];
    find_edges(network, edges, inside, below);
    find_lines(network, slope, intercept);
    network->slope = slope;
    network->intercept = intercept;
    return LOCUS_OK;
}

void locus_fire_network_gradient(const locus_fire_network *network, size_t head, const double *sums,
                                 const double *moments, const locus_tensor *tensors) {
    const double *weight = network->output_weight + head * network->hidden;
    double all = 0;
    for (size_t s = 0; s < network->segments; s++)
        all += sums[s];
    locus_tensor_add(&tensors[3], head, all);
    for (size_t i = 0; i < network->hidden; i++) {
        double sum = 0, moment = 0;
        for (size_t s = 0; s < network->segments; s++)
            if (is_on(network, i, s)) {
                sum += sums[s];
                moment += moments[s];
            }
        locus_tensor_add(&tensors[0], i, weight[i] * moment);
        locus_tensor_add(&tensors[1], i, weight[i] * sum);
        locus_tensor_add(&tensors[2], head * network->hidden + i,
                         network->hidden_weight[i] * moment + network->hidden_bias[i] * sum);
    }
}
