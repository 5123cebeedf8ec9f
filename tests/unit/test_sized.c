/* SPDX-License-Identifier: MIT */
/* Structs that carry their size, from callers that know fewer or more fields than the library, or filled in nothing. */
#include "core/sized.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What the library knows, and what callers of its first and of its next version do. */
typedef struct own_options {
    size_t size;
    double first;
    int32_t second, third;
} own_options;

typedef struct old_options {
    size_t size;
    double first;
} old_options;

typedef struct new_options {
    own_options own;
    void *fourth, *fifth;
} new_options;

static const locus_sized kind = {sizeof(own_options), sizeof(old_options), "options"};
static const own_options defaults = {sizeof(own_options), 1, 2, 3};

/* Read from a block of its own, so that a sanitizer sees what lies beyond it. */
static locus_status read_from(const void *given, size_t bytes, own_options *own, locus_error *error) {
    void *block = malloc(bytes);
    assert_non_null(block);
    memcpy(block, given, bytes);
    *own = defaults;
    const locus_status status = locus_sized_read(own, &kind, block, error);
    free(block);
    return status;
}

static void same(const own_options *a, const own_options *b) {
    assert_memory_equal(a, b, sizeof *a);
}

static void none_and_the_same_version(void **state) {
    const own_options given = {sizeof given, 4, 5, 6};
    own_options own = defaults;
    (void)state;
    assert_int_equal(locus_sized_read(&own, &kind, NULL, NULL), LOCUS_OK);
    same(&own, &defaults);
    assert_int_equal(read_from(&given, sizeof given, &own, NULL), LOCUS_OK);
    same(&own, &given);
}

static void an_older_caller_gets_defaults(void **state) {
    const old_options given = {sizeof given, 4};
    own_options own;
    (void)state;
    assert_int_equal(read_from(&given, sizeof given, &own, NULL), LOCUS_OK);
    same(&own, &(own_options){sizeof own, 4, 2, 3});
}

static void a_newer_caller_is_understood_or_refused(void **state) {
    new_options given = {{sizeof given, 4, 5, 6}, NULL, NULL};
    locus_error error;
    own_options own;
    (void)state;
    assert_int_equal(read_from(&given, sizeof given, &own, NULL), LOCUS_OK);
    same(&own, &(own_options){sizeof own, 4, 5, 6});
    given.fifth = &given;
    assert_int_equal(read_from(&given, sizeof given, &own, &error), LOCUS_ERROR_UNSUPPORTED);
    assert_string_equal(error.argument, "options");
    assert_non_null(strstr(error.message, "newer version"));
    assert_null(strchr(error.message, '\n'));
    same(&own, &defaults);
}

static void sizes_that_no_version_has(void **state) {
    const size_t sizes[] = {0, 1, sizeof(size_t), sizeof(old_options) - 1, 4097, SIZE_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        locus_error error;
        own_options own;
        assert_int_equal(read_from(&sizes[i], sizeof sizes[i], &own, &error), LOCUS_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "options.size is"));
        assert_null(strchr(error.message, '\n'));
        same(&own, &defaults);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_and_the_same_version),
        cmocka_unit_test(an_older_caller_gets_defaults),
        cmocka_unit_test(a_newer_caller_is_understood_or_refused),
        cmocka_unit_test(sizes_that_no_version_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
