/* SPDX-License-Identifier: MIT */
/* Encodings that tests register: some of the library's, written once more as anybody would, and some that are like
 * none. */
#ifndef TESTS_REGISTERED_CASE_H
#define TESTS_REGISTERED_CASE_H

#include <locus/locus.h>
#include <math.h>

/* ---- alibi, kerple ---- */

static inline locus_status own_alibi(const locus_extension_batch *batch, double *values, locus_error *error) {
    size_t power = 1;
    (void)error;
    while (power * 2 <= batch->heads)
        power *= 2;
    const double n2 = (double)power, head = (double)batch->head;
    const double slope = batch->head < power ? exp2(-8.0 * (head + 1) / n2) : exp2(-4.0 * (2 * (head - n2) + 1) / n2);
    for (size_t i = 0; i < batch->count; i++)
        values[i] = -slope * batch->distance[i];
    return LOCUS_OK;
}

static inline locus_status own_kerple(const locus_extension_batch *batch, double *values, locus_error *error) {
    const double a = batch->parameters[0][batch->head], b = batch->parameters[1][batch->head];
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        values[i] = -a * log1p(b * batch->distance[i]);
    return LOCUS_OK;
}

static inline locus_status own_kerple_gradient(const locus_extension_batch *batch, const double *upstream,
                                               double *const *gradients, locus_error *error) {
    const double a = batch->parameters[0][batch->head], b = batch->parameters[1][batch->head];
    (void)error;
    for (size_t i = 0; i < batch->count; i++) {
        const double d = batch->distance[i];
        gradients[0][batch->head] -= upstream[i] * log1p(b * d);
        gradients[1][batch->head] -= upstream[i] * a * d / (1 + b * d);
    }
    return LOCUS_OK;
}

/* ---- a factor of both positions: 1 + w_h·sin(s·q)·cos(k) ---- */

static inline locus_status own_wave(const locus_extension_batch *batch, double *values, locus_error *error) {
    const double w = batch->parameters[0][batch->head], s = batch->parameters[1][0];
    (void)error;
    for (size_t i = 0; i < batch->count; i++) {
        const double q = batch->query.values[i * batch->coordinates], k = batch->key.values[i * batch->coordinates];
        values[i] = 1 + w * sin(s * q) * cos(k);
    }
    return LOCUS_OK;
}

static inline locus_status own_wave_gradient(const locus_extension_batch *batch, const double *upstream,
                                             double *const *gradients, locus_error *error) {
    const double w = batch->parameters[0][batch->head], s = batch->parameters[1][0];
    (void)error;
    for (size_t i = 0; i < batch->count; i++) {
        const double q = batch->query.values[i * batch->coordinates], k = batch->key.values[i * batch->coordinates];
        gradients[0][batch->head] += upstream[i] * sin(s * q) * cos(k);
        gradients[1][0] += upstream[i] * w * q * cos(s * q) * cos(k);
    }
    return LOCUS_OK;
}

/* ---- a bias for each pair of first branches on a tree, and one for each difference of lengths up to `most` ---- */

static inline locus_status own_branches(const locus_extension_batch *batch, double *values, locus_error *error) {
    const double most = batch->options[1].number;
    (void)error;
    for (size_t i = 0; i < batch->count; i++) {
        const locus_extension_word *query = &batch->query.words[i], *key = &batch->key.words[i];
        const double apart = batch->key.values[i] - batch->query.values[i];
        const double first =
            query->length > 0 && key->length > 0 ? (double)(2 * query->branches[0] + key->branches[0]) / 8 : -0.25;
        values[i] = first + batch->parameters[0][(size_t)fmin(fabs(apart), most - 1)];
    }
    return LOCUS_OK;
}

static inline locus_status own_branches_gradient(const locus_extension_batch *batch, const double *upstream,
                                                 double *const *gradients, locus_error *error) {
    (void)error;
    for (size_t i = 0; i < batch->count; i++) {
        const double apart = batch->key.values[i] - batch->query.values[i];
        gradients[0][(size_t)fmin(fabs(apart), batch->options[1].number - 1)] += upstream[i];
    }
    return LOCUS_OK;
}

