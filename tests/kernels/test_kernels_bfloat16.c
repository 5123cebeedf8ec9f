/* SPDX-License-Identifier: MIT */
/* Kernels of bfloat16 at each level that has them, against plain loops in double: products of sizes below, at and above
 * a tile, which write nothing but C and read nothing behind it; layouts; a softmax and its backward, of whole rows and
 * of cut ones. The product by tiles is tested on processors that have none, too. */
#include "kernel_guard.h"
#include "kernels/bfloat16.h"
#include "kernels/kernels.h"
#include "tiles_in_c.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { M_MOST = 64, N_MOST = 96, K_MOST = 128, LD = 128 };

static const locus_kernels_bfloat16 *kernels;
static uint16_t a[M_MOST * LD], rows[K_MOST * LD], pairs[N_MOST / 16 * K_MOST * 16];
static float c[2 * LD], before[M_MOST * LD];

static double number_of(uint16_t x) {
    const uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static float drawn(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(*state >> 11) * 0x1p-52 - 1);
}

/* `count` numbers of bfloat16, in rows of `ld`; the rest of each row is 0. */
static void draw(size_t count, size_t wide, size_t ld, uint16_t *x, uint64_t seed) {
    memset(x, 0, count * ld * sizeof *x);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < wide; j++) {
            const float value = drawn(&seed);
            locus_kernels_half_get()->narrow_bfloat16(1, &value, x + i * ld + j);
        }
}

/* ---- products ---- */

static void check_product(size_t M, size_t N, size_t K, bool accumulate) {
    const size_t depth = (K + 31) / 32 * 32, panel = depth * 16, count = (M - 1) * LD + N;
    float *const to = guard_place(0, count * sizeof *to, 1); /* no page follows its last element */
    uint64_t seed = M * 1000 + N * 10 + K;
    draw(M_MOST, K, LD, a, seed);
    draw(depth, N, LD, rows, seed + 1);
    memset(rows + K * LD, 0, (depth - K) * LD * sizeof *rows);
    kernels->pairs(depth, (N + 15) / 16 * 16, rows, LD, pairs, (ptrdiff_t)panel);
    for (size_t i = 0; i < count; i++)
        to[i] = before[i] = (float)test_uniform();
    kernels->begin();
    kernels->product(M, N, depth, a, LD, pairs, (ptrdiff_t)panel, to, LD, accumulate);
    kernels->end();
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < LD && m * LD + n < count; n++) {
            double sum = accumulate ? (double)before[m * LD + n] : 0, size = fabs(sum);
            if (n >= N) {
                assert_memory_equal(&to[m * LD + n], &before[m * LD + n], sizeof *to);
                continue;
            }
            for (size_t k = 0; k < K; k++) {
                const double part = number_of(a[m * LD + k]) * number_of(rows[k * LD + n]);
                sum += part;
                size += fabs(part);
            }
            if (!(fabs((double)to[m * LD + n] - sum) <= (double)(K + 2) * 0x1p-24 * size))
                fail_msg("%zu × %zu × %zu: element %zu, %zu is %.9g, not %.9g", M, N, K, m, n, (double)to[m * LD + n],
                         sum);
        }
}

static void products(void **state) {
    static const size_t sizes[] = {1, 3, 8, 15, 16, 17, 31, 32, 33, 64}, depths[] = {1, 31, 32, 64, 100, 128};
    (void)state;
    for (size_t i = 0; i < 10; i++)
        for (size_t j = 0; j < 10; j++)
            for (size_t k = 0; k < 6; k++)
                check_product(sizes[i], sizes[j], depths[k], (i + j + k) % 2);
}

static void infinities(void **state) {
    (void)state;
    uint16_t x[77] = {0};
    for (size_t n = 0; n <= 77; n++)
        assert_true(kernels->finite(n, x));
    x[40] = 0x7f7f; /* the largest number */
    assert_true(kernels->finite(77, x));
    static const uint16_t others[] = {0x7f80, 0xff80, 0x7fc0, 0xffff};
    for (size_t i = 0; i < 4; i++)
        for (size_t at = 0; at < 77; at++) {
            const uint16_t kept = x[at];
            x[at] = others[i];
            assert_false(kernels->finite(77, x));
            assert_true(kernels->finite(at, x));
            x[at] = kept;
        }
}

