/* SPDX-License-Identifier: MIT */
/* How algebraic cuts a head: names and shapes of its tensors, and what it refuses, with one line that says what would
 * do. */
#include "../property/encoding_rig.h"

static void expect_tensors(const char *spec, size_t heads, size_t dim, size_t count, const char *const *names,
                           const int64_t (*shapes)[4]) {
    locus_encoding *encoding = NULL;
    const locus_shape shape = rig_shape(heads, dim, 0, 0);
    size_t found = 0;
    rig_ok(locus_encoding_parse(spec, &encoding, error));
    rig_ok(locus_encoding_parameter_count(encoding, &shape, &found, error));
    assert_int_equal(found, count);
    for (size_t i = 0; i < count; i++) {
        locus_parameter parameter = {.size = sizeof parameter};
        rig_ok(locus_encoding_parameter(encoding, &shape, i, &parameter, error));
        assert_string_equal(parameter.name, names[i]);
        for (size_t j = 0; j < parameter.rank; j++)
            assert_int_equal(parameter.shape[j], shapes[i][j]);
    }
    locus_encoding_destroy(&encoding);
}

static void test_tensors(void **state) {
    (void)state;
    expect_tensors("algebraic(group=seq*tree:3*cycle:5)", 2, 12, 1, (const char *const[]){"generators"},
                   (const int64_t[][4]){{2, 5, 4, 4}});
    expect_tensors("algebraic(group=seq*tree:3*cycle:5, generator=angles, heads=shared)", 2, 12, 1,
                   (const char *const[]){"angles"}, (const int64_t[][4]){{1, 4, 2}});
    expect_tensors("algebraic(group=seq*tree:3*cycle:5, split=3:5:4, decay=learned:0.9)", 2, 12, 4,
                   (const char *const[]){"generators.0", "generators.1", "generators.2", "rate"},
                   (const int64_t[][4]){{2, 1, 3, 3}, {2, 3, 5, 5}, {2, 1, 4, 4}, {1}});
    expect_tensors("algebraic(group=seq*cycle:5*tree:2, generator=angles, split=2:4:6)", 2, 12, 2,
                   (const char *const[]){"angles.0", "angles.2"}, (const int64_t[][4]){{2, 1, 1}, {2, 2, 3}});
    expect_tensors("algebraic(group=grid:2, split=4:4)", 1, 8, 1, (const char *const[]){"generators"},
                   (const int64_t[][4]){{1, 2, 4, 4}}); /* equal after all */
    expect_tensors("algebraic(group=cycle:5, generator=angles)", 2, 4, 0, NULL, NULL);
    expect_tensors("algebraic(group=cycle:5, generator=angles, decay=learned:1)", 2, 4, 1,
                   (const char *const[]){"rate"}, (const int64_t[][4]){{1}});
    expect_tensors("algebraic(generator=fixed, decay=learned:0.5)", 2, 4, 1, (const char *const[]){"rate"},
                   (const int64_t[][4]){{1}});
    expect_tensors("mixed", 3, 8, 1, (const char *const[]){"frequencies"}, (const int64_t[][4]){{3, 2, 4}});
    expect_tensors("string(group=grid:3, heads=shared, decay=learned:0.5)", 3, 8, 3,
                   (const char *const[]){"basis", "frequencies", "rate"},
                   (const int64_t[][4]){{1, 8, 8}, {1, 3, 4}, {1}});
}

static void refuses(const char *spec, size_t heads, size_t dim, const char *says) {
    locus_encoding *encoding = NULL;
    locus_shape shape = rig_shape(heads, dim, 0, 0);
    locus_error failure = {0};
    size_t count = 99;
    rig_ok(locus_encoding_parse(spec, &encoding, error));
    assert_int_equal(locus_encoding_parameter_count(encoding, &shape, &count, &failure), LOCUS_ERROR_SHAPE);
    if (!strstr(failure.message, says))
        fail_msg("'%s' does not say '%s'", failure.message, says);
    assert_null(strchr(failure.message, '\n'));
    locus_encoding_destroy(&encoding);
}

