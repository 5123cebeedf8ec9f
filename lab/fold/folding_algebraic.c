/* SPDX-License-Identifier: MIT */
/* To algebraic: generators A whose W = exp(A − Aᵀ) has the pairs of a normal form as its own, in a basis B of choice.
 *
 *   axis    A = ½ B Λ Bᵀ, Λ the blocks [0 −θ; θ 0]
 *   cycle   R is fixed, the parameter is the A of Q: 0, or a random one, and then B = Q
 *
 * Of rope only the angles are left, and which axis each pair follows: axes become a grid, sections a split.
 *
 * A random B is what init=random draws, taken from its normal form. x = U Bᵀ x′, so T = U Bᵀ. */
#include "fold/folding_parts.h"
#include "io/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The axis that a pair follows; pairs that stand still go with the ones before them. */
static size_t axis_of(const lab_folding *folding, size_t pair, size_t before) {
    const locus_fold_shape *shape = &folding->shape;
    for (size_t h = 0; h < shape->heads; h++) {
        for (size_t c = 0; c < shape->coordinates; c++)
            if (folding->angles[(h * shape->coordinates + c) * shape->pairs + pair] != 0)
                return c;
    }
    return before;
}

/* group=grid:r, split=… of a rope with several axes. */
static locus_status set_axes(lab_folding *folding, lab_term *term, locus_error *error) {
    enum { AXES_MOST = 32 };
    const locus_fold_shape *shape = &folding->shape;
    size_t pairs[AXES_MOST] = {0}, used = 0;
    char group[24], split[AXES_MOST * 8];
    if (shape->coordinates == 1)
        return LOCUS_OK;
    if (2 * shape->pairs < shape->head_dim) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL,
                        "fold: %zu of %zu head dimensions stand still, and blocks of 'algebraic' fill the head; fold "
                        "rotary encodings with several axes that turn all of it",
                        shape->head_dim - 2 * shape->pairs, shape->head_dim);
    }
    for (size_t i = 0, axis = 0; i < shape->pairs; i++) {
        const size_t next = axis_of(folding, i, axis);
        if (next < axis || next >= AXES_MOST) {
            return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL,
                            "fold: pairs follow the axes in turn (order=interleaved), and 'algebraic' has a block for "
                            "each axis; only order=chunked folds to it");
        }
        pairs[axis = next]++;
    }
    bool equal = true;
    for (size_t c = 0; c < shape->coordinates && c < AXES_MOST; c++) {
        equal = equal && pairs[c] == pairs[0];
        used += (size_t)snprintf(split + used, sizeof split - used, "%s%zu", c ? ":" : "", 2 * pairs[c]);
    }
    snprintf(group, sizeof group, "grid:%zu", shape->coordinates);
    const locus_status status = lab_term_set(term, "group", group, error);
    return status || equal ? status : lab_term_set(term, "split", split, error);
}

locus_status lab_folding_algebraic_spec(lab_folding *folding, locus_error *error) {
    lab_term *term = lab_folding_term(folding);
    locus_status status = 0;
    if (strcmp(term->name, "algebraic") == 0) {
        status = lab_term_set(term, "init", NULL, error);
        return status ? status : lab_term_set(term, "generator", NULL, error);
    }
    if (strcmp(term->name, "rope") != 0 && strcmp(term->name, "roper") != 0) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL,
                        "fold: a pair of '%s' follows several axes, and a generator of 'algebraic' one; 'string' is "
                        "'mixed' in a learned basis",
                        term->name);
    }
    const bool values = strcmp(term->name, "roper") == 0;
    status = lab_folding_strip(term, error);
    status = status ? status : lab_term_rename(term, "algebraic", error);
    status = status || !values ? status : lab_term_set(term, "values", "on", error);
    return status ? status : set_axes(folding, term, error);
}

/* ---- bases ---- */

/* Column j of the standard basis in the order of a normal form: pairs block by block, then what is unpaired. */
static void standard_basis(const lab_folding *folding, double *B) {
    const size_t dim = folding->shape.head_dim;
    size_t pair = 0, alone = 0;
    for (size_t c = 0; c < folding->shape.coordinates; c++)
        pair += lab_folding_block(folding, c).dim / 2;
    alone = 2 * pair;
    for (size_t c = 0, column = 0; c < folding->shape.coordinates; c++) {
        const lab_fold_block block = lab_folding_block(folding, c);
        for (size_t i = 0; i < block.dim; i++) {
            size_t at = i < block.dim / 2 * 2 ? column++ : alone++;
            for (size_t h = 0; h < folding->shape.heads; h++)
                B[(h * dim + block.first + i) * dim + at] = 1;
        }
    }
}