/* As the half types' own kernel does it. */
static void roundings(void **state) {
    uint64_t seed = 3;
    (void)state;
    for (size_t n = 1; n < 80; n++) {
        uint16_t got[2 * LD], want[2 * LD];
        for (size_t i = 0; i < 2 * LD; i++)
            c[i] = ldexpf(drawn(&seed), (int)(i % 60) - 30);
        c[0] = INFINITY;
        memset(got, 0x55, sizeof got);
        memset(want, 0x55, sizeof want);
        kernels->narrow(2, n, c, LD, got, LD);
        for (size_t i = 0; i < 2; i++)
            locus_kernels_half_get()->narrow_bfloat16(n, c + i * LD, want + i * LD);
        assert_memory_equal(got, want, sizeof got);
        c[1] = NAN;
        kernels->narrow(1, 2, c, LD, got, LD);
        assert_true((got[1] & 0x7fc0) == 0x7fc0);
    }
}

static void dot_products(void **state) {
    float out[5];
    (void)state;
    for (size_t n = 1; n < 40; n++) {
        draw(5, n, LD, a, n);
        draw(5, n, LD, rows, n + 1);
        kernels->dots(5, n, a, LD, rows, LD, out);
        for (size_t i = 0; i < 5; i++) {
            double sum = 0;
            for (size_t d = 0; d < n; d++)
                sum += number_of(a[i * LD + d]) * number_of(rows[i * LD + d]);
            assert_true(fabs((double)out[i] - sum) <= 1e-6 * (double)n);
        }
    }
}

/* ---- softmax ---- */

enum { ROWS = 5, COLUMNS = 112 };

static const size_t from[ROWS] = {0, 0, 17, 30, 0}, to[ROWS] = {COLUMNS, 1, 95, 30, 64};

/* Weights against exp of the plain difference, within a step of bfloat16. */
static void check_weight(size_t i, size_t j, uint16_t got, double want) {
    if (!(fabs(number_of(got) - want) <= (0x1p-8 + 1e-6) * fabs(want) + 1e-37))
        fail_msg("row %zu, column %zu: %g, not %g", i, j, number_of(got), want);
}

static void softmaxes(void **state) {
    static float score[ROWS * LD], keep[ROWS * LD], sum[ROWS * LD];
    static uint16_t weight[ROWS * LD];
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        float top[ROWS] = {-INFINITY, 3, 0.25f, 1, -INFINITY}, total[ROWS] = {0, 2, 1, 5, 0}, first[ROWS];
        double totals[ROWS];
        uint64_t seed = 5;
        for (size_t i = 0; i < ROWS * LD; i++) {
            score[i] = 9 * drawn(&seed);
            keep[i] = i % 3 == 0 ? 0 : 1.5f;
            sum[i] = 1;
        }
        for (size_t j = 0; j < COLUMNS; j++) /* a row of −∞ alone */
            score[4 * LD + j] = -INFINITY;
        score[2 * LD + 40] = -1000; /* too small for a weight */
        memcpy(first, top, sizeof first);
        for (size_t i = 0; i < ROWS; i++)
            totals[i] = (double)total[i];
        memset(weight, 0xff, sizeof weight);
        const locus_bfloat16_softmax rows_of = {.scores = {ROWS, COLUMNS, from, to, score, LD, 0.5f},
                                                .keep = kept ? keep : NULL,
                                                .top = top,
                                                .total = total,
                                                .sum = sum,
                                                .ld_sum = LD,
                                                .dim = 37,
                                                .weight = weight,
                                                .ld_weight = LD};
        kernels->softmax(&rows_of);
        for (size_t i = 0; i < ROWS; i++) {
            double peak = (double)first[i], all = 0;
            for (size_t j = from[i]; j < to[i]; j++)
                peak = fmax(peak, 0.5 * (double)score[i * LD + j]);
            assert_true((double)top[i] == peak);
            const double factor = first[i] > -INFINITY ? exp((double)first[i] - peak) : 1;
            for (size_t j = 0; j < 128; j++) {
                const bool seen = j >= from[i] && j < to[i] && isfinite(peak);
                const double p = seen ? exp(0.5 * (double)score[i * LD + j] - peak) : 0;
                all += p;
                check_weight(i, j, weight[i * LD + j], p * (kept ? (double)keep[i * LD + j] : 1));
            }
            assert_true(fabs((double)total[i] - (totals[i] * factor + all)) <= 1e-5 * (1 + all));
            for (size_t d = 0; d < LD; d++)
                assert_true(fabs((double)sum[i * LD + d] - (d < 37 ? factor : 1)) < 1e-6);
        }
    }
}