static void test_refusals(void **state) {
    (void)state;
    refuses("algebraic(group=grid:3)", 2, 64, "head_dim=66, or split=22:21:21");
    refuses("algebraic(group=grid:3, generator=angles)", 2, 64, "split=22:22:20");
    refuses("algebraic(group=seq*cycle:6)", 2, 7, "split=3:4");
    refuses("algebraic(group=seq*cycle:6)", 2, 6, "example split=4:2");
    refuses("algebraic(group=cycle:6*cycle:5)", 2, 6, "split=4:2");
    refuses("algebraic(group=grid:5)", 2, 4, "only 4: give head_dim=10");
    refuses("algebraic(group=cycle:6)", 2, 7, "must be even, not 7");
    refuses("algebraic(generator=angles)", 2, 7, "generator=skew takes odd ones");
    refuses("algebraic(group=grid:2, split=4:2:2)", 2, 8, "split has 3 blocks, but 'grid:2' has 2 coordinates");
    refuses("algebraic(split=4:4)", 2, 8, "split has 2 blocks, but 'seq' has 1 coordinate:");
    refuses("algebraic(group=grid:2, split=4:6)", 2, 8, "add up to 10, but head_dim is 8");
    refuses("algebraic(group=grid:2, split=65536:9)", 2, 8, "add up to");
    refuses("algebraic(group=seq*cycle:6, split=4:3)", 2, 7, "block 1 of the head");
    refuses("algebraic(group=grid:2, generator=angles, split=3:5)", 2, 8, "block 0 of the head");
    refuses("algebraic(group=tree:1000000000)", 1, 2, "memory");
    refuses("algebraic(group=tree:9223372036854775807)", 8, 64, "memory");
    refuses("algebraic(group=tree:9223372036854775807*tree:9223372036854775807, split=3:5)", 65536, 8, "memory");
    refuses("algebraic(group=tree:100000000, generator=fixed)", 8, 64, "memory");
    refuses("mixed", 2, 7, "must be even");
    refuses("string(group=grid:3)", 2, 9, "must be even");
    refuses("mixed", 0, 8, "heads");
}

static void test_values_dim(void **state) {
    (void)state;
    const char *const specs[] = {"algebraic(group=grid:2, values=on)", "mixed(values=on)", "string(values=on)"};
    for (size_t i = 0; i < 3; i++) {
        locus_encoding *encoding = NULL;
        const locus_shape shape = rig_shape(2, 8, 6, 0);
        locus_error failure = {0};
        size_t count = 0;
        rig_ok(locus_encoding_parse(specs[i], &encoding, error));
        assert_int_equal(locus_encoding_parameter_count(encoding, &shape, &count, &failure), LOCUS_ERROR_SHAPE);
        assert_non_null(strstr(failure.message, "value_dim must be head_dim (8), not 6"));
        locus_encoding_destroy(&encoding);
    }
}

/* Values that no encoding can act with. */
static void test_bad_values(void **state) {
    (void)state;
    const struct {
        const char *spec, *says;
        size_t tensor;
    } cases[] = {{"algebraic(generator=householder)", "rows not 0", 0},
                 {"algebraic(group=grid:2, decay=learned:0.5)", "above 0", 1},
                 {"mixed(decay=learned:0.5)", "above 0", 1},
                 {"string(decay=learned:0.5)", "above 0", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r;
        locus_error failure = {0};
        rig_bind(&r, cases[i].spec, rig_shape(2, 4, 0, 0), 1);
        memset(r.values[cases[i].tensor].data, 0, rig_elements(&r.info[cases[i].tensor]) * sizeof(double));
        assert_int_equal(locus_binding_update(&r.binding, r.values, r.count, &failure), LOCUS_ERROR_NUMERIC);
        if (!strstr(failure.message, cases[i].says))
            fail_msg("'%s' does not say '%s'", failure.message, cases[i].says);
        rig_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tensors), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_values_dim), cmocka_unit_test(test_bad_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
