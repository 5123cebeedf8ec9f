/* SPDX-License-Identifier: MIT */
/* Gradients of every encoding that acts on tensors, every role, both directions (gradient_case.h); angles that are near
 * or equal; and sums over many tokens. */
#include "gradient_case.h"

static const int64_t positions[] = {0, 1, -3, 7, 70, 2, 64, -64};
#define TOKENS (sizeof positions / sizeof positions[0])
#define REACH 70.0

static void check_spec(const char *spec, locus_shape shape, locus_role first, locus_role last) {
    for (locus_role role = first; role <= last; role++) {
        gradient_case c = {.role = role, .tokens = TOKENS, .reach = REACH};
        rig_open(&c.r, spec, shape, positions, TOKENS);
        check_case(&c, 2e-8);
        rig_close(&c.r);
    }
}

static void test_rotary(void **state) {
    (void)state;
    const char *const specs[] = {"rope",
                                 "rope(learned=on)",
                                 "rope(learned=on, pairs=half, rotate=4)",
                                 "rope(learned=on, rotate=proportional:0.4)",
                                 "rope(learned=on, side=query)",
                                 "rope(learned=on, side=key)",
                                 "roper(learned=on)"};
    for (size_t i = 0; i < 7; i++)
        check_spec(specs[i], rig_shape(2, 6, 0, 0), LOCUS_ROLE_QUERY, LOCUS_ROLE_OUTPUT);
}

static void test_algebraic(void **state) {
    (void)state;
    const char *const specs[] = {"algebraic", "algebraic(heads=shared)", "algebraic(side=query)",
                                 "algebraic(init=random, side=key)", "algebraic(generator=fixed)"};
    for (size_t i = 0; i < 5; i++)
        check_spec(specs[i], rig_shape(2, 4, 0, 0), LOCUS_ROLE_QUERY, LOCUS_ROLE_KEY);
    check_spec("algebraic(values=on)", rig_shape(2, 4, 0, 0), LOCUS_ROLE_QUERY, LOCUS_ROLE_OUTPUT);
    check_spec("algebraic(generator=angles, values=on)", rig_shape(2, 6, 0, 0), LOCUS_ROLE_QUERY, LOCUS_ROLE_OUTPUT);
    check_spec("algebraic(generator=angles, heads=shared)", rig_shape(3, 6, 0, 0), LOCUS_ROLE_KEY, LOCUS_ROLE_KEY);
    for (size_t dim = 1; dim < 8; dim += dim < 3 ? 1 : 2) /* 1, 2, 3, 5, 7 */
        check_spec("algebraic", rig_shape(1, dim, 0, 0), LOCUS_ROLE_QUERY, LOCUS_ROLE_QUERY);
}

/* Generators with given angles in a turned basis: equal ones, nearly equal ones, zeros. */
static void set_angles(rig *r, const double *angles, size_t pairs) {
    size_t dim = r->shape.head_dim;
    double *A = r->values[0].data, *U = calloc(dim * dim, sizeof *U);
    assert_non_null(U);
    uint64_t random = 77;
    for (size_t i = 0; i < dim; i++) { /* Gram and Schmidt on random rows */
        for (size_t j = 0; j < dim; j++)
            U[i * dim + j] = rig_random(&random);
        for (size_t pass = 0; pass < 2 * i; pass++) {
            const double *other = U + pass % i * dim;
            double dot = 0;
            for (size_t j = 0; j < dim; j++)
                dot += other[j] * U[i * dim + j];
            for (size_t j = 0; j < dim; j++)
                U[i * dim + j] -= dot * other[j];
        }
        double norm = 0;
        for (size_t j = 0; j < dim; j++)
            norm += U[i * dim + j] * U[i * dim + j];
        for (size_t j = 0; j < dim; j++)
            U[i * dim + j] /= sqrt(norm);
    }
    memset(A, 0, dim * dim * sizeof *A);
    for (size_t p = 0; p < pairs; p++)
        for (size_t i = 0; i < dim; i++)
            for (size_t j = 0; j < dim; j++)
                A[i * dim + j] += angles[p] * U[(2 * p + 1) * dim + i] * U[2 * p * dim + j];
    free(U);
    rig_update(r);
}

