/* SPDX-License-Identifier: MIT */
/* algebraic: positions of a group act as orthogonal operators (Kogkalidis, Bernardy and Garg 2024). A head falls
 * into one block of dimensions for each coordinate of the group, ⌈(a, b)⌉ = ⌈a⌉ ⊕ ⌈b⌉:
 *
 *   axis    ⌈p⌉ = W^p                    rotary.h, in the eigenbasis of W
 *   cycle   ⌈p⌉ = Q R^p Qᵀ, R^n = I      rotary.h: R is fixed, Q learned
 *   tree    ⌈b1 … bt⌉ = W_b1 … W_bt      tree.h
 *
 *   generator=skew         parameter A, W (or Q) = exp(A − Aᵀ); any b, on cycles even
 *   generator=cayley       W = (I + S)(I − S)⁻¹, S = A − Aᵀ
 *   generator=householder  W = a product of b reflections, whose vectors are the rows of A
 *   generator=angles       the normal form: learned angles of the pairs (2i, 2i + 1), b even; cycles have none
 *   generator=fixed        nothing is learned: A is what `init` draws from seed 0, as for skew
 *
 * heads=shared: one set of generators for all heads. decay=c multiplies scores by c^distance. Blocks and parameters:
 * algebraic_blocks.c; initial values: algebraic_draw.c. */
#include "operators/learned/algebraic_blocks.h"
#include "operators/tree/tree.h"

#include "core/error.h"

#include <string.h>

typedef struct locus_algebraic_part {
    size_t first, dim;
    const locus_rotary *rotary; /* one of both */
    const locus_tree *tree;
} locus_algebraic_part;

typedef struct locus_algebraic {
    size_t heads, count;
    locus_algebraic_part parts[LOCUS_COORDINATES_MAX];
    locus_turning turning;
} locus_algebraic;

static unsigned sites(const locus_term *term) {
    const locus_turning turning = locus_turning_of(term, LOCUS_ALGEBRAIC_HEADS);
    return locus_turning_sites(&turning);
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    const locus_turning turning = locus_turning_of(term, LOCUS_ALGEBRAIC_HEADS);
    locus_algebraic_blocks blocks;
    locus_status status = locus_algebraic_blocks_of(term, shape, &blocks, error);
    if (status != LOCUS_OK)
        return status;
    for (size_t i = 0; blocks.generator != LOCUS_GENERATOR_FIXED && i < blocks.tensor_count; i++)
        list[(*count)++] = blocks.tensors[i];
    locus_decay_parameter(&turning.decay, list, count);
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    const locus_turning turning = locus_turning_of(term, LOCUS_ALGEBRAIC_HEADS);
    locus_algebraic_blocks blocks;
    locus_status status = locus_algebraic_blocks_of(term, draw->shape, &blocks, error);
    const bool fixed = status == LOCUS_OK && blocks.generator == LOCUS_GENERATOR_FIXED;
    if (status == LOCUS_OK)
        locus_decay_initialise(&turning.decay, fixed ? 0 : blocks.tensor_count, draw->values);
    return status != LOCUS_OK || fixed ? status
                                       : locus_algebraic_draw(term, &blocks, &draw->random, draw->values, error);
}

/* ---- binding ---- */

/* One bind call. `values` are the generators' tensors, given or drawn. */
typedef struct locus_algebraic_bind {
    const locus_algebraic_blocks *blocks;
    const double *const *values;
    size_t heads;
    locus_side side;
    locus_owned *memory;
    locus_error *error;
} locus_algebraic_bind;

/* The generators of a block, [tables, generators, elements], in memory of their own. */
static double *gather(const locus_algebraic_bind *bind, const locus_algebraic_block *block, locus_owned *memory) {
    const size_t tables = bind->blocks->tables, row = block->generators * block->elements;
    double *values = locus_owned_get(memory, tables * row, sizeof *values);
    for (size_t table = 0; values && row > 0 && table < tables; table++)
        memcpy(values + table * row,
               bind->values[block->slice.tensor] + locus_parameter_slice_at(block->slice, table, 0, block->elements),
               row * sizeof *values);
    if (!values)
        (void)locus_owned_fail(bind->error);
    return values;
}

static locus_status bind_matrices(const locus_algebraic_bind *bind, const locus_algebraic_block *block,
                                  locus_rotary *rotary) {
    const locus_algebraic_blocks *blocks = bind->blocks;
    const bool cycle = block->coordinate.kind == LOCUS_COORDINATE_CYCLE;
    const double *A = gather(bind, block, bind->memory);
    if (!A)
        return LOCUS_ERROR_MEMORY;
    if (blocks->generator != LOCUS_GENERATOR_FIXED)
        rotary->learned = cycle ? LOCUS_LEARN_BASIS : LOCUS_LEARN_GENERATOR;
    rotary->matrix_slice = block->slice;
    if (!cycle)
        return locus_rotary_bind_powers(rotary, blocks->kind, A, bind->memory, bind->error);
    locus_status status = locus_rotary_bind_cycle(rotary, block->coordinate.size, bind->memory, bind->error);
    return status == LOCUS_OK ? locus_rotary_bind_basis(rotary, blocks->kind, A, bind->memory, bind->error) : status;
}

