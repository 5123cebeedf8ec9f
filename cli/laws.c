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
#include "elements.h"
#include "law_promises.h"
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
#define PAIRS 96   /* positions whose scores are compared */
#define PERIODS 64 /* positions on cycles */

#define PURPOSE_ELEMENTS (LOCUS_RANDOM_USER + 0x60u)
#define PURPOSE_VECTORS (LOCUS_RANDOM_USER + 0x61u)

typedef struct law_job {
    const cli_encoding *encoding;
    const locus_group *group; /* what positions are drawn from */
    locus_group *own;         /* it, if the encoding takes any */
    cli_elements elements;
    locus_role role;
    size_t heads, dim;
    bool trees, cycles, abelian;
    cli_promises promises;
    cli_laws *laws;
} law_job;

static void add(law_job *job, const char *name, const char *meaning, double error, double tolerance, bool promised) {
    job->laws->items[job->laws->count++] =
        (cli_law){name, meaning, error, tolerance, promised, error <= tolerance}; /* NaN does not hold */
}

/* Keeps the larger; NaN stays. */
static void raise_to(double *most, double value) {
    value = fabs(value);
    if (!(value <= *most)) {
        *most = value;
    }
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

/* Applies the operators of `plan` to x [tokens, heads, dim] in place. */
static int apply_in_place(const law_job *job, const locus_plan *plan, locus_role role, lab_array *x) {
    locus_error error = {.offset = -1};
    locus_workspace workspace;
    locus_tensor tensor = cli_array_tensor(x);
    int status = cli_workspace_open(&workspace, locus_apply_workspace(plan, role, tensor.dtype));
    (void)job;
    if (status == 0 && locus_apply(plan, role, LOCUS_FORWARD, &tensor, &tensor, workspace, &error) != LOCUS_OK) {
        status = cli_error(&error);
    }
    cli_workspace_close(&workspace);
    return status;
}

static double value_at(const lab_array *array, size_t index) {
    return array->dtype == LAB_F32 ? (double)((const float *)array->data)[index] : ((const double *)array->data)[index];
}

static void set_at(lab_array *array, size_t index, double value) {
    if (array->dtype == LAB_F32) {
        ((float *)array->data)[index] = (float)value;
    } else {
        ((double *)array->data)[index] = value;
    }
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
    for (size_t i = 0; status == 0 && i < tokens * m->heads; i++) {
        set_at(&x, i * dim + i / m->heads % dim, 1);
    }
    if (status == 0 &&
        (cli_paths_positions(&m->paths, job->group, dim, false, &positions, &error) != LOCUS_OK ||
         locus_plan_create(&plan, job->encoding->binding, positions, NULL, &error) != LOCUS_OK)) {
        status = cli_error(&error);
    }
    status = status ? status : apply_in_place(job, plan, job->role, &x);
    for (size_t i = 0; status == 0 && i < tokens * m->heads; i++) {
        size_t element = i / m->heads / dim, column = i / m->heads % dim, head = i % m->heads;
        for (size_t row = 0; row < dim; row++) {
            matrix(m, element, head)[row * dim + column] = value_at(&x, i * dim + row);
        }
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
            for (size_t j = 0; j < n; j++) {
                C[i * n + j] += a * B[k * n + j];
            }
        }
    }
}

static void raise_to_difference(double *most, size_t count, const double *a, const double *b) {
    for (size_t i = 0; i < count; i++) {
        raise_to(most, a[i] - b[i]);
    }
}

static void raise_to_identity(double *most, size_t n, const double *A) {
    for (size_t i = 0; i < n * n; i++) {
        raise_to(most, A[i] - (i / n == i % n));
    }
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
        locus_path_inverse(paths->items[A], &paths->items[INVERSE], &error) != LOCUS_OK) {
        return cli_error(&error);
    }
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
    if (status == 0) {
        compare_matrices(m, product, product + m->dim * m->dim, errors);
    }
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
        int64_t part = (int64_t)locus_random_below(&job->elements.random, job->elements.next++, REACH);
        size_t letters = LONG_LETTERS * (size_t)(part + 1) / (REACH + 1);
        status = matrices_open(&m, job, ELEMENTS);
        status = status ? status : cli_element_far(&job->elements, part, letters, &m.paths.items[A]);
        status = status
                     ? status
                     : cli_element_far(&job->elements, REACH - part, LONG_LETTERS - letters, &m.paths.items[B]);
        status = status ? status : measure_sample(job, &m, LAB_F32, errors);
        matrices_close(&m);
    }
    return status;
}

static void draw_vectors(lab_array *x, uint64_t seed, uint32_t step) {
    const locus_random random = {.seed = seed, .purpose = PURPOSE_VECTORS, .step = step};
    for (size_t i = 0; i < lab_array_count(x); i++) {
        set_at(x, i, locus_random_normal(&random, i));
    }
}

