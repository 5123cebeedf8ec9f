/* SPDX-License-Identifier: MIT */
/* rotate with a base: at every level, both layouts, any number of pairs and heads, in place and out of place, the angle
 * is the sum of the base's and the table's; what stands behind the pairs is scaled only, and nothing past the end is
 * touched. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/kernels_list.h"
#include "sanitized.h"

enum { ROWS = 19, MOST = 3 * 40, GUARD = 8 };

/* One row of the table for all rows (table_row = 0): the bits of a table whose rows are all alike. */
#define CHECK_LEVEL(real, bits, tolerance) \
    static void check_standing##bits(const locus_kernels_float##bits *k, locus_rotation shape, double sign, \
                                     double scale, const real *x, real *cosine, real *sine) { \
        static real y[ROWS * MOST], z[ROWS * MOST]; \
        for (size_t i = 0; i < (size_t)shape.table_row * (ROWS - 1); i++) { \
            cosine[(size_t)shape.table_row + i] = cosine[i]; \
            sine[(size_t)shape.table_row + i] = sine[i]; \
        } \
        k->rotate(&shape, (real)sign, (real)scale, cosine, sine, x, y); \
        shape.table_row = 0; \
        k->rotate(&shape, (real)sign, (real)scale, cosine, sine, x, z); \
        assert_memory_equal(y, z, ROWS *(size_t)shape.source_row * sizeof(real)); \
    } \
    static void check_float##bits(const locus_kernels_float##bits *k, size_t heads, size_t D, size_t pairs, bool half, \
                                  double sign, double scale, bool in_place) { \
        static real x[ROWS * MOST + GUARD], y[ROWS * MOST + GUARD], cosine[ROWS * MOST], sine[ROWS * MOST], \
            base_cosine[MOST], base_sine[MOST]; \
        const size_t row = heads * D, table = heads * pairs; \
        for (size_t i = 0; i < ROWS * MOST + GUARD; i++) \
            x[i] = y[i] = (real)sin((double)(i * i % 1013)); \
        for (size_t i = 0; i < ROWS * table; i++) { \
            cosine[i] = (real)cos(0.37 * (double)i); \
            sine[i] = (real)sin(0.37 * (double)i); \
        } \
        for (size_t i = 0; i < table; i++) { \
            base_cosine[i] = (real)cos(1.1 * (double)i + 1); \
            base_sine[i] = (real)sin(1.1 * (double)i + 1); \
        } \
        const locus_rotation shape = {.rows = ROWS, \
                                      .heads = heads, \
                                      .D = D, \
                                      .pairs = pairs, \
                                      .half_pairs = half, \
                                      .table_row = (ptrdiff_t)table, \
                                      .table_head = (ptrdiff_t)pairs, \
                                      .source_row = (ptrdiff_t)row, \
                                      .source_head = (ptrdiff_t)D, \
                                      .target_row = (ptrdiff_t)row, \
                                      .target_head = (ptrdiff_t)D, \
                                      .base_cosine = base_cosine, \
                                      .base_sine = base_sine}; \
        k->rotate(&shape, (real)sign, (real)scale, cosine, sine, in_place ? y : x, y); \
        for (size_t r = 0; r < ROWS; r++) \
            for (size_t h = 0; h < heads; h++) \
                for (size_t i = 0; i < D; i++) { \
                    const real *from = x + r * row + h * D; \
                    double want = scale * (double)from[i]; \
                    if (i < 2 * pairs) { \
                        size_t pair = half ? i % pairs : i / 2, first = half ? pair : 2 * pair; \
                        size_t second = half ? pair + pairs : first + 1; \
                        double angle = sign * (0.37 * (double)(r * table + h * pairs + pair) + \
                                               1.1 * (double)(h * pairs + pair) + 1); \
                        double a = scale * (double)from[first], b = scale * (double)from[second]; \
                        want = i == first ? a * cos(angle) - b * sin(angle) : a * sin(angle) + b * cos(angle); \
                    } \
                    double got = (double)y[r * row + h * D + i]; \
                    if (fabs(got - want) > (tolerance) * (1 + scale)) \
                        fail_msg("level %d, D %zu, pairs %zu, row %zu, head %zu, element %zu: %g, not %g", \
                                 (int)k->isa, D, pairs, r, h, i, got, want); \
                } \
        assert_memory_equal(x + ROWS * row, y + ROWS * row, GUARD * sizeof(real)); \
        check_standing##bits(k, shape, sign, scale, x, cosine, sine); \
    } \
    static void test_float##bits(void **state) { \
        (void)state; \
        const locus_isa levels[] = {LOCUS_ISA_SCALAR, LOCUS_ISA_AVX2, LOCUS_ISA_AVX512, LOCUS_ISA_NEON}; \
        for (size_t level = 0; level < 4; level++) { \
            const locus_kernels_float##bits *k = locus_kernels_float##bits##_of(levels[level]); \
            for (size_t pairs = 1; k && pairs <= 20; pairs++) \
                for (unsigned bit = 0; bit < 16; bit++) \
                    if (!left_out(16 * pairs + bit, 4)) \
                        check_float##bits(k, bit & 1 ? 3 : 1, 2 * pairs + (bit & 2 && pairs < 20 ? 1 : 0), pairs, \
                                          bit & 4, bit & 8 ? -1 : 1, bit & 4 ? 1 : 0.5, bit & 8); \
        } \
    }
CHECK_LEVEL(float, 32, 6e-7)
CHECK_LEVEL(double, 64, 1e-13)

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_float32), cmocka_unit_test(test_float64)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
