/* SPDX-License-Identifier: MIT */
/* One row of pooling windows at a time: the patches of its three rows of the convolution are laid out as rows of a
 * matrix, multiplied with the weights, and the products pooled while they are in the cache.
 *
 *   token(f) = max(0, max over the window's nine patches of ⟨patch, weight(f)⟩)
 *   dL/dweight(f) = Σ over tokens with a positive maximum of dL/dtoken(f) · (the patch that gave it)
 *
 * A window gives a filter at most one patch, so the backward adds one patch for each token and filter: a ninth of the
 * operations of a dense product. */
#include "nn/convolution.h"
#include "nn/clones.h"
#include "nn/gemm.h"

enum { WINDOW = 3, PATCH_ROUND = 16 };

size_t lab_convolution_grid(size_t side) {
    return side < 2 ? 0 : (side - 2) / WINDOW;
}

/* Numbers of a patch, and as they are laid out. */
static size_t patch_size(const lab_convolution *c) {
    return c->channels * LAB_CONVOLUTION_TAPS;
}

size_t lab_convolution_weights(const lab_convolution *c) {
    return c->filters * patch_size(c);
}

static size_t patch_stride(const lab_convolution *c) {
    return (patch_size(c) + PATCH_ROUND - 1) / PATCH_ROUND * PATCH_ROUND;
}

/* patches, then products and what the pooling found, or the sum with padded rows. */
typedef struct scratch_parts {
    size_t width; /* patches of a row of the convolution that windows cover */
    float *patches, *products, *sum;
    int32_t *found;
} scratch_parts;

size_t lab_convolution_scratch(const lab_convolution *c) {
    const size_t width = WINDOW * lab_convolution_grid(c->side), stride = patch_stride(c);
    const size_t forward = WINDOW * width * c->filters + c->filters, backward = c->filters * stride;
    return WINDOW * width * stride + (forward > backward ? forward : backward);
}

static scratch_parts parts_make(const lab_convolution *c, float *scratch) {
    scratch_parts parts = {.width = WINDOW * lab_convolution_grid(c->side), .patches = scratch};
    parts.products = parts.sum = scratch + WINDOW * parts.width * patch_stride(c);
    parts.found = (int32_t *)(void *)(parts.products + WINDOW * parts.width * c->filters);
    return parts;
}

/* The patches of rows 3 window … 3 window + 2; padding is 0. */
static void patches_fill(const lab_convolution *c, const scratch_parts *parts, const float *image, size_t window) {
    const size_t stride = patch_stride(c), size = patch_size(c), plane = c->side * c->side;
    for (size_t row = 0; row < WINDOW; ++row)
        for (size_t column = 0; column < parts->width; ++column) {
            float *patch = parts->patches + (row * parts->width + column) * stride;
            const float *corner = image + (WINDOW * window + row) * c->side + column;
            for (size_t channel = 0; channel < c->channels; ++channel)
                for (size_t r = 0; r < 3; ++r)
                    memcpy(patch + channel * LAB_CONVOLUTION_TAPS + 3 * r, corner + channel * plane + r * c->side,
                           3 * sizeof *patch);
            memset(patch + size, 0, (stride - size) * sizeof *patch);
        }
}

/* value and found: the greatest of the values so far and which it was. Not-a-number is taken and stays, so that it is
 * noticed. */
LAB_CLONES static void convolution_greater(size_t filters, const float *restrict products, int32_t which,
                                           float *restrict value, int32_t *restrict found) {
    for (size_t f = 0; f < filters; ++f) {
        const int take = !(products[f] <= value[f]) && value[f] == value[f];
        found[f] = take ? which : found[f];
        value[f] = take ? products[f] : value[f];
    }
}

LAB_CLONES static void convolution_places(size_t filters, const int32_t *restrict found, uint8_t *restrict places) {
    for (size_t f = 0; f < filters; ++f)
        places[f] = (uint8_t)found[f];
}

static void window_pool(const lab_convolution *c, const scratch_parts *parts, size_t column, float *token,
                        uint8_t *places) {
    const size_t F = c->filters;
    for (size_t f = 0; f < F; ++f) {
        token[f] = 0.0f;
        parts->found[f] = LAB_POOL_NOWHERE;
    }
    for (size_t k = 0; k < LAB_CONVOLUTION_TAPS; ++k) {
        const size_t patch = k / WINDOW * parts->width + column * WINDOW + k % WINDOW;
        convolution_greater(F, parts->products + patch * F, (int32_t)k, token, parts->found);
    }
    if (places)
        convolution_places(F, parts->found, places);
}

