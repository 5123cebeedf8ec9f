/* SPDX-License-Identifier: MIT */
/* Packed positions: what is kept, and everything that is refused. */
#include "algebra/positions_access.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MOST ((int64_t)1 << 40)

static void expect_failure(const locus_group *group, const locus_packing *packing, const int64_t *values,
                           locus_status status, const char *part) {
    locus_positions *positions = (locus_positions *)(uintptr_t)1;
    locus_error error = {0};
    assert_int_equal(locus_positions_create(&positions, group, packing, values, &error), status);
    assert_null(positions);
    assert_int_equal(error.status, status);
    if (!strstr(error.message, part))
        fail_msg("expected '%s' in: %s", part, error.message);
    assert_int_equal(locus_positions_create(&positions, group, packing, values, NULL), status);
}

static void counted_positions_start_afresh_in_each_sequence(void **state) {
    (void)state;
    const size_t offsets[] = {0, 3, 3, 5, 9};
    locus_positions *p;
    assert_int_equal(locus_positions_create(&p, NULL, &(locus_packing){4, offsets, NULL}, NULL, NULL), LOCUS_OK);
    const int64_t want[] = {0, 1, 2, 0, 1, 0, 1, 2, 3};
    assert_int_equal(locus_positions_tokens(p), 9);
    assert_int_equal(locus_positions_sequences(p), 4);
    assert_memory_equal(locus_positions_values(p), want, sizeof want);
    assert_int_equal(locus_positions_minimum(p), 0);
    assert_int_equal(locus_positions_maximum(p), 3);
    for (size_t s = 0; s < 4; s++) {
        locus_positions_run run = locus_positions_sequence(p, s);
        assert_int_equal(run.first, offsets[s]);
        assert_int_equal(run.count, offsets[s + 1] - offsets[s]);
        assert_true(run.consecutive);
    }
    locus_positions_destroy(&p);
    assert_null(p);
}

static void gaps_are_neither_read_nor_counted(void **state) {
    (void)state;
    const size_t offsets[] = {1, 4, 8}, lengths[] = {2, 3};
    const int64_t values[] = {INT64_MAX, -5, MOST, INT64_MIN, 7, 8, 9, INT64_MAX},
                  want[] = {0, -5, MOST, 0, 7, 8, 9, 0};
    locus_positions *p;
    assert_int_equal(locus_positions_create(&p, NULL, &(locus_packing){2, offsets, lengths}, values, NULL), LOCUS_OK);
    assert_int_equal(locus_positions_tokens(p), 8);
    assert_memory_equal(locus_positions_values(p), want, sizeof want);
    assert_int_equal(locus_positions_minimum(p), -5);
    assert_true(locus_positions_maximum(p) == MOST);
    assert_false(locus_positions_sequence(p, 0).consecutive);
    assert_true(locus_positions_sequence(p, 1).consecutive);
    assert_int_equal(locus_positions_sequence(p, 1).first, 4);
    assert_int_equal(locus_positions_sequence(p, 1).count, 3);
    locus_positions_destroy(&p);
}

static void empty_batches_are_fine(void **state) {
    (void)state;
    const size_t none[] = {0}, gap[] = {5}, empty[] = {0, 0, 0};
    const locus_packing packings[] = {{0, none, NULL}, {0, gap, NULL}, {2, empty, NULL}};
    for (size_t i = 0; i < 3; i++) {
        locus_positions *p;
        assert_int_equal(locus_positions_create(&p, NULL, &packings[i], NULL, NULL), LOCUS_OK);
        assert_int_equal(locus_positions_tokens(p), i == 1 ? 5 : 0);
        assert_int_equal(locus_positions_minimum(p), 0);
        assert_int_equal(locus_positions_maximum(p), 0);
        locus_positions_destroy(&p);
    }
}

static void values_are_copied(void **state) {
    (void)state;
    size_t offsets[] = {0, 2};
    int64_t values[] = {-MOST, 4};
    locus_positions *p;
    assert_int_equal(locus_positions_create(&p, NULL, &(locus_packing){1, offsets, NULL}, values, NULL), LOCUS_OK);
    values[0] = values[1] = 99;
    offsets[0] = offsets[1] = 99;
    assert_true(locus_positions_values(p)[0] == -MOST);
    assert_int_equal(locus_positions_values(p)[1], 4);
    assert_int_equal(locus_positions_sequence(p, 0).count, 2);
    locus_positions_destroy(&p);
}

