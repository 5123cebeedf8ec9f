/* SPDX-License-Identifier: MIT */
/* How each law is measured. Operators are made column by column of unit vectors, ⌈p⌉ e_j, through locus_apply, as a
 * caller would; scores are read from attention's log-sum-exp with one key for each query, where it is the score.
 *
 *   homomorphism         ⌈a + b⌉ = ⌈a⌉⌈b⌉                                    float64
 *   inverse              ⌈−a⌉⌈a⌉ = I                                         float64
 *   orthogonality        ⌈a⌉ᵀ⌈a⌉ = I                                         float64
 *   norm                 |⌈a⌉x| = |x|                                        float64
 *   commutators          ⌈a⌉⌈b⌉ = ⌈b⌉⌈a⌉                                     float64
 *   long_homomorphism    the first for 1,000,000 steps on an axis, words of 1,000 letters, float32 measured in double
 *   drift                the third for the same
 *   period               ⌈p + n⌉ = ⌈p⌉ to the last bit on cycles, float32 and float64
 *   relativity           scores and outputs at (c + a, c + b) are those at (a, b)                    float64 */
#include "laws.h"
#include "acting.h"
#include "law_job.h"
#include "natural_shape.h"
#include "output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Laws in float64. Angles are exact to rounding whatever the position and U is orthogonal to about 1e-15·√d, so errors
 * are some 1e-14; a word of 24 letters multiplies as many matrices. A law that does not hold is off by about 1. */
#define TOLERANCE_EXACT 1e-10
/* Paths of 1,000,000 steps and 1,000 letters in float32: one rounding (6e-8) for each product of a row, √d of them;
 * words are as many products, and a thousand of them drift by 1,000 roundings if all went one way. */
#define TOLERANCE_LONG 1e-5
#define TOLERANCE_LONG_WORDS 1e-4
/* Positions on a cycle are reduced before anything is computed: not a bit may differ. */
#define TOLERANCE_PERIOD 0.0

#define REACH 1000000
#define DEPTH 24
#define LONG_LETTERS 1000
#define SAMPLES_MOST 48
#define SAMPLES_LEAST 6
#define SAMPLE_WORK 3e9 /* multiplications that the samples of a law may cost */
#define LONG_SAMPLES 3
#define NORMS 96   /* vectors whose norms are compared */
#define PERIODS 64 /* positions on cycles */

#define PURPOSE_ELEMENTS (LOCUS_RANDOM_USER + 0x60u)
#define PURPOSE_VECTORS (LOCUS_RANDOM_USER + 0x61u)

static void add(law_job *job, const char *name, const char *meaning, double error, double tolerance, bool promised) {
    job->laws->items[job->laws->count++] =
        (cli_law){name, meaning, error, tolerance, promised, error <= tolerance}; /* NaN does not hold */
}

void law_raise(double *most, double value) {
    value = fabs(value);
    if (!(value <= *most))
        *most = value;
}

/* ---- operators as matrices ---- */

/* out[element][head][i][j] = (⌈p⌉ e_j)_i, computed in `dtype`. */
typedef struct law_matrices {
    cli_paths paths;
    size_t heads, dim;
    double *data;
} law_matrices;

static int matrices_open(law_matrices *m, const law_job *job, size_t count) {
    *m = (law_matrices){.heads = job->heads, .dim = job->dim};
    int status = cli_paths_open(&m->paths, count);
    m->data = calloc(count * job->heads * job->dim * job->dim, sizeof *m->data);
    return status || m->data ? status : cli_failure("out of memory for %zu operators", count);
}

static void matrices_close(law_matrices *m) {
    cli_paths_close(&m->paths);
    free(m->data);
}

static double *matrix(const law_matrices *m, size_t element, size_t head) {
    return m->data + (element * m->heads + head) * m->dim * m->dim;
}

int law_apply(const locus_plan *plan, locus_role role, const lab_array *x) {
    locus_error error = {.offset = -1};
    locus_workspace workspace;
    locus_tensor tensor = cli_array_tensor(x);
    int status = cli_workspace_open(&workspace, locus_apply_workspace(plan, role, tensor.dtype, NULL));
    const locus_execution execution = locus_execution_in(workspace);
    if (status == 0 && locus_apply(plan, role, LOCUS_FORWARD, &tensor, &tensor, &execution, &error) != LOCUS_OK)
        status = cli_error(&error);
    cli_workspace_close(&workspace);
    return status;
}

static double value_at(const lab_array *array, size_t index) {
    return array->dtype == LAB_F32 ? (double)((const float *)array->data)[index] : ((const double *)array->data)[index];
}

static void set_at(lab_array *array, size_t index, double value) {
    if (array->dtype == LAB_F32)
        ((float *)array->data)[index] = (float)value;
    else
        ((double *)array->data)[index] = value;
}