static void compare_norms(const lab_array *before, const lab_array *after, size_t dim, double *error) {
    for (size_t row = 0; row < lab_array_count(before) / dim; row++) {
        double x = 0, y = 0;
        for (size_t i = 0; i < dim; i++) {
            x += value_at(before, row * dim + i) * value_at(before, row * dim + i);
            y += value_at(after, row * dim + i) * value_at(after, row * dim + i);
        }
        raise_to(error, sqrt(y / x) - 1);
    }
}

static int measure_norm(law_job *job, double *most) {
    const int64_t shape[3] = {PAIRS, (int64_t)job->heads, (int64_t)job->dim};
    locus_error error = {.offset = -1};
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    cli_paths paths;
    lab_array x = {0}, y = {0};
    int status = cli_paths_open(&paths, PAIRS);
    status = status ? status : cli_array_like(&x, LAB_F64, 3, shape);
    status = status ? status : cli_array_like(&y, LAB_F64, 3, shape);
    for (size_t i = 0; i < PAIRS && status == 0; i++) {
        status = cli_element_draw(&job->elements, CLI_ELEMENT_ANY, &paths.items[i]);
    }
    if (status == 0 && (cli_paths_positions(&paths, job->group, 1, false, &positions, &error) != LOCUS_OK ||
                        locus_plan_create(&plan, job->encoding->binding, positions, NULL, &error) != LOCUS_OK)) {
        status = cli_error(&error);
    }
    if (status == 0) {
        draw_vectors(&x, job->elements.random.seed, 0);
        draw_vectors(&y, job->elements.random.seed, 0);
        status = apply_in_place(job, plan, job->role, &y);
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
    const int64_t n = coordinate.size, turns = n < INT64_MAX / (4 * REACH) ? REACH : 1;
    for (size_t i = 0; i < PERIODS; i++) {
        uint64_t *next = &job->elements.next;
        const locus_random *random = &job->elements.random;
        int64_t value = (int64_t)locus_random_below(random, (*next)++, n > 0 ? (uint64_t)n : REACH);
        int64_t turn = i == 0 ? 1 : (int64_t)locus_random_below(random, (*next)++, 2 * (uint64_t)turns + 1) - turns;
        values[i] = value;
        values[PERIODS + i] = coordinate.kind == LOCUS_COORDINATE_CYCLE ? value + turn * n : value;
    }
}

/* Both halves of the positions, trees at their roots. */
static locus_status period_positions(law_job *job, int64_t *values, locus_positions **positions, locus_error *error) {
    static const size_t offsets[2] = {0, 2 * PERIODS};
    static const size_t starts[2 * PERIODS + 1] = {0};
    static const int64_t no_branches[1] = {0};
    const locus_packing packing = {.sequences = 1, .offsets = offsets};
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
                         ? (locus_position_column){.branches = no_branches, .starts = starts}
                         : (locus_position_column){.values = column};
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
        draw_vectors(&x, job->elements.random.seed, 1);
        for (size_t i = 0; i < half; i++) {
            set_at(&x, half + i, value_at(&x, i));
        }
        status = apply_in_place(job, plan, job->role, &x);
        for (size_t i = 0; i < half; i++) {
            raise_to(most, value_at(&x, half + i) - value_at(&x, i));
        }
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
    if (status == 0 && (period_positions(job, values, &positions, &error) != LOCUS_OK ||
                        locus_plan_create(&plan, job->encoding->binding, positions, NULL, &error) != LOCUS_OK)) {
        status = cli_error(&error);
    }
    status = status ? status : compare_halves(job, plan, LAB_F64, most);
    status = status ? status : compare_halves(job, plan, LAB_F32, most);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    free(values);
    return status;
}

/* ---- relativity ---- */

/* Packed pairs of one query and one key: the first half at (a, b), the second at (c + a, c + b), with the same
 * vectors. */
typedef struct law_pairs {
    cli_paths queries, keys;       /* [2·PAIRS] */
    locus_plan *plan, *swapped;    /* swapped: the keys' positions as queries, for their embedding */
    lab_array query, key, value, output, score;
} law_pairs;

static void pairs_close(law_pairs *pairs) {
    lab_array *const arrays[] = {&pairs->query, &pairs->key, &pairs->value, &pairs->output, &pairs->score};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        lab_array_free(arrays[i]);
    }
    locus_plan_destroy(&pairs->plan);
    locus_plan_destroy(&pairs->swapped);
    cli_paths_close(&pairs->queries);
    cli_paths_close(&pairs->keys);
}

