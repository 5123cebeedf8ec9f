/* SPDX-License-Identifier: MIT */
/* What operators by coordinates promise beyond the group laws: a token's result depends on its position alone, bit for
 * bit, whatever stands around it; cycles are exact; powers of every kind of generator are those of its dense matrix;
 * and mixtures of one axis are rope. */
#include "encoding_rig.h"

#include "operators/angle_table.h"

#include <stdio.h>

static locus_positions *place_points(const locus_group *group, const int64_t *values, size_t count) {
    const size_t offsets[] = {0, count};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    locus_positions *positions = NULL;
    rig_ok(locus_positions_create(&positions, group, &packing, values, error));
    return positions;
}

/* ---- positions alone ---- */

enum { TOKENS = 200, HEADS = 3, DIM = 48 };

/* Rows of 20 and of 7, columns, repeats, jumps. */
static void fill_points(int64_t (*points)[2]) {
    for (int64_t t = 0; t < TOKENS; t++) {
        points[t][0] = t < 60 ? t / 20 : t < 88 ? t / 7 : t < 120 ? t - 100 : t < 140 ? 5 : t * 37 % 101 - 50;
        points[t][1] = t < 60 ? t % 20 : t < 88 ? t % 7 - 3 : t < 140 ? 62 : t * 61 % 97;
    }
}

static void test_positions_alone(void **state) {
    (void)state;
    const char *const specs[] = {"algebraic(group=grid:2)",
                                 "algebraic(group=grid:2, generator=angles)",
                                 "algebraic(group=grid:2, heads=shared)",
                                 "algebraic(group=grid:2, generator=householder, split=31:17)",
                                 "algebraic(group=seq*cycle:9, split=32:16)",
                                 "mixed",
                                 "mixed(heads=shared)",
                                 "string"};
    enum { ROW = HEADS * DIM };
    int64_t points[TOKENS][2];
    uint64_t random = 0;
    fill_points(points);
    double *normal = rig_normal(TOKENS * ROW, &random);
    float *x = rig_narrow(normal, TOKENS * ROW), all[TOKENS * ROW], one[ROW];
    free(normal);
    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        rig r;
        rig_bind(&r, specs[s], rig_shape(HEADS, DIM, 0, 0), 7);
        const locus_group *group = locus_encoding_group(r.encoding);
        rig_place(&r, place_points(group, points[0], TOKENS), NULL);
        rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT32, TOKENS, x, all);
        for (size_t t = 0; t < TOKENS; t++) {
            locus_plan_destroy(&r.plan);
            locus_positions_destroy(&r.queries);
            rig_place(&r, place_points(group, points[t], 1), NULL);
            rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT32, 1, x + t * ROW, one);
            if (memcmp(one, all + t * ROW, sizeof one) != 0)
                fail_msg("%s: token %zu alone differs from itself among others", specs[s], t);
        }
        rig_close(&r);
    }
    free(x);
}

/* ---- cycles ---- */

__extension__ typedef unsigned __int128 wide;

static void test_cycle_angles(void **state) {
    (void)state;
    const int64_t periods[] = {1,
                               2,
                               3,
                               4,
                               5,
                               6,
                               7,
                               8,
                               12,
                               64,
                               65,
                               100,
                               4096,
                               999983,
                               1000000,
                               4294967295,
                               4294967296,
                               4294967311,
                               (int64_t)1 << 40,
                               INT64_MAX - 1,
                               INT64_MAX};
    volatile const double eighth = 0.785398163397448309616;
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof periods / sizeof periods[0]; i++)
        for (int trial = 0; trial < 400; trial++) {
            const int64_t n = periods[i];
            random = random * 6364136223846793005u + 1442695040888963407u;
            const int64_t m = (int64_t)((random >> 1) % (uint64_t)n);
            random = random * 6364136223846793005u + 1442695040888963407u;
            const int64_t p = trial < 9 ? n / 8 * trial : (int64_t)((random >> 1) % (uint64_t)n);
            const uint64_t rest = (uint64_t)((wide)m * (wide)p % (wide)n);
            const long double angle = 2 * acosl(-1.0L) * (long double)rest / (long double)n;
            double out[2];
            locus_angle_of_cycle(m, p, n, out);
            assert_true(fabsl((long double)out[0] - cosl(angle)) < 2e-16L);
            assert_true(fabsl((long double)out[1] - sinl(angle)) < 2e-16L);
            if ((wide)rest * 4 % (wide)n == 0) /* quarters of a turn */
                assert_true((out[0] == 0 || fabs(out[0]) == 1) && fabs(out[0]) + fabs(out[1]) == 1);
            else if ((wide)rest * 8 % (wide)n == 0) /* eighths are not folded */
                assert_true(fabs(out[0]) == cos(eighth) && fabs(out[1]) == sin(eighth));
        }
}

