/* SPDX-License-Identifier: MIT */
/* What is timed in process: times are there and in order, what cannot be timed says why, and of either nothing stays
 * behind (address sanitizer). */
#include "bench/bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const lab_bench two_heads = {.shape = {.model_dim = 16, .heads = 2, .head_dim = 8}, .least = 1};

static void test_attention(void **state) {
    (void)state;
    lab_timing timings[2] = {{0}};
    size_t workspace = 0;
    locus_error error = {0};
    if (lab_bench_attention(&two_heads, "rope", 48, timings, &workspace, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    for (size_t pass = 0; pass < 2; pass++)
        assert_true(timings[pass].best > 0 && timings[pass].median >= timings[pass].best);
    assert_true(workspace > 0);
}

/* A table of 16 rows has none for token 16. */
static void test_refused(void **state) {
    (void)state;
    static const char *const specs[] = {"nosuch", "learned(size=16)"};
    static const char *const says[] = {"nosuch", "16"};
    for (size_t i = 0; i < 2; i++) {
        lab_timing timings[2];
        size_t workspace;
        locus_error error = {0};
        assert_int_not_equal(lab_bench_check(&two_heads, specs[i], 17, &error), LOCUS_OK);
        assert_non_null(strstr(error.message, says[i]));
        assert_int_not_equal(lab_bench_attention(&two_heads, specs[i], 17, timings, &workspace, &error), LOCUS_OK);
    }
    assert_int_equal(lab_bench_check(&two_heads, specs[1], 16, NULL), LOCUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_attention), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
