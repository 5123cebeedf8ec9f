/* SPDX-License-Identifier: MIT */
/* Levels of kernels: LOCUS_ISA and masks limit them, never to one that the machine lacks; what is handed out is of the
 * level in use, and a level that is not there has no kernels (its instructions would kill the process). Each value of
 * the variable is tried in a process of its own, since it is read once. */
#include "core/environment.h"
#include "kernels/bfloat16.h"
#include "kernels/kernels.h"

#include <locus/locus.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const unsigned levels[] = {LOCUS_ISA_SCALAR, LOCUS_ISA_AVX2, LOCUS_ISA_AVX512, LOCUS_ISA_NEON};

static unsigned highest(unsigned mask) {
    const unsigned usable = (mask | LOCUS_ISA_SCALAR) & locus_cpu_isas();
    const unsigned order[] = {LOCUS_ISA_AVX512, LOCUS_ISA_AVX2, LOCUS_ISA_NEON};
    for (size_t i = 0; i < 3; i++)
        if (usable & order[i])
            return order[i];
    return LOCUS_ISA_SCALAR;
}

/* Whether everything is of this level. */
static bool in_use(unsigned level) {
    return (unsigned)locus_cpu_isa() == level && (unsigned)locus_kernels_float32_get()->isa == level &&
           (unsigned)locus_kernels_float64_get()->isa == level && (unsigned)locus_kernels_half_get()->isa == level;
}

static void masks_limit(void **state) {
    (void)state;
    for (unsigned mask = 0; mask < 16; mask++) {
        locus_cpu_mask_set(mask);
        assert_true(in_use(highest(mask)));
    }
    locus_cpu_mask_set(15);
}

static void absent_levels_have_no_kernels(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const bool there = (locus_cpu_isas() & levels[i]) != 0;
        const locus_isa level = (locus_isa)levels[i];
        assert_int_equal(locus_kernels_float32_of(level) != NULL, there);
        assert_int_equal(locus_kernels_float64_of(level) != NULL, there);
        assert_int_equal(locus_kernels_half_of(level) != NULL, there);
        assert_true(!there || (unsigned)locus_kernels_float32_of(level)->isa == levels[i]);
    }
    assert_true(locus_cpu_isas() & LOCUS_ISA_SCALAR);
    assert_null(locus_kernels_float32_of((locus_isa)16));
}

/* Those for bfloat16 stand beside AVX-512, and a mask takes them away alone. */
static void bfloat16_stands_beside(void **state) {
    (void)state;
    const unsigned base = LOCUS_ISA_AVX2 | LOCUS_ISA_AVX512, both = LOCUS_ISA_AVX512_BF16 | LOCUS_ISA_AMX;
    const locus_kernels_bfloat16 *vectors = locus_kernels_bfloat16_of(LOCUS_ISA_AVX512_BF16);
    const locus_kernels_bfloat16 *tiles = locus_kernels_bfloat16_of(LOCUS_ISA_AMX);
    locus_cpu_mask_set(base);
    assert_null(locus_kernels_bfloat16_get());
    locus_cpu_mask_set(both); /* AVX-512 is not in use */
    assert_null(locus_kernels_bfloat16_get());
    locus_cpu_mask_set(base | LOCUS_ISA_AVX512_BF16);
    assert_ptr_equal(locus_kernels_bfloat16_get(), vectors);
    locus_cpu_mask_set(base | both);
    assert_ptr_equal(locus_kernels_bfloat16_get(), tiles ? tiles : vectors);
    assert_true(!tiles || vectors);
    assert_true(!vectors || vectors->isa == LOCUS_ISA_AVX512_BF16);
    assert_true(!tiles || tiles->isa == LOCUS_ISA_AMX);
    assert_true(in_use(highest(base)));
    assert_string_equal(locus_isa_name(LOCUS_ISA_AVX512_BF16), "avx512bf16");
    assert_string_equal(locus_isa_name(LOCUS_ISA_AMX), "amx");
    assert_int_equal(locus_environment_isa("avx512bf16"), LOCUS_ISA_SCALAR | base | LOCUS_ISA_AVX512_BF16);
    assert_int_equal(locus_environment_isa("amx"), LOCUS_ISA_SCALAR | base | both);
    locus_cpu_mask_set(15);
}

/* The environment of a child; 0 as it ends: all as expected. `masked`: a mask is set before anything is asked. */
static int child(const char *value, unsigned expected, bool masked) {
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        if (value)
            setenv("LOCUS_ISA", value, 1);
        else
            unsetenv("LOCUS_ISA");
        if (masked)
            locus_cpu_mask_set(LOCUS_ISA_SCALAR);
        _exit(in_use(masked ? LOCUS_ISA_SCALAR : expected) ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(process, &status, 0), process);
    return status;
}

static void the_variable_limits(void **state) {
    static const struct {
        const char *value;
        unsigned mask;
    } cases[] = {{"scalar", 1}, {"avx2", 3}, {"avx512", 7}, {"neon", 9}, {NULL, 15}, {"", 15}, {"garbage", 15}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(child(cases[i].value, highest(cases[i].mask), false), 0);
        assert_int_equal(child(cases[i].value, 0, true), 0); /* the variable does not undo a mask */
        if (cases[i].mask < 15)
            assert_int_equal(locus_environment_isa(cases[i].value), cases[i].mask);
    }
}

/* The children come first: this process has not asked for the level yet. */
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_variable_limits),
        cmocka_unit_test(masks_limit),
        cmocka_unit_test(absent_levels_have_no_kernels),
        cmocka_unit_test(bfloat16_stands_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
