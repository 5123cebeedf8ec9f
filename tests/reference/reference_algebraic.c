/* SPDX-License-Identifier: MIT */
/* algebraic, mixed, string and liere: ⌈p⌉ from learned matrices, by exponentials, powers and products as they stand.
 *
 *   axis    W^p, W = exp(A − Aᵀ), (I + S)(I − S)⁻¹, or reflections; p real where W has a logarithm
 *   cycle   Q R^p Qᵀ, R turns pair i by 2π·max(1, round(n·ω_i/2π))/n
 *   tree    the product along the word, with Wᵀ for a step back */
#include "reference/reference.h"

#include "reference/dense_matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.141592653589793238462643383279502884L

/* One block of a head: dimensions [first, first + size), for one coordinate. */
typedef struct algebraic_block {
    const reference_model *model;
    size_t term, coordinate, first, size, generator; /* generator: number of its first one within the tensor */
    const double *tensor; /* of this head: [generators, …]; NULL where nothing is learned */
} algebraic_block;

static bool says(const algebraic_block *block, const char *name, const char *text) {
    return reference_says(block->model, block->term, name, text);
}

/* R: pair (2i, 2i + 1) turns by angle[i]. */
static void turn_pairs(size_t n, const double *angle, double *R) {
    dense_identity(n, R);
    for (size_t i = 0; i < n / 2; i++) {
        double *row = R + 2 * i * n + 2 * i;
        row[0] = row[n + 1] = cos(angle[i]);
        row[n] = sin(angle[i]);
        row[1] = -row[n];
    }
}

/* U R Uᵀ */
static void conjugate(size_t n, const double *U, double *R) {
    double *back = reference_zeros(n * n, sizeof *back);
    dense_transpose(n, U, back);
    dense_multiply(n, U, R, R);
    dense_multiply(n, R, back, R);
    free(back);
}

/* W (or a cycle's Q) of a parameter A [size, size]. */
static void make_generator(const algebraic_block *block, const double *A, double *W) {
    const size_t n = block->size;
    double *S = reference_zeros(n * n, sizeof *S), *less = reference_zeros(n * n, sizeof *less);
    dense_skew(n, A, 1, S);
    if (says(block, "generator", "householder")) {
        dense_reflections(n, A, W);
    } else if (says(block, "generator", "cayley")) {
        for (size_t i = 0; i < n * n; i++) {
            less[i] = (i / n == i % n) - S[i];
            S[i] += i / n == i % n;
        }
        dense_solve(n, less, S, W); /* the two commute */
    } else {
        dense_exponential(n, S, W);
    }
    free(S);
    free(less);
}

/* W^p. A whole power of any W; a real one through the logarithm. */
static void power_of(const algebraic_block *block, const double *A, double p, double *W) {
    const size_t n = block->size;
    double *S = reference_zeros(n * n, sizeof *S);
    const bool skew = !says(block, "generator", "householder") && !says(block, "generator", "cayley");
    if (skew) {
        dense_skew(n, A, p, S);
        dense_exponential(n, S, W);
    } else {
        make_generator(block, A, S);
        if (p == floor(p)) {
            dense_power(n, S, (int64_t)p, W);
        } else {
            dense_logarithm(n, S, W);
            for (size_t i = 0; i < n * n; i++)
                S[i] = p * W[i];
            dense_exponential(n, S, W);
        }
    }
    free(S);
}

static const double *generator_of(const algebraic_block *block, size_t branch, size_t elements) {
    return block->tensor + (block->generator + branch) * elements;
}

static void on_axis(const algebraic_block *block, double p, double *W) {
    const size_t n = block->size;
    if (!says(block, "generator", "angles")) {
        power_of(block, generator_of(block, 0, n * n), p, W);
        return;
    }
    double *angle = reference_zeros(n, sizeof *angle);
    for (size_t i = 0; i < n / 2; i++)
        angle[i] = (double)fmodl((long double)p * generator_of(block, 0, n / 2)[i], 2 * PI);
    turn_pairs(n, angle, W);
    free(angle);
}

static void on_cycle(const algebraic_block *block, double p, double period, double *W) {
    const size_t n = block->size;
    double *angle = reference_zeros(n, sizeof *angle), *Q = reference_zeros(n * n, sizeof *Q);
    for (size_t i = 0; i < n / 2; i++) {
        const double omega = (double)powl(10000, -2 * (long double)i / (long double)n);
        const double times = fmax(1, round(period * omega / (2 * (double)PI)));
        angle[i] = (double)(2 * PI * fmodl((long double)p * times, period) / period);
    }
    turn_pairs(n, angle, W);
    if (!says(block, "generator", "angles")) {
        make_generator(block, generator_of(block, 0, n * n), Q);
        conjugate(n, Q, W);
    }
    free(angle);
    free(Q);
}

static void on_tree(const algebraic_block *block, const int64_t *word, size_t letters, double *W) {
    const size_t n = block->size;
    double *step = reference_zeros(n * n, sizeof *step);
    dense_identity(n, W);
    for (size_t i = 0; i < letters; i++) {
        const size_t branch = (size_t)llabs(word[i]) - 1;
        if (says(block, "generator", "angles"))
            turn_pairs(n, generator_of(block, branch, n / 2), step);
        else
            make_generator(block, generator_of(block, branch, n * n), step);
        if (word[i] < 0)
            dense_transpose(n, step, step);
        dense_multiply(n, W, step, W);
    }
    free(step);
}

