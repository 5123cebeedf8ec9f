/* SPDX-License-Identifier: MIT */
/* Real-valued positions on axes. Numbers are stored, compared and rounded down, never computed with: arithmetic on
 * positions is the encodings'. Where all of them are whole they are the integers that they equal, and nothing tells
 * them from positions that came as such. */
#include <locus/memory.h>

#include "algebra/group_access.h"
#include "algebra/positions_access.h"
#include "core/error.h"

#define MOST_REAL 0x1p40

static size_t run_end(const locus_packing *packing, size_t s) {
    return packing->lengths ? packing->offsets[s] + packing->lengths[s] : packing->offsets[s + 1];
}

static locus_status check_axes(const locus_group *group, locus_error *error) {
    for (size_t c = 0; c < locus_group_coordinates(group); c++)
        if (locus_group_coordinate(group, c).kind != LOCUS_COORDINATE_AXIS) {
            char text[64];
            const size_t length = locus_group_text(group, text, sizeof text);
            return locus_fail(error, LOCUS_ERROR_ARGUMENT, "group",
                              "'%s%s' has no real-valued positions: they need seq or a grid", text,
                              length >= sizeof text ? "…" : "");
        }
    return LOCUS_OK;
}

/* NaN fails the comparison. */
static bool in_range(double value) {
    return value >= -MOST_REAL && value <= MOST_REAL;
}

static int64_t rounded_down(double value) {
    const int64_t whole = (int64_t)value;
    return (double)whole > value ? whole - 1 : whole;
}

/* `floors` [tokens, coordinates] of the tokens in sequences; *whole: all of them are the values themselves. */
static locus_status round_down(const locus_packing *packing, const double *values, size_t coordinates, int64_t *floors,
                               bool *whole, locus_error *error) {
    *whole = true;
    for (size_t s = 0; values && s < packing->sequences; s++) /* NULL: there are no tokens */
        for (size_t i = packing->offsets[s] * coordinates; i < run_end(packing, s) * coordinates; i++) {
            if (!in_range(values[i]))
                return locus_fail(error, LOCUS_ERROR_POSITION, "values",
                                  "position %.17g of token %zu (sequence %zu) is out of range: use finite numbers from "
                                  "-2^40 to 2^40",
                                  values[i], i / coordinates, s);
            floors[i] = rounded_down(values[i]);
            *whole = *whole && (double)floors[i] == values[i];
        }
    return LOCUS_OK;
}

locus_status locus_positions_create_real(locus_positions **positions, const locus_group *group,
                                         const locus_packing *packing, const double *values, locus_error *error) {
    locus_packing own;
    locus_status status = locus_positions_check(positions, group, packing, &own, error);
    if (status == LOCUS_OK)
        status = check_axes(group, error);
    if (status != LOCUS_OK)
        return status;
    const size_t coordinates = locus_group_coordinates(group), tokens = own.offsets[own.sequences];
    if (!values && tokens > 0)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "values",
                          "values is NULL: give a number for each token and coordinate");
    if (tokens > SIZE_MAX / sizeof(int64_t) / 2 / coordinates)
        return locus_fail_memory(error, SIZE_MAX);
    const size_t bytes = (tokens * coordinates + 1) * sizeof(int64_t);
    int64_t *floors = locus_allocate(bytes);
    if (!floors)
        return locus_fail_memory(error, bytes);
    bool whole = true;
    status = round_down(&own, values, coordinates, floors, &whole, error);
    if (status == LOCUS_OK)
        status = locus_positions_create(positions, group, &own, floors, error);
    if (status == LOCUS_OK && !whole)
        status = locus_positions_keep_reals(*positions, values, error);
    if (status != LOCUS_OK)
        locus_positions_destroy(positions);
    locus_release(floors, bytes);
    return status;
}

const void *locus_positions_real_bits(const locus_positions *positions, size_t coordinate) {
    return locus_positions_reals(positions, coordinate);
}
