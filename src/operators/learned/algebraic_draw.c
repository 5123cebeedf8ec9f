/* SPDX-License-Identifier: MIT */
/* Initial values of `algebraic`: each table, each block, each generator in turn has its part of one stream.
 *
 *              matrices on axes and trees          Q of cycles         angles
 *   rope       rope's angles in a Haar basis       Haar over SO(b)     rope's
 *   identity   noise round the identity            noise               noise round 0
 *   random     Haar over SO(b)                     Haar over SO(b)     those of Haar over SO(b)
 *
 * Reflections have no parameter that means the identity: there, noise is small angles in a Haar basis, and with odd b a
 * product of them has determinant −1, so that Haar is over the other half of O(b), whose angles are π − θ.
 *
 * Angles of a tree with k branches: in one standard basis, rope's for each branch would make all branches one. Branch j
 * takes every k-th of the frequencies that rope would have in a head k times as wide, 10000^(−2(i·k + j)/(k·b)): no two
 * branches agree, and k = 1 is rope. */
#include "operators/learned/algebraic_blocks.h"
#include "operators/learned/haar.h"

#include "core/error.h"

#include <locus/parallel.h>

#include <math.h>
#include <string.h>

#define BASE 10000.0
#define HALF_TURN 3.14159265358979323846

enum { INIT_ROPE, INIT_IDENTITY, INIT_RANDOM };

/* One generator. */
typedef struct locus_generator_draw {
    const locus_random *random;
    uint64_t index; /* of the stream: moves on */
    size_t init;
    locus_orthogonal_kind kind;
    locus_coordinate coordinate;
    size_t dim, number;
    const double *rope; /* [dim/2] rope's angles */
    double *theta, *U, *work;
} locus_generator_draw;

static void noise(locus_generator_draw *draw, size_t count, double *values) {
    for (size_t i = 0; i < count; i++)
        values[i] = LOCUS_TURNING_NOISE * locus_random_normal(draw->random, draw->index++);
}

static void branch_frequencies(const locus_generator_draw *draw, double *theta) {
    const long double branches =
        draw->coordinate.kind == LOCUS_COORDINATE_TREE ? (long double)draw->coordinate.size : 1;
    for (size_t i = 0; i < draw->dim / 2; i++) {
        const long double step = (long double)i * branches + (long double)draw->number;
        theta[i] = (double)powl(BASE, -2.0L * step / (branches * (long double)draw->dim)); /* rope's, to the last bit */
    }
}

static locus_status draw_angles(locus_generator_draw *draw, double *theta) {
    if (draw->init == INIT_RANDOM)
        return locus_haar_blocks(draw->dim, draw->random, &draw->index, draw->U, theta, draw->work);
    if (draw->init == INIT_ROPE)
        branch_frequencies(draw, theta);
    else
        noise(draw, draw->dim / 2, theta);
    return LOCUS_OK;
}

/* Basis and angles of W, or of a cycle's Q. */
static locus_status draw_blocks(locus_generator_draw *draw) {
    const size_t dim = draw->dim;
    const bool cycle = draw->coordinate.kind == LOCUS_COORDINATE_CYCLE;
    if (draw->init == INIT_RANDOM || (draw->init == INIT_ROPE && cycle)) {
        locus_status status = locus_haar_blocks(dim, draw->random, &draw->index, draw->U, draw->theta, draw->work);
        if (draw->kind == LOCUS_ORTHOGONAL_HOUSEHOLDER && dim % 2 != 0)
            for (size_t i = 0; i < dim / 2; i++)
                draw->theta[i] = HALF_TURN - draw->theta[i];
        return status;
    }
    if (draw->init == INIT_ROPE)
        memcpy(draw->theta, draw->rope, dim / 2 * sizeof *draw->theta);
    else
        noise(draw, dim / 2, draw->theta);
    locus_haar_orthogonal(dim, draw->random, &draw->index, draw->U);
    return LOCUS_OK;
}

static locus_status draw_matrix(locus_generator_draw *draw, double *A) {
    const size_t square = draw->dim * draw->dim;
    if (draw->init == INIT_IDENTITY && draw->kind != LOCUS_ORTHOGONAL_HOUSEHOLDER) {
        noise(draw, square, A);
        return LOCUS_OK;
    }
    locus_status status = draw_blocks(draw);
    if (status != LOCUS_OK)
        return status;
    if (draw->kind != LOCUS_ORTHOGONAL_SKEW)
        return locus_orthogonal_parameters(draw->kind, draw->dim, draw->U, draw->theta, A, draw->work);
    locus_skew_assemble(draw->dim, draw->U, draw->theta, A);
    for (size_t i = 0; i < square; i++) /* S = A − Aᵀ: a skew S is given by A = S/2 */
        A[i] /= 2;
    return LOCUS_OK;
}

