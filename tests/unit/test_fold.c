/* SPDX-License-Identifier: MIT */
/* Normal forms: ⌈p⌉ = U R(p) Uᵀ against what locus_apply does, for every encoding that has one; U orthogonal; and a
 * clear word where there is none. */
#include <locus/locus.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Both sides are products of the same few matrices in double: rounding, some √d of it. */
#define TOLERANCE 1e-12
#define HEADS 2
#define PARAMETERS_MAX 4

typedef struct folded {
    locus_encoding *encoding;
    locus_binding *binding;
    double *parameters[PARAMETERS_MAX];
    locus_fold_shape shape;
    double *basis, *angles, *signs;
} folded;

static double *numbers(size_t count) {
    double *block = test_calloc(count + 1, sizeof *block);
    assert_non_null(block);
    return block;
}

static void bind_groups(folded *f, const char *spec, size_t dim, size_t heads, size_t kv_heads) {
    locus_error error = {0};
    locus_shape shape = locus_shape_default();
    locus_tensor tensors[PARAMETERS_MAX];
    size_t count = 0;
    *f = (folded){0};
    shape.heads = heads;
    shape.kv_heads = kv_heads;
    shape.head_dim = dim;
    shape.model_dim = heads * dim;
    assert_int_equal(locus_encoding_parse(spec, &f->encoding, &error), LOCUS_OK);
    assert_int_equal(locus_encoding_parameter_count(f->encoding, &shape, &count, &error), LOCUS_OK);
    assert_true(count <= PARAMETERS_MAX);
    for (size_t i = 0; i < count; i++) {
        locus_parameter info = {.size = sizeof info};
        assert_int_equal(locus_encoding_parameter(f->encoding, &shape, i, &info, &error), LOCUS_OK);
        tensors[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, info.rank, info.shape);
        f->parameters[i] = numbers(locus_tensor_count(&tensors[i]));
        tensors[i].data = f->parameters[i];
    }
    assert_int_equal(locus_encoding_initialise(f->encoding, &shape, 11, tensors, count, &error), LOCUS_OK);
    assert_int_equal(locus_binding_create(&f->binding, f->encoding, &shape, tensors, count, &error), LOCUS_OK);
}

static void bind(folded *f, const char *spec, size_t dim) {
    bind_groups(f, spec, dim, HEADS, 0);
}

static void fold(folded *f) {
    const locus_fold_shape *shape = &f->shape;
    f->shape.size = sizeof f->shape;
    assert_int_equal(locus_fold_measure(f->binding, &f->shape, NULL), LOCUS_OK);
    f->basis = numbers(shape->heads * shape->head_dim * shape->head_dim);
    f->angles = numbers(shape->heads * shape->coordinates * shape->pairs);
    f->signs = numbers(shape->heads * shape->coordinates * (shape->head_dim - 2 * shape->pairs));
    assert_int_equal(locus_fold(f->binding, f->basis, f->angles, f->signs, NULL), LOCUS_OK);
}

static void release(folded *f) {
    for (size_t i = 0; i < PARAMETERS_MAX; i++)
        if (f->parameters[i])
            test_free(f->parameters[i]);
    if (f->basis) {
        test_free(f->basis);
        test_free(f->angles);
        test_free(f->signs);
    }
    locus_binding_destroy(&f->binding);
    locus_encoding_destroy(&f->encoding);
}

static void assert_orthogonal(const folded *f) {
    const size_t dim = f->shape.head_dim;
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 0; i < dim; i++)
            for (size_t j = 0; j < dim; j++) {
                double sum = 0;
                for (size_t k = 0; k < dim; k++)
                    sum += f->basis[(h * dim + k) * dim + i] * f->basis[(h * dim + k) * dim + j];
                assert_true(fabs(sum - (i == j)) < TOLERANCE);
            }
}

