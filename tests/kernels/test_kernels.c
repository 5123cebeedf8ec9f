/* SPDX-License-Identifier: MIT */
/* Every kernel of every level that this machine has, float32 and float64, against plain loops; and the dispatch. The
 * checks are in kernel_checks.h; the list of kernels is the library's registry, so a kernel without a check does not
 * compile. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kernel_guard.h"
#include "kernels/kernels_list.h"
#include "sanitized.h"

#define CHECK_REAL float
#define CHECK_BITS 32
#define CHECK_FMA fmaf
#define CHECK_EXP expf
#define CHECK_EPSILON FLT_EPSILON
#if defined(FP_FAST_FMAF)
#define CHECK_FAST_FMA true
#else
#define CHECK_FAST_FMA false
#endif
#include "kernel_checks.h"

#define CHECK_REAL double
#define CHECK_BITS 64
#define CHECK_FMA fma
#define CHECK_EXP exp
#define CHECK_EPSILON DBL_EPSILON
#if defined(FP_FAST_FMA)
#define CHECK_FAST_FMA true
#else
#define CHECK_FAST_FMA false
#endif
#include "kernel_checks.h"

/* The checks of one table, by the registry, and the laws that are no kernel's own. */
#define CHECK_ENTRY(op) {#op " float32", check_##op##_float32, #op " float64", check_##op##_float64},

static const struct check {
    const char *name_float32;
    void (*float32)(const locus_kernels_float32 *kernels);
    const char *name_float64;
    void (*float64)(const locus_kernels_float64 *kernels);
} checks[] = {LOCUS_KERNEL_OPERATIONS(CHECK_ENTRY) CHECK_ENTRY(gemm_accuracy) CHECK_ENTRY(dot_chains)
                  CHECK_ENTRY(rotate_laws)};

enum { CHECKS = sizeof checks / sizeof checks[0] };

typedef struct level_check {
    const struct check *check;
    locus_isa isa;
    bool wide; /* float64 */
} level_check;

static void run_level_check(void **state) {
    const level_check *what = *state;
    test_state = 1;
    if (what->wide)
        what->check->float64(locus_kernels_float64_of(what->isa));
    else
        what->check->float32(locus_kernels_float32_of(what->isa));
}

#define TABLE_POINTER(op) assert_true(table->op != NULL);
#define LEVEL_TABLES(level, value) \
    do { \
        const bool present = (locus_cpu_isas() & (unsigned)(value)) != 0; \
        assert_int_equal(locus_kernels_float32_of(value) != NULL, present); \
        assert_int_equal(locus_kernels_float64_of(value) != NULL, present); \
        if (present) { \
            const locus_kernels_float32 *table = locus_kernels_float32_of(value); \
            assert_int_equal(table->isa, value); \
            LOCUS_KERNEL_OPERATIONS(TABLE_POINTER) \
        } \
        if (present) { \
            const locus_kernels_float64 *table = locus_kernels_float64_of(value); \
            assert_int_equal(table->isa, value); \
            LOCUS_KERNEL_OPERATIONS(TABLE_POINTER) \
        } \
    } while (0);

static void test_tables(void **state) {
    (void)state;
    LOCUS_KERNEL_LEVELS(LEVEL_TABLES)
    assert_true(locus_cpu_isas() & LOCUS_ISA_SCALAR);
    assert_null(locus_kernels_float32_of((locus_isa)1024));
}

/* The mask takes effect at the next look, down to scalar and back. */
static void test_mask(void **state) {
    (void)state;
    const unsigned all = locus_cpu_isas();
    for (unsigned mask = 0; mask < 16; mask++) {
        locus_cpu_mask_set(mask);
        assert_int_equal(locus_kernels_float32_get()->isa, locus_cpu_isa());
        assert_int_equal(locus_kernels_float64_get()->isa, locus_cpu_isa());
        assert_true((unsigned)locus_cpu_isa() & (mask | LOCUS_ISA_SCALAR) & all);
    }
    locus_cpu_mask_set(~0u);
    assert_ptr_equal(locus_kernels_float32_get(), locus_kernels_float32_of(locus_cpu_isa()));
}

static void test_public_blocks(void **state) {
    (void)state;
    const locus_random key = {.seed = 9, .purpose = LOCUS_RANDOM_USER, .step = 2};
    uint32_t words[4 * 37], want[4];
    locus_random_blocks(&key, 5, 37, words);
    for (size_t i = 0; i < 37; i++) {
        locus_random_block(&key, 5 + i, want);
        assert_memory_equal(words + 4 * i, want, sizeof want);
    }
}

#define LEVEL_VALUE(level, value) value,

int main(void) {
    static const locus_isa levels[] = {LOCUS_KERNEL_LEVELS(LEVEL_VALUE)};
    static level_check cases[sizeof levels / sizeof levels[0] * 2 * CHECKS];
    static struct CMUnitTest tests[sizeof cases / sizeof cases[0]];
    static char names[sizeof cases / sizeof cases[0]][64];
    const struct CMUnitTest single[] = {cmocka_unit_test(test_tables), cmocka_unit_test(test_mask),
                                        cmocka_unit_test(test_public_blocks)};
    size_t count = 0;
    guard_open();
    for (size_t level = 0; level < sizeof levels / sizeof levels[0]; level++) {
        if (!(locus_cpu_isas() & (unsigned)levels[level])) {
            print_message("this machine has no %s: its kernels are not tested here\n", locus_isa_name(levels[level]));
            continue;
        }
        for (size_t i = 0; i < 2 * CHECKS; i++, count++) {
            const struct check *check = &checks[i / 2];
            cases[count] = (level_check){check, levels[level], i % 2 == 1};
            snprintf(names[count], sizeof names[count], "%s %s", i % 2 ? check->name_float64 : check->name_float32,
                     locus_isa_name(levels[level]));
            tests[count].name = names[count];
            tests[count].test_func = run_level_check;
            tests[count].initial_state = &cases[count];
        }
    }
    int failed = cmocka_run_group_tests_name("dispatch", single, NULL, NULL);
    failed += _cmocka_run_group_tests("kernels", tests, count, NULL, NULL);
    return failed != 0;
}
