/* SPDX-License-Identifier: MIT */
/* Laws of operators as matrices: ⌈p⌉ is made column by column of unit vectors, ⌈p⌉ e_j, by locus_apply, as a caller
 * would. */
#include "check/law_job.h"

#include "bound/position_list.h"
#include "io/fail.h"

#include <stdlib.h>
#include <string.h>

#define LONG_LETTERS 1000
#define SAMPLES_MOST 48
#define SAMPLES_LEAST 6
#define SAMPLE_WORK 3e9 /* multiplications that the samples of a law may cost */
#define LONG_SAMPLES 3

/* The elements of one sample. */
enum { FIRST, SECOND, SUM, INVERSE, ELEMENTS };

/* data[element][head][i][j] = (⌈p⌉ e_j)_i */
typedef struct law_matrices {
    lab_position_list list;
    size_t heads, dim;
    double *data;
} law_matrices;

static locus_status matrices_open(law_matrices *m, const law_job *job, locus_error *error) {
    *m = (law_matrices){.heads = job->heads, .dim = job->dim};
    m->data = calloc(ELEMENTS * job->heads * job->dim * job->dim, sizeof *m->data);
    const locus_status status = lab_path_list_open(&m->list, job->group, ELEMENTS, error);
    return status != LOCUS_OK || m->data ? status : lab_fail_memory(error, "operators");
}

static void matrices_close(law_matrices *m) {
    lab_position_list_free(&m->list);
    free(m->data);
}

static double *matrix(const law_matrices *m, size_t element, size_t head) {
    return m->data + (element * m->heads + head) * m->dim * m->dim;
}

/* Token e·dim + j carries the unit vector j at the position of element e. */
static locus_status fill_matrices(law_matrices *m, const law_job *job, lab_dtype dtype, locus_error *error) {
    const size_t dim = m->dim, tokens = m->list.count * dim;
    const int64_t shape[3] = {(int64_t)tokens, (int64_t)m->heads, (int64_t)dim};
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    lab_array x = {0};
    locus_status status = lab_array_create(&x, dtype, 3, shape, error);
    for (size_t i = 0; status == LOCUS_OK && i < tokens * m->heads; i++)
        lab_array_set(&x, i * dim + i / m->heads % dim, 1);
    if (status == LOCUS_OK) {
        status = lab_path_positions((const locus_path *const *)m->list.paths, m->list.count, job->group, dim, false,
                                    &positions, error);
    }
    if (status == LOCUS_OK)
        status = lab_bound_plan(job->bound, positions, NULL, NULL, &plan, error);
    const locus_tensor tensor = lab_array_tensor(&x);
    if (status == LOCUS_OK)
        status = lab_apply(plan, job->role, LOCUS_FORWARD, &tensor, NULL, error);
    for (size_t i = 0; status == LOCUS_OK && i < tokens * m->heads; i++) {
        size_t element = i / m->heads / dim, column = i / m->heads % dim, head = i % m->heads;
        for (size_t row = 0; row < dim; row++)
            matrix(m, element, head)[row * dim + column] = lab_array_at(&x, i * dim + row);
    }
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    lab_array_free(&x);
    return status;
}

/* C = A·B, or AᵀB. */
static void multiply(size_t n, const double *A, bool transposed, const double *B, double *C) {
    memset(C, 0, n * n * sizeof *C);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            double a = transposed ? A[k * n + i] : A[i * n + k];
            for (size_t j = 0; j < n; j++)
                C[i * n + j] += a * B[k * n + j];
        }
    }
}

static void raise_to_difference(double *most, size_t count, const double *a, const double *b) {
    for (size_t i = 0; i < count; i++)
        law_raise(most, a[i] - b[i]);
}

static void raise_to_identity(double *most, size_t n, const double *A) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            law_raise(most, A[i * n + j] - (i == j));
}

static void compare_matrices(const law_matrices *m, double *product, double *other, law_operator_errors *errors) {
    const size_t dim = m->dim, square = dim * dim;
    for (size_t h = 0; h < m->heads; h++) {
        const double *a = matrix(m, FIRST, h), *b = matrix(m, SECOND, h);
        multiply(dim, a, false, b, product);
        raise_to_difference(&errors->homomorphism, square, product, matrix(m, SUM, h));
        multiply(dim, b, false, a, other);
        raise_to_difference(&errors->commutators, square, product, other);
        multiply(dim, matrix(m, INVERSE, h), false, a, product);
        raise_to_identity(&errors->inverse, dim, product);
        multiply(dim, matrix(m, SUM, h), true, matrix(m, SUM, h), product);
        raise_to_identity(&errors->orthogonality, dim, product);
    }
}

/* Of paths a and b, beside which a + b and −a are put. */
static locus_status measure_sample(law_job *job, law_matrices *m, lab_dtype dtype, law_operator_errors *errors,
                                   locus_error *error) {
    locus_path **paths = m->list.paths;
    double *product = calloc(2 * m->dim * m->dim, sizeof *product);
    locus_status status = product ? LOCUS_OK : lab_fail_memory(error, "an operator");
    if (status == LOCUS_OK)
        status = locus_path_compose(paths[FIRST], paths[SECOND], &paths[SUM], error);
    if (status == LOCUS_OK)
        status = locus_path_inverse(paths[FIRST], &paths[INVERSE], error);
    if (status == LOCUS_OK)
        status = fill_matrices(m, job, dtype, error);
    if (status == LOCUS_OK)
        compare_matrices(m, product, product + m->dim * m->dim, errors);
    free(product);
    return status;
}

static size_t sample_count(const law_job *job) {
    double dim = (double)job->dim, work = 6.0 * (double)job->heads * dim * dim * dim, count = SAMPLE_WORK / work;
    return count > SAMPLES_MOST ? SAMPLES_MOST : count < SAMPLES_LEAST ? SAMPLES_LEAST : (size_t)count;
}

/* Two short paths, or two of any length; or two that make a long one. */
static locus_status draw_paths(law_job *job, size_t sample, bool far, locus_path **paths, locus_error *error) {
    const lab_element_kind kind = sample % 2 ? LAB_ELEMENT_ANY : LAB_ELEMENT_SHORT;
    if (far)
        return lab_element_far(&job->elements, job->elements.reach, LONG_LETTERS, paths, error);
    const locus_status status = lab_element_draw(&job->elements, kind, &paths[FIRST], error);
    return status != LOCUS_OK ? status : lab_element_draw(&job->elements, kind, &paths[SECOND], error);
}

locus_status law_operators(law_job *job, bool far, law_operator_errors *errors, locus_error *error) {
    const size_t samples = far ? LONG_SAMPLES : sample_count(job);
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < samples && status == LOCUS_OK; i++) {
        law_matrices m;
        status = matrices_open(&m, job, error);
        if (status == LOCUS_OK)
            status = draw_paths(job, i, far, m.list.paths, error);
        if (status == LOCUS_OK)
            status = measure_sample(job, &m, far ? LAB_F32 : LAB_F64, errors, error);
        matrices_close(&m);
    }
    return status;
}
