/* SPDX-License-Identifier: MIT */
/* See drawn_tensor.h. */
#include "reference/drawn_tensor.h"

#include <locus/memory.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- element types ---- */

static int digits_of(locus_dtype dtype) {
    return dtype == LOCUS_FLOAT64 ? 53 : dtype == LOCUS_FLOAT32 ? 24 : dtype == LOCUS_FLOAT16 ? 11 : 8;
}

double drawn_rounding(locus_dtype dtype) {
    return ldexp(1, -digits_of(dtype));
}

double drawn_round(locus_dtype dtype, double value) {
    const int least = dtype == LOCUS_FLOAT16 ? -14 : dtype == LOCUS_FLOAT64 ? -1022 : -126;
    const int most = dtype == LOCUS_FLOAT16 ? 16 : dtype == LOCUS_FLOAT64 ? 1024 : 128;
    int exponent;
    if (value == 0 || !isfinite(value) || dtype == LOCUS_FLOAT64)
        return value;
    (void)frexp(value, &exponent);
    exponent = exponent - 1 < least ? least : exponent - 1;
    const int quantum = exponent - digits_of(dtype) + 1;
    const double rounded = ldexp(nearbyint(ldexp(value, -quantum)), quantum);
    return fabs(rounded) >= ldexp(1, most) ? copysign(INFINITY, value) : rounded;
}

static uint16_t half_bits(double value) {
    const uint16_t sign = signbit(value) ? 0x8000u : 0;
    const double size = fabs(drawn_round(LOCUS_FLOAT16, value));
    int exponent;
    if (isnan(value))
        return 0x7e00u;
    if (isinf(size))
        return (uint16_t)(sign | 0x7c00u);
    if (size < ldexp(1, -14))
        return (uint16_t)(sign | (uint16_t)ldexp(size, 24));
    (void)frexp(size, &exponent);
    return (uint16_t)(sign | (uint16_t)((exponent + 14) << 10) | ((uint16_t)ldexp(size, 11 - exponent) & 0x3ffu));
}

static double half_value(uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    const double size = exponent == 31  ? mantissa ? NAN : INFINITY
                        : exponent == 0 ? ldexp(mantissa, -24)
                                        : ldexp(1024 + mantissa, exponent - 25);
    return bits & 0x8000u ? -size : size;
}

void drawn_element_put(locus_dtype dtype, void *to, double value) {
    float narrow = (float)drawn_round(dtype == LOCUS_BFLOAT16 ? LOCUS_BFLOAT16 : LOCUS_FLOAT32, value);
    uint32_t bits;
    uint16_t half = half_bits(value);
    memcpy(&bits, &narrow, sizeof bits);
    if (dtype == LOCUS_FLOAT64)
        memcpy(to, &value, sizeof value);
    else if (dtype == LOCUS_FLOAT32)
        memcpy(to, &narrow, sizeof narrow);
    else if (dtype == LOCUS_BFLOAT16)
        half = (uint16_t)(bits >> 16);
    if (dtype == LOCUS_FLOAT16 || dtype == LOCUS_BFLOAT16)
        memcpy(to, &half, sizeof half);
}

double drawn_element_get(locus_dtype dtype, const void *from) {
    double wide;
    float narrow;
    uint16_t half;
    if (dtype == LOCUS_FLOAT64) {
        memcpy(&wide, from, sizeof wide);
        return wide;
    }
    if (dtype == LOCUS_FLOAT32) {
        memcpy(&narrow, from, sizeof narrow);
        return (double)narrow;
    }
    memcpy(&half, from, sizeof half);
    if (dtype == LOCUS_FLOAT16)
        return half_value(half);
    const uint32_t bits = (uint32_t)half << 16;
    memcpy(&narrow, &bits, sizeof narrow);
    return (double)narrow;
}

/* ---- tensors ---- */

size_t drawn_tensor_count(const drawn_tensor *tensor) {
    return tensor->tokens->tokens * (tensor->heads ? tensor->heads : 1) * (tensor->dim ? tensor->dim : 1);
}

