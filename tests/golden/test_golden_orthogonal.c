/* SPDX-License-Identifier: MIT */
/* Orthogonal parametrisations and gradients of powers against PyTorch's autograd (tools/golden_orthogonal.py), and the
 * bits of many of them: a training needs hundreds of steps to show that a last bit of an operator became another. */
#include "unit/power_tokens.h"

#include <inttypes.h>
#include <locus/random.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "golden.h"

static const double *values(const golden_file *golden, size_t index, const char *key) {
    return golden_array(golden, index, key)->data;
}

static void compare(size_t index, const char *what, size_t count, const double *got, const double *want,
                    double allowed) {
    for (size_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= allowed))
            fail_msg("case %zu, %s[%zu]: %.17g, PyTorch says %.17g", index, what, i, got[i], want[i]);
}

static void check_case(const golden_file *golden, size_t index) {
    locus_orthogonal_kind kind = (locus_orthogonal_kind)strtoul(golden_text(golden, index, "kind"), NULL, 10);
    const lab_array *x = golden_array(golden, index, "x");
    size_t count = (size_t)x->shape[0], n = (size_t)x->shape[1];
    const double *A = values(golden, index, "A"), *C = values(golden, index, "C");
    double *W = case_numbers(n * n), *G = case_numbers(n * n), *work = case_numbers(locus_orthogonal_work(n));
    assert_int_equal(locus_orthogonal_make(kind, n, A, W, work), LOCUS_OK);
    compare(index, "W", n * n, W, values(golden, index, "W"), 1e-13);
    assert_int_equal(locus_orthogonal_backward(kind, n, A, C, G, work), LOCUS_OK);
    compare(index, "G", n * n, G, values(golden, index, "G"), 1e-13 * (1.0 + case_size(n * n, C)));

    power_tokens t = power_tokens_create(n, count, 1.0);
    memcpy(t.p, values(golden, index, "p"), count * sizeof(double));
    memcpy(t.x, x->data, count * n * sizeof(double));
    memcpy(t.g, values(golden, index, "g"), count * n * sizeof(double));
    power_tokens_gradient(kind, A, &t, 0.1, WHOLE, W, G);
    compare(index, "power", n * n, G, values(golden, index, "power"), 1e-13 * (1.0 + power_tokens_size(&t)));
    power_tokens_free(&t);
    free(W);
    free(G);
    free(work);
}

static void parametrisations_agree_with_pytorch(void **state) {
    (void)state;
    golden_file golden;
    golden_open(&golden, "orthogonal");
    assert_int_equal(golden.count, 36);
    for (size_t i = 0; i < golden.count; i++)
        check_case(&golden, i);
    golden_close(&golden);
}

/* ---- bits ---- */

static uint64_t add_bits(uint64_t digest, const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        digest = (digest ^ bits) * 0x100000001b3u;
        digest ^= digest >> 29;
    }
    return digest;
}

/* Operators of random parameters and gradients through them, `draws` of each kind and size. */
static uint64_t digest_of_operators(size_t draws) {
    static const locus_orthogonal_kind kinds[] = {LOCUS_ORTHOGONAL_SKEW, LOCUS_ORTHOGONAL_CAYLEY,
                                                  LOCUS_ORTHOGONAL_HOUSEHOLDER};
    const locus_random random = {.seed = 7};
    uint64_t digest = 0xcbf29ce484222325u, drawn = 0;
    for (size_t n = 4; n <= 16; n += 4) {
        double *A = case_numbers(n * n), *C = case_numbers(n * n), *W = case_numbers(n * n), *G = case_numbers(n * n);
        double *work = case_numbers(locus_orthogonal_work(n));
        for (size_t k = 0; k < 3 * draws; k++) {
            for (size_t i = 0; i < n * n; i++) {
                A[i] = 2 * locus_random_uniform(&random, drawn++) - 1;
                C[i] = 2 * locus_random_uniform(&random, drawn++) - 1;
            }
            assert_int_equal(locus_orthogonal_make(kinds[k % 3], n, A, W, work), LOCUS_OK);
            assert_int_equal(locus_orthogonal_backward(kinds[k % 3], n, A, C, G, work), LOCUS_OK);
            digest = add_bits(add_bits(digest, W, n * n), G, n * n);
        }
        free(A);
        free(C);
        free(W);
        free(G);
        free(work);
    }
    return digest;
}

/* They depend on the program and on the C library's sine, cosine and exponential, and on nothing else. */
static void operators_keep_their_bits(void **state) {
    (void)state;
    static const struct {
        const char *library;
        uint64_t digest;
    } recorded[] = {{"glibc 2.36", 0x330c60bfd8fe0713}};
    char library[64] = "another C library";
#ifdef _CS_GNU_LIBC_VERSION
    (void)confstr(_CS_GNU_LIBC_VERSION, library, sizeof library);
#endif
    const uint64_t digest = digest_of_operators(500);
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        if (strcmp(library, recorded[i].library) != 0)
            continue;
        if (digest != recorded[i].digest) {
            fail_msg(
                "learned operators have other bits than recorded with %s: %016" PRIx64 ". If that is meant, raise "
                "LAB_NUMERICS (lab/train/configuration/train_config.h), say in CHANGELOG.md which recorded results "
                "it touches, and put this number in the place of the other",
                library, digest);
        }
        return;
    }
    printf("nobody has recorded the bits of operators with %s: %016" PRIx64 "\n", library, digest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parametrisations_agree_with_pytorch),
        cmocka_unit_test(operators_keep_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