/* Draws the target's parameters with init=random; B is the basis that they have. */
static locus_status random_basis(lab_folding *folding, uint64_t seed, double *B, locus_error *error) {
    lab_term *term = lab_folding_term(folding);
    locus_status status = lab_term_set(term, "init", "random", error);
    lab_folding drawn = {.source = folding->source, .shape = folding->shape, .spec = folding->spec};
    if (status == LOCUS_OK)
        status = lab_folding_parse(&drawn, error);
    if (status == LOCUS_OK)
        status = lab_bound_draw(&drawn.target, seed, error);
    if (status == LOCUS_OK)
        status = lab_bound_bind(&drawn.target, error);
    if (status == LOCUS_OK)
        status = locus_fold(drawn.target.binding, B, NULL, NULL, error);
    for (size_t i = 0; status == LOCUS_OK && i < drawn.target.count; i++) {
        if (lab_folding_own(folding, i)) { /* of which cycles keep theirs */
            memcpy(folding->target.values[i].data, drawn.target.values[i].data,
                   locus_tensor_count(&drawn.target.values[i]) * sizeof(double));
        }
    }
    lab_bound_close(&drawn.target);
    const locus_status restored = lab_term_set(term, "init", NULL, error);
    return status != LOCUS_OK ? status : restored;
}

/* ---- generators ---- */

/* A = ½ Σ_i θ_i (b_{2i+1} b_{2i}ᵀ − b_{2i} b_{2i+1}ᵀ) over the block's pairs and rows. */
static void fill_generator(const lab_folding *folding, const lab_fold_block *block, const double *B,
                           const double *angles, double *A) {
    const size_t dim = folding->shape.head_dim;
    memset(A, 0, block->dim * block->dim * sizeof *A);
    for (size_t i = block->pair; i < block->pair + block->dim / 2 && i < folding->shape.pairs; i++) {
        for (size_t r = 0; r < block->dim; r++) {
            const double *row = B + (block->first + r) * dim + 2 * i;
            for (size_t c = 0; c < block->dim; c++) {
                const double *other = B + (block->first + c) * dim + 2 * i;
                A[r * block->dim + c] += angles[i] / 2 * (row[1] * other[0] - row[0] * other[1]);
            }
        }
    }
}

/* generators [tables, generators, b, b], or generators.F of coordinate F alone */
static void fill_generators(const lab_folding *folding, const char *name, const double *B, const locus_tensor *tensor) {
    const bool one = strchr(name, '.') != NULL;
    const size_t only = one ? strtoul(strchr(name, '.') + 1, NULL, 10) : 0, generators = (size_t)tensor->shape[1];
    const size_t square = (size_t)(tensor->shape[2] * tensor->shape[3]), dim = folding->shape.head_dim;
    for (size_t table = 0; table < (size_t)tensor->shape[0]; table++) {
        size_t generator = 0;
        for (size_t c = 0; c < folding->shape.coordinates; c++) {
            const lab_fold_block block = lab_folding_block(folding, c);
            if (one && c != only)
                continue;
            double *A = (double *)tensor->data + (table * generators + generator++) * square;
            if (block.coordinate.kind != LOCUS_COORDINATE_CYCLE)
                fill_generator(folding, &block, B + table * dim * dim, lab_folding_angles(folding, table, c), A);
        }
    }
}

locus_status lab_folding_algebraic_fill(lab_folding *folding, const lab_folding_wish *wish, locus_error *error) {
    const size_t dim = folding->shape.head_dim;
    double *B = calloc(folding->shape.heads * dim * dim, sizeof *B);
    locus_status status = B ? LOCUS_OK : lab_fail_memory(error, "a basis");
    if (status == LOCUS_OK && wish->random_basis)
        status = random_basis(folding, wish->seed, B, error);
    else if (status == LOCUS_OK)
        standard_basis(folding, B);
    for (size_t i = 0; status == LOCUS_OK && i < folding->target.count; i++) {
        const char *name = lab_folding_own(folding, i);
        if (name && strncmp(name, "generators", 10) == 0)
            fill_generators(folding, name, B, &folding->target.values[i]);
    }
    if (status == LOCUS_OK) {
        lab_folding_turn(folding, B);
        status = lab_bound_bind(&folding->target, error);
    }
    free(B);
    return status;
}