static void take_block(drawn_tensor *tensor, chooser *choices, locus_dtype dtype, size_t elements) {
    const size_t offset = choose_chance(choices, 40) ? choose(choices, 17) : 0, size = locus_dtype_size(dtype);
    tensor->bytes = (elements + offset + 8) * size;
    tensor->block = locus_allocate(tensor->bytes);
    tensor->kept = reference_zeros(tensor->bytes, 1);
    if (!tensor->block)
        abort();
    chooser noise = chooser_stream(choices);
    for (size_t i = 0; i < tensor->bytes; i++)
        tensor->block[i] = (unsigned char)choose(&noise, 256);
    tensor->view.data = tensor->block + offset * size;
    tensor->view.dtype = dtype;
}

drawn_tensor drawn_tensor_packed(chooser *choices, locus_dtype dtype, const reference_tokens *packed, size_t heads,
                                 size_t dim) {
    drawn_tensor tensor = {.tokens = packed, .heads = heads, .dim = dim, .length = -1};
    const size_t rows = heads ? heads : 1, width = dim ? dim : 1, tokens = packed->tokens;
    const size_t layout = choose(choices, 4), pad = choose_chance(choices, 60) ? choose(choices, 5) : 0;
    const size_t row = width + (dim ? pad : 0);
    const size_t head_stride = layout == 2 && heads && dim ? tokens * row + pad : row;
    const size_t token_stride = layout == 2 && heads && dim ? row : rows * row + pad;
    take_block(&tensor, choices, dtype,
               (tokens > 0 ? tokens - 1 : 0) * token_stride + (rows - 1) * head_stride + width);
    tensor.view.rank = 1u + (heads > 0) + (dim > 0);
    const int64_t shape[] = {(int64_t)tokens, (int64_t)(heads ? rows : width), (int64_t)width};
    const int64_t stride[] = {(int64_t)token_stride, (int64_t)(heads ? head_stride : 1), 1};
    memcpy(tensor.view.shape, shape, tensor.view.rank * sizeof *shape);
    memcpy(tensor.view.stride, stride, tensor.view.rank * sizeof *stride);
    if (layout == 3 && tokens > 1) { /* from last to first */
        tensor.view.data = (unsigned char *)tensor.view.data + (tokens - 1) * token_stride * locus_dtype_size(dtype);
        tensor.view.stride[0] = -(int64_t)token_stride;
    }
    return tensor;
}

/* Dimensions from the innermost to the outermost: the last is inside (numbers: the length), the others in any order,
 * some of them backwards. */
drawn_tensor drawn_tensor_apart(chooser *choices, locus_dtype dtype, const reference_tokens *tokens, size_t heads,
                                size_t dim) {
    static const size_t orders[6][3] = {{2, 1, 0}, {1, 2, 0}, {1, 0, 2}, {0, 1, 2}, {0, 2, 1}, {2, 0, 1}};
    drawn_tensor tensor = {.tokens = tokens, .heads = heads, .dim = dim};
    const size_t *order = orders[choose(choices, dim ? 6 : 1)];
    size_t length = choose_chance(choices, 50) ? choose(choices, 4) : 0, stride[3], elements = dim ? dim : 1, from = 0;
    bool back[3] = {false};
    for (size_t s = 0, slack = length; s < tokens->sequences; s++)
        length = tokens->count[s] + slack > length ? tokens->count[s] + slack : length;
    const size_t extent[3] = {tokens->sequences, heads ? heads : 1, length};
    for (size_t i = 0; i < 3; i++) {
        elements += (dim || i > 0) && choose_chance(choices, 40) ? choose(choices, 5) : 0;
        stride[order[i]] = elements;
        elements *= extent[order[i]] ? extent[order[i]] : 1;
        back[order[i]] = extent[order[i]] > 1 && dim && choose_chance(choices, 10);
        from += back[order[i]] ? (extent[order[i]] - 1) * stride[order[i]] : 0;
    }
    take_block(&tensor, choices, dtype, elements);
    tensor.view.data = (unsigned char *)tensor.view.data + from * locus_dtype_size(dtype);
    for (size_t i = 0; i < 3; i++) {
        if (i == 1 && !heads)
            continue;
        tensor.length = i == 2 ? (int)tensor.view.rank : 0;
        tensor.view.shape[tensor.view.rank] = (int64_t)extent[i];
        tensor.view.stride[tensor.view.rank++] = back[i] ? -(int64_t)stride[i] : (int64_t)stride[i];
    }
    if (dim) {
        tensor.view.shape[tensor.view.rank] = (int64_t)dim;
        tensor.view.stride[tensor.view.rank++] = 1;
    }
    return tensor;
}

