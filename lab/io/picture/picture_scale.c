/* SPDX-License-Identifier: MIT */
/* Pictures of another size.
 *
 *   shrinking   a target pixel is the mean of the source area that it covers, pixels at its rim weighted by their share
 *   growing     linear between the centres of the two source pixels beside it; beyond the outermost ones, their value
 *
 * along each axis by itself, first across, then down: out_i = Σ_j w_ij in_j, in float, rounded half up at the end. A
 * picture of the wanted size comes back as it is. */
#include "io/picture/picture_scale.h"

#include "io/fail.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* The weights of one axis: output i is the sum over j < counts[i] of weights[i · most + j] · in[firsts[i] + j]. */
typedef struct axis {
    size_t from, to, most;
    size_t *firsts, *counts; /* [to] */
    float *weights;          /* [to, most] */
} axis;

static void shrink(const axis *of, size_t i) {
    const double step = (double)of->from / (double)of->to, begin = (double)i * step;
    const double end = i + 1 == of->to ? (double)of->from : begin + step;
    const size_t first = (size_t)begin, last = (size_t)ceil(end) < of->from ? (size_t)ceil(end) : of->from;
    of->firsts[i] = first;
    of->counts[i] = last - first < of->most ? last - first : of->most;
    for (size_t j = 0; j < of->counts[i]; j++) {
        const double low = fmax((double)(first + j), begin), high = fmin((double)(first + j + 1), end);
        of->weights[i * of->most + j] = (float)((high - low) / (end - begin));
    }
}

static void grow(const axis *of, size_t i) {
    const double centre = fmax(((double)i + 0.5) * (double)of->from / (double)of->to - 0.5, 0);
    const size_t first = (size_t)centre;
    const bool last = first + 1 >= of->from;
    of->firsts[i] = last ? of->from - 1 : first;
    of->counts[i] = last ? 1 : 2;
    of->weights[2 * i] = (float)(last ? 1 : 1 - (centre - (double)first));
    of->weights[2 * i + 1] = (float)(last ? 0 : centre - (double)first);
}

static void axis_free(axis *of) {
    free(of->firsts);
    free(of->counts);
    free(of->weights);
}

static bool axis_make(axis *of, size_t from, size_t to) {
    const bool shrinks = from >= to;
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): no picture has a side of 0, and none is brought to one
    *of = (axis){.from = from, .to = to, .most = shrinks ? (from + to - 1) / to + 1 : 2};
    of->firsts = calloc(to, sizeof *of->firsts); // NOLINT(clang-analyzer-optin.portability.UnixAPI): as above
    of->counts = calloc(to, sizeof *of->counts);
    of->weights = calloc(to * of->most, sizeof *of->weights);
    if (of->firsts == NULL || of->counts == NULL || of->weights == NULL)
        return false;
    for (size_t i = 0; i < to; i++)
        (shrinks ? shrink : grow)(of, i);
    return true;
}

static float weighted(const axis *of, size_t i, const float *in) {
    const float *weights = of->weights + i * of->most;
    float sum = 0;
    for (size_t j = 0; j < of->counts[i]; j++)
        sum += weights[j] * in[of->firsts[i] + j];
    return sum;
}

/* One channel: its rows are brought to their width as they come, and the columns of these to their height. `row` has
 * room for the longer side, `narrow` [side, height] for what lies between, a column after another. */
static void scale_channel(const lab_picture *picture, size_t channel, const axis axes[2], float *row, float *narrow,
                          uint8_t *plane) {
    const size_t width = picture->width, height = picture->height, side = axes[0].to;
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++)
            row[x] = (float)picture->rgb[3 * (y * width + x) + channel];
        for (size_t x = 0; x < side; x++)
            narrow[x * height + y] = weighted(&axes[0], x, row);
    }
    for (size_t x = 0; x < side; x++)
        for (size_t y = 0; y < side; y++)
            plane[y * side + x] = (uint8_t)fminf(floorf(weighted(&axes[1], y, narrow + x * height) + 0.5f), 255.0f);
}

locus_status lab_picture_scale(const lab_picture *picture, size_t side, uint8_t *planes, locus_error *error) {
    axis axes[2] = {{.from = 0}, {.from = 0}};
    const bool made = axis_make(&axes[0], picture->width, side) && axis_make(&axes[1], picture->height, side);
    float *row = malloc(picture->width * sizeof *row), *narrow = malloc(picture->height * side * sizeof *narrow);
    const bool good = made && row != NULL && narrow != NULL;
    for (size_t channel = 0; good && channel < 3; channel++)
        scale_channel(picture, channel, axes, row, narrow, planes + channel * side * side);
    free(row);
    free(narrow);
    axis_free(&axes[0]);
    axis_free(&axes[1]);
    return good ? LOCUS_OK : lab_fail_memory(error, "a picture");
}