/* Values begin rising: initialise replaces what stands there. */
static inline locus_status own_branches_initial(const locus_extension_batch *batch, size_t parameter, size_t elements,
                                                double *values, locus_error *error) {
    (void)batch, (void)parameter, (void)error;
    for (size_t i = 0; i < elements; i++)
        values[i] = 0.1 * (double)i;
    return LOCUS_OK;
}

/* ---- rope, all heads alike; roper's values too under another name ---- */

static inline locus_status own_rope(const locus_extension_batch *batch, double *values, locus_error *error) {
    const size_t pairs = batch->head_dim / 2;
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        for (size_t j = 0; j < pairs; j++)
            values[i * pairs + j] = batch->query.values[i * batch->coordinates] *
                                    pow(batch->options[0].number, -2.0 * (double)j / (double)(2 * pairs));
    return LOCUS_OK;
}

/* ---- angles of each head: Σ over coordinates of f[h, j]·value, and on trees of its word's branches ---- */

static inline double own_turn_of(const locus_extension_batch *batch, size_t place) {
    double sum = 0;
    for (size_t c = 0; c < batch->coordinates; c++) {
        const size_t at = place * batch->coordinates + c;
        sum += batch->query.values[at];
        for (size_t i = 0; batch->query.words && i < batch->query.words[at].length; i++)
            sum += (double)batch->query.words[at].branches[i] / 4;
    }
    return sum;
}

static inline locus_status own_turn(const locus_extension_batch *batch, double *values, locus_error *error) {
    const size_t pairs = batch->head_dim / 2;
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        for (size_t j = 0; j < pairs; j++)
            values[i * pairs + j] = sin(own_turn_of(batch, i)) * batch->parameters[0][batch->head * pairs + j] +
                                    own_turn_of(batch, i) * batch->parameters[1][0];
    return LOCUS_OK;
}

static inline locus_status own_turn_gradient(const locus_extension_batch *batch, const double *upstream,
                                             double *const *gradients, locus_error *error) {
    const size_t pairs = batch->head_dim / 2;
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        for (size_t j = 0; j < pairs; j++) {
            gradients[0][batch->head * pairs + j] += upstream[i * pairs + j] * sin(own_turn_of(batch, i));
            gradients[1][0] += upstream[i * pairs + j] * own_turn_of(batch, i);
        }
    return LOCUS_OK;
}

/* ---- rope as matrices; and I + sin(Σ p)·diag(a_h)·N, N above the diagonal ---- */

static inline locus_status own_dense(const locus_extension_batch *batch, double *values, locus_error *error) {
    const size_t dim = batch->head_dim;
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        for (size_t k = 0; k < dim * dim; k++) {
            const size_t row = k / dim, column = k % dim, pair = row / 2;
            const double angle = batch->query.values[i] * pow(10000, -2.0 * (double)pair / (double)dim);
            values[i * dim * dim + k] = column / 2 != pair ? 0
                                        : row == column    ? cos(angle)
                                        : row < column     ? -sin(angle)
                                                           : sin(angle);
        }
    return LOCUS_OK;
}

static inline double own_shear_of(const locus_extension_batch *batch, size_t place) {
    return sin(own_turn_of(batch, place));
}

static inline double own_shear_entry(size_t row, size_t column) {
    return row < column ? (double)(1 + (row + 2 * column) % 3) / 4 : 0;
}

static inline locus_status own_shear(const locus_extension_batch *batch, double *values, locus_error *error) {
    const size_t dim = batch->head_dim;
    const double *a = batch->parameters[0] + batch->head * dim;
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        for (size_t k = 0; k < dim * dim; k++)
            values[i * dim * dim + k] =
                (k / dim == k % dim) + a[k / dim] * own_shear_of(batch, i) * own_shear_entry(k / dim, k % dim);
    return LOCUS_OK;
}

static inline locus_status own_shear_gradient(const locus_extension_batch *batch, const double *upstream,
                                              double *const *gradients, locus_error *error) {
    const size_t dim = batch->head_dim;
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        for (size_t k = 0; k < dim * dim; k++)
            gradients[0][batch->head * dim + k / dim] +=
                upstream[i * dim * dim + k] * own_shear_of(batch, i) * own_shear_entry(k / dim, k % dim);
    return LOCUS_OK;
}

/* ---- the plane of the first and the last dimension turns by a_h·(sum of the position) ---- */

