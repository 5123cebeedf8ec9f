/* SPDX-License-Identifier: MIT */
/* A rotary's normal form: ⌈p⌉ = U R(p) Uᵀ; a block's pairs are its columns (2i, 2i + 1), or (i, i + pairs). A pair that
 * also changes sign with every step turns by θ + π. Nothing is computed that binding has not found. */
#include "operators/rotary/rotary.h"

#define PI 3.14159265358979323846

static size_t table_of(const locus_rotary *rotary, size_t head) {
    return rotary->tables > 1 ? head : 0;
}

/* The block's own coordinate that becomes column `column` of the head's U; the block's dimension if none does. */
static size_t source_of(const locus_rotary *rotary, const locus_normal_target *block, size_t column) {
    const size_t all = 2 * block->all_pairs, alone = rotary->dim - 2 * rotary->pairs;
    if (column >= all) {
        size_t index = column - all;
        return index >= block->alone && index < block->alone + alone ? 2 * rotary->pairs + index - block->alone
                                                                     : rotary->dim;
    }
    size_t pair = column / 2, second = column % 2;
    if (pair < block->pair || pair >= block->pair + rotary->pairs)
        return rotary->dim;
    pair -= block->pair;
    if (!rotary->half_pairs)
        return 2 * pair + second;
    const size_t half = rotary->pairs / (rotary->blocks > 1 ? rotary->blocks : 1);
    return pair / half * 2 * half + pair % half + second * half;
}

static void fill_basis(const locus_normal_part *part, size_t head, const locus_normal_target *block) {
    const locus_rotary *rotary = part->own;
    const size_t dim = block->head_dim, own = rotary->dim;
    const double *basis = rotary->basis_float64 ? rotary->basis_float64 + table_of(rotary, head) * own * own : NULL;
    for (size_t column = 0; column < dim; column++) {
        size_t source = source_of(rotary, block, column);
        for (size_t row = 0; source < own && row < own; row++)
            block->basis[(part->first + row) * dim + column] = basis ? basis[row * own + source] : row == source;
    }
}

static double angle_of(const locus_angle_rates *rates, size_t head, size_t pair) {
    const size_t table = rates->tables > 1 ? head : 0;
    if (rates->period)
        return 2 * PI * (double)rates->multiples[pair] / (double)rates->period;
    double turn = rates->flip_pairs && pair >= rates->flip_pairs[table] ? PI : 0;
    return rates->theta[table * rates->pairs + pair] + turn;
}

/* Where each pair follows one axis, an axis' rates are those of its own pairs. */
static void fill_angles(const locus_normal_part *part, size_t head, const locus_normal_target *block) {
    const locus_rotary *rotary = part->own;
    for (size_t axis = 0; axis < rotary->axes; axis++)
        for (size_t pair = 0; pair < rotary->pairs; pair++) {
            const size_t place = rotary->places ? rotary->places[pair] : pair;
            const size_t first = rotary->parts ? rotary->parts[axis] : 0;
            const size_t end = rotary->parts ? rotary->parts[axis + 1] : rotary->pairs;
            if (place >= first && place < end)
                block->angles[(part->coordinate + axis) * block->all_pairs + block->pair + pair] =
                    angle_of(&rotary->fine[axis].rates, head, place - first);
        }
}

/* An unpaired coordinate stands behind the pairs; reflections are those of the rotary's one axis. */
static void fill_signs(const locus_normal_part *part, size_t head, const locus_normal_target *block) {
    const locus_rotary *rotary = part->own;
    const size_t alone = block->head_dim - 2 * block->all_pairs;
    for (size_t i = 2 * rotary->pairs; i < rotary->dim; i++)
        if (rotary->flip && i >= rotary->flip[table_of(rotary, head)])
            block->signs[part->coordinate * alone + block->alone + i - 2 * rotary->pairs] = -1;
}

static void write(const locus_normal_part *part, size_t head, const locus_normal_target *target) {
    if (target->basis)
        fill_basis(part, head, target);
    if (target->angles)
        fill_angles(part, head, target);
    if (target->signs)
        fill_signs(part, head, target);
}

locus_normal_part locus_rotary_normal(const locus_rotary *rotary, size_t first, size_t coordinate) {
    return (locus_normal_part){.refused = rotary->not_normal,
                               .first = first,
                               .count = rotary->dim,
                               .coordinate = coordinate,
                               .pairs = rotary->pairs,
                               .own = rotary,
                               .write = write};
}