/* y = U R(p) Uᵀ x of one head; p has a value for each coordinate, residues on cycles. */
static void turn(const folded *f, size_t head, const int64_t *p, const double *x, double *y) {
    const size_t dim = f->shape.head_dim, pairs = f->shape.pairs, alone = dim - 2 * pairs, C = f->shape.coordinates;
    const double *U = f->basis + head * dim * dim;
    double *inner = numbers(dim);
    for (size_t j = 0; j < dim; j++)
        for (size_t i = 0; i < dim; i++)
            inner[j] += U[i * dim + j] * x[i];
    for (size_t i = 0; i < pairs; i++) {
        double angle = 0, a = inner[2 * i], b = inner[2 * i + 1];
        for (size_t c = 0; c < C; c++)
            angle += (double)p[c] * f->angles[(head * C + c) * pairs + i];
        inner[2 * i] = a * cos(angle) - b * sin(angle);
        inner[2 * i + 1] = a * sin(angle) + b * cos(angle);
    }
    for (size_t i = 0; i < alone; i++)
        for (size_t c = 0; c < C; c++)
            inner[2 * pairs + i] *= p[c] % 2 != 0 ? f->signs[(head * C + c) * alone + i] : 1;
    for (size_t i = 0; i < dim; i++) {
        y[i] = 0;
        for (size_t j = 0; j < dim; j++)
            y[i] += U[i * dim + j] * inner[j];
    }
    test_free(inner);
}

/* Some positions, near ones so that cos of the plain product is exact enough. */
enum { TOKENS = 7 };

static void fill_positions(const folded *f, int64_t *values) {
    static const int64_t steps[TOKENS] = {0, 1, 2, 3, 5, 11, 40};
    const locus_group *group = locus_encoding_group(f->encoding);
    const size_t C = f->shape.coordinates;
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t c = 0; c < C; c++) {
            locus_coordinate coordinate = locus_group_coordinate(group, c);
            int64_t value = steps[(t + 2 * c) % TOKENS];
            values[t * C + c] = coordinate.kind == LOCUS_COORDINATE_CYCLE ? value % coordinate.size
                                : (t + c) % 2                             ? -value
                                                                          : value;
        }
}

static void assert_turns_alike(const folded *f) {
    const size_t dim = f->shape.head_dim, row = HEADS * dim;
    const size_t offsets[2] = {0, TOKENS};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    const locus_random random = {.seed = 5, .purpose = LOCUS_RANDOM_USER};
    const int64_t sizes[3] = {TOKENS, HEADS, (int64_t)dim};
    int64_t *values = test_calloc(TOKENS * f->shape.coordinates, sizeof *values);
    double *x = numbers(TOKENS * row), *y = numbers(TOKENS * row), *wanted = numbers(dim);
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    locus_tensor from = locus_tensor_view(x, LOCUS_FLOAT64, 3, sizes),
                 to = locus_tensor_view(y, LOCUS_FLOAT64, 3, sizes);
    fill_positions(f, values);
    for (size_t i = 0; i < TOKENS * row; i++)
        x[i] = locus_random_normal(&random, i);
    assert_int_equal(locus_positions_create(&positions, locus_encoding_group(f->encoding), &packing, values, NULL),
                     LOCUS_OK);
    assert_int_equal(locus_plan_create(&plan, f->binding, positions, NULL, NULL), LOCUS_OK);
    locus_workspace workspace = {NULL, locus_apply_workspace(plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT64, NULL)};
    workspace.data = workspace.bytes ? locus_allocate(workspace.bytes) : NULL;
    const locus_execution execution = locus_execution_in(workspace);
    assert_int_equal(locus_apply(plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &from, &to, &execution, NULL), LOCUS_OK);
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t h = 0; h < HEADS; h++) {
            turn(f, h, values + t * f->shape.coordinates, x + t * row + h * dim, wanted);
            for (size_t i = 0; i < dim; i++)
                assert_true(fabs(wanted[i] - y[t * row + h * dim + i]) < 20 * TOLERANCE);
        }
    locus_release(workspace.data, workspace.bytes);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    test_free(values);
    test_free(x);
    test_free(y);
    test_free(wanted);
}