static void shared_positions_outlive_their_maker(void **state) {
    (void)state;
    const size_t offsets[] = {0, 3};
    locus_positions *p;
    assert_int_equal(locus_positions_create(&p, NULL, &(locus_packing){1, offsets, NULL}, NULL, NULL), LOCUS_OK);
    locus_positions *shared = locus_positions_share(p);
    assert_ptr_equal(shared, p);
    locus_positions_destroy(&p);
    assert_int_equal(locus_positions_values(shared)[2], 2); /* the address sanitizer watches */
    locus_positions_destroy(&shared);
    locus_positions_destroy(&shared);
    locus_positions_destroy(NULL);
}

static void bad_packings_are_refused(void **state) {
    (void)state;
    const size_t falling[] = {0, 4, 3}, good[] = {0, 4, 6}, long_first[] = {5, 2}, huge[] = {0, SIZE_MAX}, *none = NULL;
    locus_positions *p;
    assert_int_equal(locus_positions_create(NULL, NULL, &(locus_packing){2, good, NULL}, NULL, NULL),
                     LOCUS_ERROR_ARGUMENT);
    expect_failure(NULL, NULL, NULL, LOCUS_ERROR_ARGUMENT, "packing is NULL");
    expect_failure(NULL, &(locus_packing){1, none, NULL}, NULL, LOCUS_ERROR_ARGUMENT, "offsets that are NULL");
    expect_failure(NULL, &(locus_packing){2, falling, NULL}, NULL, LOCUS_ERROR_ARGUMENT, "offsets[2] = 3");
    expect_failure(NULL, &(locus_packing){2, good, long_first}, NULL, LOCUS_ERROR_ARGUMENT, "lengths[0] = 5");
    expect_failure(NULL, &(locus_packing){SIZE_MAX, good, NULL}, NULL, LOCUS_ERROR_ARGUMENT,
                   "more than memory can hold");
    expect_failure(NULL, &(locus_packing){1, huge, NULL}, NULL, LOCUS_ERROR_MEMORY, "out of memory");
    assert_int_equal(locus_positions_create(&p, NULL, &(locus_packing){2, good, NULL}, NULL, NULL), LOCUS_OK);
    locus_positions_destroy(&p);
}

static void positions_out_of_range_are_named(void **state) {
    (void)state;
    const size_t offsets[] = {0, 2, 4};
    const int64_t bad[] = {MOST + 1, -MOST - 1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 4; i++) {
        int64_t values[] = {0, 1, 0, bad[i]};
        char part[64];
        snprintf(part, sizeof part, "position %lld of token 3 (sequence 1)", (long long)bad[i]);
        expect_failure(NULL, &(locus_packing){2, offsets, NULL}, values, LOCUS_ERROR_POSITION, part);
    }
}

static void other_groups_are_not_supported_yet(void **state) {
    (void)state;
    const size_t offsets[] = {0, 2};
    const locus_packing packing = {1, offsets, NULL};
    const char *const others[] = {"seq*seq", "cycle:4", "tree:1", "grid:2*tree:2"};
    const char *const shown[] = {"'grid:2'", "'cycle:4'", "'tree:1'", "'grid:2*tree:2'"};
    locus_group *group;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(locus_group_parse(others[i], &group, NULL), LOCUS_OK);
        expect_failure(group, &packing, NULL, LOCUS_ERROR_UNSUPPORTED, shown[i]);
        locus_group_destroy(&group);
    }
    assert_int_equal(locus_group_parse("(grid:1)", &group, NULL), LOCUS_OK);
    locus_positions *p;
    assert_int_equal(locus_positions_create(&p, group, &packing, NULL, NULL), LOCUS_OK);
    locus_group_destroy(&group);
    assert_int_equal(locus_positions_values(p)[1], 1);
    locus_positions_destroy(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_positions_start_afresh_in_each_sequence),
        cmocka_unit_test(gaps_are_neither_read_nor_counted),
        cmocka_unit_test(empty_batches_are_fine),
        cmocka_unit_test(values_are_copied),
        cmocka_unit_test(shared_positions_outlive_their_maker),
        cmocka_unit_test(bad_packings_are_refused),
        cmocka_unit_test(positions_out_of_range_are_named),
        cmocka_unit_test(other_groups_are_not_supported_yet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