static locus_status bind_angles(const locus_algebraic_bind *bind, const locus_algebraic_block *block,
                                locus_rotary *rotary) {
    if (block->coordinate.kind == LOCUS_COORDINATE_CYCLE)
        return locus_rotary_bind_cycle(rotary, block->coordinate.size, bind->memory, bind->error);
    const double *theta = gather(bind, block, bind->memory);
    if (!theta)
        return LOCUS_ERROR_MEMORY;
    rotary->learned = LOCUS_LEARN_ANGLES;
    rotary->angles_slice = block->slice;
    return locus_rotary_bind_angles(rotary, theta, bind->memory, bind->error);
}

static locus_status bind_rotary(const locus_algebraic_bind *bind, const locus_algebraic_block *block,
                                const locus_rotary **bound) {
    locus_rotary *rotary = locus_owned_get(bind->memory, 1, sizeof *rotary);
    if (!rotary)
        return locus_owned_fail(bind->error);
    *rotary =
        (locus_rotary){.heads = bind->heads, .dim = block->dim, .tables = bind->blocks->tables, .side = bind->side};
    *bound = rotary;
    return bind->blocks->generator == LOCUS_GENERATOR_ANGLES ? bind_angles(bind, block, rotary)
                                                             : bind_matrices(bind, block, rotary);
}

static locus_status bind_tree(const locus_algebraic_bind *bind, const locus_algebraic_block *block,
                              const locus_tree **bound) {
    static const unsigned sides[] = {[LOCUS_SIDE_BOTH] = 3, [LOCUS_SIDE_QUERY] = 1, [LOCUS_SIDE_KEY] = 2};
    const locus_generator generator = bind->blocks->generator;
    locus_tree *tree = locus_owned_get(bind->memory, 1, sizeof *tree);
    if (!tree)
        return locus_owned_fail(bind->error);
    *tree = (locus_tree){.heads = bind->heads,
                         .dim = block->dim,
                         .branches = block->generators,
                         .tables = bind->blocks->tables,
                         .sides = sides[bind->side],
                         .learned = generator == LOCUS_GENERATOR_FIXED    ? LOCUS_TREE_FIXED
                                    : generator == LOCUS_GENERATOR_ANGLES ? LOCUS_TREE_ANGLES
                                                                          : LOCUS_TREE_ORTHOGONAL,
                         .kind = bind->blocks->kind,
                         .slice = block->slice};
    *bound = tree;
    if (generator != LOCUS_GENERATOR_FIXED)
        return locus_tree_bind(tree, bind->values, NULL, bind->memory, bind->error);
    const double *A = gather(bind, block, bind->memory);
    return A ? locus_tree_bind(tree, NULL, A, bind->memory, bind->error) : LOCUS_ERROR_MEMORY;
}

static locus_status bind_parts(const locus_algebraic_bind *bind, locus_algebraic *own) {
    locus_status status = LOCUS_OK;
    own->count = bind->blocks->count;
    for (size_t i = 0; i < own->count && status == LOCUS_OK; i++) {
        const locus_algebraic_block *block = &bind->blocks->items[i];
        own->parts[i] = (locus_algebraic_part){.first = block->first, .dim = block->dim};
        status = block->coordinate.kind == LOCUS_COORDINATE_TREE ? bind_tree(bind, block, &own->parts[i].tree)
                                                                 : bind_rotary(bind, block, &own->parts[i].rotary);
    }
    return status;
}

/* The generators of generator=fixed. */
static locus_status draw_fixed(const locus_term *term, const locus_algebraic_blocks *blocks, double **values,
                               locus_owned *passing, locus_error *error) {
    const locus_random random = {.seed = 0, .purpose = 0x11u, .step = 0};
    for (size_t i = 0; i < blocks->tensor_count; i++) {
        const size_t elements = locus_parameter_elements(&blocks->tensors[i]);
        values[i] = locus_owned_get(passing, elements, sizeof **values);
        if (!values[i])
            return locus_owned_fail(error);
    }
    return locus_algebraic_draw(term, blocks, &random, values, error);
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    locus_algebraic_blocks blocks;
    locus_owned passing = {0};
    double *drawn[LOCUS_COORDINATES_MAX] = {NULL};
    locus_algebraic *own = bound;
    own->heads = shape->heads;
    own->turning = locus_turning_of(term, LOCUS_ALGEBRAIC_HEADS);
    locus_status status = locus_algebraic_blocks_of(term, shape, &blocks, error);
    if (status != LOCUS_OK)
        return status;
    const bool fixed = blocks.generator == LOCUS_GENERATOR_FIXED;
    locus_decay_bind(&own->turning.decay, fixed ? 0 : blocks.tensor_count, values);
    if (fixed)
        status = draw_fixed(term, &blocks, drawn, &passing, error);
    const locus_algebraic_bind parts = {.blocks = &blocks,
                                        .values = fixed ? (const double *const *)drawn : values,
                                        .heads = shape->heads,
                                        .side = own->turning.side,
                                        .memory = memory,
                                        .error = error};
    if (status == LOCUS_OK)
        status = bind_parts(&parts, own);
    locus_owned_release(&passing);
    return status;
}

