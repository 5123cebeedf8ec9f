/* SPDX-License-Identifier: MIT */
/* From sums over tokens to the gradients of the parameters. In the basis U, with ŷ = R(p)x̂:
 *
 *   forward = Σ ĝ ŷᵀ,  backward = Σ (R(−p)ĝ) x̂ᵀ
 *
 * Angles: dL/dθ_i = Σ p·(x̂ ∧ R(−p)ĝ)_i is summed itself.
 *
 * A basis that has parameters of its own: y = U R Uᵀ x gives Uᵀ dL/dU = forward + backwardᵀ; locus_orthogonal_backward
 * goes on. In INNER coordinates one of the two is missing for each of queries and keys, but the missing parts add up to
 * a symmetric matrix, which no orthogonal matrix can follow.
 *
 * Generators: W^p. Quotients of the two sums, and moments where angles are near (orthogonal.h). A block of two
 * coordinates is always near to itself; only the antisymmetric part of its moment matters, because W stays orthogonal,
 * and that part is the sum for its angle alone, so no moment has to be computed for it:
 *
 *   m_10 − m_01 = Σ u ((R(−a/2)ĝ)_y (R(a/2)x̂)_x − (R(−a/2)ĝ)_x (R(a/2)x̂)_y) = Σ u (R(−a)ĝ)_y x̂_x − (R(−a)ĝ)_x x̂_y
 *
 * because turning both sides of a wedge product changes nothing. */
#include "operators/rotary/rotary.h"
#include "spec/class.h"

#include "linalg/linalg.h"

#include <assert.h>
#include <math.h>

static double *take(size_t *total, double *base, size_t doubles) {
    double *at = base ? base + *total : NULL;
    *total += (doubles + 7) / 8 * 8;
    return at;
}

locus_rotary_slot locus_rotary_slot_at(const locus_rotary_operator *op, void *slot) {
    const locus_rotary *rotary = op->rotary;
    const bool angles = rotary->learned & LOCUS_LEARN_ANGLES, powers = rotary->learned & LOCUS_LEARN_GENERATOR;
    const bool matrices = powers || (rotary->learned & LOCUS_LEARN_BASIS);
    const bool mapped = matrices && !(powers && rotary->kind == LOCUS_ORTHOGONAL_SKEW);
    const size_t square = rotary->dim * rotary->dim;
    locus_rotary_slot parts = {.total = 0};
    parts.angles = take(&parts.total, slot, angles ? (op->given ? op->given->count : rotary->axes) * rotary->pairs : 0);
    parts.forward = take(&parts.total, slot, matrices ? square : 0);
    parts.backward = take(&parts.total, slot, matrices ? square : 0);
    for (size_t m = 0; powers && m < op->moments; m++)
        parts.moment[m] = take(&parts.total, slot, square);
    parts.diagonal = take(&parts.total, slot, powers ? rotary->pairs : 0);
    parts.sums = parts.total;
    parts.inner = take(&parts.total, slot, matrices ? square : 0);
    parts.gradient = take(&parts.total, slot, mapped ? square : 0);
    parts.work = take(&parts.total, slot,
                      mapped                ? locus_orthogonal_work(rotary->dim)
                      : angles && op->given ? op->given->work
                                            : 0);
    return parts;
}

size_t locus_rotary_slot_bytes(const locus_operator *op) {
    return locus_rotary_slot_at((const locus_rotary_operator *)op, NULL).total * sizeof(double);
}

/* ---- near runs ---- */

typedef struct locus_block_range {
    size_t begin, end;
    bool flips;
} locus_block_range;

/* Angles fall within a range of blocks, and an odd last coordinate turns by 0: neighbours closer than LOCUS_NEAR are
 * chained. */
static size_t chain_runs(const locus_rotary *rotary, const double *span_theta, locus_block_range range,
                         locus_near_run *runs) {
    size_t count = 0, begin = range.begin;
    for (size_t i = begin + 1; i <= range.end; i++) {
        double angle = i < rotary->pairs ? span_theta[i] : 0;
        if (i < range.end && span_theta[i - 1] - angle < LOCUS_NEAR)
            continue;
        if (i - begin > 1) {
            size_t end = 2 * i < rotary->dim ? 2 * i : rotary->dim;
            runs[count++] = (locus_near_run){2 * begin, end - 2 * begin, (end - 2 * begin) / 2, range.flips};
        }
        begin = i;
    }
    return count;
}

/* Eigenvalues on different sides of the flip are never near. */
static size_t find_runs(const locus_rotary *rotary, size_t table, const double *span_theta, locus_near_run *runs) {
    const size_t blocks = (rotary->dim + 1) / 2;
    const size_t flip = rotary->flip && rotary->flip[table] < rotary->dim ? rotary->flip[table] / 2 : blocks;
    const size_t still = chain_runs(rotary, span_theta, (locus_block_range){0, flip, false}, runs);
    return still + chain_runs(rotary, span_theta, (locus_block_range){flip, blocks, true}, runs + still);
}