/* Token e·dim + j carries the unit vector j at the position of element e. */
static int fill_matrices(law_matrices *m, const law_job *job, lab_dtype dtype) {
    const size_t dim = m->dim, tokens = m->paths.count * dim;
    const int64_t shape[3] = {(int64_t)tokens, (int64_t)m->heads, (int64_t)dim};
    locus_error error = {.offset = -1};
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    lab_array x = {0};
    int status = cli_array_like(&x, dtype, 3, shape);
    for (size_t i = 0; status == 0 && i < tokens * m->heads; i++)
        set_at(&x, i * dim + i / m->heads % dim, 1);
    if (status == 0 && cli_paths_positions(&m->paths, job->group, dim, false, &positions, &error) != LOCUS_OK)
        status = cli_error(&error);
    status = status ? status : cli_encoding_plan(job->encoding, positions, NULL, &plan);
    status = status ? status : law_apply(plan, job->role, &x);
    for (size_t i = 0; status == 0 && i < tokens * m->heads; i++) {
        size_t element = i / m->heads / dim, column = i / m->heads % dim, head = i % m->heads;
        for (size_t row = 0; row < dim; row++)
            matrix(m, element, head)[row * dim + column] = value_at(&x, i * dim + row);
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
    for (size_t i = 0; i < n * n; i++)
        law_raise(most, A[i] - (i / n == i % n));
}

/* ---- laws of operators ---- */

enum { A, B, SUM, INVERSE, ELEMENTS };

typedef struct operator_errors {
    double homomorphism, inverse, orthogonality, commutators;
} operator_errors;

/* Paths a, b, a + b and −a; the first two are given. */
static int complete_paths(cli_paths *paths) {
    locus_error error = {.offset = -1};
    if (locus_path_compose(paths->items[A], paths->items[B], &paths->items[SUM], &error) != LOCUS_OK ||
        locus_path_inverse(paths->items[A], &paths->items[INVERSE], &error) != LOCUS_OK)
        return cli_error(&error);
    return 0;
}

static void compare_matrices(const law_matrices *m, double *product, double *other, operator_errors *errors) {
    const size_t dim = m->dim, square = dim * dim;
    for (size_t h = 0; h < m->heads; h++) {
        const double *a = matrix(m, A, h), *b = matrix(m, B, h);
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

static int measure_sample(law_job *job, const law_matrices *m, lab_dtype dtype, operator_errors *errors) {
    law_matrices own = *m;
    double *product = calloc(2 * m->dim * m->dim, sizeof *product);
    int status = product ? complete_paths(&own.paths) : cli_failure("out of memory for an operator");
    status = status ? status : fill_matrices(&own, job, dtype);
    if (status == 0)
        compare_matrices(m, product, product + m->dim * m->dim, errors);
    free(product);
    return status;
}

static size_t sample_count(const law_job *job) {
    double dim = (double)job->dim, work = 6.0 * (double)job->heads * dim * dim * dim, count = SAMPLE_WORK / work;
    return count > SAMPLES_MOST ? SAMPLES_MOST : count < SAMPLES_LEAST ? SAMPLES_LEAST : (size_t)count;
}

static int measure_operators(law_job *job, operator_errors *errors) {
    int status = 0;
    for (size_t i = 0; i < sample_count(job) && status == 0; i++) {
        law_matrices m;
        cli_element_kind kind = i % 2 ? CLI_ELEMENT_ANY : CLI_ELEMENT_SHORT;
        status = matrices_open(&m, job, ELEMENTS);
        status = status ? status : cli_element_draw(&job->elements, kind, &m.paths.items[A]);
        status = status ? status : cli_element_draw(&job->elements, kind, &m.paths.items[B]);
        status = status ? status : measure_sample(job, &m, LAB_F64, errors);
        matrices_close(&m);
    }
    return status;
}

static int measure_long(law_job *job, operator_errors *errors) {
    int status = 0;
    for (size_t i = 0; i < LONG_SAMPLES && status == 0; i++) {
        law_matrices m;
        status = matrices_open(&m, job, ELEMENTS);
        status = status ? status
                        : cli_element_far(&job->elements, job->elements.reach, LONG_LETTERS, &m.paths.items[A],
                                          &m.paths.items[B]);
        status = status ? status : measure_sample(job, &m, LAB_F32, errors);
        matrices_close(&m);
    }
    return status;
}

void law_draw_vectors(lab_array *x, uint64_t seed, uint32_t step) {
    const locus_random random = {.seed = seed, .purpose = PURPOSE_VECTORS, .step = step};
    for (size_t i = 0; i < lab_array_count(x); i++)
        set_at(x, i, locus_random_normal(&random, i));
}

static void compare_norms(const lab_array *before, const lab_array *after, size_t dim, double *error) {
    for (size_t row = 0; row < lab_array_count(before) / dim; row++) {
        double x = 0, y = 0;
        for (size_t i = 0; i < dim; i++) {
            x += value_at(before, row * dim + i) * value_at(before, row * dim + i);
            y += value_at(after, row * dim + i) * value_at(after, row * dim + i);
        }
        law_raise(error, sqrt(y / x) - 1);
    }
}

static int measure_norm(law_job *job, double *most) {
    const int64_t shape[3] = {NORMS, (int64_t)job->heads, (int64_t)job->dim};
    locus_error error = {.offset = -1};
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    cli_paths paths;
    lab_array x = {0}, y = {0};
    int status = cli_paths_open(&paths, NORMS);
    status = status ? status : cli_array_like(&x, LAB_F64, 3, shape);
    status = status ? status : cli_array_like(&y, LAB_F64, 3, shape);
    for (size_t i = 0; i < NORMS && status == 0; i++)
        status = cli_element_draw(&job->elements, CLI_ELEMENT_ANY, &paths.items[i]);
    if (status == 0 && cli_paths_positions(&paths, job->group, 1, false, &positions, &error) != LOCUS_OK)
        status = cli_error(&error);
    status = status ? status : cli_encoding_plan(job->encoding, positions, NULL, &plan);
    if (status == 0) {
        law_draw_vectors(&x, job->elements.random.seed, 0);
        law_draw_vectors(&y, job->elements.random.seed, 0);
        status = law_apply(plan, job->role, &y);
        compare_norms(&x, &y, job->dim, most);
    }
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    cli_paths_close(&paths);
    lab_array_free(&x);
    lab_array_free(&y);
    return status;
}

/* ---- period ---- */

/* Raw values of one coordinate: on cycles r in the first half of the tokens, r + m·n in the second. */
static void fill_column(law_job *job, locus_coordinate coordinate, int64_t *values) {
    const int64_t n = coordinate.size, turns = n < INT64_MAX / (4 * REACH) ? REACH : n < INT64_MAX / 4;
    for (size_t i = 0; i < PERIODS; i++) {
        uint64_t *next = &job->elements.next;
        const locus_random *random = &job->elements.random;
        int64_t value = (int64_t)locus_random_below(random, (*next)++, n > 0 ? (uint64_t)n : REACH);
        int64_t turn =
            i == 0 ? turns > 0 : (int64_t)locus_random_below(random, (*next)++, 2 * (uint64_t)turns + 1) - turns;
        values[i] = value;
        values[PERIODS + i] = coordinate.kind == LOCUS_COORDINATE_CYCLE ? value + turn * n : value;
    }
}

/* Both halves of the positions, trees at their roots. */
static locus_status period_positions(law_job *job, int64_t *values, locus_positions **positions, locus_error *error) {
    static const size_t offsets[2] = {0, 2 * PERIODS};
    static const size_t starts[2 * PERIODS + 1] = {0};
    static const int64_t no_branches[1] = {0};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    size_t count = locus_group_coordinates(job->group);
    locus_position_column *columns = calloc(count, sizeof *columns);
    if (!columns) {
        *error = (locus_error){.status = LOCUS_ERROR_MEMORY, .message = "out of memory for positions", .offset = -1};
        return LOCUS_ERROR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        locus_coordinate coordinate = locus_group_coordinate(job->group, i);
        int64_t *column = values + i * 2 * PERIODS;
        fill_column(job, coordinate, column);
        columns[i] = coordinate.kind == LOCUS_COORDINATE_TREE
                         ? (locus_position_column){.size = sizeof(locus_position_column),
                                                   .branches = no_branches,
                                                   .starts = starts}
                         : (locus_position_column){.size = sizeof(locus_position_column), .values = column};
    }
    locus_status status = locus_positions_create_columns(positions, job->group, &packing, columns, error);
    free(columns);
    return status;
}

static int compare_halves(law_job *job, const locus_plan *plan, lab_dtype dtype, double *most) {
    const int64_t shape[3] = {2 * PERIODS, (int64_t)job->heads, (int64_t)job->dim};
    const size_t half = PERIODS * job->heads * job->dim;
    lab_array x = {0};
    int status = cli_array_like(&x, dtype, 3, shape);
    if (status == 0) {
        law_draw_vectors(&x, job->elements.random.seed, 1);
        for (size_t i = 0; i < half; i++)
            set_at(&x, half + i, value_at(&x, i));
        status = law_apply(plan, job->role, &x);
        for (size_t i = 0; i < half; i++)
            law_raise(most, value_at(&x, half + i) - value_at(&x, i));
    }
    lab_array_free(&x);
    return status;
}

static int measure_period(law_job *job, double *most) {
    locus_error error = {.offset = -1};
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    int64_t *values = calloc(locus_group_coordinates(job->group) * 2 * PERIODS, sizeof *values);
    int status = values ? 0 : cli_failure("out of memory for positions");
    if (status == 0 && period_positions(job, values, &positions, &error) != LOCUS_OK)
        status = cli_error(&error);
    status = status ? status : cli_encoding_plan(job->encoding, positions, NULL, &plan);
    status = status ? status : compare_halves(job, plan, LAB_F64, most);
    status = status ? status : compare_halves(job, plan, LAB_F32, most);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    free(values);
    return status;
}

/* ---- all of them ---- */

static void look_at_group(law_job *job) {
    job->abelian = true;
    for (size_t i = 0; i < locus_group_coordinates(job->group); i++) {
        locus_coordinate coordinate = locus_group_coordinate(job->group, i);
        bool tree = coordinate.kind == LOCUS_COORDINATE_TREE;
        job->trees = job->trees || tree;
        job->cycles = job->cycles || coordinate.kind == LOCUS_COORDINATE_CYCLE;
        job->abelian = job->abelian && (!tree || coordinate.size == 1);
    }
}

static int laws_of_operators(law_job *job) {
    const bool homomorphism = job->promises & LOCUS_LAW_HOMOMORPHISM, orthogonal = job->promises & LOCUS_LAW_ORTHOGONAL;
    operator_errors exact = {0}, far = {0};
    double norm = 0, period = 0;
    int status = measure_operators(job, &exact);
    status = status ? status : measure_norm(job, &norm);
    status = status ? status : measure_long(job, &far);
    status = status || !job->cycles ? status : measure_period(job, &period);
    double words = job->trees ? TOLERANCE_LONG_WORDS : TOLERANCE_LONG;
    add(job, "homomorphism", "⌈a+b⌉ = ⌈a⌉⌈b⌉", exact.homomorphism, TOLERANCE_EXACT, homomorphism);
    add(job, "inverse", "⌈−a⌉⌈a⌉ = I", exact.inverse, TOLERANCE_EXACT, orthogonal);
    add(job, "orthogonality", "⌈a⌉ᵀ⌈a⌉ = I", exact.orthogonality, TOLERANCE_EXACT, orthogonal);
    add(job, "norm", "|⌈a⌉x| = |x|", norm, TOLERANCE_EXACT, orthogonal);
    add(job, "commutators", "⌈a⌉⌈b⌉ = ⌈b⌉⌈a⌉", exact.commutators, TOLERANCE_EXACT, homomorphism && job->abelian);
    add(job, "long_homomorphism", "⌈a+b⌉ = ⌈a⌉⌈b⌉, long, float32", far.homomorphism, words, homomorphism);
    add(job, "drift", "⌈a⌉ᵀ⌈a⌉ = I, long, float32", far.orthogonality, words, orthogonal);
    if (job->cycles)
        add(job, "period", "⌈p+n⌉ = ⌈p⌉, every bit", period, TOLERANCE_PERIOD, homomorphism);
    return status;
}

int cli_laws_measure(cli_laws *laws, const cli_encoding *encoding, uint64_t seed) {
    locus_error error = {.offset = -1};
    law_job job = {.encoding = encoding,
                   .group = locus_encoding_group(encoding->encoding),
                   .promises = locus_encoding_laws(encoding->encoding),
                   .role = encoding->keys_only ? LOCUS_ROLE_KEY : LOCUS_ROLE_QUERY,
                   .heads = encoding->shape.heads,
                   .dim = encoding->shape.head_dim,
                   .laws = laws};
    *laws = (cli_laws){0};
    if (!job.group && locus_group_parse("seq", &job.own, &error) != LOCUS_OK)
        return cli_error(&error);
    job.group = job.group ? job.group : job.own;
    job.elements = (cli_elements){
        .group = job.group, .random = {.seed = seed, .purpose = PURPOSE_ELEMENTS}, .reach = REACH, .depth = DEPTH};
    look_at_group(&job);
    double relativity = 0;
    cli_natural natural;
    int status = cli_natural_find(&natural, encoding->encoding, 1, REACH);
    job.elements.reach = natural.reach;
    if (status == 0 && (locus_encoding_sites(encoding->encoding) & LOCUS_SITE_QUERY_KEY) != 0) {
        cli_encoding acting;
        status = cli_acting_open(&acting, encoding);
        job.encoding = &acting;
        status = status ? status : laws_of_operators(&job);
        job.encoding = encoding;
        cli_encoding_close(&acting);
    }
    status = status ? status : law_relativity(&job, &relativity);
    add(&job, "relativity", "score(c+a, c+b) = score(a, b)", relativity, TOLERANCE_EXACT,
        job.promises & LOCUS_LAW_RELATIVITY);
    locus_group_destroy(&job.own);
    return status;
}
