/* SPDX-License-Identifier: MIT */
/* The laws of operators: homomorphism, orthogonality, identity at 0, relativity of scores, against dense matrix powers
 * and long double angles, near the origin and a million positions away. */
#include "encoding_rig.h"

static const int64_t far_positions[] = {0,   1,   -1,  2,       63,       64,     65,   -63,
                                        -64, -65, 100, 1000000, -1000000, 999999, 4096, 262144};
#define FAR (sizeof far_positions / sizeof far_positions[0])

static const char *const operator_specs[] = {
    "rope",
    "rope(pairs=half)",
    "rope(base=500, rotate=4)",
    "rope(rotate=proportional:0.5)",
    "rope(learned=on)",
    "rope(scaling=llama3, factor=8, original=8192, learned=on)",
    "rope(scaling=yarn, factor=4, original=4096, attention=1)",
    "roper",
    "algebraic",
    "algebraic(init=identity)",
    "algebraic(init=random)",
    "algebraic(heads=shared)",
    "algebraic(values=on)",
    "algebraic(generator=angles)",
    "algebraic(generator=angles, init=random)",
    "algebraic(generator=fixed)",
};
#define SPECS (sizeof operator_specs / sizeof operator_specs[0])

/* ⌈p⌉ of every position and head as matrices [position, head, dim, dim], by applying to unit vectors. */
static double *operators_of(const rig *r, size_t count) {
    size_t heads = r->shape.heads, dim = r->shape.head_dim, row = heads * dim;
    double *x = calloc(count * row, sizeof *x), *y = calloc(count * row, sizeof *y);
    double *all = calloc(count * row * dim, sizeof *all);
    assert_true(x && y && all);
    for (size_t c = 0; c < dim; c++) {
        for (size_t i = 0; i < count * row; i++)
            x[i] = i % dim == c;
        rig_apply(r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, count, x, y);
        for (size_t i = 0; i < count * row; i++)
            all[i * dim + c] = y[i];
    }
    free(x), free(y);
    return all;
}

static double worst_from_identity(size_t n, const double *a, const double *b, bool transpose) {
    double worst = 0; /* of a·b or a·bᵀ */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += a[i * n + k] * (transpose ? b[j * n + k] : b[k * n + j]);
            worst = fmax(worst, fabs(sum - (i == j)));
        }
    return worst;
}

static void test_group_laws(void **state) {
    (void)state;
    const int64_t positions[] = {0, 5, -3, 2, 1000000, -1000000, 999983, -17};
    for (size_t s = 0; s < SPECS; s++) {
        rig r;
        rig_open(&r, operator_specs[s], rig_shape(2, 6, 0, 0), positions, 8);
        double *all = operators_of(&r, 8), product[36];
        for (size_t h = 0; h < 2; h++) {
            const double *of[8];
            for (size_t i = 0; i < 8; i++) {
                of[i] = all + (i * 2 + h) * 36;
                assert_true(worst_from_identity(6, of[i], of[i], true) < 1e-13); /* orthogonal */
            }
            for (size_t i = 0; i < 36; i++)
                assert_true(fabs(of[0][i] - (i % 7 == 0)) < 1e-14); /* ⌈0⌉ = 1 */
            for (size_t pair = 0; pair < 2; pair++) { /* ⌈5⌉⌈−3⌉ = ⌈2⌉; ⌈1000000⌉⌈−17⌉ = ⌈999983⌉ */
                const double *a = of[pair ? 4 : 1], *b = of[pair ? 7 : 2], *sum = of[pair ? 6 : 3];
                for (size_t i = 0; i < 6; i++)
                    for (size_t j = 0; j < 6; j++) {
                        product[i * 6 + j] = 0;
                        for (size_t k = 0; k < 6; k++)
                            product[i * 6 + j] += a[i * 6 + k] * b[k * 6 + j];
                        assert_true(fabs(product[i * 6 + j] - sum[i * 6 + j]) < 1e-13);
                    }
            }
            assert_true(worst_from_identity(6, of[4], of[5], false) < 1e-13); /* ⌈p⌉⌈−p⌉ = 1 */
        }
        free(all);
        rig_close(&r);
    }
}