static void normal_forms_are_the_operators(void **state) {
    static const struct {
        const char *spec;
        size_t dim, coordinates, pairs;
    } cases[] = {
        {"rope", 8, 1, 4},
        {"rope(pairs=half)", 8, 1, 4},
        {"rope(pairs=half, rotate=6)", 9, 1, 3},
        {"rope(rotate=proportional:0.5)", 8, 1, 4},
        {"roper(learned=on)", 8, 1, 4},
        {"rope(scaling=llama3, factor=8, original=64)", 8, 1, 4},
        {"rope(axes=2)", 8, 2, 4},
        {"rope(axes=2, pairs=half, rotate=8)", 11, 2, 4},
        {"rope(sections=1:3, frequencies=axial, pairs=half)", 8, 2, 4},
        {"rope(sections=2:1:1, pairs=half)", 8, 3, 4},
        {"rope(sections=2:1:1, order=interleaved, learned=on)", 8, 3, 4},
        {"algebraic(group=seq)", 8, 1, 4},
        {"algebraic(group=seq, init=random)", 7, 1, 3},
        {"algebraic(group=seq, generator=cayley, init=random)", 8, 1, 4},
        {"algebraic(group=seq, generator=householder, init=random)", 8, 1, 4},
        {"algebraic(group=seq, generator=householder, init=random)", 7, 1, 3},
        {"algebraic(group=seq, generator=fixed, heads=shared)", 6, 1, 3},
        {"algebraic(group=cycle:6)", 8, 1, 4},
        {"algebraic(group=cycle:7, generator=householder, init=random)", 8, 1, 4},
        {"algebraic(group=grid:2, init=random)", 12, 2, 6},
        {"algebraic(group=grid:2, split=3:5, init=random)", 8, 2, 3},
        {"algebraic(group=seq*cycle:5, generator=angles)", 8, 2, 4},
        {"algebraic(group=seq*cycle:5*seq, split=3:4:5, generator=householder, init=random)", 12, 3, 5},
        {"mixed(group=grid:3)", 8, 3, 4},
        {"string(group=grid:2)", 8, 2, 4},
        {"alibi + rope(pairs=half)", 8, 1, 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        folded f;
        bind(&f, cases[i].spec, cases[i].dim);
        fold(&f);
        assert_int_equal(f.shape.heads, HEADS);
        assert_int_equal(f.shape.head_dim, cases[i].dim);
        assert_int_equal(f.shape.coordinates, cases[i].coordinates);
        assert_int_equal(f.shape.pairs, cases[i].pairs);
        assert_orthogonal(&f);
        assert_turns_alike(&f);
        release(&f);
    }
}

/* Half pairs: a permutation, column 2i is e_i, column 2i + 1 is e_{i + r/2}, and what stands still comes last. */
static void half_pairs_are_a_permutation(void **state) {
    static const size_t rows[7] = {0, 3, 1, 4, 2, 5, 6};
    folded f;
    (void)state;
    bind(&f, "rope(pairs=half, rotate=6)", 7);
    fold(&f);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 0; i < 49; i++)
            assert_true(f.basis[h * 49 + i] == (i / 7 == rows[i % 7]));
    assert_true(f.angles[0] == 1 && f.signs[0] == 1);
    release(&f);
}

/* On a cycle of n the angles are whole multiples of 2π/n; blocks of other coordinates have no part in them. */
static void cycles_have_whole_multiples(void **state) {
    const double unit = 2 * 3.14159265358979323846 / 12;
    folded f;
    (void)state;
    bind(&f, "algebraic(group=seq*cycle:12)", 16);
    fold(&f);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 0; i < 8; i++) {
            const double *angles = f.angles + h * 16;
            assert_true((angles[i] != 0) == (i < 4));
            assert_true(fabs(angles[8 + i] / unit - round(angles[8 + i] / unit)) < 1e-14);
            assert_true((angles[8 + i] != 0) == (i >= 4));
        }
    release(&f);
}

/* An odd number of reflections leaves one eigenvalue −1 alone. */
static void reflections_have_a_sign(void **state) {
    folded f;
    (void)state;
    bind(&f, "algebraic(generator=householder, init=random)", 5);
    fold(&f);
    for (size_t h = 0; h < HEADS; h++)
        assert_true(f.signs[h] == -1);
    release(&f);
}