static uint16_t in_pairs(const uint16_t *x, size_t i, size_t j) {
    return x[j / 16 * 1024 + i / 2 * 32 + j % 16 * 2 + i % 2];
}

static void backwards(void **state) {
    static float score[ROWS * LD], g[ROWS * LD];
    static uint16_t weight[8 * 1024], ds_pairs[8 * 1024], ds[ROWS * LD];
    const float sums[ROWS] = {2, 1, 4, 0, -INFINITY}, delta[ROWS] = {0.5f, 0, -1, 2, 0};
    (void)state;
    for (int ready = 0; ready < 2; ready++) {
        uint64_t seed = 9;
        for (size_t i = 0; i < ROWS * LD; i++) {
            score[i] = 5 * drawn(&seed);
            g[i] = drawn(&seed);
        }
        for (size_t j = 0; j < COLUMNS; j++)
            score[4 * LD + j] = ready ? 0 : -INFINITY;
        memset(weight, 0xff, sizeof weight);
        const locus_bfloat16_backward rows_of = {.scores = {ROWS, COLUMNS, from, to, score, LD, 0.5f},
                                                 .g = g,
                                                 .log_sum_exp = sums,
                                                 .delta = delta,
                                                 .ready = ready,
                                                 .weight_pairs = weight,
                                                 .ds_pairs = ds_pairs,
                                                 .ds = ds,
                                                 .panel = 1024,
                                                 .ld_ds = LD};
        kernels->backward(&rows_of);
        for (size_t i = 0; i < 32; i++)
            for (size_t j = 0; j < COLUMNS; j++) {
                const bool seen = i < ROWS && j >= from[i] && j < to[i];
                double p = seen ? (double)score[i * LD + j] : 0, d = seen ? (double)g[i * LD + j] : 0;
                if (seen && !ready) {
                    p = exp(0.5 * p - (isinf(sums[i]) ? 0 : (double)sums[i]));
                    d = p * (d - (double)delta[i]);
                }
                check_weight(i, j, in_pairs(weight, i, j), p);
                check_weight(i, j, in_pairs(ds_pairs, i, j), d);
                if (i < ROWS)
                    check_weight(i, j, ds[i * LD + j], d);
            }
    }
}

int main(void) {
    static const locus_isa levels[] = {LOCUS_ISA_AVX512_BF16, LOCUS_ISA_AMX};
    const struct CMUnitTest tests[] = {cmocka_unit_test(products),     cmocka_unit_test(infinities),
                                       cmocka_unit_test(dot_products), cmocka_unit_test(roundings),
                                       cmocka_unit_test(softmaxes),    cmocka_unit_test(backwards)};
    const struct CMUnitTest one[] = {cmocka_unit_test(products)};
    int failed = 0, tested = 0;
    guard_open();
    kernels = &tiles_in_c;
    failed += cmocka_run_group_tests_name("tiles in C", one, NULL, NULL);
    for (size_t i = 0; i < 2; i++) {
        kernels = locus_kernels_bfloat16_of(levels[i]);
        if (!kernels) {
            printf("this machine or build has no %s: its kernels are not tested here\n", locus_isa_name(levels[i]));
            continue;
        }
        tested++;
        failed += cmocka_run_group_tests_name(locus_isa_name(levels[i]), tests, NULL, NULL);
    }
    return failed ? 1 : tested ? 0 : 77; /* 77: skipped */
}
