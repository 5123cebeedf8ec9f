/* SPDX-License-Identifier: MIT */
/* See drawn_bias.h. */
#include "reference/drawn_bias.h"

#include "reference/drawn_tensor.h"

#include <locus/memory.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS = 4 };

size_t drawn_bias_count(const drawn_bias *bias) {
    size_t count = 1;
    for (size_t i = 0; i < DIMENSIONS; i++)
        count *= bias->dense.extent[i];
    return count;
}

/* Element `index` of the dense one. */
static unsigned char *element_of(const drawn_bias *bias, size_t index) {
    int64_t at = 0;
    for (size_t i = DIMENSIONS; i-- > 0; index /= bias->dense.extent[i]) {
        const size_t leading = DIMENSIONS - bias->view.rank;
        if (i >= leading)
            at += (int64_t)(index % bias->dense.extent[i]) * bias->view.stride[i - leading];
    }
    return (unsigned char *)bias->view.data + at * (int64_t)locus_dtype_size(bias->view.dtype);
}

/* Strides in an order that is drawn; dimensions of `repeated` have stride 0. */
static void lay_out(drawn_bias *bias, chooser *choices, locus_dtype dtype, size_t rank, const bool repeated[]) {
    const size_t size = locus_dtype_size(dtype), leading = DIMENSIONS - rank;
    size_t order[DIMENSIONS] = {3, 2, 1, 0}; /* from the innermost one out */
    int64_t stride = 1, reach = 0, backward = 0;
    if (choose_chance(choices, 30))
        for (size_t i = DIMENSIONS; i-- > 1;) {
            const size_t j = choose(choices, i + 1), other = order[i];
            order[i] = order[j];
            order[j] = other;
        }
    bias->view = (locus_tensor){.dtype = dtype, .rank = rank};
    for (size_t i = 0; i < DIMENSIONS; i++) {
        const size_t d = order[i];
        const int64_t extent = (int64_t)bias->dense.extent[d];
        if (d < leading)
            continue;
        if (choose_chance(choices, 20))
            stride += (int64_t)choose(choices, 3);
        const bool down = choose_chance(choices, 10);
        bias->view.shape[d - leading] = extent;
        bias->view.stride[d - leading] = repeated[d] ? 0 : down ? -stride : stride;
        if (repeated[d] || extent == 0)
            continue;
        reach += (extent - 1) * stride;
        backward += down ? (extent - 1) * stride : 0;
        stride *= extent;
    }
    bias->bytes = ((size_t)reach + 1 + 8) * size;
    bias->block = locus_allocate(bias->bytes);
    bias->kept = reference_zeros(bias->bytes, 1);
    if (!bias->block)
        abort();
    chooser noise = chooser_stream(choices);
    for (size_t i = 0; i < bias->bytes; i++)
        bias->block[i] = (unsigned char)choose(&noise, 256);
    bias->view.data = bias->block + ((size_t)backward + (choose_chance(choices, 30) ? 3 : 0)) * size;
}

static void watch(drawn_bias *bias) {
    memcpy(bias->kept, bias->block, bias->bytes);
}

static size_t longest(const reference_tokens *tokens) {
    size_t most = 0;
    for (size_t s = 0; s < tokens->sequences; s++)
        most = tokens->count[s] > most ? tokens->count[s] : most;
    return most;
}

drawn_bias drawn_bias_make(chooser *choices, locus_dtype dtype, const drawn_world *world) {
    static const unsigned alone[DIMENSIONS] = {50, 50, 20, 15};
    const size_t full[DIMENSIONS] = {world->queries.tokens.sequences, world->shape.heads,
                                     longest(&world->queries.tokens), longest(&world->keys.tokens)};
    drawn_bias bias = {.dense = {.values = NULL}};
    bool repeated[DIMENSIONS];
    size_t rank = DIMENSIONS;
    for (size_t i = 0; i < DIMENSIONS; i++) {
        bias.dense.extent[i] = choose_chance(choices, alone[i]) ? 1 : full[i];
        if (i >= 2 && bias.dense.extent[i] != 1 && choose_chance(choices, 20))
            bias.dense.extent[i] += choose(choices, 4);
        repeated[i] = choose_chance(choices, 10);
    }
    while (rank > 2 && bias.dense.extent[DIMENSIONS - rank] == 1 && choose_chance(choices, 60))
        rank--;
    lay_out(&bias, choices, dtype, rank, repeated);
    const double size = choose_chance(choices, 30) ? 3 : 1;
    const unsigned hidden = choose_chance(choices, 50) ? 0 : choose_chance(choices, 70) ? 20 : 90;
    chooser stream = chooser_stream(choices);
    bias.dense.values = reference_zeros(drawn_bias_count(&bias) + 1, sizeof(double));
    for (size_t i = 0; i < drawn_bias_count(&bias); i++) {
        const double value = choose(&stream, 100) < hidden ? -INFINITY : size * choose_normal(&stream);
        drawn_element_put(dtype, element_of(&bias, i), value);
    }
    drawn_bias_get(&bias);
    watch(&bias);
    return bias;
}

drawn_bias drawn_bias_like(chooser *choices, locus_dtype dtype, const drawn_bias *other) {
    static const bool repeated[DIMENSIONS] = {false, false, false, false};
    drawn_bias bias = {.dense = other->dense};
    lay_out(&bias, choices, dtype, other->view.rank, repeated);
    bias.dense.values = reference_zeros(drawn_bias_count(&bias) + 1, sizeof(double));
    watch(&bias);
    return bias;
}

void drawn_bias_get(drawn_bias *bias) {
    for (size_t i = 0; i < drawn_bias_count(bias); i++)
        bias->dense.values[i] = drawn_element_get(bias->view.dtype, element_of(bias, i));
}

bool drawn_bias_untouched(const drawn_bias *bias, bool written) {
    const size_t size = locus_dtype_size(bias->view.dtype);
    unsigned char *expected = reference_zeros(bias->bytes, 1);
    memcpy(expected, bias->kept, bias->bytes);
    for (size_t i = 0; written && i < drawn_bias_count(bias); i++) {
        const size_t at = (size_t)(element_of(bias, i) - bias->block);
        memcpy(expected + at, bias->block + at, size);
    }
    const bool same = memcmp(expected, bias->block, bias->bytes) == 0;
    free(expected);
    return same;
}

void drawn_bias_free(drawn_bias *bias) {
    if (bias->block)
        locus_release(bias->block, bias->bytes);
    free(bias->kept);
    free(bias->dense.values);
    memset(bias, 0, sizeof *bias);
}
