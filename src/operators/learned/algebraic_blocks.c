/* SPDX-License-Identifier: MIT */
/* See algebraic_blocks.h. Tensors, b a block's dimensions:
 *
 *   generators [tables, generators, b, b]    numbered along the coordinates: k for a tree of k branches, else 1
 *   angles     [tables, generators, b/2]     generator=angles; cycles have none
 *
 * or, where blocks differ in size, one tensor `generators.F` or `angles.F` for each coordinate F. */
#include "operators/learned/algebraic_blocks.h"

#include "core/error.h"

#include <stdio.h>

/* ---- cutting ---- */

static bool needs_pairs(locus_generator generator, locus_coordinate coordinate) {
    return generator == LOCUS_GENERATOR_ANGLES || coordinate.kind == LOCUS_COORDINATE_CYCLE;
}

static size_t unit_of(const locus_algebraic_blocks *blocks, size_t i) {
    return needs_pairs(blocks->generator, blocks->items[i].coordinate) ? 2 : 1;
}

/* A split that would do, as text; false if there is none. */
static bool suggest_split(const locus_algebraic_blocks *blocks, size_t dim, char *text, size_t size) {
    size_t parts[LOCUS_COORDINATES_MAX] = {0}, left = dim, length = 0;
    for (size_t i = 0; i < blocks->count; i++) {
        const size_t unit = unit_of(blocks, i), even = dim / blocks->count / unit * unit;
        parts[i] = even > 0 ? even : unit;
        if (parts[i] > left)
            return false;
        left -= parts[i];
    }
    for (size_t before = left + 1; left < before;) { /* a unit more for each, pairs first, while it fits */
        before = left;
        for (size_t unit = 2; unit > 0; unit--)
            for (size_t i = 0; i < blocks->count; i++)
                if (unit_of(blocks, i) == unit && unit <= left) {
                    parts[i] += unit;
                    left -= unit;
                }
    }
    for (size_t i = 0; i < blocks->count; i++)
        length += (size_t)snprintf(text + (length < size ? length : size), length < size ? size - length : 0, "%s%zu",
                                   i ? ":" : "", parts[i]);
    return left == 0 && length < size;
}

static locus_status fail_even(const locus_algebraic_blocks *blocks, const char *group, size_t dim, locus_error *error) {
    char split[160];
    const size_t unit = 2 * blocks->count, above = (dim / unit + 1) * unit;
    if (suggest_split(blocks, dim, split, sizeof split))
        return locus_fail(error, LOCUS_ERROR_SHAPE, "head_dim",
                          "'algebraic(group=%s)' cuts a head into %zu equal blocks, one for each coordinate, and "
                          "head_dim is %zu: give head_dim=%zu, or split=%s",
                          group, blocks->count, dim, above, split);
    return locus_fail(
        error, LOCUS_ERROR_SHAPE, "head_dim",
        "'algebraic(group=%s)' cuts a head into %zu blocks, one for each coordinate, and head_dim is only "
        "%zu: give head_dim=%zu",
        group, blocks->count, dim, above);
}

static locus_status cut_evenly(locus_algebraic_blocks *blocks, const char *group, size_t dim, locus_error *error) {
    if (dim % blocks->count != 0)
        return fail_even(blocks, group, dim, error);
    for (size_t i = 0; i < blocks->count; i++)
        blocks->items[i].dim = dim / blocks->count;
    return LOCUS_OK;
}

static locus_status cut_by_split(locus_algebraic_blocks *blocks, const locus_option_value *split, const char *group,
                                 size_t dim, locus_error *error) {
    size_t sum = 0;
    if (split->count != blocks->count)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "split",
                          "split has %zu block%s, but '%s' has %zu coordinate%s: give a number for each", split->count,
                          split->count == 1 ? "" : "s", group, blocks->count, blocks->count == 1 ? "" : "s");
    for (size_t i = 0; i < blocks->count; i++) {
        blocks->items[i].dim = (size_t)split->list[i];
        sum += blocks->items[i].dim;
    }
    if (sum == dim)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_SHAPE, "split",
                      "the blocks of split add up to %zu, but head_dim is %zu: they must share all of it", sum, dim);
}

static locus_status check_pairs(const locus_algebraic_blocks *blocks, size_t dim, locus_error *error) {
    char split[160], advice[200] = "";
    if (suggest_split(blocks, dim, split, sizeof split) && blocks->count > 1)
        (void)snprintf(advice, sizeof advice, ", for example split=%s", split);
    for (size_t i = 0; i < blocks->count; i++) {
        const locus_algebraic_block *block = &blocks->items[i];
        const bool angles = blocks->generator == LOCUS_GENERATOR_ANGLES;
        if (block->dim % 2 == 0 || !needs_pairs(blocks->generator, block->coordinate))
            continue;
        if (blocks->count == 1)
            return locus_fail(
                error, LOCUS_ERROR_SHAPE, "head_dim", "'algebraic(%s)' turns pairs: head_dim must be even, not %zu%s",
                angles ? "generator=angles" : "group=cycle:n", dim,
                angles && block->coordinate.kind != LOCUS_COORDINATE_CYCLE ? " (generator=skew takes odd ones)" : "");
        return locus_fail(error, LOCUS_ERROR_SHAPE, "split",
                          "block %zu of the head, for a coordinate whose generator turns pairs, has %zu of %zu "
                          "dimensions: give an even number%s",
                          i, block->dim, dim, advice);
    }
    return LOCUS_OK;
}

