/* SPDX-License-Identifier: MIT */
/* From sums over tokens to the gradient of the parameters.
 *
 * Angles: dL/dθ_i is the sum itself. Generators: with G the gradient of S seen as a full matrix, S = A − Aᵀ gives
 * dL/dA = G − Gᵀ, so only the antisymmetric part of G matters. In the basis U it comes from quotients of two sums, and
 * from moments where angles are near (linalg.h). A block of two coordinates is always near to itself; the antisymmetric
 * part of its moment is the sum for its angle alone, so no moment has to be computed for it:
 *
 *   m_10 − m_01 = Σ u ((R(−a/2)ĝ)_y (R(a/2)x̂)_x − (R(−a/2)ĝ)_x (R(a/2)x̂)_y) = Σ u (R(−a)ĝ)_y x̂_x − (R(−a)ĝ)_x x̂_y
 *
 * because turning both sides of a wedge product changes nothing. The block's symmetric part is lost in G − Gᵀ. */
#include "encoding/class.h"
#include "encoding/rotary.h"

#include "linalg/linalg.h"

#include <math.h>

static size_t padded(size_t doubles) {
    return (doubles + 7) / 8 * 8;
}

locus_skew_slot locus_skew_slot_at(const locus_rotary_operator *op, void *slot) {
    size_t square = padded(op->rotary->dim * op->rotary->dim);
    double *at = slot;
    locus_skew_slot parts = {.forward = at, .backward = at + square, .inner = at + 2 * square};
    for (size_t m = 0; m < op->moments; m++)
        parts.moment[m] = at + (3 + m) * square;
    parts.diagonal = at + (3 + op->moments) * square;
    return parts;
}

size_t locus_rotary_slot_bytes(const locus_operator *op) {
    const locus_rotary_operator *own = (const locus_rotary_operator *)op;
    const locus_rotary *rotary = own->rotary;
    size_t doubles = 0;
    if (rotary->learned == LOCUS_LEARN_ANGLES)
        doubles = padded(rotary->pairs);
    if (rotary->learned == LOCUS_LEARN_SKEW)
        doubles = (3 + own->moments) * padded(rotary->dim * rotary->dim) + padded(rotary->pairs);
    return doubles * sizeof(double);
}

/* ---- near runs ---- */

/* A head's angles fall, and for odd dimensions a last coordinate turns by 0: neighbours closer than LOCUS_NEAR are
 * chained. */
static size_t chain_runs(const locus_rotary *rotary, const double *theta, locus_near_run *runs) {
    size_t blocks = (rotary->dim + 1) / 2, count = 0, begin = 0;
    for (size_t i = 1; i <= blocks; i++) {
        double angle = i < rotary->pairs ? theta[i] : 0;
        if (i < blocks && theta[i - 1] - angle < LOCUS_NEAR)
            continue;
        if (i - begin > 1) {
            size_t end = 2 * i < rotary->dim ? 2 * i : rotary->dim;
            runs[count++] = (locus_near_run){2 * begin, end - 2 * begin, (end - 2 * begin) / 2};
        }
        begin = i;
    }
    return count;
}

static locus_status make_half_angles(locus_rotary_operator *op, locus_owned *memory, locus_error *error) {
    const locus_rotary *rotary = op->rotary;
    size_t angles = rotary->tables * rotary->pairs;
    double *half = locus_owned_get(memory, angles, sizeof *half);
    if (!half)
        return locus_owned_fail(error, angles, sizeof *half);
    for (size_t i = 0; i < angles; i++)
        half[i] = rotary->fine.theta[i] / 2;
    locus_status status = locus_angle_fine_create(&op->half_fine, rotary->tables, rotary->pairs, half, memory, error);
    if (status != LOCUS_OK)
        return status;
    return locus_angle_table_create(&op->half, &op->half_fine, op->placement, memory, error);
}