static void each_result_may_be_left_out(void **state) {
    folded f;
    (void)state;
    bind(&f, "algebraic(group=grid:2)", 8);
    fold(&f);
    double *angles = numbers(HEADS * 2 * 4);
    assert_int_equal(locus_fold(f.binding, NULL, angles, NULL, NULL), LOCUS_OK);
    assert_memory_equal(angles, f.angles, HEADS * 2 * 4 * sizeof *angles);
    assert_int_equal(locus_fold(f.binding, NULL, NULL, NULL, NULL), LOCUS_OK);
    test_free(angles);
    release(&f);
}

/* Query heads share the operators of their head of keys. */
static void groups_of_heads_share_a_normal_form(void **state) {
    static const char *const specs[] = {"algebraic", "algebraic(generator=householder)", "mixed"};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        folded few, many;
        bind(&few, specs[i], 6);
        fold(&few);
        bind_groups(&many, specs[i], 6, 4 * HEADS, HEADS);
        fold(&many);
        assert_int_equal(many.shape.heads, 4 * HEADS);
        const size_t square = 36, turns = many.shape.coordinates * many.shape.pairs;
        const size_t alone = many.shape.coordinates * (6 - 2 * many.shape.pairs);
        for (size_t h = 0; h < 4 * HEADS; h++) {
            assert_memory_equal(many.basis + h * square, few.basis + h / 4 * square, square * sizeof(double));
            assert_memory_equal(many.angles + h * turns, few.angles + h / 4 * turns, turns * sizeof(double));
            for (size_t j = 0; j < alone; j++)
                assert_true(many.signs[h * alone + j] == few.signs[h / 4 * alone + j]);
        }
        release(&few);
        release(&many);
    }
}

static void what_has_none_is_refused(void **state) {
    static const struct {
        const char *spec, *words;
    } cases[] = {
        {"algebraic(group=tree:2)", "branches do not commute"},
        {"algebraic(group=seq*tree:2)", "branches do not commute"},
        {"liere", "'liere' has no normal form"},
        {"alibi", "nothing acts on queries and keys"},
        {"sinusoidal", "nothing acts on queries and keys"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        locus_error error = {0};
        locus_fold_shape shape = {.size = sizeof shape};
        double unused;
        folded f;
        bind(&f, cases[i].spec, 8);
        assert_int_equal(locus_fold_measure(f.binding, &shape, &error), LOCUS_ERROR_UNSUPPORTED);
        assert_non_null(strstr(error.message, cases[i].words));
        assert_int_equal(locus_fold(f.binding, &unused, NULL, NULL, NULL), LOCUS_ERROR_UNSUPPORTED);
        release(&f);
    }
}

static void null_is_refused(void **state) {
    locus_fold_shape shape = {.size = sizeof shape};
    folded f;
    (void)state;
    bind(&f, "rope", 4);
    assert_int_equal(locus_fold_measure(NULL, &shape, NULL), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_fold_measure(f.binding, NULL, NULL), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_fold(NULL, NULL, NULL, NULL, NULL), LOCUS_ERROR_ARGUMENT);
    release(&f);
}

/* Memory that is cleared: what is read behind a table is a number that a table may have, the same each time. */
static void *allocate_cleared(void *state, size_t bytes, size_t alignment) {
    const size_t all = (bytes + alignment - 1) / alignment * alignment;
    void *block = aligned_alloc(alignment, all);
    (void)state;
    if (block)
        memset(block, 0, all);
    return block;
}

static void release_cleared(void *state, void *block, size_t bytes) {
    (void)state, (void)bytes;
    free(block);
}

int main(void) {
    const locus_allocator cleared = {sizeof cleared, allocate_cleared, release_cleared, NULL};
    if (locus_allocator_set(&cleared, NULL) != LOCUS_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_forms_are_the_operators), cmocka_unit_test(half_pairs_are_a_permutation),
        cmocka_unit_test(cycles_have_whole_multiples),    cmocka_unit_test(reflections_have_a_sign),
        cmocka_unit_test(each_result_may_be_left_out),    cmocka_unit_test(groups_of_heads_share_a_normal_form),
        cmocka_unit_test(what_has_none_is_refused),       cmocka_unit_test(null_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