static void patches_multiply(const lab_convolution *c, const scratch_parts *parts) {
    const size_t F = c->filters, rows = WINDOW * parts->width;
    if (c->forward.values) {
        lab_bf16_multiply(&c->forward, &(lab_bf16_rows){.rows = rows,
                                                        .left = lab_floats(parts->patches),
                                                        .left_stride = patch_stride(c),
                                                        .result = lab_floats(parts->products),
                                                        .result_stride = F});
        return;
    }
    const lab_product product = {.rows = rows,
                                 .columns = F,
                                 .depth = patch_size(c),
                                 .left = parts->patches,
                                 .left_stride = patch_stride(c),
                                 .right = c->weight,
                                 .right_stride = patch_size(c),
                                 .right_transposed = true,
                                 .result = parts->products,
                                 .result_stride = F};
    lab_product_run(&product);
}

static void row_forward(const lab_convolution *c, const scratch_parts *parts, float *tokens, uint8_t *places) {
    const size_t F = c->filters, grid = lab_convolution_grid(c->side);
    patches_multiply(c, parts);
    for (size_t column = 0; column < grid; ++column)
        window_pool(c, parts, column, tokens + column * F, places ? places + column * F : NULL);
}

void lab_convolution_forward(const lab_convolution *c, lab_rows images, const float *pixels, float *tokens,
                             uint8_t *places, float *scratch) {
    const size_t grid = lab_convolution_grid(c->side), row = grid * c->filters;
    const size_t image_size = c->channels * c->side * c->side;
    const scratch_parts parts = parts_make(c, scratch);
    for (size_t i = images.first; i < images.first + images.count; ++i)
        for (size_t window = 0; window < grid; ++window) {
            const size_t at = (i * grid + window) * row;
            patches_fill(c, &parts, pixels + i * image_size, window);
            row_forward(c, &parts, tokens + at, places ? places + at : NULL);
        }
}

/* sum(f) += gradient(f) · patch, for the filters whose maximum it was. */
LAB_CLONES static void convolution_gather(size_t filters, size_t stride, const float *restrict gradient,
                                          const uint8_t *restrict places, const float *const *patches,
                                          float *restrict sum) {
    for (size_t f = 0; f < filters; ++f) {
        if (places[f] == LAB_POOL_NOWHERE)
            continue;
        const float *restrict patch = patches[places[f]];
        float *restrict to = sum + f * stride;
        const float g = gradient[f];
        for (size_t j = 0; j < stride; ++j)
            to[j] += g * patch[j];
    }
}

static void row_backward(const lab_convolution *c, const scratch_parts *parts, const float *gradient,
                         const uint8_t *places) {
    const size_t F = c->filters, stride = patch_stride(c), grid = lab_convolution_grid(c->side);
    for (size_t column = 0; column < grid; ++column) {
        const float *patches[LAB_CONVOLUTION_TAPS];
        for (size_t k = 0; k < LAB_CONVOLUTION_TAPS; ++k)
            patches[k] = parts->patches + (k / WINDOW * parts->width + column * WINDOW + k % WINDOW) * stride;
        convolution_gather(F, stride, gradient + column * F, places + column * F, patches, parts->sum);
    }
}

void lab_convolution_backward(const lab_convolution *c, lab_rows images, const float *pixels, const uint8_t *places,
                              const float *tokens_gradient, float *sum, float *scratch) {
    const size_t grid = lab_convolution_grid(c->side), row = grid * c->filters;
    const size_t image_size = c->channels * c->side * c->side, stride = patch_stride(c), size = patch_size(c);
    const scratch_parts parts = parts_make(c, scratch);
    memset(parts.sum, 0, c->filters * stride * sizeof *parts.sum);
    for (size_t i = images.first; i < images.first + images.count; ++i)
        for (size_t window = 0; window < grid; ++window) {
            const size_t at = (i * grid + window) * row;
            patches_fill(c, &parts, pixels + i * image_size, window);
            row_backward(c, &parts, tokens_gradient + at, places + at);
        }
    for (size_t f = 0; f < c->filters; ++f)
        for (size_t j = 0; j < size; ++j)
            sum[f * size + j] += parts.sum[f * stride + j];
}