static size_t generators_of(const algebraic_block *block, locus_coordinate coordinate) {
    if (coordinate.kind == LOCUS_COORDINATE_TREE)
        return (size_t)coordinate.size;
    return coordinate.kind == LOCUS_COORDINATE_CYCLE && says(block, "generator", "angles") ? 0 : 1;
}

/* Numbers of one head in a tensor of the model. */
static size_t head_elements(const reference_model *model, const double *values) {
    for (size_t i = 0; i < model->tensor_count; i++) {
        size_t elements = 1;
        for (size_t r = 1; r < model->info[i].rank; r++)
            elements *= (size_t)model->info[i].shape[r];
        if (model->values[i] == values)
            return elements;
    }
    return 0;
}

/* The tensor of a block, at this head: one for all blocks where these are equal, else one for each. */
static const double *tensor_of(const algebraic_block *block, size_t head, bool equal) {
    char name[32];
    const char *kind = says(block, "generator", "angles") ? "angles" : "generators";
    (void)snprintf(name, sizeof name, equal ? "%s" : "%s.%zu", kind, block->coordinate);
    const double *values = reference_values(block->model, block->term, name);
    const size_t table = says(block, "heads", "shared") ? 0 : head;
    return values ? values + table * head_elements(block->model, values) : NULL;
}

static void algebraic(const reference_model *model, size_t term, size_t head, const reference_position *p, double *W) {
    const size_t d = model->shape.head_dim, count = locus_group_coordinates(model->group);
    double split[REFERENCE_AXES], *part = reference_zeros(d * d, sizeof *part);
    const bool listed = reference_list(model, term, "split", split, REFERENCE_AXES) > 0;
    bool equal = true;
    for (size_t c = 0; c < count; c++) {
        split[c] = listed ? split[c] : (double)(d / count);
        equal = equal && split[c] == split[0];
    }
    algebraic_block block = {.model = model, .term = term};
    memset(W, 0, d * d * sizeof *W);
    for (size_t c = 0; c < count; c++) {
        const locus_coordinate coordinate = locus_group_coordinate(model->group, c);
        block.coordinate = c;
        block.size = (size_t)split[c];
        block.generator = equal ? block.generator : 0;
        block.tensor = tensor_of(&block, head, equal);
        if (coordinate.kind == LOCUS_COORDINATE_TREE)
            on_tree(&block, p->word[c], p->letters[c], part);
        else if (coordinate.kind == LOCUS_COORDINATE_CYCLE)
            on_cycle(&block, p->value[c], (double)coordinate.size, part);
        else
            on_axis(&block, p->value[c], part);
        for (size_t i = 0; i < block.size * block.size; i++)
            W[(block.first + i / block.size) * d + block.first + i % block.size] = part[i];
        block.first += block.size;
        block.generator += generators_of(&block, coordinate);
    }
    free(part);
}

/* Tables of this head: [axes, …] of a tensor [tables, axes, …]. */
static const double *table_of(const reference_model *model, size_t term, size_t head, const char *name) {
    const double *values = reference_values(model, term, name);
    return reference_says(model, term, "heads", "shared") ? values : values + head * head_elements(model, values);
}

/* Σ_a p_a ω_a of each pair, in the basis exp(A − Aᵀ) for string. */
static void mixed(const reference_model *model, size_t term, size_t head, const reference_position *p, double *W) {
    const size_t d = model->shape.head_dim, axes = locus_group_coordinates(model->group);
    const double *omega = table_of(model, term, head, "frequencies");
    double *angle = reference_zeros(d, sizeof *angle), *S = reference_zeros(d * d, sizeof *S);
    double *U = reference_zeros(d * d, sizeof *U);
    for (size_t i = 0; i < d / 2; i++) {
        long double sum = 0;
        for (size_t a = 0; a < axes; a++)
            sum += (long double)p->value[a] * omega[a * (d / 2) + i];
        angle[i] = (double)fmodl(sum, 2 * PI);
    }
    turn_pairs(d, angle, W);
    if (reference_term_is(model, term, "string")) {
        dense_skew(d, table_of(model, term, head, "basis"), 1, S);
        dense_exponential(d, S, U);
        conjugate(d, U, W);
    }
    free(angle);
    free(S);
    free(U);
}

static void liere(const reference_model *model, size_t term, size_t head, const reference_position *p, double *W) {
    const size_t d = model->shape.head_dim, axes = locus_group_coordinates(model->group);
    const double *A = table_of(model, term, head, "generators");
    double *S = reference_zeros(d * d, sizeof *S), *sum = reference_zeros(d * d, sizeof *sum);
    for (size_t a = 0; a < axes; a++) {
        dense_skew(d, A + a * d * d, p->value[a], S);
        for (size_t i = 0; i < d * d; i++)
            sum[i] += S[i];
    }
    dense_exponential(d, sum, W);
    free(S);
    free(sum);
}

bool reference_algebraic(const reference_model *model, size_t term, size_t head, const reference_position *p,
                         double *W) {
    if (reference_term_is(model, term, "algebraic"))
        algebraic(model, term, head, p, W);
    else if (reference_term_is(model, term, "liere"))
        liere(model, term, head, p, W);
    else if (reference_term_is(model, term, "mixed") || reference_term_is(model, term, "string"))
        mixed(model, term, head, p, W);
    else
        return false;
    return true;
}