/* Norms are kept, the inverse undoes, in place and out of place, in both types. */
static void test_inverse(void **state) {
    (void)state;
    uint64_t random = 0;
    for (size_t s = 0; s < SPECS; s++) {
        rig r;
        rig_open(&r, operator_specs[s], rig_shape(3, 10, 0, 0), far_positions, FAR);
        size_t count = FAR * 30;
        double *x = rig_normal(count, &random), *y = calloc(count, sizeof *y);
        float *narrow = rig_narrow(x, count);
        for (locus_role role = LOCUS_ROLE_QUERY; role <= LOCUS_ROLE_OUTPUT; role++) {
            rig_apply(&r, role, LOCUS_FORWARD, LOCUS_FLOAT64, FAR, x, y);
            for (size_t row = 0; row < FAR * 3; row++) {
                double before = 0, after = 0;
                for (size_t i = 0; i < 10; i++) {
                    before += x[row * 10 + i] * x[row * 10 + i];
                    after += y[row * 10 + i] * y[row * 10 + i];
                }
                assert_true(fabs(before - after) < 1e-12);
            }
            rig_apply(&r, role, LOCUS_INVERSE, LOCUS_FLOAT64, FAR, y, y);
            for (size_t i = 0; i < count; i++)
                assert_true(fabs(x[i] - y[i]) < 1e-12);
            rig_apply(&r, role, LOCUS_FORWARD, LOCUS_FLOAT32, FAR, narrow, narrow);
            rig_apply(&r, role, LOCUS_INVERSE, LOCUS_FLOAT32, FAR, narrow, narrow);
            for (size_t i = 0; i < count; i++) {
                assert_true(fabs(x[i] - (double)narrow[i]) < 4e-6);
                narrow[i] = (float)x[i];
            }
        }
        free(x), free(y), free(narrow);
        rig_close(&r);
    }
}

/* Scores of shifted positions are the same scores. */
static void test_relativity(void **state) {
    (void)state;
    uint64_t random = 100;
    const int64_t near[] = {0, 3, 7, 50, -20}, away[] = {1000000, 1000003, 1000007, 1000050, 999980};
    for (size_t s = 0; s < SPECS; s++) {
        rig a, b;
        rig_open(&a, operator_specs[s], rig_shape(2, 8, 0, 0), near, 5);
        rig_open(&b, operator_specs[s], rig_shape(2, 8, 0, 0), away, 5);
        double *q = rig_normal(80, &random), *k = rig_normal(80, &random), turned[4][80];
        rig_apply(&a, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, 5, q, turned[0]);
        rig_apply(&a, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT64, 5, k, turned[1]);
        rig_apply(&b, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, 5, q, turned[2]);
        rig_apply(&b, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT64, 5, k, turned[3]);
        for (size_t m = 0; m < 5; m++)
            for (size_t n = 0; n < 5; n++)
                for (size_t h = 0; h < 2; h++) {
                    double left = 0, right = 0;
                    for (size_t i = 0; i < 8; i++) {
                        left += turned[0][(m * 2 + h) * 8 + i] * turned[1][(n * 2 + h) * 8 + i];
                        right += turned[2][(m * 2 + h) * 8 + i] * turned[3][(n * 2 + h) * 8 + i];
                    }
                    assert_true(fabs(left - right) < 1e-12);
                }
        free(q), free(k);
        rig_close(&a), rig_close(&b);
    }
}

/* Every position of the far list against W^p in long double, for odd and even dimensions, and float beside it. */
static void test_dense_powers(void **state) {
    (void)state;
    uint64_t random = 200;
    const size_t dims[] = {1, 2, 3, 8, 17};
    for (size_t d = 0; d < 5; d++) {
        size_t dim = dims[d], count = FAR * 2 * dim;
        rig r;
        rig_open(&r, "algebraic(init=identity)", rig_shape(2, dim, 0, 0), far_positions, FAR);
        double *x = rig_normal(count, &random), *y = calloc(count, sizeof *y);
        float *narrow = rig_narrow(x, count);
        long double *W = calloc(2 * dim * dim, sizeof *W), *P = W + dim * dim;
        rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT64, FAR, x, y);
        rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT32, FAR, narrow, narrow);
        for (size_t h = 0; h < 2; h++) {
            dense_exponential(dim, (const double *)r.values[0].data + h * dim * dim, W);
            for (size_t t = 0; t < FAR; t++) {
                dense_power(dim, W, far_positions[t], P);
                for (size_t i = 0; i < dim; i++) {
                    long double want = 0;
                    for (size_t j = 0; j < dim; j++)
                        want += P[i * dim + j] * (long double)x[(t * 2 + h) * dim + j];
                    /* an angle known to 1e-16 times a million positions */
                    double slack = fabs((double)far_positions[t]) * 4e-15 + 2e-14;
                    assert_true(fabs((double)(want - (long double)y[(t * 2 + h) * dim + i])) < slack);
                    assert_true(fabs((double)(want - (long double)narrow[(t * 2 + h) * dim + i])) < slack + 4e-6);
                }
            }
        }
        free(x), free(y), free(narrow), free(W);
        rig_close(&r);
    }
}

