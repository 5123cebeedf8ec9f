/* SPDX-License-Identifier: MIT */
/* Memory for the code that oneDNN generates can't be mapped: at each mapping in turn, for that one or for all after it
 * too, products either come out as ever or are told to have other bits. oneDNN 2 crashes instead, which nobody takes
 * for a result. */
#define _GNU_SOURCE
#include "nn/bf16_primitive.h"
#include "nn/gemm.h"
#include "sanitized.h"
#include <errno.h>
#include <locus/locus.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- mmap, in the place of the C library's ---- */

static long mappings, failing; /* failing: the number of the mapping that fails; 0: none does */
static bool lasting;

__attribute__((visibility("default"))) void *mmap(void *address, size_t length, int protection, int flags,
                                                  int descriptor, off_t offset) {
    const long number = ++mappings;
    if (failing > 0 && (number == failing || (lasting && number > failing))) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
}

/* ---- products of every kind ---- */

enum { MOST = 256 * 256, CRASHED = 1, TOLD = 2 };

typedef struct outcome {
    int end; /* 0: it ended well */
    uint64_t digest;
    long mappings;
} outcome;

static outcome *shared; /* what a child tells */

static uint64_t digest_of(uint64_t digest, size_t count, const float *numbers) {
    for (size_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        digest = (digest ^ bits) * UINT64_C(0x9E3779B97F4A7C15);
    }
    return digest;
}

/* From the first step of a bfloat16 training on; each shape has code of its own. */
static uint64_t compute_halves(void) {
    static uint16_t left[128 * 256], right[256 * 128];
    static float result[128 * 128];
    uint64_t digest = 0;
    for (size_t i = 0; i < sizeof left / sizeof *left; ++i) {
        left[i] = (uint16_t)(0x3f00 + i * i % 251);
        right[i] = (uint16_t)(0x3f00 + i * i % 257);
    }
    for (size_t rows = 16; rows <= 128 && lab_bf16_has_units(); rows *= 2) {
        const lab_bf16_shape shape = {rows, 128, 2 * rows < 64 ? 64 : 2 * rows};
        if (!lab_bf16_primitive_run(&shape, left, right, result))
            lab_products_lose();
        digest = digest_of(digest, rows * 128, result);
    }
    return digest;
}

static uint64_t compute_floats(void) {
    static const size_t shapes[][3] = {{1, 16, 256}, {2, 16, 2},   {3, 16, 256},  {15, 40, 33},
                                       {64, 1, 64},  {64, 64, 64}, {17, 33, 170}, {200, 250, 256}};
    static float left[MOST], right[MOST], result[MOST];
    const locus_random random = {7, LOCUS_RANDOM_USER, 0};
    for (size_t i = 0; i < MOST; ++i) {
        left[i] = (float)(2.0 * locus_random_uniform(&random, i) - 1.0);
        right[i] = (float)(2.0 * locus_random_uniform(&random, MOST + i) - 1.0);
    }
    uint64_t digest = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes * 8; ++i) {
        const size_t rows = shapes[i / 8][0], columns = shapes[i / 8][1], depth = shapes[i / 8][2];
        const bool left_transposed = i & 1, right_transposed = i & 2, keep = i & 4;
        lab_product_run(&(lab_product){.rows = rows,
                                       .columns = columns,
                                       .depth = depth,
                                       .left = left,
                                       .left_stride = left_transposed ? rows : depth,
                                       .left_transposed = left_transposed,
                                       .right = right,
                                       .right_stride = right_transposed ? depth : columns,
                                       .right_transposed = right_transposed,
                                       .result = result,
                                       .result_stride = columns,
                                       .keep = keep});
        digest = digest_of(digest, rows * columns, result);
    }
    return digest;
}

typedef uint64_t compute(void);

/* In a child, since what fails once fails for good. */
static outcome run(compute *products, long number, bool for_good) {
    *shared = (outcome){0};
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &no_core);
        for (int i = 1; i < NSIG; ++i)
            (void)signal(i, SIG_DFL); /* cmocka's handlers would tell of the crash as a test's */
        mappings = 0, failing = number, lasting = for_good;
        shared->digest = products();
        failing = 0;
        shared->mappings = mappings;
        _exit(lab_products_lost() || lab_products_without_code() ? TOLD : 0);
    }
    int state = 0;
    assert_true(child > 0 && waitpid(child, &state, 0) == child);
    shared->end = WIFSIGNALED(state) ? CRASHED : WEXITSTATUS(state);
    return *shared;
}

static void try_all(compute *products) {
    const outcome good = run(products, 0, false);
    long told = 0;
    assert_int_equal(good.end, 0);
    for (long number = 1; number <= good.mappings; ++number) {
        for (int all = 0; all < 2; ++all) {
            const outcome one = run(products, number, all);
            if (one.end == 0 && one.digest != good.digest)
                fail_msg("mapping %ld of %ld fails%s: other bits, and nobody is told", number, good.mappings,
                         all ? ", and all after it" : "");
            told += one.end != 0;
        }
    }
    printf("%ld mappings; of %ld faults %ld were noticed\n", good.mappings, 2 * good.mappings, told);
}

static void no_product_of_floats_has_other_bits(void **state) {
    (void)state;
    try_all(compute_floats);
}

/* Apart: where code fails for floats it fails here, too, and is told. */
static void no_product_of_halves_has_other_bits(void **state) {
    (void)state;
    try_all(compute_halves);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_product_of_floats_has_other_bits),
                                       cmocka_unit_test(no_product_of_halves_has_other_bits)};
    shared =
        (outcome *)syscall(SYS_mmap, NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0L);
    if (IS_SANITIZED) {
        printf("skipped: sanitizers map memory themselves\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
