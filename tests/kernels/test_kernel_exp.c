/* SPDX-License-Identifier: MIT */
/* exp_sum's exponential: the error in units of the last place over a dense sweep, against the C library in the next
 * wider type, and what becomes of infinities, NaN and results that are too small or too large. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/kernels_list.h"
#include "sanitized.h"

/* A sanitizer looks at memory: to it a run is like another. */
enum { RUN = 1000, STEP = SANITIZED(49999, 499), BLOCKS = SANITIZED(15, 1500) };

static float float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* |got − want| in units of the last place of want, which is normal. */
static double ulps(long double got, long double want, int digits) {
    int exponent;
    (void)frexpl(want, &exponent);
    return (double)(fabsl(got - want) / ldexpl(1, exponent - digits));
}

/* Every STEPth float from the largest argument that gives a normal result down to the smallest, through both signs. */
static double sweep_float32(const locus_kernels_float32 *kernels) {
    static float x[RUN], y[RUN];
    double worst = 0;
    for (int negative = 0; negative < 2; negative++) {
        const float end = negative ? 87.336544f : 88.722839f;
        uint32_t bits = 0;
        for (bool more = true; more;) {
            size_t n = 0;
            for (; n < RUN && more; bits += STEP) {
                float value = float_of_bits(bits);
                more = value <= end;
                if (more)
                    x[n++] = negative ? -value : value;
            }
            memcpy(y, x, sizeof y);
            (void)kernels->exp_sum(n, 0, y);
            for (size_t i = 0; i < n; i++)
                worst = fmax(worst, ulps(y[i], (long double)exp((double)x[i]), FLT_MANT_DIG));
        }
    }
    return worst;
}

static double sweep_float64(const locus_kernels_float64 *kernels) {
    static double x[RUN], y[RUN];
    double worst = 0;
    for (size_t block = 0; block < BLOCKS; block++) {
        for (size_t i = 0; i < RUN; i++) { /* a third around zero, the rest over the whole range, at uneven places */
            double t = ((double)(block * RUN + i) + 0.37) / ((double)BLOCKS * RUN);
            x[i] = block % 3 == 0 ? (t - 0.5) * 2 : -708.39 + t * (709.78 + 708.39);
        }
        memcpy(y, x, sizeof y);
        (void)kernels->exp_sum(RUN, 0, y);
        for (size_t i = 0; i < RUN; i++)
            worst = fmax(worst, ulps(y[i], expl((long double)x[i]), DBL_MANT_DIG));
    }
    return worst;
}

static void test_accuracy_float32(void **state) {
    const locus_kernels_float32 *kernels = *state;
    double worst = sweep_float32(kernels);
    print_message("exp float32 %s: at most %.3f ulp\n", locus_isa_name(kernels->isa), worst);
    assert_true(worst <= 2);
}

static void test_accuracy_float64(void **state) {
    const locus_kernels_float64 *kernels = *state;
    double worst = sweep_float64(kernels);
    print_message("exp float64 %s: at most %.3f ulp\n", locus_isa_name(kernels->isa), worst);
    if (LDBL_MANT_DIG > DBL_MANT_DIG)
        assert_true(worst <= 2);
    else
        assert_true(worst <= 3); /* the oracle is itself a double */
}

/* Arguments whose result is known without a library; each stands alone and in all places of a row. */
#define TEST_SPECIAL(name, real, table, infinity, smallest, low, high, edge, next) \
    static void name(void **state) { \
        const table *kernels = *state; \
        const real inputs[] = {0, -infinity, infinity, NAN, low, high, -1e30f, 1e30f, -0.0f}; \
        const real wanted[] = {1, 0, infinity, NAN, 0, infinity, 0, infinity, 1}; \
        real row[67]; \
        for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) { \
            for (size_t j = 0; j < 67; j++) \
                row[j] = inputs[i]; \
            real sum = kernels->exp_sum(67, 0, row); \
            for (size_t j = 0; j < 67; j++) \
                assert_true(isnan(wanted[i]) ? isnan(row[j]) : row[j] == wanted[i]); \
            assert_true(isnan(wanted[i]) ? isnan(sum) : sum == 67 * wanted[i]); \
        } \
        real shifted[3] = {-infinity, 5, 4}; \
        assert_true(kernels->exp_sum(3, 5, shifted) > 1 && shifted[0] == 0 && shifted[1] == 1); \
        for (real x = -smallest; x > -2 * smallest; x -= smallest / 64) { /* nothing denormal comes out */ \
            real value = x; \
            (void)kernels->exp_sum(1, 0, &value); \
            assert_true(value == 0 || fpclassify(value) == FP_NORMAL); \
        } \
        real at = edge; \
        for (int i = 0; i < 50; i++) \
            at = next(at, 0); \
        for (int i = 0; i < 100; i++, at = next(at, -infinity)) { /* the last arguments that give a normal result */ \
            real value = at; \
            (void)kernels->exp_sum(1, 0, &value); \
            assert_true(i < 45 ? fpclassify(value) == FP_NORMAL : value == 0 || fpclassify(value) == FP_NORMAL); \
        } \
    }

TEST_SPECIAL(test_special_float32, float, locus_kernels_float32, INFINITY, 86.0f, -87.34f, 88.73f, -87.3365447505531f,
             nextafterf)
TEST_SPECIAL(test_special_float64, double, locus_kernels_float64, (double)INFINITY, 700.0, -708.4, 709.79,
             -708.3964185322641, nextafter)

#define LEVEL_VALUE(level, value) value,

int main(void) {
    static const locus_isa levels[] = {LOCUS_KERNEL_LEVELS(LEVEL_VALUE)};
    int failed = 0;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        const locus_kernels_float32 *narrow = locus_kernels_float32_of(levels[i]);
        const locus_kernels_float64 *wide = locus_kernels_float64_of(levels[i]);
        if (!narrow || !wide)
            continue;
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_prestate(test_accuracy_float32, (void *)(uintptr_t)narrow),
            cmocka_unit_test_prestate(test_special_float32, (void *)(uintptr_t)narrow),
            cmocka_unit_test_prestate(test_accuracy_float64, (void *)(uintptr_t)wide),
            cmocka_unit_test_prestate(test_special_float64, (void *)(uintptr_t)wide),
        };
        failed += cmocka_run_group_tests_name(locus_isa_name(levels[i]), tests, NULL, NULL);
    }
    return failed != 0;
}
