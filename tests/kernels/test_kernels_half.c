/* SPDX-License-Identifier: MIT */
/* Kernels of the half types, of every level that this machine has, against an oracle that knows only what the numbers
 * mean: all 65,536 halves, their midpoints and the floats beside these, and floats from the whole range. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kernel_guard.h"
#include "kernels/kernels_list.h"

#include <locus/tensor.h>

enum { HALVES = 65536 };

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- the oracle ---- */

typedef struct format {
    int exponent_bits, fraction_bits;
} format;

static const format float16 = {5, 10}, bfloat16 = {8, 7};

static int bias_of(format f) {
    return (1 << (f.exponent_bits - 1)) - 1;
}

/* The value of a half by the formula of IEEE 754, section 3.4; NaN for every NaN. */
static double meaning(format f, unsigned half) {
    const int fraction = (int)(half & ((1u << f.fraction_bits) - 1)), top = (1 << f.exponent_bits) - 1;
    const int exponent = (int)(half >> f.fraction_bits) & top, sign = half & 0x8000u ? -1 : 1;
    if (exponent == top)
        return fraction ? NAN : copysign(INFINITY, sign);
    if (exponent == 0)
        return copysign(ldexp(fraction, 1 - bias_of(f) - f.fraction_bits), sign);
    return sign * ldexp((1 << f.fraction_bits) + fraction, exponent - bias_of(f) - f.fraction_bits);
}

/* The half nearest to x by comparison with its neighbours; of two, the even one. Magnitudes of halves rise with their
 * bits, and the first number that does not exist, 2^(largest exponent + 1), stands where infinity is. */
static unsigned nearest(format f, double x) {
    const unsigned sign = signbit(x) ? 0x8000u : 0, infinity = ((1u << f.exponent_bits) - 1) << f.fraction_bits;
    const double size = fabs(x), end = ldexp(1, bias_of(f) + 1);
    if (isinf(x))
        return sign | infinity;
    unsigned low = 0, high = infinity;
    while (high - low > 1) { /* meaning(low) ≤ size < meaning(high), or high is infinity */
        const unsigned middle = low + (high - low) / 2;
        if (meaning(f, middle) <= size)
            low = middle;
        else
            high = middle;
    }
    const double below = meaning(f, low), above = high == infinity ? end : meaning(f, high);
    const double down = size - below, up = above - size; /* exact: neighbours in a float's range */
    return sign | (down < up || (down == up && low % 2 == 0) ? low : high);
}

static bool is_nan(format f, unsigned half) {
    return isnan(meaning(f, half)) != 0;
}

/* ---- widening ---- */

typedef void widen_kernel(size_t n, const uint16_t *x, float *y);
typedef void narrow_kernel(size_t n, const float *x, uint16_t *y);

static uint16_t all_halves[HALVES], rounded[HALVES];
static float widened[HALVES];

static void check_widen(format f, widen_kernel *widen, narrow_kernel *narrow) {
    for (unsigned h = 0; h < HALVES; h++)
        all_halves[h] = (uint16_t)h;
    widen(HALVES, all_halves, widened);
    narrow(HALVES, widened, rounded);
    for (unsigned h = 0; h < HALVES; h++) {
        const unsigned quiet = 1u << (f.fraction_bits - 1);
        if (is_nan(f, h)) {
            assert_true(isnan(widened[h]));
            assert_int_equal(bits_of(widened[h]) >> 31, h >> 15);
            assert_int_equal(rounded[h], h | quiet);
        } else {
            assert_true((double)widened[h] == meaning(f, h));
            assert_int_equal(bits_of(widened[h]) >> 31, h >> 15);
            assert_int_equal(rounded[h], h);
        }
    }
}

/* ---- narrowing ---- */

enum { BATCH = 4096 };

static struct {
    size_t count;
    float x[BATCH];
    uint16_t y[BATCH];
} batch;

static void flush(format f, narrow_kernel *narrow) {
    narrow(batch.count, batch.x, batch.y);
    for (size_t i = 0; i < batch.count; i++) {
        const float x = batch.x[i];
        if (isnan(x)) {
            assert_true(is_nan(f, batch.y[i]));
            assert_true(((unsigned)batch.y[i] >> (f.fraction_bits - 1)) & 1u);
            assert_int_equal(batch.y[i] >> 15, bits_of(x) >> 31);
        } else if (batch.y[i] != nearest(f, (double)x)) {
            fail_msg("%a becomes %04x, the nearest is %04x", (double)x, batch.y[i], nearest(f, (double)x));
        }
    }
    batch.count = 0;
}

static void push(format f, narrow_kernel *narrow, uint32_t bits) {
    batch.x[batch.count++] = float_of(bits);
    if (batch.count == BATCH)
        flush(f, narrow);
}