locus_status locus_rotary_find_near(locus_rotary_operator *op, locus_owned *memory, locus_error *error) {
    const locus_rotary *rotary = op->rotary;
    size_t angles = rotary->tables * rotary->pairs, runs_most = rotary->tables * (rotary->pairs / 2 + 1);
    double *span_theta = locus_owned_get(memory, angles, sizeof *span_theta);
    size_t *first = locus_owned_get(memory, rotary->tables + 1, sizeof *first);
    locus_near_run *runs = locus_owned_get(memory, runs_most, sizeof *runs);
    if (!span_theta || !first || !runs)
        return locus_owned_fail(error, runs_most, sizeof *runs);
    op->span = fmax(op->placement->reach, 1);
    for (size_t i = 0; i < angles; i++)
        span_theta[i] = op->span * rotary->fine.theta[i];
    for (size_t table = 0; table < rotary->tables; table++)
        first[table + 1] = first[table] + chain_runs(rotary, span_theta + table * rotary->pairs, runs + first[table]);
    for (size_t i = 0; i < first[rotary->tables]; i++)
        op->near_widest = runs[i].count > op->near_widest ? runs[i].count : op->near_widest;
    op->span_theta = span_theta;
    op->near_first = first;
    op->near = runs;
    op->moments = op->near_widest > 0 ? LOCUS_NEAR_MOMENTS : 1;
    return op->near_widest > 0 ? make_half_angles(op, memory, error) : LOCUS_OK;
}

/* ---- reduce ---- */

/* Adds slots 1, 2, … to slot 0, in order. */
static void fold(void *slots, size_t count, size_t stride, size_t doubles) {
    double *sum = slots;
    for (size_t s = 1; s < count; s++) {
        const double *slot = (const double *)(const void *)((const char *)slots + s * stride);
        for (size_t i = 0; i < doubles; i++)
            sum[i] += slot[i];
    }
}

static void reduce_angles(const locus_rotary *rotary, size_t head, const double *sum, const locus_tensor *parameter) {
    size_t first = rotary->tables == 1 ? 0 : head * rotary->pairs;
    for (size_t i = 0; i < rotary->pairs; i++)
        locus_tensor_add(parameter, first + i, sum[i]);
}

static void add_antisymmetric(const locus_rotary *rotary, size_t table, const double *G,
                              const locus_tensor *parameter) {
    size_t dim = rotary->dim;
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            locus_tensor_add(parameter, (table * dim + i) * dim + j, G[i * dim + j] - G[j * dim + i]);
}

static void reduce_skew(const locus_rotary_operator *op, size_t head, locus_skew_slot slot,
                        const locus_tensor *parameter) {
    const locus_rotary *rotary = op->rotary;
    const size_t dim = rotary->dim, table = rotary->tables == 1 ? 0 : head, square = dim * dim;
    const double *U = rotary->basis_float64 + table * square, *V = rotary->transposed_float64 + table * square;
    for (size_t i = 0; i < rotary->pairs; i++) { /* the kernel's sum is the wedge the other way round */
        double *block = slot.moment[0] + 2 * i * dim + 2 * i;
        block[0] = block[dim + 1] = 0;
        block[1] = slot.diagonal[i] / 2;
        block[dim] = -block[1];
    }
    locus_skew_gradient(dim, op->span_theta + table * rotary->pairs, LOCUS_NEAR, slot.forward, slot.backward,
                        (const double *const *)slot.moment, op->moments, slot.inner);
    for (size_t i = 0; i < square; i++)
        slot.inner[i] *= op->span;
    const ptrdiff_t ld = (ptrdiff_t)dim;
    op->kernels_float64->gemm(dim, dim, dim, U, ld, 1, slot.inner, ld, slot.forward, ld, false);
    op->kernels_float64->gemm(dim, dim, dim, slot.forward, ld, 1, V, ld, slot.backward, ld, false);
    add_antisymmetric(rotary, table, slot.backward, parameter);
}

void locus_rotary_reduce(const locus_operator *op, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                         const locus_tensor *parameters) {
    const locus_rotary_operator *own = (const locus_rotary_operator *)op;
    if (slot_count == 0 || own->rotary->learned == LOCUS_LEARN_NOTHING)
        return;
    fold(slots, slot_count, slot_stride, locus_rotary_slot_bytes(op) / sizeof(double));
    if (own->rotary->learned == LOCUS_LEARN_ANGLES)
        reduce_angles(own->rotary, head, slots, &parameters[0]);
    else
        reduce_skew(own, head, locus_skew_slot_at(own, slots), &parameters[0]);
}
