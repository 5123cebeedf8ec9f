/* SPDX-License-Identifier: MIT */
/* Exactness of angles, against long double: at position 1,048,575 with base 10⁶ the cosine is off by less than 1e-7 in
 * float32, up to 2^30 by no more than that, and beyond by about p·ω·2^-52, up to 2^40 and at real-valued positions. The
 * oracle multiplies with the exact frequency, whose long double has 11 bits more than a double; where it has none, this
 * test measures nothing and says so. */
#include "../property/encoding_rig.h"

#include <float.h>
#include <stdio.h>

enum { DIM = 128, PAIRS = DIM / 2, TOKENS_MAX = 64 };

#define FLOAT_ERROR 1e-7

static long double omega_of(double base, size_t i) {
    return powl((long double)base, -2 * (long double)i / DIM);
}

/* What an operator makes of (1, 0), against (cos, sin): float32, then float64. */
static void check_positions(double base, const double *p, size_t count, bool real) {
    char spec[64];
    const size_t offsets[] = {0, count};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    int64_t whole[TOKENS_MAX];
    rig r;
    (void)snprintf(spec, sizeof spec, "rope(pairs=half, base=%.0f)", base);
    rig_bind(&r, spec, rig_shape(1, DIM, 0, 0), 1);
    for (size_t t = 0; t < count; t++)
        whole[t] = (int64_t)p[t];
    locus_positions *positions = NULL;
    if (real)
        rig_ok(locus_positions_create_real(&positions, NULL, &packing, p, error));
    else
        rig_ok(locus_positions_create(&positions, NULL, &packing, whole, error));
    rig_place(&r, positions, NULL);
    double wide[TOKENS_MAX * DIM];
    for (size_t i = 0; i < count * DIM; i++)
        wide[i] = i % DIM < PAIRS;
    float *narrow = rig_narrow(wide, count * DIM);
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, count, wide, wide);
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, count, narrow, narrow);
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < PAIRS; i++) {
            const long double omega = omega_of(base, i), angle = (long double)p[t] * omega;
            const double cosine = (double)cosl(angle), sine = (double)sinl(angle);
            const double lost = fabs(p[t]) * (double)omega * DBL_EPSILON; /* p·ω·2^-52 */
            const double allowed = fabs(p[t]) <= 0x1p30 ? FLOAT_ERROR : 3e-8 + lost;
            const size_t x = t * DIM + i, y = x + PAIRS;
            if (fabs((double)narrow[x] - cosine) > allowed || fabs((double)narrow[y] - sine) > allowed)
                fail_msg("position %.17g, pair %zu: %.9g %.9g, wanted %.9g %.9g", p[t], i, (double)narrow[x],
                         (double)narrow[y], cosine, sine);
            if (fabs(wide[x] - cosine) > lost + 1e-15 || fabs(wide[y] - sine) > lost + 1e-15)
                fail_msg("position %.17g, pair %zu: %.17g %.17g, wanted %.17g %.17g", p[t], i, wide[x], wide[y], cosine,
                         sine);
        }
    free(narrow);
    rig_close(&r);
}

static void need_long_double(void) {
    if (LDBL_MANT_DIG < 64)
        skip();
}

static void whole_positions_are_exact(void **state) {
    const double p[] = {1048575,      1048574, 1,       0,    -1048575, 131071,     0x1p30,   0x1p30 - 1,
                        -0x1p30 + 77, 0x1p40,  -0x1p40, 4095, 65537,    0x1p35 + 5, 999999937};
    (void)state;
    need_long_double();
    check_positions(1e6, p, sizeof p / sizeof *p, false);
    check_positions(1e4, p, sizeof p / sizeof *p, false);
    check_positions(5e5, p, sizeof p / sizeof *p, false);
}

static void real_positions_are_exact(void **state) {
    const double p[] = {0.5, -0.125, 1048575.3, 1e-9, 123456.789, 0x1p30 - 0.75, 0x1p39 + 0.3, -777.001, 3, 3.0000001};
    (void)state;
    need_long_double();
    check_positions(1e6, p, sizeof p / sizeof *p, true);
    check_positions(1e4, p, sizeof p / sizeof *p, true);
}

/* Whole numbers among reals turn as they do among integers. */
static void whole_reals_are_integers(void **state) {
    enum { COUNT = 50 };
    const size_t offsets[] = {0, COUNT};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    const char *const specs[] = {"rope",
                                 "mixed(group=seq)",
                                 "string(group=seq)",
                                 "algebraic",
                                 "algebraic(generator=angles)",
                                 "algebraic(generator=cayley, heads=shared)"};
    (void)state;
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        int64_t whole[COUNT];
        double reals[COUNT];
        uint64_t random = 4;
        for (size_t t = 0; t < COUNT; t++)
            reals[t] = (double)(whole[t] = (int64_t)(t < 30 ? t + 100 : t * t) - 20);
        reals[COUNT - 1] += 0.5;
        rig a, b;
        locus_positions *positions = NULL;
        rig_open(&a, specs[s], rig_shape(3, 8, 0, 0), whole, COUNT);
        rig_bind(&b, specs[s], rig_shape(3, 8, 0, 0), 7);
        rig_ok(locus_positions_create_real(&positions, NULL, &packing, reals, error));
        rig_place(&b, positions, NULL);
        double *x = rig_normal(COUNT * 24, &random), *y = rig_normal(COUNT * 24, &random);
        float *xs = rig_narrow(x, COUNT * 24), *ys = rig_narrow(x, COUNT * 24);
        rig_apply(&a, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, COUNT, xs, xs);
        rig_apply(&b, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, COUNT, ys, ys);
        rig_apply(&b, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, x, y);
        rig_apply(&a, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, x, x);
        for (size_t i = 0; i < (COUNT - 1) * 24; i++)
            if (fabs(x[i] - y[i]) > 1e-12 || fabsf(xs[i] - ys[i]) > 2e-6F)
                fail_msg("%s, element %zu: %.17g and %.17g, %.9g and %.9g", specs[s], i, x[i], y[i], (double)xs[i],
                         (double)ys[i]);
        free(x), free(y), free(xs), free(ys);
        rig_close(&a);
        rig_close(&b);
    }
}

/* A reflection has no power between whole steps. */
static void reflections_refuse_reals(void **state) {
    const size_t offsets[] = {0, 2};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    locus_error failure = {0};
    (void)state;
    rig r;
    rig_bind(&r, "algebraic(generator=householder, init=random)", rig_shape(2, 7, 0, 0), 1);
    rig_ok(locus_positions_create_real(&r.queries, NULL, &packing, (const double[]){0.5, 1}, error));
    assert_int_equal(locus_plan_create(&r.plan, r.binding, r.queries, NULL, &failure), LOCUS_ERROR_POSITION);
    assert_non_null(strstr(failure.message, "reflects, which needs whole positions"));
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_positions_are_exact),
        cmocka_unit_test(real_positions_are_exact),
        cmocka_unit_test(whole_reals_are_integers),
        cmocka_unit_test(reflections_refuse_reals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