/* cos and sin of position × frequency, whose product does not fit a long double: rest is what it loses. */
static void exact_angle(long double position, double frequency, long double *cosine, long double *sine) {
    long double angle = position * (long double)frequency, rest = fmal(position, (long double)frequency, -angle);
    *cosine = cosl(angle) - rest * sinl(angle);
    *sine = sinl(angle) + rest * cosl(angle);
}

/* Rotary: cosines and sines of every position as exact as those of position 1. */
static void test_rotary_is_exact_everywhere(void **state) {
    (void)state;
    for (int half = 0; half < 2; half++) {
        rig r;
        rig_open(&r, half ? "rope(pairs=half)" : "rope", rig_shape(1, 64, 0, 0), far_positions, FAR);
        float x[FAR * 64], y[FAR * 64];
        double wide[FAR * 64], out[FAR * 64];
        for (size_t i = 0; i < FAR * 64; i++) {
            x[i] = half ? i % 64 < 32 : i % 2 == 0; /* pairs (1, 0): the result is (cos, sin) */
            wide[i] = (double)x[i];
        }
        rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, FAR, x, y);
        rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, FAR, wide, out);
        for (size_t t = 0; t < FAR; t++)
            for (size_t i = 0; i < 32; i++) {
                long double cosine, sine;
                exact_angle((long double)far_positions[t], pow(10000, -2.0 * (double)i / 64), &cosine, &sine);
                size_t c = half ? i : 2 * i, s = half ? i + 32 : 2 * i + 1;
                assert_true(fabs((double)(cosine - (long double)y[t * 64 + c])) <= 3.1e-8);
                assert_true(fabs((double)(sine - (long double)y[t * 64 + s])) <= 3.1e-8);
                assert_true(fabs((double)(cosine - (long double)out[t * 64 + c])) <= 1e-15);
                assert_true(fabs((double)(sine - (long double)out[t * 64 + s])) <= 1e-15);
            }
        rig_close(&r);
    }
}

/* A table of many blocks (made in two levels itself) is as exact: all positions 0 … 69,999 in steps. */
static void test_long_tables(void **state) {
    (void)state;
    enum { COUNT = 70000 };
    rig r;
    rig_open(&r, "rope", rig_shape(1, 4, 0, 0), NULL, COUNT);
    double *x = calloc(COUNT * 4, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < COUNT * 4; i += 2)
        x[i] = 1;
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, x, x);
    for (size_t t = 0; t < COUNT; t += 7)
        for (size_t i = 0; i < 2; i++) {
            long double cosine, sine;
            exact_angle((long double)t, pow(10000, -2.0 * (double)i / 4), &cosine, &sine);
            assert_true(fabs((double)(cosine - (long double)x[t * 4 + 2 * i])) <= 2e-15);
            assert_true(fabs((double)(sine - (long double)x[t * 4 + 2 * i + 1])) <= 2e-15);
        }
    free(x);
    rig_close(&r);
}

/* One side turned: that side alone, and nothing on the other. */
static void test_sides(void **state) {
    (void)state;
    uint64_t random = 300;
    const char *const specs[] = {"rope(side=query)", "rope(side=key)", "algebraic(side=query)", "algebraic(side=key)"};
    for (size_t s = 0; s < 4; s++) {
        rig r, both;
        rig_open(&r, specs[s], rig_shape(2, 6, 0, 0), far_positions, FAR);
        rig_open(&both, s < 2 ? "rope" : "algebraic", rig_shape(2, 6, 0, 0), far_positions, FAR);
        double *x = rig_normal(FAR * 12, &random), y[FAR * 12], want[FAR * 12];
        for (locus_role role = LOCUS_ROLE_QUERY; role <= LOCUS_ROLE_KEY; role++) {
            bool turned = (s % 2 == 0) == (role == LOCUS_ROLE_QUERY);
            rig_apply(&r, role, LOCUS_FORWARD, LOCUS_FLOAT64, FAR, x, y);
            rig_apply(&both, role, LOCUS_FORWARD, LOCUS_FLOAT64, FAR, x, want);
            assert_memory_equal(y, turned ? want : x, sizeof y);
        }
        free(x);
        rig_close(&r), rig_close(&both);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_laws),
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_relativity),
        cmocka_unit_test(test_dense_powers),
        cmocka_unit_test(test_rotary_is_exact_everywhere),
        cmocka_unit_test(test_long_tables),
        cmocka_unit_test(test_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