drawn_tensor drawn_tensor_make(chooser *choices, locus_dtype dtype, const reference_tokens *tokens, size_t heads,
                               size_t dim) {
    return (choose_chance(choices, 40) ? drawn_tensor_apart : drawn_tensor_packed)(choices, dtype, tokens, heads, dim);
}

void drawn_tensor_free(drawn_tensor *tensor) {
    locus_release(tensor->block, tensor->bytes);
    free(tensor->kept);
    memset(tensor, 0, sizeof *tensor);
}

/* The sequence that a packed token is of; SIZE_MAX in gaps. */
static size_t sequence_of(const reference_tokens *tokens, size_t token) {
    for (size_t s = 0; s < tokens->sequences; s++)
        if (token >= tokens->first[s] && token < tokens->first[s] + tokens->count[s])
            return s;
    return SIZE_MAX;
}

/* Element `index` of packed tokens in C order; NULL if there is none. */
static unsigned char *element_of(const drawn_tensor *tensor, size_t index) {
    const size_t rows = tensor->heads ? tensor->heads : 1, width = tensor->dim ? tensor->dim : 1;
    const bool apart = tensor->length >= 0;
    const int64_t *stride = tensor->view.stride;
    size_t token = index / (rows * width);
    int64_t at = (int64_t)(index % width);
    if (apart) {
        const size_t s = sequence_of(tensor->tokens, token);
        if (s == SIZE_MAX)
            return NULL;
        at += (int64_t)s * stride[0];
        token -= tensor->tokens->first[s];
    }
    at += (int64_t)token * stride[apart ? tensor->length : 0];
    at += tensor->heads ? (int64_t)(index / width % rows) * stride[1] : 0;
    return (unsigned char *)tensor->view.data + at * (int64_t)locus_dtype_size(tensor->view.dtype);
}

void drawn_tensor_put(drawn_tensor *tensor, const double *values) {
    for (size_t i = 0; i < drawn_tensor_count(tensor); i++)
        if (element_of(tensor, i))
            drawn_element_put(tensor->view.dtype, element_of(tensor, i), values[i]);
}

void drawn_tensor_get(const drawn_tensor *tensor, double *values) {
    for (size_t i = 0; i < drawn_tensor_count(tensor); i++)
        values[i] = element_of(tensor, i) ? drawn_element_get(tensor->view.dtype, element_of(tensor, i)) : 0;
}

void drawn_tensor_watch(drawn_tensor *tensor) {
    memcpy(tensor->kept, tensor->block, tensor->bytes);
}

bool drawn_tensor_untouched(const drawn_tensor *tensor, const reference_tokens *tokens) {
    const size_t size = locus_dtype_size(tensor->view.dtype);
    const size_t all = tensor->tokens->tokens, row = all ? drawn_tensor_count(tensor) / all : 0;
    unsigned char *expected = reference_zeros(tensor->bytes, 1);
    memcpy(expected, tensor->kept, tensor->bytes);
    for (size_t s = 0; tokens && s < tokens->sequences; s++)
        for (size_t i = tokens->first[s] * row; i < (tokens->first[s] + tokens->count[s]) * row; i++) {
            const size_t at = (size_t)(element_of(tensor, i) - tensor->block);
            memcpy(expected + at, tensor->block + at, size);
        }
    const bool same = memcmp(expected, tensor->block, tensor->bytes) == 0;
    free(expected);
    return same;
}