static int draw_pairs(law_job *job, law_pairs *pairs) {
    locus_error error = {.offset = -1};
    int status = cli_paths_open(&pairs->queries, 2 * PAIRS);
    status = status ? status : cli_paths_open(&pairs->keys, 2 * PAIRS);
    for (size_t i = 0; i < PAIRS && status == 0; i++) {
        locus_path *shift = NULL;
        cli_element_kind kind = i % 2 ? CLI_ELEMENT_ANY : CLI_ELEMENT_SHORT;
        locus_path **q = &pairs->queries.items[i], **k = &pairs->keys.items[i];
        status = cli_element_draw(&job->elements, CLI_ELEMENT_ANY, &shift);
        status = status ? status : cli_element_draw(&job->elements, kind, q);
        status = status ? status : cli_element_draw(&job->elements, kind, k);
        if (status == 0 && (locus_path_compose(shift, *q, &q[PAIRS], &error) != LOCUS_OK ||
                            locus_path_compose(shift, *k, &k[PAIRS], &error) != LOCUS_OK)) {
            status = cli_error(&error);
        }
        locus_path_destroy(&shift);
    }
    return status;
}

static locus_status plan_pairs(const law_job *job, law_pairs *pairs, locus_error *error) {
    const locus_binding *binding = job->encoding->binding;
    locus_positions *queries = NULL, *keys = NULL;
    locus_status status = cli_paths_positions(&pairs->queries, job->group, 1, true, &queries, error);
    if (status == LOCUS_OK) {
        status = cli_paths_positions(&pairs->keys, job->group, 1, true, &keys, error);
    }
    if (status == LOCUS_OK) {
        status = locus_plan_create(&pairs->plan, binding, queries, keys, error);
    }
    if (status == LOCUS_OK) {
        status = locus_plan_create(&pairs->swapped, binding, keys, queries, error);
    }
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
    return status;
}

static int fill_pairs(const law_job *job, law_pairs *pairs) {
    const int64_t shape[3] = {2 * PAIRS, (int64_t)job->heads, (int64_t)job->dim};
    lab_array *const arrays[] = {&pairs->query, &pairs->key, &pairs->value};
    int status = cli_array_like(&pairs->output, LAB_F64, 3, shape);
    status = status ? status : cli_array_like(&pairs->score, LAB_F64, 2, shape);
    for (size_t i = 0; i < 3 && status == 0; i++) {
        status = cli_array_like(arrays[i], LAB_F64, 3, shape);
        if (status == 0) {
            size_t half = lab_array_count(arrays[i]) / 2;
            draw_vectors(arrays[i], job->elements.random.seed, (uint32_t)(2 + i));
            memcpy((double *)arrays[i]->data + half, arrays[i]->data, half * sizeof(double));
        }
    }
    return status;
}

/* Vectors of tokens, seen as [tokens, heads·dim], get what the embedding adds. */
static int embed(const law_job *job, const locus_plan *plan, const lab_array *array) {
    lab_array tokens = *array;
    tokens.rank = 2;
    tokens.shape[1] = array->shape[1] * array->shape[2];
    return apply_in_place(job, plan, LOCUS_ROLE_TOKEN, &tokens);
}

static int attend_pairs(const law_job *job, law_pairs *pairs) {
    locus_error error = {.offset = -1};
    locus_workspace workspace = {0};
    const locus_attention_options options = locus_attention_default();
    locus_tensor query = cli_array_tensor(&pairs->query), key = cli_array_tensor(&pairs->key);
    locus_tensor value = cli_array_tensor(&pairs->value), output = cli_array_tensor(&pairs->output);
    locus_tensor score = cli_array_tensor(&pairs->score);
    const locus_attention_tensors tensors = {&query, &key, &value, &output, &score};
    int status = 0;
    if (locus_encoding_sites(job->encoding->encoding) & LOCUS_SITE_EMBEDDING) {
        status = embed(job, pairs->plan, &pairs->query);
        status = status ? status : embed(job, pairs->swapped, &pairs->key);
        status = status ? status : embed(job, pairs->swapped, &pairs->value);
    }
    status = status ? status
                    : cli_workspace_open(&workspace, locus_attention_workspace(pairs->plan, &options, LOCUS_FLOAT64,
                                                                               LOCUS_PASS_FORWARD));
    if (status == 0 && locus_attention_forward(pairs->plan, &options, &tensors, workspace, &error) != LOCUS_OK) {
        status = cli_error(&error);
    }
    cli_workspace_close(&workspace);
    return status;
}

/* Scores may be large (a bias of 10⁶ steps): their error is relative beyond 1. */
static void compare_pairs(const lab_array *array, double *most) {
    size_t half = lab_array_count(array) / 2;
    const double *x = array->data;
    for (size_t i = 0; i < half; i++) {
        raise_to(most, (x[half + i] - x[i]) / fmax(1, fabs(x[i])));
    }
}

