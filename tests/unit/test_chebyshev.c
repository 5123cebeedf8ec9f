/* SPDX-License-Identifier: MIT */
/* Vectors that are added to tokens without angles: Chebyshev polynomials (their laws, their two sites, what their
 * published wiring gives) and Shiv and Quirk's tree positions (what they keep, what they refuse, their gradient). */
#include "../property/encoding_rig.h"

/* Rows of the table for positions on an axis. */
static double *rows_of(rig *r, locus_role role, size_t tokens) {
    const int64_t shape[] = {(int64_t)tokens, (int64_t)r->shape.model_dim};
    double *table = calloc(tokens * r->shape.model_dim + 1, sizeof *table);
    assert_non_null(table);
    locus_tensor x = locus_tensor_view(table, LOCUS_FLOAT64, 2, shape);
    locus_workspace workspace = rig_workspace(r, role, LOCUS_FLOAT64);
    const locus_execution execution = locus_execution_in(workspace);
    rig_ok(locus_apply(r->plan, role, LOCUS_FORWARD, &x, &x, &execution, error));
    rig_workspace_free(workspace);
    return table;
}

/* ---- chebyshev ---- */

static void test_ends(void **state) {
    (void)state;
    enum { D = 4099 };
    static const int64_t positions[] = {0, 1000, 500, 0};
    rig r;
    rig_open(&r, "chebyshev(size=1001)", rig_shape(0, 0, 0, D), positions, 4);
    double *e = rows_of(&r, LOCUS_ROLE_TOKEN, 4);
    for (size_t i = 0; i < D; i++) {
        assert_true(e[i] == (i % 2 ? -1.0 : 1.0)); /* T_i(−1) */
        assert_true(e[D + i] == 1.0);              /* T_i(1) */
        assert_true(fabs(e[2 * D + i] - (i % 2 ? 0 : i % 4 ? -1 : 1)) < 1e-12);
    }
    assert_memory_equal(e, e + 3 * D, D * sizeof *e);
    free(e);
    rig_close(&r);
}

/* 2 T_m T_n = T_(m+n) + T_|m−n|, T_1 = x, |T_i| ≤ 1. */
static void test_products(void **state) {
    (void)state;
    enum { D = 400, N = 77 };
    rig r;
    rig_open(&r, "chebyshev(size=77)", rig_shape(0, 0, 0, D), NULL, N);
    double *e = rows_of(&r, LOCUS_ROLE_TOKEN, N);
    for (size_t p = 0; p < N; p++) {
        const double *T = e + p * D;
        assert_true(fabs(T[1] - (2.0 * (double)p / (N - 1) - 1)) < 1e-15);
        for (size_t m = 0; m < D / 2; m += 7)
            for (size_t n = 0; n <= m; n += 3)
                assert_true(fabs(2 * T[m] * T[n] - T[m + n] - T[m - n]) < 1e-12);
        for (size_t i = 0; i < D; i++)
            assert_true(fabs(T[i]) <= 1 + 1e-15);
    }
    free(e);
    rig_close(&r);
}

/* The published code adds the vectors to what the encoder gives and then reads token 0: whatever the sentence, that is
 * x = −1 and the constant (−1)^i. Tokens are left alone. */
static void test_published_wiring(void **state) {
    (void)state;
    enum { D = 16 };
    for (size_t tokens = 1; tokens < 100; tokens += 33) {
        rig r;
        rig_open(&r, "chebyshev(site=output)", rig_shape(0, 0, 0, D), NULL, tokens);
        assert_int_equal(locus_encoding_sites(r.encoding), LOCUS_SITE_ENCODED);
        double *encoded = rows_of(&r, LOCUS_ROLE_ENCODED, tokens), *embedded = rows_of(&r, LOCUS_ROLE_TOKEN, tokens);
        for (size_t i = 0; i < D; i++)
            assert_true(encoded[i] == (i % 2 ? -1.0 : 1.0));
        for (size_t i = 0; i < tokens * D; i++)
            assert_true(embedded[i] == 0);
        for (size_t t = 1; t < tokens; t++) /* no other token has it */
            assert_true(encoded[t * D + 1] != -1.0);
        free(encoded), free(embedded);
        rig_close(&r);
    }
    rig r;
    rig_open(&r, "chebyshev", rig_shape(0, 0, 0, D), NULL, 3);
    double *encoded = rows_of(&r, LOCUS_ROLE_ENCODED, 3);
    for (size_t i = 0; i < 3 * D; i++)
        assert_true(encoded[i] == 0);
    free(encoded);
    rig_close(&r);
}

