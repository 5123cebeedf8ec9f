/* SPDX-License-Identifier: MIT */
/* Terms that are dropped from an encoding take their parameters with them, and the others keep their own: each value
 * is told apart from every other by what it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bound/acting.h"

/* All parameters, filled with their tensor's number times 100 and their place. */
static void open_filled(lab_bound *encoding, const char *spec) {
    assert_int_equal(lab_bound_parse(encoding, spec, NULL), LOCUS_OK);
    encoding->shape = (locus_shape){.heads = 2, .head_dim = 4, .model_dim = 8};
    encoding->length = 6;
    assert_int_equal(lab_bound_list(encoding, NULL), LOCUS_OK);
    for (size_t i = 0; i < encoding->count; i++) {
        double *values = encoding->values[i].data;
        for (size_t j = 0; j < locus_tensor_count(&encoding->values[i]); j++)
            values[j] = 100.0 * (double)(i + 1) + (double)j;
    }
    assert_int_equal(lab_bound_bind(encoding, NULL), LOCUS_OK);
}

/* Which tensor of the whole encoding each of the kept ones is, and all of its values. */
static void expect(const lab_bound *kept, const lab_bound *all, const char *const *names, size_t count) {
    assert_int_equal(kept->count, count);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < all->count && strcmp(all->infos[at].name, names[i]) != 0)
            at++;
        if (at == all->count) {
            char have[256] = "";
            for (size_t k = 0; k < all->count; k++) {
                strncat(have, " ", sizeof have - strlen(have) - 1);
                strncat(have, all->infos[k].name, sizeof have - strlen(have) - 1);
            }
            fail_msg("the encoding has no parameter '%s':%s", names[i], have);
        }
        const size_t values = locus_tensor_count(&all->values[at]);
        assert_int_equal(locus_tensor_count(&kept->values[i]), values);
        for (size_t j = 0; j < values; j++) {
            const double found = ((const double *)kept->values[i].data)[j];
            if (found != 100.0 * (double)(at + 1) + (double)j)
                fail_msg("%s, value %zu: %g", names[i], j, found);
        }
    }
}

typedef locus_status open_function(lab_bound *acting, const lab_bound *whole, locus_error *error);

static void check(const char *spec, open_function *open, const char *const *names, size_t count) {
    lab_bound all, kept;
    open_filled(&all, spec);
    assert_int_equal(open(&kept, &all, NULL), LOCUS_OK);
    expect(&kept, &all, names, count);
    lab_bound_close(&kept);
    lab_bound_close(&all);
}

#define CHECK(spec, open, ...) \
    do { \
        static const char *const names[] = {__VA_ARGS__}; \
        check(spec, open, names, sizeof names / sizeof *names); \
    } while (0)

static void biases(void **state) {
    (void)state;
    CHECK("learned(size=6) + t5 + rope(learned=on) + kerple", lab_acting_scores, "1.bias", "3.a", "3.b");
    CHECK("rope(learned=on) + kerple + t5", lab_acting_scores, "1.a", "1.b", "2.bias");
    CHECK("kerple", lab_acting_scores, "a", "b");
}

static void operators(void **state) {
    (void)state;
    CHECK("learned(size=6) + rope(learned=on)", lab_acting_open, "1.frequencies");
    CHECK("learned(size=6) + kerple + rope(learned=on) + t5", lab_acting_open, "1.a", "1.b", "2.frequencies", "3.bias");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(biases),
        cmocka_unit_test(operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