/* Numbers of the stream that a generator of the block takes. */
static uint64_t numbers_of(const locus_generator_draw *draw, const locus_algebraic_blocks *blocks,
                           const locus_algebraic_block *block) {
    const uint64_t pairs = block->dim / 2, square = (uint64_t)block->dim * block->dim;
    const bool haar = draw->init == INIT_RANDOM, rope = draw->init == INIT_ROPE;
    if (blocks->generator == LOCUS_GENERATOR_ANGLES)
        return haar ? square : rope ? 0 : pairs;
    if (draw->init == INIT_IDENTITY && draw->kind == LOCUS_ORTHOGONAL_HOUSEHOLDER)
        return pairs + square;
    return square;
}

/* Generators of a table's block, each with its own part of the stream. */
typedef struct locus_block_drawing {
    const locus_generator_draw *draw; /* index: of the first one's numbers */
    const locus_algebraic_blocks *blocks;
    const locus_algebraic_block *block;
    uint64_t numbers;
    double *values;
    size_t work_count; /* doubles for each worker, from draw->work on */
    unsigned char *failed;
} locus_block_drawing;

static void draw_generator(void *context, size_t number, size_t worker) {
    const locus_block_drawing *drawing = context;
    locus_generator_draw draw = *drawing->draw;
    double *to = drawing->values + number * drawing->block->elements, *work = draw.work + worker * drawing->work_count;
    draw.number = number;
    draw.index += number * drawing->numbers;
    draw.theta = work;
    draw.U = work + draw.dim;
    draw.work = draw.U + draw.dim * draw.dim;
    const locus_status status =
        drawing->blocks->generator == LOCUS_GENERATOR_ANGLES ? draw_angles(&draw, to) : draw_matrix(&draw, to);
    if (status != LOCUS_OK)
        drawing->failed[worker] = 1;
}

static size_t widest(const locus_algebraic_blocks *blocks) {
    size_t dim = 0;
    for (size_t i = 0; i < blocks->count; i++)
        dim = blocks->items[i].dim > dim ? blocks->items[i].dim : dim;
    return dim;
}

static void draw_all(locus_generator_draw *draw, const locus_algebraic_blocks *blocks, locus_block_drawing *drawing,
                     size_t workers, double *const *values) {
    double *rope = draw->theta;
    draw->rope = rope;
    for (size_t table = 0; table < blocks->tables; table++)
        for (size_t i = 0; i < blocks->count; i++) {
            const locus_algebraic_block *block = &blocks->items[i];
            if (block->generators == 0) /* it may have no parameters at all */
                continue;
            draw->coordinate = block->coordinate;
            draw->dim = block->dim;
            locus_rotary_frequencies(BASE, block->dim, block->dim / 2, rope);
            drawing->block = block;
            drawing->numbers = numbers_of(draw, blocks, block);
            drawing->values =
                values[block->slice.tensor] + locus_parameter_slice_at(block->slice, table, 0, block->elements);
            locus_parallel_for_at_most(workers, block->generators, draw_generator, drawing);
            draw->index += block->generators * drawing->numbers;
        }
}

locus_status locus_algebraic_draw(const locus_term *term, const locus_algebraic_blocks *blocks,
                                  const locus_random *random, double *const *values, locus_error *error) {
    const size_t dim = widest(blocks), haar = locus_haar_work(dim), map = locus_orthogonal_work(dim);
    const size_t doubles = dim + dim * dim + (haar > map ? haar : map), workers = locus_threads();
    locus_owned memory = {0};
    double *rope = locus_owned_get(&memory, dim, sizeof *rope);
    double *work = locus_owned_get(&memory, workers * doubles, sizeof *work);
    unsigned char *failed = locus_owned_get(&memory, workers, 1);
    locus_generator_draw draw = {.random = random,
                                 .init = term->options[LOCUS_ALGEBRAIC_INIT].choice,
                                 .kind = blocks->kind,
                                 .theta = rope,
                                 .work = work};
    locus_block_drawing drawing = {.draw = &draw, .blocks = blocks, .work_count = doubles, .failed = failed};
    locus_status status = rope && work && failed ? LOCUS_OK : locus_owned_fail(error);
    if (status == LOCUS_OK)
        draw_all(&draw, blocks, &drawing, workers, values);
    bool any = false;
    for (size_t w = 0; status == LOCUS_OK && w < workers; w++)
        any = any || failed[w];
    locus_owned_release(&memory);
    return any ? locus_fail(error, LOCUS_ERROR_NUMERIC, "generators",
                            "a random generator could not be decomposed: try another seed")
               : status;
}