/* Half angles of the near pairs alone, side by side: as many for each table as the fullest has. */
static locus_status make_half_angles(locus_rotary_operator *op, locus_owned *memory, locus_error *error) {
    const locus_rotary *rotary = op->rotary;
    size_t pairs = 0;
    for (size_t table = 0; table < rotary->tables; table++) {
        size_t own = 0;
        for (size_t i = op->near_first[table]; i < op->near_first[table + 1]; i++)
            own += op->near[i].pairs;
        pairs = own > pairs ? own : pairs;
    }
    double *half = locus_owned_get(memory, rotary->tables * pairs, sizeof *half);
    if (!half)
        return locus_owned_fail(error);
    for (size_t table = 0; table < rotary->tables; table++) {
        double *to = half + table * pairs;
        const double *theta = rotary->fine[0].rates.theta + table * rotary->pairs;
        for (size_t i = op->near_first[table]; i < op->near_first[table + 1]; i++)
            for (size_t j = 0; j < op->near[i].pairs; j++)
                *to++ = theta[op->near[i].first / 2 + j] / 2;
    }
    const locus_angle_rates rates = {.tables = rotary->tables, .pairs = pairs, .theta = half};
    locus_status status = locus_angle_fine_make(&op->half_fine, &rates, memory, error);
    if (status != LOCUS_OK)
        return status;
    return locus_angle_table_create(&op->half, &op->half_fine, op->placement, memory, error);
}

locus_status locus_rotary_find_near(locus_rotary_operator *op, locus_owned *memory, locus_error *error) {
    const locus_rotary *rotary = op->rotary;
    const double *theta = rotary->fine[0].rates.theta;
    size_t angles = rotary->tables * rotary->pairs, runs_most = rotary->tables * (rotary->pairs / 2 + 1);
    double *span_theta = locus_owned_get(memory, angles, sizeof *span_theta);
    size_t *first = locus_owned_get(memory, rotary->tables + 1, sizeof *first);
    locus_near_run *runs = locus_owned_get(memory, runs_most, sizeof *runs);
    if (!span_theta || !first || !runs)
        return locus_owned_fail(error);
    op->span = fmax(op->placement->reach, 1);
    for (size_t i = 0; i < angles; i++)
        span_theta[i] = op->span * theta[i];
    for (size_t table = 0; table < rotary->tables; table++)
        first[table + 1] =
            first[table] + find_runs(rotary, table, span_theta + table * rotary->pairs, runs + first[table]);
    for (size_t i = 0; i < first[rotary->tables]; i++)
        op->near_widest = runs[i].count > op->near_widest ? runs[i].count : op->near_widest;
    op->span_theta = span_theta;
    op->near_first = first;
    op->near = runs;
    op->moments = op->near_widest > 0 ? LOCUS_NEAR_MOMENTS : 1;
    return op->near_widest > 0 ? make_half_angles(op, memory, error) : LOCUS_OK;
}

/* ---- reduce ---- */

/* Where each pair follows one axis, its frequency is one number. */
static void reduce_parts(const locus_rotary *rotary, const double *sum, const locus_tensor *parameters) {
    const size_t first = locus_parameter_slice_at(rotary->angles_slice, 0, 0, rotary->pairs);
    for (size_t i = 0; i < rotary->pairs; i++) {
        const size_t place = rotary->places ? rotary->places[i] : i;
        size_t axis = 0;
        while (rotary->parts[axis + 1] <= place)
            axis++;
        locus_tensor_add(&parameters[rotary->angles_slice.tensor], first + i, sum[axis * rotary->pairs + i]);
    }
}

static void reduce_angles(const locus_rotary *rotary, size_t table, const double *sum, const locus_tensor *parameters) {
    const locus_parameter_slice slice = rotary->angles_slice;
    assert(sum != NULL);
    if (rotary->parts) {
        reduce_parts(rotary, sum, parameters);
        return;
    }
    for (size_t axis = 0; axis < rotary->axes; axis++)
        locus_tensor_add_numbers(&parameters[slice.tensor], locus_parameter_slice_at(slice, table, axis, rotary->pairs),
                                 rotary->pairs, sum + axis * rotary->pairs);
}

/* The parameter's gradient from G, dL/dW or, for functions of a skew S, dL/dS. */
static void add_matrix(const locus_rotary *rotary, size_t table, const double *gradient,
                       const locus_tensor *parameters) {
    const size_t square = rotary->dim * rotary->dim;
    locus_tensor_add_numbers(&parameters[rotary->matrix_slice.tensor],
                             locus_parameter_slice_at(rotary->matrix_slice, table, 0, square), square, gradient);
}

/* S = A − Aᵀ: dL/dA = G − Gᵀ, into `antisymmetric`. */
static void subtract_transpose(size_t dim, const double *G, double *antisymmetric) {
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            antisymmetric[i * dim + j] = G[i * dim + j] - G[j * dim + i];
}

