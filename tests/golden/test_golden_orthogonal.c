/* SPDX-License-Identifier: MIT */
/* Orthogonal parametrisations and gradients of powers against PyTorch's autograd (tools/golden_orthogonal.py). */
#include "unit/power_tokens.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parametrisations_agree_with_pytorch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