static void refuse(const char *spec, locus_positions *positions, const char *words) {
    rig r;
    locus_error failure = {0};
    rig_bind(&r, spec, rig_shape(0, 0, 0, 64), 3);
    if (locus_plan_create(&r.plan, r.binding, positions, NULL, &failure) != LOCUS_ERROR_POSITION ||
        !strstr(failure.message, words))
        fail_msg("%s: '%s' instead of '%s'", spec, failure.message, words);
    assert_null(r.plan);
    locus_positions_destroy(&positions);
    rig_close(&r);
}

static void test_outside(void **state) {
    (void)state;
    refuse("chebyshev", rig_positions((const int64_t[]){0, 511, 512}, 3), "position 512 of token 2");
    refuse("chebyshev(size=8)", rig_positions((const int64_t[]){7, -1}, 2), "position -1 of token 1");
}

static locus_positions *real_positions(const double *values, size_t count) {
    const size_t offsets[] = {0, count};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    locus_positions *positions = NULL;
    rig_ok(locus_positions_create_real(&positions, NULL, &packing, values, error));
    return positions;
}

static void test_reals(void **state) {
    (void)state;
    refuse("chebyshev(size=8)", real_positions((const double[]){0.5, 7, 7.25}, 3), "position 7.25 of token 2");
    refuse("learned(size=8)", real_positions((const double[]){0.5, 7}, 2), "'learned' needs whole positions");
    rig r;
    rig_bind(&r, "chebyshev(size=8)", rig_shape(0, 0, 0, 5), 3);
    rig_place(&r, real_positions((const double[]){0.5, 3.5, 7}, 3), NULL);
    double *e = rows_of(&r, LOCUS_ROLE_TOKEN, 3);
    const double x = 1.0 / 7 - 1;
    assert_true(fabs(e[1] - x) < 1e-15 && fabs(e[2] - (2 * x * x - 1)) < 1e-15 && fabs(e[6]) < 1e-15);
    assert_true(e[14] == 1);
    free(e);
    rig_close(&r);
}

/* ---- shiv-quirk ---- */

/* One token for each word; words end with 0. */
static locus_positions *tree_positions(const char *group, const int64_t *words, size_t count) {
    int64_t branches[256];
    size_t starts[64] = {0}, letters = 0;
    for (size_t t = 0; t < count; t++, words++) {
        for (; *words != 0; words++)
            branches[letters++] = *words;
        starts[t + 1] = letters;
    }
    const size_t offsets[] = {0, count};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    const locus_position_column column = {.size = sizeof column, .branches = branches, .starts = starts};
    locus_group *tree = NULL;
    locus_positions *positions = NULL;
    rig_ok(locus_group_parse(group, &tree, error));
    rig_ok(locus_positions_create_columns(&positions, tree, &packing, &column, error));
    locus_group_destroy(&tree);
    return positions;
}

static const int64_t words[] = {0, 1, 0, 2, 1, 0, 1, 2, 1, 0, 2, 2, 1, 2, 1, 0, 1, 1, 1, 2, 1, 2, 1, 0};
enum { WORDS = 6, DIM = 14, DEPTH = 3, DECAYS = 2 }; /* two columns are left over */

static void test_tree_rows(void **state) {
    (void)state;
    rig r;
    rig_bind(&r, "shiv-quirk(depth=3)", rig_shape(0, 0, 0, DIM), 5);
    assert_string_equal(r.info[0].name, "decays");
    assert_int_equal(r.info[0].shape[0], DECAYS);
    rig_place(&r, tree_positions("tree:2", words, WORDS), NULL);
    double *e = rows_of(&r, LOCUS_ROLE_TOKEN, WORDS);
    const double *w = r.values[0].data;
    const size_t columns[WORDS][DEPTH] = {{9, 9, 9}, {0, 9, 9}, {0, 3, 9}, {0, 3, 4}, {0, 3, 4}, {0, 3, 4}};
    for (size_t t = 0; t < WORDS; t++)
        for (size_t c = 0; c < DIM; c++) {
            const size_t step = c / (2 * DECAYS), j = c % DECAYS;
            double want = 0;
            if (step < DEPTH && columns[t][step] == c / DECAYS)
                want = pow(tanh(w[j]), (double)step) * sqrt(1 - tanh(w[j]) * tanh(w[j])) * sqrt(DIM / 2.0);
            assert_true(fabs(e[t * DIM + c] - want) < 1e-15);
        }
    /* what lies beyond `depth` is cut: these nodes share a vector */
    assert_memory_equal(e + 3 * DIM, e + 4 * DIM, DIM * sizeof *e);
    assert_memory_equal(e + 3 * DIM, e + 5 * DIM, DIM * sizeof *e);
    free(e);
    rig_close(&r);
}