/* Positions that are the same residue give the same bits, and position 0 turns nothing. */
static void test_residues(void **state) {
    (void)state;
    const struct {
        const char *spec;
        int64_t n;
    } cases[] = {{"algebraic(group=cycle:1)", 1},
                 {"algebraic(group=cycle:6)", 6},
                 {"algebraic(group=cycle:1000000, generator=cayley)", 1000000},
                 {"algebraic(group=cycle:9223372036854775807, generator=angles)", INT64_MAX}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const int64_t n = cases[c].n, points[] = {0,
                                                  n - 1,
                                                  1,
                                                  n > 5 ? 5 : 0,
                                                  -1,
                                                  n == INT64_MAX ? 0 : n,
                                                  n == INT64_MAX ? 1 : n + 1,
                                                  n > 5 && n != INT64_MAX ? 5 - n : 0};
        rig r;
        double x[8 * 16], y[8 * 16];
        rig_bind(&r, cases[c].spec, rig_shape(2, 8, 0, 0), 3);
        rig_place(&r, place_points(locus_encoding_group(r.encoding), points, 8), NULL);
        for (size_t i = 0; i < 8 * 16; i++)
            x[i] = (double)(i % 16) - 7.3;
        rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, 8, x, y);
        for (size_t i = 0; i < 16; i++)
            assert_true(fabs(y[i] - x[i]) < 2e-14);
        assert_memory_equal(y, y + 5 * 16, 16 * sizeof *y);      /* 0 and n */
        assert_memory_equal(y + 16, y + 4 * 16, 16 * sizeof *y); /* n − 1 and −1 */
        assert_memory_equal(y + 32, y + 6 * 16, 16 * sizeof *y); /* 1 and n + 1 */
        if (n > 5 && n != INT64_MAX)
            assert_memory_equal(y + 48, y + 7 * 16, 16 * sizeof *y); /* 5 and 5 − n */
        rig_close(&r);
    }
}

/* ---- powers ---- */

/* Products of reflections, or (I + S)(I − S)⁻¹ as (I + S) Σ Sᵏ for a small S. */
static void dense_generator(bool reflections, size_t n, const double *A, long double *W) {
    long double *factor = calloc(3 * n * n, sizeof *factor), *next = factor + n * n, *S = next + n * n;
    assert_non_null(factor);
    for (size_t i = 0; i < n * n; i++)
        W[i] = i % (n + 1) == 0;
    for (size_t j = 0; reflections && j < n; j++) {
        long double length = 0;
        for (size_t i = 0; i < n; i++)
            length += (long double)A[j * n + i] * (long double)A[j * n + i];
        for (size_t i = 0; i < n * n; i++)
            factor[i] = (i % (n + 1) == 0) - 2 * (long double)A[j * n + i / n] * (long double)A[j * n + i % n] / length;
        dense_product(n, W, factor, next);
        memcpy(W, next, n * n * sizeof *W);
    }
    for (size_t i = 0; i < n * n; i++)
        S[i] = (long double)A[i] - (long double)A[i % n * n + i / n];
    for (int k = 0; !reflections && k < 200; k++) { /* W ← I + S W, the geometric series */
        dense_product(n, S, W, next);
        for (size_t i = 0; i < n * n; i++)
            W[i] = next[i] + (i % (n + 1) == 0);
    }
    for (size_t i = 0; !reflections && i < n * n; i++)
        factor[i] = S[i] + (i % (n + 1) == 0);
    if (!reflections) {
        dense_product(n, factor, W, next);
        memcpy(W, next, n * n * sizeof *W);
    }
    free(factor);
}

static void test_powers(void **state) {
    (void)state;
    const int64_t points[] = {0, 1, 2, 3, -1, -2, 17, 64, 65, -130, 1000, 100001};
    enum { COUNT = sizeof points / sizeof points[0] };
    uint64_t random = 0;
    for (size_t kind = 0; kind < 2; kind++)
        for (size_t dim = 1; dim < 10; dim++) {
            rig r;
            rig_open(&r, kind ? "algebraic(generator=householder)" : "algebraic(generator=cayley, init=identity)",
                     rig_shape(1, dim, 0, 0), points, COUNT);
            double *A = r.values[0].data, *x = rig_normal(COUNT * dim, &random), y[COUNT * 9];
            for (size_t i = 0; kind == 1 && i < dim * dim; i++)
                A[i] = rig_random(&random);
            rig_update(&r);
            long double W[81], P[81];
            dense_generator(kind == 1, dim, A, W);
            rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, x, y);
            for (size_t t = 0; t < COUNT; t++) {
                dense_power(dim, W, points[t], P);
                for (size_t i = 0; i < dim; i++) {
                    long double want = 0;
                    for (size_t j = 0; j < dim; j++)
                        want += P[i * dim + j] * (long double)x[t * dim + j];
                    if (fabsl(want - (long double)y[t * dim + i]) > 4e-14L + 2e-14L * fabsl((long double)points[t]))
                        fail_msg("kind %zu, dimension %zu, power %lld: %.17Lg, got %.17g", kind, dim,
                                 (long long)points[t], want, y[t * dim + i]);
                }
            }
            free(x);
            rig_close(&r);
        }
}

/* ---- mixtures ---- */

static void test_mixtures_of_one_axis(void **state) {
    (void)state;
    const int64_t points[] = {0, 1, -5, 63, 64, 1000, 123456};
    uint64_t random = 0;
    rig mixed, rope;
    rig_open(&mixed, "mixed(group=seq)", rig_shape(2, 10, 0, 0), points, 7);
    rig_open(&rope, "rope", rig_shape(2, 10, 0, 0), points, 7);
    double *x = rig_normal(7 * 20, &random), a[7 * 20], b[7 * 20];
    rig_apply(&mixed, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, 7, x, a);
    rig_apply(&rope, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, 7, x, b);
    assert_memory_equal(a, b, sizeof a);
    free(x);
    rig_close(&mixed), rig_close(&rope);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_positions_alone), cmocka_unit_test(test_cycle_angles),
                                       cmocka_unit_test(test_residues), cmocka_unit_test(test_powers),
                                       cmocka_unit_test(test_mixtures_of_one_axis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