static void check_narrow(format f, narrow_kernel *narrow) {
    const unsigned infinity = ((1u << f.exponent_bits) - 1) << f.fraction_bits;
    for (unsigned h = 0; h < infinity; h++) { /* each half, the midpoint above it, and the floats beside both */
        const double above = h + 1 == infinity ? ldexp(1, bias_of(f) + 1) : meaning(f, h + 1);
        const uint32_t exact = bits_of((float)meaning(f, h)), middle = bits_of((float)((meaning(f, h) + above) / 2));
        for (uint32_t sign = 0; sign < 2; sign++) {
            for (int apart = -1; apart <= 1; apart++) {
                push(f, narrow, (middle + (uint32_t)apart) | sign << 31);
                if (apart >= 0 || exact > 0)
                    push(f, narrow, (exact + (uint32_t)apart) | sign << 31);
            }
        }
    }
    for (uint64_t bits = 0; bits < 1ull << 32; bits += 12347) /* NaN and infinities among them */
        push(f, narrow, (uint32_t)bits);
    const uint32_t edges[] = {0x7f800000u, 0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800000u, 0xff800001u,
                              0xffffffffu, 0x7f7fffffu, 0x00000001u, 0x80000000u, 0x477fefffu, 0x477ff000u};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        push(f, narrow, edges[i]);
    flush(f, narrow);
}

/* ---- lengths and ends ---- */

static void check_lengths(format f, widen_kernel *widen, narrow_kernel *narrow) {
    for (size_t n = 0; n <= 67; n++)
        for (int placement = 0; placement < GUARD_PLACEMENTS; placement++) {
            uint16_t *half = guard_place(0, n * sizeof *half, placement);
            uint16_t *back = guard_place(1, n * sizeof *back, placement);
            float *wide = guard_place(2, n * sizeof *wide, placement);
            for (size_t i = 0; i < n; i++)
                wide[i] = (float)test_uniform();
            narrow(n, wide, half);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(half[i], nearest(f, (double)wide[i]));
            widen(n, half, wide);
            narrow(n, wide, back);
            assert_memory_equal(half, back, n * sizeof *half);
        }
}

/* Neighbours of what is written stay. */
static void check_ends(widen_kernel *widen, narrow_kernel *narrow) {
    for (size_t n = 0; n <= 35; n++) {
        float wide[37];
        uint16_t half[37];
        for (size_t i = 0; i < 37; i++)
            wide[i] = -1, half[i] = 0x3c00u;
        widen(n, half, wide + 1);
        assert_true(wide[0] == -1 && wide[n + 1] == -1);
        narrow(n, wide + 1, half + 1);
        assert_true(half[0] == 0x3c00u && half[n + 1] == 0x3c00u);
    }
}

/* ---- rows of bfloat16 as they lie ---- */

enum { FEW = 6, MANY = 19, LONG = 150, LD_OUT = MANY + 3 };

/* Numbers of any sign and of many sizes, as bfloat16 and as the floats that these are. */
static void fill_rows(const locus_kernels_half *kernels, size_t count, size_t n, size_t step, uint16_t *rows,
                      float *wide) {
    for (size_t j = 0; j < count; j++) {
        for (size_t i = 0; i < n; i++)
            wide[j * LONG + i] = (float)ldexp(test_uniform() - 0.5, (int)(j % 9) - 4);
        kernels->narrow_bfloat16(n, wide + j * LONG, rows + j * step);
        kernels->widen_bfloat16(n, rows + j * step, wide + j * LONG);
    }
}

static void check_rows_of(const locus_kernels_half *kernels, size_t few, size_t many, size_t n, int placement) {
    const locus_kernels_float32 *floats = locus_kernels_float32_of(kernels->isa);
    const size_t step = n + many % 3;
    static float wide[MANY * LONG], want[FEW * LONG];
    uint16_t *rows = guard_place(0, ((many - 1) * step + n) * sizeof *rows, placement);
    float *x = guard_place(1, few * n * sizeof *x, placement);
    float *weight = guard_place(2, few * many * sizeof *weight, placement);
    float *product = guard_place(3, ((few - 1) * LD_OUT + many) * sizeof *product, placement);
    float *sum = guard_place(4, few * n * sizeof *sum, placement);
    fill_rows(kernels, many, n, step, rows, wide);
    for (size_t i = 0; i < few * n; i++)
        x[i] = (float)test_uniform() - 0.5f, sum[i] = want[i] = (float)test_uniform();
    for (size_t i = 0; i < few * many; i++)
        weight[i] = (float)test_uniform();
    floats->gemm(few, n, many, weight, (ptrdiff_t)many, 1, wide, LONG, want, (ptrdiff_t)n, true);
    kernels->sums_bfloat16(few, many, n, weight, (ptrdiff_t)many, rows, (ptrdiff_t)step, sum, (ptrdiff_t)n);
    assert_memory_equal(sum, want, few * n * sizeof *want);
    for (size_t i = 0; i < (few - 1) * LD_OUT + many; i++)
        product[i] = want[i] = -1;
    floats->dots(few, many, n, x, (ptrdiff_t)n, wide, LONG, want, LD_OUT);
    kernels->dots_bfloat16(few, many, n, x, (ptrdiff_t)n, rows, (ptrdiff_t)step, product, LD_OUT);
    assert_memory_equal(product, want, ((few - 1) * LD_OUT + many) * sizeof *want);
}