static inline locus_status own_spin(const locus_extension_batch *batch, double *values, locus_error *error) {
    const size_t dim = batch->head_dim, last = dim - 1;
    (void)error;
    for (size_t i = 0; i < batch->count; i++) {
        const double angle = batch->parameters[0][batch->head] * own_turn_of(batch, i);
        double *matrix = values + i * dim * dim;
        for (size_t k = 0; k < dim * dim; k++)
            matrix[k] = k / dim == k % dim;
        matrix[0] = matrix[last * dim + last] = cos(angle);
        matrix[last] = -sin(angle);
        matrix[last * dim] = sin(angle);
    }
    return LOCUS_OK;
}

static inline locus_status own_spin_gradient(const locus_extension_batch *batch, const double *upstream,
                                             double *const *gradients, locus_error *error) {
    const size_t dim = batch->head_dim, last = dim - 1;
    (void)error;
    for (size_t i = 0; i < batch->count; i++) {
        const double turn = own_turn_of(batch, i), angle = batch->parameters[0][batch->head] * turn;
        const double *g = upstream + i * dim * dim;
        gradients[0][batch->head] +=
            turn * (-sin(angle) * (g[0] + g[last * dim + last]) + cos(angle) * (g[last * dim] - g[last]));
    }
    return LOCUS_OK;
}

#define OWN_GROUP(initial) \
    { "group", "group", initial, "whose positions", LOCUS_OPTION_GROUP, 0, 0, false }