static void reduce_powers(const locus_rotary_operator *op, size_t table, const locus_rotary_slot *slot,
                          const locus_tensor *parameters) {
    const locus_rotary *rotary = op->rotary;
    const size_t dim = rotary->dim, square = dim * dim, angles = table * rotary->pairs;
    const double *U = rotary->basis_float64 + table * square, *V = rotary->transposed_float64 + table * square;
    for (size_t i = 0; i < rotary->pairs; i++) { /* the kernel's sum is the wedge the other way round */
        assert(slot->moment[0] != NULL);
        double *block = slot->moment[0] + 2 * i * dim + 2 * i;
        block[0] = block[dim + 1] = 0;
        block[1] = slot->diagonal[i] / 2;
        block[dim] = -block[1];
    }
    const locus_power_sums sums = {slot->forward, slot->backward, (const double *const *)slot->moment,
                                   op->moments,   op->span,       LOCUS_NEAR};
    if (rotary->kind == LOCUS_ORTHOGONAL_SKEW) {
        locus_skew_gradient(dim, op->span_theta + angles, LOCUS_NEAR, sums.forward, sums.backward, sums.moments,
                            sums.count, slot->inner);
        for (size_t i = 0; i < square; i++)
            slot->inner[i] *= op->span;
    } else {
        locus_orthogonal_gradient(rotary->kind, dim, rotary->fine[0].rates.theta + angles, rotary->sigma + angles,
                                  rotary->flip ? rotary->flip[table] : dim, &sums, slot->inner);
    }
    const ptrdiff_t ld = (ptrdiff_t)dim;
    op->kernels_float64->gemm(dim, dim, dim, U, ld, 1, slot->inner, ld, slot->forward, ld, false);
    op->kernels_float64->gemm(dim, dim, dim, slot->forward, ld, 1, V, ld, slot->backward, ld, false);
    if (rotary->kind == LOCUS_ORTHOGONAL_SKEW) {
        subtract_transpose(dim, slot->backward, slot->inner);
        add_matrix(rotary, table, slot->inner, parameters);
        return;
    }
    for (size_t i = 0; i < square; i++)
        slot->gradient[i] = 0;
    locus_status status = locus_orthogonal_spread(rotary->kind, dim, rotary->A + table * square, slot->backward,
                                                  slot->gradient, slot->work);
    assert(status == LOCUS_OK); /* it was decomposed before */
    if (status == LOCUS_OK)
        add_matrix(rotary, table, slot->gradient, parameters);
}

static void reduce_basis(const locus_rotary_operator *op, size_t table, const locus_rotary_slot *slot,
                         const locus_tensor *parameters) {
    const locus_rotary *rotary = op->rotary;
    const size_t dim = rotary->dim, square = dim * dim;
    const ptrdiff_t ld = (ptrdiff_t)dim;
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++) {
            slot->inner[i * dim + j] = slot->forward[i * dim + j] + slot->backward[j * dim + i];
            slot->gradient[i * dim + j] = 0;
        }
    op->kernels_float64->gemm(dim, dim, dim, rotary->basis_float64 + table * square, ld, 1, slot->inner, ld,
                              slot->forward, ld, false);
    if (rotary->skew_basis) {
        locus_skew_exp_backward(dim, rotary->skew_basis + table * square, rotary->skew_angles + table * rotary->pairs,
                                slot->forward, slot->inner, slot->work);
        subtract_transpose(dim, slot->inner, slot->gradient);
        add_matrix(rotary, table, slot->gradient, parameters);
        return;
    }
    locus_status status = locus_orthogonal_backward(rotary->kind, dim, rotary->A + table * square, slot->forward,
                                                    slot->gradient, slot->work);
    assert(status == LOCUS_OK); /* it was decomposed before */
    if (status == LOCUS_OK)
        add_matrix(rotary, table, slot->gradient, parameters);
}

void locus_rotary_reduce(const locus_operator *op, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                         const locus_tensor *parameters) {
    const locus_rotary_operator *own = (const locus_rotary_operator *)op;
    const unsigned learned = own->rotary->learned;
    const size_t table = own->rotary->tables == 1 ? 0 : head;
    if (slot_count == 0 || learned == LOCUS_LEARN_NOTHING)
        return;
    const locus_rotary_slot slot = locus_rotary_slot_at(own, slots);
    (void)locus_slots_fold(slots, slot_count, slot_stride, slot.sums);
    if (own->given)
        own->given->learn(own->given->own, table, slot.angles, slot.work, parameters);
    else if (learned & LOCUS_LEARN_ANGLES)
        reduce_angles(own->rotary, table, slot.angles, parameters);
    if (learned & LOCUS_LEARN_GENERATOR)
        reduce_powers(own, table, &slot, parameters);
    if (learned & LOCUS_LEARN_BASIS)
        reduce_basis(own, table, &slot, parameters);
}