/* ---- parameters ---- */

static bool equal_sizes(const locus_algebraic_blocks *blocks) {
    for (size_t i = 1; i < blocks->count; i++)
        if (blocks->items[i].dim != blocks->items[0].dim)
            return false;
    return true;
}

/* A tensor of `generators` generators like the block's. */
static locus_status add_tensor(locus_algebraic_blocks *blocks, const locus_algebraic_block *block, size_t generators,
                               ptrdiff_t number, locus_error *error) {
    const bool angles = blocks->generator == LOCUS_GENERATOR_ANGLES;
    locus_parameter *tensor = &blocks->tensors[blocks->tensor_count++];
    const size_t numbers = block->dim * block->dim; /* angles of trees are bound as matrices, too */
    if (numbers > 0 && generators > LOCUS_GENERATORS_MAX / blocks->tables / numbers)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "group",
                          "%zu generators of %zu numbers in %zu tables are more than memory is meant to hold (2^28 "
                          "numbers): give fewer branches, a smaller head_dim, or heads=shared",
                          generators, numbers, blocks->tables);
    const int64_t dim = (int64_t)block->dim;
    *tensor =
        angles
            ? (locus_parameter){.name = "", .rank = 3, .shape = {(int64_t)blocks->tables, (int64_t)generators, dim / 2}}
            : (locus_parameter){
                  .name = "", .rank = 4, .shape = {(int64_t)blocks->tables, (int64_t)generators, dim, dim}};
    if (number < 0)
        (void)snprintf(tensor->name, sizeof tensor->name, "%s", angles ? "angles" : "generators");
    else
        (void)snprintf(tensor->name, sizeof tensor->name, "%s.%td", angles ? "angles" : "generators", number);
    return LOCUS_OK;
}

/* Generators that fit nowhere are counted as one too many. */
static size_t generators_of(const locus_algebraic_blocks *blocks, locus_coordinate coordinate) {
    if (coordinate.kind == LOCUS_COORDINATE_TREE)
        return (uint64_t)coordinate.size > LOCUS_GENERATORS_MAX ? LOCUS_GENERATORS_MAX + 1 : (size_t)coordinate.size;
    return blocks->generator == LOCUS_GENERATOR_ANGLES && coordinate.kind == LOCUS_COORDINATE_CYCLE ? 0 : 1;
}

static locus_status place_generators(locus_algebraic_blocks *blocks, locus_error *error) {
    const bool one = equal_sizes(blocks), angles = blocks->generator == LOCUS_GENERATOR_ANGLES;
    locus_status status = LOCUS_OK;
    size_t total = 0;
    for (size_t i = 0; i < blocks->count && status == LOCUS_OK; i++) {
        locus_algebraic_block *block = &blocks->items[i];
        block->generators = generators_of(blocks, block->coordinate);
        block->elements = angles ? block->dim / 2 : block->dim * block->dim;
        block->slice = (locus_parameter_slice){one ? 0 : blocks->tensor_count, block->generators, one ? total : 0};
        total += block->generators;
        if (!one && block->generators > 0)
            status = add_tensor(blocks, block, block->generators, (ptrdiff_t)i, error);
    }
    if (one && total > 0)
        status = add_tensor(blocks, &blocks->items[0], total, -1, error);
    for (size_t i = 0; one && i < blocks->count; i++)
        blocks->items[i].slice.generators = total;
    return status;
}

locus_status locus_algebraic_blocks_of(const locus_term *term, const locus_shape *shape, locus_algebraic_blocks *blocks,
                                       locus_error *error) {
    static const locus_orthogonal_kind kinds[] = {LOCUS_ORTHOGONAL_SKEW, LOCUS_ORTHOGONAL_SKEW, LOCUS_ORTHOGONAL_CAYLEY,
                                                  LOCUS_ORTHOGONAL_HOUSEHOLDER, LOCUS_ORTHOGONAL_SKEW};
    const locus_turning turning = locus_turning_of(term, LOCUS_ALGEBRAIC_HEADS);
    const locus_option_value *split = &term->options[LOCUS_ALGEBRAIC_SPLIT];
    const locus_group *group = locus_term_group(term);
    char text[96];
    locus_status status = locus_turning_check(term, &turning, shape, error);
    if (status != LOCUS_OK)
        return status;
    (void)locus_group_text(group, text, sizeof text);
    *blocks = (locus_algebraic_blocks){.count = locus_group_coordinates(group),
                                       .tables = locus_turning_tables(&turning, shape),
                                       .generator = (locus_generator)term->options[LOCUS_ALGEBRAIC_GENERATOR].choice};
    blocks->kind = kinds[blocks->generator];
    for (size_t i = 0; i < blocks->count; i++)
        blocks->items[i].coordinate = locus_group_coordinate(group, i);
    status = split->choice == 1 ? cut_by_split(blocks, split, text, shape->head_dim, error)
                                : cut_evenly(blocks, text, shape->head_dim, error);
    for (size_t i = 1; i < blocks->count; i++)
        blocks->items[i].first = blocks->items[i - 1].first + blocks->items[i - 1].dim;
    if (status == LOCUS_OK)
        status = check_pairs(blocks, shape->head_dim, error);
    return status == LOCUS_OK ? place_generators(blocks, error) : status;
}