static double loss_of(rig *r, const double *weights) {
    double *e = rows_of(r, LOCUS_ROLE_TOKEN, WORDS), sum = 0;
    for (size_t i = 0; i < WORDS * DIM; i++)
        sum += weights[i] * e[i];
    free(e);
    return sum;
}

static void test_tree_gradient(void **state) {
    (void)state;
    uint64_t random = 11;
    rig r;
    rig_bind(&r, "shiv-quirk(depth=3)", rig_shape(0, 0, 0, DIM), 5);
    rig_place(&r, tree_positions("tree:2", words, WORDS), NULL);
    const int64_t shape[] = {WORDS, DIM};
    double *weights = rig_normal(WORDS * DIM, &random), *x = calloc(WORDS * DIM, sizeof *x), *w = r.values[0].data;
    locus_tensor xt = locus_tensor_view(x, LOCUS_FLOAT64, 2, shape), gy = xt;
    gy.data = weights;
    for (int side = 0; side < 2; side++) {
        locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_TOKEN, LOCUS_FLOAT64);
        locus_apply_gradients gradients = {
            .x = &xt, .gy = &gy, .gx = &xt, .parameters = r.gradients, .parameter_count = 1};
        memset(r.gradients[0].data, 0, DECAYS * sizeof(double));
        const locus_execution execution = locus_execution_in(workspace);
        rig_ok(locus_apply_backward(r.plan, LOCUS_ROLE_TOKEN, side ? LOCUS_INVERSE : LOCUS_FORWARD, &gradients,
                                    &execution, error));
        rig_workspace_free(workspace);
        for (size_t j = 0; j < DECAYS; j++) {
            const double kept = w[j], step = 1e-5;
            w[j] = kept + step, rig_update(&r);
            double found = loss_of(&r, weights);
            w[j] = kept - step, rig_update(&r);
            found = (found - loss_of(&r, weights)) / (2 * step);
            w[j] = kept, rig_update(&r);
            assert_true(fabs((side ? -1 : 1) * found - ((double *)r.gradients[0].data)[j]) < 1e-8);
        }
    }
    free(weights), free(x);
    rig_close(&r);
}

static void test_tree_draw(void **state) {
    (void)state;
    rig r;
    double low = 1, high = 0;
    rig_bind(&r, "shiv-quirk(k=1, depth=1)", rig_shape(0, 0, 0, 4000), 9);
    assert_int_equal(r.info[0].shape[0], 4000);
    for (size_t i = 0; i < 4000; i++) {
        low = fmin(low, ((double *)r.values[0].data)[i]);
        high = fmax(high, ((double *)r.values[0].data)[i]);
    }
    assert_true(low >= 0.7 && low < 0.701 && high <= 0.999 && high > 0.998);
    rig_close(&r);
}

static void test_tree_refusals(void **state) {
    (void)state;
    refuse("shiv-quirk", tree_positions("tree:2", (const int64_t[]){1, 0, 2, -1, 2, 0}, 2), "path of token 1");
    refuse("shiv-quirk(depth=1)", tree_positions("tree:2", (const int64_t[]){0, -2, 1, 1, 0}, 2), "path of token 1");
    refuse("shiv-quirk(k=3)", tree_positions("tree:2", (const int64_t[]){1, 0}, 1), "tree:3");
    refuse("shiv-quirk", rig_positions(NULL, 4), "tree:2");
    /* a step back that a step forth undoes is none */
    rig r;
    rig_bind(&r, "shiv-quirk(depth=3)", rig_shape(0, 0, 0, DIM), 5);
    rig_place(&r, tree_positions("tree:2", (const int64_t[]){1, -1, 2, 0}, 1), NULL);
    rig_close(&r);
    locus_encoding *encoding = NULL;
    locus_error failure = {0};
    const locus_shape shape = rig_shape(0, 0, 0, 31);
    size_t count;
    rig_ok(locus_encoding_parse("shiv-quirk", &encoding, error));
    assert_int_equal(locus_encoding_parameter_count(encoding, &shape, &count, &failure), LOCUS_ERROR_SHAPE);
    assert_non_null(strstr(failure.message, "model_dim of 32"));
    locus_encoding_destroy(&encoding);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),          cmocka_unit_test(test_products),  cmocka_unit_test(test_published_wiring),
        cmocka_unit_test(test_outside),       cmocka_unit_test(test_reals),     cmocka_unit_test(test_tree_rows),
        cmocka_unit_test(test_tree_gradient), cmocka_unit_test(test_tree_draw), cmocka_unit_test(test_tree_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