/* Tables have an end, and only one side of the origin: elements are drawn ever smaller until all positions exist. */
static int measure_relativity(law_job *job, double *most) {
    locus_error error = {.offset = -1};
    locus_status planned = LOCUS_ERROR_POSITION;
    law_pairs pairs = {0};
    const cli_elements before = job->elements;
    int status = 0;
    while (status == 0 && planned == LOCUS_ERROR_POSITION) {
        pairs_close(&pairs);
        pairs = (law_pairs){0};
        status = draw_pairs(job, &pairs);
        planned = status ? LOCUS_OK : plan_pairs(job, &pairs, &error);
        if (planned == LOCUS_ERROR_POSITION && job->elements.forward && job->elements.reach <= 1) {
            break;
        }
        job->elements.reach = job->elements.forward && job->elements.reach > 1 ? job->elements.reach / 2
                                                                              : job->elements.reach;
        job->elements.depth = job->elements.forward ? job->elements.depth / 2 : job->elements.depth;
        job->elements.forward = true;
    }
    job->elements.reach = before.reach;
    job->elements.depth = before.depth;
    job->elements.forward = before.forward;
    status = status == 0 && planned != LOCUS_OK ? cli_error(&error) : status;
    status = status ? status : fill_pairs(job, &pairs);
    status = status ? status : attend_pairs(job, &pairs);
    if (status == 0) {
        compare_pairs(&pairs.score, most);
        compare_pairs(&pairs.output, most);
    }
    pairs_close(&pairs);
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
    const cli_promises *p = &job->promises;
    operator_errors exact = {0}, far = {0};
    double norm = 0, period = 0;
    int status = measure_operators(job, &exact);
    status = status ? status : measure_norm(job, &norm);
    status = status ? status : measure_long(job, &far);
    status = status || !job->cycles ? status : measure_period(job, &period);
    double words = job->trees ? TOLERANCE_LONG_WORDS : TOLERANCE_LONG;
    add(job, "homomorphism", "⌈a+b⌉ = ⌈a⌉⌈b⌉", exact.homomorphism, TOLERANCE_EXACT, p->homomorphism);
    add(job, "inverse", "⌈−a⌉⌈a⌉ = I", exact.inverse, TOLERANCE_EXACT, p->orthogonal);
    add(job, "orthogonality", "⌈a⌉ᵀ⌈a⌉ = I", exact.orthogonality, TOLERANCE_EXACT, p->orthogonal);
    add(job, "norm", "|⌈a⌉x| = |x|", norm, TOLERANCE_EXACT, p->orthogonal);
    add(job, "commutators", "⌈a⌉⌈b⌉ = ⌈b⌉⌈a⌉", exact.commutators, TOLERANCE_EXACT, p->homomorphism && job->abelian);
    add(job, "long_homomorphism", "⌈a+b⌉ = ⌈a⌉⌈b⌉, long, float32", far.homomorphism, words, p->homomorphism);
    add(job, "drift", "⌈a⌉ᵀ⌈a⌉ = I, long, float32", far.orthogonality, words, p->orthogonal);
    if (job->cycles) {
        add(job, "period", "⌈p+n⌉ = ⌈p⌉, every bit", period, TOLERANCE_PERIOD, p->homomorphism);
    }
    return status;
}

int cli_laws_measure(cli_laws *laws, const cli_encoding *encoding, uint64_t seed) {
    locus_error error = {.offset = -1};
    law_job job = {.encoding = encoding,
                   .group = locus_encoding_group(encoding->encoding),
                   .role = encoding->keys_only ? LOCUS_ROLE_KEY : LOCUS_ROLE_QUERY,
                   .heads = encoding->shape.heads,
                   .dim = encoding->shape.head_dim,
                   .laws = laws};
    *laws = (cli_laws){0};
    if (!job.group && locus_group_parse("seq", &job.own, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    job.group = job.group ? job.group : job.own;
    job.elements = (cli_elements){
        .group = job.group, .random = {.seed = seed, .purpose = PURPOSE_ELEMENTS}, .reach = REACH, .depth = DEPTH};
    look_at_group(&job);
    double relativity = 0;
    int status = cli_promises_read(&job.promises, encoding->encoding);
    if (status == 0 && (locus_encoding_sites(encoding->encoding) & LOCUS_SITE_QUERY_KEY)) {
        status = laws_of_operators(&job);
    }
    status = status ? status : measure_relativity(&job, &relativity);
    add(&job, "relativity", "score(c+a, c+b) = score(a, b)", relativity, TOLERANCE_EXACT, job.promises.relativity);
    locus_group_destroy(&job.own);
    return status;
}