static void test_near_angles(void **state) {
    (void)state;
    const double sets[][3] = {{0, 0, 0},
                              {0.3, 0.3, 0.3},
                              {0.3, 0.3, 0},
                              {0.3, 0.3 + 1e-9, 0.1},
                              {0.3, 0.3 + 1e-5, 1e-5},
                              {0.2, 0.203, 1},
                              {0.2, 0.2037, 0.2033},
                              {0.5, 0.5 + 1e-3, 3.1},
                              {1e-4, 2e-4, 3e-4},
                              {3.14159, 3.1415, 1e-12},
                              {2, 1, 0.00357},
                              {2, 2.0035, 2.0036},
                              {1e-7, 1, 2},
                              {0.25 / 70, 0.1, 0.1035},
                              {6.5, 9, 12.6}};
    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++)
        for (size_t dim = 6; dim <= 7; dim++) {
            gradient_case c = {.role = LOCUS_ROLE_QUERY, .tokens = TOKENS, .reach = REACH};
            rig_open(&c.r, "algebraic", rig_shape(1, dim, 0, 0), positions, TOKENS);
            set_angles(&c.r, sets[s], 3);
            check_case(&c, 1e-7);
            rig_close(&c.r);
        }
}

static void test_embeddings(void **state) {
    (void)state;
    const int64_t rows[] = {0, 1, 3, 3, 3, 2, 15, 0};
    const char *const specs[] = {"sinusoidal", "sinusoidal(layout=concatenated)", "learned(size=16)",
                                 "learned(size=16) + sinusoidal"};
    for (size_t i = 0; i < 4; i++) {
        gradient_case c = {.role = LOCUS_ROLE_TOKEN, .tokens = TOKENS, .reach = REACH};
        rig_open(&c.r, specs[i], rig_shape(0, 0, 0, 6), rows, TOKENS);
        check_case(&c, 1e-7);
        rig_close(&c.r);
    }
}

/* Many tokens, several pieces and flushes: the double gradient against differences along one direction, float beside
 * it. */
static void test_long_sums(void **state) {
    (void)state;
    enum { COUNT = 5000, HEADS = 2, DIM = 5 };
    uint64_t random = 5;
    rig r;
    rig_open(&r, "algebraic", rig_shape(HEADS, DIM, 0, 0), NULL, COUNT);
    size_t elements = COUNT * HEADS * DIM, learned = HEADS * DIM * DIM;
    double *x = rig_normal(elements, &random), *w = rig_normal(elements, &random), *y = calloc(elements, sizeof *y);
    double *direction = rig_normal(learned, &random), *A = r.values[0].data, loss[2] = {0, 0}, want, got = 0;
    locus_tensor xt = rig_view(&r, LOCUS_ROLE_QUERY, x, LOCUS_FLOAT64, COUNT), wt = xt, yt = xt;
    wt.data = w, yt.data = y;
    locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT64);
    locus_apply_gradients gradients = {.x = &xt, .gy = &wt, .gx = &yt, .parameters = r.gradients, .parameter_count = 1};
    const locus_execution execution = locus_execution_in(workspace);
    rig_ok(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &gradients, &execution, error));
    rig_workspace_free(workspace);
    const double *gradient = r.gradients[0].data;
    for (size_t i = 0; i < learned; i++)
        got += gradient[i] * direction[i];
    const double step = 1e-8;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < learned; i++)
            A[i] += (side ? -2 : 1) * step * direction[i];
        rig_update(&r);
        rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, x, y);
        for (size_t i = 0; i < elements; i++)
            loss[side] += w[i] * y[i];
    }
    want = (loss[0] - loss[1]) / (2 * step);
    assert_true(fabs(want - got) < 1e-5 * COUNT * 70);
    for (size_t i = 0; i < learned; i++)
        A[i] += step * direction[i];
    rig_update(&r);

    float *x32 = rig_narrow(x, elements), *w32 = rig_narrow(w, elements), *g32 = calloc(learned, sizeof *g32);
    locus_tensor x3 = rig_view(&r, LOCUS_ROLE_QUERY, x32, LOCUS_FLOAT32, COUNT), w3 = x3;
    locus_tensor parameter = locus_tensor_view(g32, LOCUS_FLOAT32, 4, r.info[0].shape);
    w3.data = w32;
    workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT32);
    locus_apply_gradients narrow = {.x = &x3, .gy = &w3, .gx = &w3, .parameters = &parameter, .parameter_count = 1};
    const locus_execution narrowed = locus_execution_in(workspace);
    rig_ok(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &narrow, &narrowed, error));
    rig_workspace_free(workspace);
    double worst = 0, size = 0;
    for (size_t i = 0; i < learned; i++) {
        worst = fmax(worst, fabs((double)g32[i] - gradient[i]));
        size = fmax(size, fabs(gradient[i]));
    }
    assert_true(worst < 1e-5 * size);
    free(x), free(w), free(y), free(direction), free(x32), free(w32), free(g32);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rotary), cmocka_unit_test(test_algebraic),
                                       cmocka_unit_test(test_near_angles), cmocka_unit_test(test_embeddings),
                                       cmocka_unit_test(test_long_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