/* Registers all of them, once for a process. */
static inline locus_status own_register(locus_error *error) {
    static const locus_option_info on_seq[] = {OWN_GROUP("seq")};
    static const locus_option_info on_tree[] = {
        OWN_GROUP("tree:2"), {"most", "integer from 1 to 9", "3", "longest", LOCUS_OPTION_INTEGER, 1, 9, false}};
    static const locus_extension_parameter kerple[] = {
        {sizeof *kerple, "a", 1, {LOCUS_EXTENT_HEADS}, 0.7, 0.1, LOCUS_CONSTRAINT_POSITIVE},
        {sizeof *kerple, "b", 1, {LOCUS_EXTENT_HEADS}, 0.5, 0.1, LOCUS_CONSTRAINT_POSITIVE}};
    static const locus_extension_parameter wave[] = {
        {sizeof *wave, "w", 1, {LOCUS_EXTENT_HEADS}, 0.3, 0.1, LOCUS_CONSTRAINT_NONE},
        {sizeof *wave, "s", 1, {1}, 0.4, 0, LOCUS_CONSTRAINT_NONZERO}};
    static const locus_extension_parameter lengths[] = {
        {sizeof *lengths, "lengths", 1, {LOCUS_EXTENT_OPTION(1)}, 0, 0, LOCUS_CONSTRAINT_NONE}};
    static const locus_option_info base[] = {
        {"base", "number > 0", "10000", "of frequencies", LOCUS_OPTION_NUMBER, 0, 1e9, true}};
    static const locus_extension_parameter turns[] = {
        {sizeof *turns, "f", 2, {LOCUS_EXTENT_HEADS, LOCUS_EXTENT_PAIRS}, 0.5, 0.2, LOCUS_CONSTRAINT_NONE},
        {sizeof *turns, "g", 1, {1}, 0.3, 0, LOCUS_CONSTRAINT_NONE}};
    static const locus_extension_parameter shears[] = {
        {sizeof *shears, "a", 2, {LOCUS_EXTENT_HEADS, LOCUS_EXTENT_HEAD_DIM}, 0.3, 0.1, LOCUS_CONSTRAINT_NONE}};
    static const locus_extension_parameter spins[] = {
        {sizeof *spins, "a", 1, {LOCUS_EXTENT_HEADS}, 0.3, 0.1, LOCUS_CONSTRAINT_NONE}};
    static const locus_encoding_description all[] = {
        {.size = sizeof *all,
         .name = "own-dense",
         .summary = "rope as matrices",
         .kind = LOCUS_EXTENSION_MATRICES,
         .flags = LOCUS_EXTENSION_HEADS_ALIKE | LOCUS_EXTENSION_VALUES,
         .laws = LOCUS_LAW_HOMOMORPHISM | LOCUS_LAW_ORTHOGONAL | LOCUS_LAW_RELATIVITY,
         .traits = LOCUS_TRAIT_REALS,
         .values = own_dense},
        {.size = sizeof *all,
         .name = "own-shear",
         .summary = "matrices that are not orthogonal",
         .kind = LOCUS_EXTENSION_MATRICES,
         .traits = LOCUS_TRAIT_REALS,
         .option_count = 1,
         .options = on_seq,
         .parameter_count = 1,
         .parameters = shears,
         .values = own_shear,
         .gradient = own_shear_gradient},
        {.size = sizeof *all,
         .name = "own-spin",
         .summary = "a plane that turns, as matrices",
         .kind = LOCUS_EXTENSION_MATRICES,
         .flags = LOCUS_EXTENSION_VALUES,
         .laws = LOCUS_LAW_ORTHOGONAL,
         .option_count = 1,
         .options = on_seq,
         .parameter_count = 1,
         .parameters = spins,
         .values = own_spin,
         .gradient = own_spin_gradient},
        {.size = sizeof *all,
         .name = "own-rope",
         .summary = "rope once more",
         .kind = LOCUS_EXTENSION_ANGLES,
         .flags = LOCUS_EXTENSION_HEADS_ALIKE,
         .laws = LOCUS_LAW_HOMOMORPHISM | LOCUS_LAW_ORTHOGONAL | LOCUS_LAW_RELATIVITY,
         .traits = LOCUS_TRAIT_REALS,
         .option_count = 1,
         .options = base,
         .values = own_rope},
        {.size = sizeof *all,
         .name = "own-roper",
         .summary = "roper once more, half pairs, heads apart",
         .kind = LOCUS_EXTENSION_ANGLES,
         .flags = LOCUS_EXTENSION_VALUES | LOCUS_EXTENSION_HALF_PAIRS,
         .laws = LOCUS_LAW_HOMOMORPHISM | LOCUS_LAW_ORTHOGONAL | LOCUS_LAW_RELATIVITY,
         .traits = LOCUS_TRAIT_REALS,
         .option_count = 1,
         .options = base,
         .values = own_rope},
        {.size = sizeof *all,
         .name = "own-turn",
         .summary = "angles of each head and group",
         .kind = LOCUS_EXTENSION_ANGLES,
         .flags = LOCUS_EXTENSION_VALUES,
         .laws = LOCUS_LAW_ORTHOGONAL,
         .traits = LOCUS_TRAIT_REALS,
         .option_count = 1,
         .options = on_seq,
         .parameter_count = 2,
         .parameters = turns,
         .values = own_turn,
         .gradient = own_turn_gradient},
        {.size = sizeof *all,
         .name = "own-alibi",
         .summary = "alibi once more",
         .kind = LOCUS_EXTENSION_BIAS,
         .laws = LOCUS_LAW_RELATIVITY,
         .traits = LOCUS_TRAIT_REALS,
         .option_count = 1,
         .options = on_seq,
         .values = own_alibi},
        {.size = sizeof *all,
         .name = "own-kerple",
         .summary = "kerple once more",
         .source = "Chi et al. 2022",
         .kind = LOCUS_EXTENSION_BIAS,
         .laws = LOCUS_LAW_RELATIVITY,
         .traits = LOCUS_TRAIT_REALS,
         .option_count = 1,
         .options = on_seq,
         .parameter_count = 2,
         .parameters = kerple,
         .values = own_kerple,
         .gradient = own_kerple_gradient},
        {.size = sizeof *all,
         .name = "own-wave",
         .summary = "a factor of both positions",
         .kind = LOCUS_EXTENSION_FACTOR,
         .traits = LOCUS_TRAIT_REALS,
         .parameter_count = 2,
         .parameters = wave,
         .values = own_wave,
         .gradient = own_wave_gradient},
        {.size = sizeof *all,
         .name = "own-branches",
         .summary = "a bias of a tree's branches, the same in all heads",
         .kind = LOCUS_EXTENSION_BIAS,
         .flags = LOCUS_EXTENSION_HEADS_ALIKE,
         .option_count = 2,
         .options = on_tree,
         .parameter_count = 1,
         .parameters = lengths,
         .values = own_branches,
         .gradient = own_branches_gradient,
         .initialise = own_branches_initial},
    };
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && status == LOCUS_OK; i++)
        status = locus_encoding_register(&all[i], error);
    return status;
}

#endif