/* ---- placing ---- */

static locus_status place_operators(const locus_algebraic *own, const locus_places *places, locus_owned *memory,
                                    locus_placed *placed, locus_error *error) {
    locus_operator_part parts[LOCUS_COORDINATES_MAX];
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < own->count && status == LOCUS_OK; i++) {
        const locus_algebraic_part *part = &own->parts[i];
        parts[i] = (locus_operator_part){.first = part->first, .count = part->dim};
        status = part->tree ? locus_tree_place(part->tree, places, i, memory, &parts[i].whole, error)
                            : locus_rotary_place(part->rotary, places, i, memory, &parts[i].local, error);
    }
    return status == LOCUS_OK ? locus_product_place(parts, own->count, own->heads, places, memory, placed, error)
                              : status;
}

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    const locus_algebraic *own = bound;
    locus_status status = LOCUS_OK;
    if (locus_places_ask(places, LOCUS_SITE_QUERY_KEY))
        status = place_operators(own, places, memory, placed, error);
    return status == LOCUS_OK ? locus_turning_place(&own->turning, places, memory, placed, error) : status;
}

static size_t normal(const void *bound, locus_normal_part parts[LOCUS_COORDINATES_MAX]) {
    const locus_algebraic *own = bound;
    static const locus_normal_part tree = {
        .refused = "the generators of a tree's branches do not commute, so no basis makes them all rotations (fold "
                   "serves seq, cycle, grid and products of these)"};
    for (size_t i = 0; i < own->count; i++)
        parts[i] = own->parts[i].rotary ? locus_rotary_normal(own->parts[i].rotary, own->parts[i].first, i) : tree;
    return own->count;
}

/* Angles of a cycle are not learned: they are multiples of a whole turn's parts. */
static bool learns(const locus_term *term) {
    const locus_turning turning = locus_turning_of(term, LOCUS_ALGEBRAIC_HEADS);
    const size_t generator = term->options[LOCUS_ALGEBRAIC_GENERATOR].choice;
    const locus_group *group = locus_term_group(term);
    bool learned = generator != LOCUS_GENERATOR_FIXED && generator != LOCUS_GENERATOR_ANGLES;
    for (size_t i = 0; generator == LOCUS_GENERATOR_ANGLES && i < locus_group_coordinates(group); i++)
        learned = learned || locus_group_coordinate(group, i).kind != LOCUS_COORDINATE_CYCLE;
    return turning.decay.learned || learned;
}

static const locus_option_info options[] = {
    {"group", "group", "seq", "the group that positions are elements of", LOCUS_OPTION_GROUP, 0, 0, false},
    {"generator", "skew|angles|cayley|householder|fixed", "skew",
     "learned: exp(A − Aᵀ), angles in the standard basis, Cayley's transform, reflections; or not learned",
     LOCUS_OPTION_CHOICE, 0, 0, false},
    {"init", "rope|identity|random", "rope",
     "rope's angles in a random basis (angles of k branches: dealt out in turn from a head k times as wide), small "
     "noise, or Haar",
     LOCUS_OPTION_CHOICE, 0, 0, false},
    LOCUS_TURNING_OPTIONS,
    {"split", "a:b:… (integers ≥ 1)", "", "head dimensions for each coordinate of the group; equal if not given",
     LOCUS_OPTION_LIST, 1, 65536, false},
};

const locus_encoding_class locus_algebraic_class = {
    .info = {.name = "algebraic",
             .summary = "paths of a group act on queries and keys as products of learned orthogonal matrices",
             .sites = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE | LOCUS_SITE_SCORE,
             .learned = "generators, or angles (generator=angles); rate (decay=learned:c)",
             .source = "Kogkalidis et al. 2024, Algebraic positional encodings",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS | LOCUS_NEEDS_HEAD_DIM,
    .bound_bytes = sizeof(locus_algebraic),
    .laws = LOCUS_LAWS_ALL,
    .reals = true,
    .sites = sites,
    .learns = learns,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
    .normal = normal,
};