/* To the bits of what is widened first; nothing beside rows, sums and products is touched. */
static void check_rows(const locus_kernels_half *kernels) {
    static const size_t lengths[] = {1, 3, 15, 16, 17, 40, 64, 80, 127, 128, 150};
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
        for (size_t few = 1; few <= FEW; few++)
            for (size_t many = 1; many <= MANY; many++)
                check_rows_of(kernels, few, many, lengths[l], (int)((few + many) % GUARD_PLACEMENTS));
}

/* ---- all levels ---- */

static void check_level(locus_isa isa) {
    const locus_kernels_half *kernels = locus_kernels_half_of(isa);
    if (!kernels) {
        print_message("this machine has no %s: its kernels are not tested here\n", locus_isa_name(isa));
        return;
    }
    assert_int_equal(kernels->isa, isa);
    check_widen(float16, kernels->widen_float16, kernels->narrow_float16);
    check_widen(bfloat16, kernels->widen_bfloat16, kernels->narrow_bfloat16);
    check_narrow(float16, kernels->narrow_float16);
    check_narrow(bfloat16, kernels->narrow_bfloat16);
    check_lengths(float16, kernels->widen_float16, kernels->narrow_float16);
    check_lengths(bfloat16, kernels->widen_bfloat16, kernels->narrow_bfloat16);
    check_ends(kernels->widen_float16, kernels->narrow_float16);
    check_ends(kernels->widen_bfloat16, kernels->narrow_bfloat16);
    check_rows(kernels);
}

static void test_levels(void **state) {
    (void)state;
#define CHECK_LEVEL(level, value) check_level(value);
    LOCUS_KERNEL_LEVELS(CHECK_LEVEL)
    assert_ptr_equal(locus_kernels_half_get(), locus_kernels_half_of(locus_cpu_isa()));
    assert_null(locus_kernels_half_of((locus_isa)1024));
}

/* Levels agree on every bit, payloads of NaN included. */
static void test_levels_agree(void **state) {
    (void)state;
    const locus_kernels_half *scalar = locus_kernels_half_of(LOCUS_ISA_SCALAR), *best = locus_kernels_half_get();
    for (uint64_t first = 0; first < 1ull << 32; first += 16381ull * BATCH) {
        uint16_t want[BATCH], got[BATCH];
        for (size_t i = 0; i < BATCH; i++)
            batch.x[i] = float_of((uint32_t)(first + 16381ull * i));
        scalar->narrow_float16(BATCH, batch.x, want);
        best->narrow_float16(BATCH, batch.x, got);
        assert_memory_equal(got, want, sizeof want);
        scalar->narrow_bfloat16(BATCH, batch.x, want);
        best->narrow_bfloat16(BATCH, batch.x, got);
        assert_memory_equal(got, want, sizeof want);
    }
    static float other[HALVES];
    scalar->widen_float16(HALVES, all_halves, widened);
    best->widen_float16(HALVES, all_halves, other);
    assert_memory_equal(other, widened, sizeof other);
}

/* Doubles that only two roundings, of which the first is to float, would take to the other half: beside midpoints. */
static void check_doubles(format f, locus_dtype dtype) {
    static double x[HALVES];
    const unsigned infinity = ((1u << f.exponent_bits) - 1) << f.fraction_bits;
    const int64_t count = (int64_t)infinity - 1;
    for (int beside = -1; beside <= 1; beside++) {
        for (unsigned h = 0; h + 1 < infinity; h++)
            x[h] = (h % 2 ? -1 : 1) * (meaning(f, h) + meaning(f, h + 1)) / 2 * (1 + ldexp(beside, -40));
        const locus_tensor from = locus_tensor_view(x, LOCUS_FLOAT64, 1, &count);
        const locus_tensor to = locus_tensor_view(rounded, dtype, 1, &count);
        assert_int_equal(locus_tensor_convert(&from, &to, NULL), LOCUS_OK);
        for (unsigned h = 0; h + 1 < infinity; h++)
            if (rounded[h] != nearest(f, x[h]))
                fail_msg("%a becomes %04x, the nearest is %04x", x[h], rounded[h], nearest(f, x[h]));
    }
}

static void test_doubles(void **state) {
    (void)state;
    check_doubles(float16, LOCUS_FLOAT16);
    check_doubles(bfloat16, LOCUS_BFLOAT16);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels), cmocka_unit_test(test_levels_agree),
                                       cmocka_unit_test(test_doubles)};
    guard_open();
    return cmocka_run_group_tests_name("half types", tests, NULL, NULL);
}
