/* SPDX-License-Identifier: MIT */
/* Normal forms, read from the bound states of the encodings whose operators are rotations in a basis (rotary.h):
 *
 *   ⌈p⌉ = U R(p) Uᵀ, block by block; a block's pairs are its columns (2i, 2i + 1), or (i, i + pairs)
 *
 * A pair that also changes sign with every step turns by θ + π. Nothing is computed that binding has not found. */
#include "operators/rotary/rotary.h"
#include "plan/binding.h"

#include "core/error.h"
#include "core/sized.h"

#include <locus/fold.h>

#define PI 3.14159265358979323846

typedef struct locus_fold_parts {
    locus_fold_shape shape;
    locus_normal_part items[LOCUS_COORDINATES_MAX];
    size_t count;
} locus_fold_parts;

static locus_status find_term(const locus_binding *binding, size_t *found, locus_error *error) {
    size_t count = 0;
    for (size_t i = 0; i < binding->encoding->term_count; i++)
        if (locus_term_sites(&binding->encoding->terms[i]) & LOCUS_SITE_QUERY_KEY) {
            *found = i;
            count++;
        }
    if (count == 1)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "encoding",
                      count ? "two terms act on queries and keys: a normal form is of one"
                            : "nothing acts on queries and keys, so there is nothing to fold");
}

static locus_status find_parts(const locus_binding *binding, locus_fold_parts *parts, locus_error *error) {
    size_t found = 0;
    *parts = (locus_fold_parts){0};
    if (!binding)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "binding", "binding is NULL");
    locus_status status = find_term(binding, &found, error);
    if (status != LOCUS_OK)
        return status;
    const locus_term *term = &binding->encoding->terms[found];
    const char *name = term->class->info.name;
    if (!term->class->normal)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "encoding",
                          "'%s' has no normal form: its operators are no rotations in one basis", name);
    parts->count = term->class->normal(locus_binding_state(binding, found), parts->items);
    parts->shape = (locus_fold_shape){.term = found,
                                      .heads = binding->shape.heads,
                                      .head_dim = binding->shape.head_dim,
                                      .coordinates = locus_group_coordinates(locus_term_group(term))};
    for (size_t i = 0; i < parts->count; i++) {
        if (!parts->items[i].rotary)
            return locus_fail(
                error, LOCUS_ERROR_UNSUPPORTED, "encoding",
                "'%s' has no normal form: the generators of a tree's branches do not commute, so no basis "
                "makes them all rotations (fold serves seq, cycle, grid and products of these)",
                name);
        if (parts->items[i].rotary->not_normal)
            return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "encoding", "'%s' has no normal form: %s", name,
                              parts->items[i].rotary->not_normal);
        parts->shape.pairs += parts->items[i].rotary->pairs;
    }
    return LOCUS_OK;
}

locus_status locus_fold_measure(const locus_binding *binding, locus_fold_shape *shape, locus_error *error) {
    static const locus_sized kind = {sizeof *shape, sizeof *shape, "shape"};
    locus_fold_parts parts;
    if (!shape)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "shape", "shape is NULL: give a place for the result");
    const locus_status status = find_parts(binding, &parts, error);
    const locus_status written = locus_sized_write(shape, &kind, &parts.shape, status == LOCUS_OK ? error : NULL);
    return status == LOCUS_OK ? written : status;
}

/* ---- filling ---- */

/* A part and where its columns go. */
typedef struct locus_fold_block {
    const locus_fold_shape *shape;
    const locus_normal_part *part;
    size_t pair, alone; /* the first of its pairs and of its unpaired columns, among the head's */
} locus_fold_block;

static size_t table_of(const locus_rotary *rotary, size_t head) {
    return rotary->tables > 1 ? head : 0;
}

/* The block's own coordinate that becomes column `column` of the head's U; the block's dimension if none does. */
static size_t source_of(const locus_fold_block *block, size_t column) {
    const locus_rotary *rotary = block->part->rotary;
    const size_t all = 2 * block->shape->pairs, alone = rotary->dim - 2 * rotary->pairs;
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

static void fill_basis(const locus_fold_block *block, size_t head, double *U) {
    const locus_rotary *rotary = block->part->rotary;
    const size_t dim = block->shape->head_dim, own = rotary->dim;
    const double *basis = rotary->basis_float64 ? rotary->basis_float64 + table_of(rotary, head) * own * own : NULL;
    for (size_t column = 0; column < dim; column++) {
        size_t source = source_of(block, column);
        for (size_t row = 0; source < own && row < own; row++)
            U[(block->part->first + row) * dim + column] = basis ? basis[row * own + source] : row == source;
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
static void fill_angles(const locus_fold_block *block, size_t head, double *angles) {
    const locus_rotary *rotary = block->part->rotary;
    for (size_t axis = 0; axis < rotary->axes; axis++)
        for (size_t pair = 0; pair < rotary->pairs; pair++) {
            const size_t place = rotary->places ? rotary->places[pair] : pair;
            const size_t first = rotary->parts ? rotary->parts[axis] : 0;
            const size_t end = rotary->parts ? rotary->parts[axis + 1] : rotary->pairs;
            if (place >= first && place < end)
                angles[(block->part->coordinate + axis) * block->shape->pairs + block->pair + pair] =
                    angle_of(&rotary->fine[axis].rates, head, place - first);
        }
}

/* An unpaired coordinate stands behind the pairs; reflections are those of the rotary's one axis. */
static void fill_signs(const locus_fold_block *block, size_t head, double *signs) {
    const locus_rotary *rotary = block->part->rotary;
    const size_t alone = block->shape->head_dim - 2 * block->shape->pairs;
    for (size_t i = 2 * rotary->pairs; i < rotary->dim; i++)
        if (rotary->flip && i >= rotary->flip[table_of(rotary, head)])
            signs[block->part->coordinate * alone + block->alone + i - 2 * rotary->pairs] = -1;
}

locus_status locus_fold(const locus_binding *binding, double *basis, double *angles, double *signs,
                        locus_error *error) {
    locus_fold_parts parts;
    locus_status status = find_parts(binding, &parts, error);
    if (status != LOCUS_OK)
        return status;
    const locus_fold_shape *shape = &parts.shape;
    const size_t square = shape->head_dim * shape->head_dim, turns = shape->coordinates * shape->pairs;
    const size_t alone = shape->coordinates * (shape->head_dim - 2 * shape->pairs);
    for (size_t i = 0; basis && i < shape->heads * square; i++)
        basis[i] = 0;
    for (size_t i = 0; angles && i < shape->heads * turns; i++)
        angles[i] = 0;
    for (size_t i = 0; signs && i < shape->heads * alone; i++)
        signs[i] = 1;
    for (size_t head = 0; head < shape->heads; head++) {
        locus_fold_block block = {.shape = shape};
        for (size_t i = 0; i < parts.count; i++) {
            const locus_rotary *rotary = parts.items[i].rotary;
            block.part = &parts.items[i];
            if (basis)
                fill_basis(&block, head, basis + head * square);
            if (angles)
                fill_angles(&block, head, angles + head * turns);
            if (signs)
                fill_signs(&block, head, signs + head * alone);
            block.pair += rotary->pairs;
            block.alone += rotary->dim - 2 * rotary->pairs;
        }
    }
    return LOCUS_OK;
}
