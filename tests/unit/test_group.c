/* SPDX-License-Identifier: MIT */
/* The group grammar: canonical texts, exact places of errors, limits, and garbage. */
#include "algebra/group_access.h"
#include "sanitized.h"
#include <ctype.h>
#include <locus/random.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_text(const char *text, const char *canonical) {
    locus_group *group = NULL;
    locus_error error = {0};
    char printed[256];
    if (locus_group_parse(text, &group, &error) != LOCUS_OK)
        fail_msg("'%s': %s", text, error.message);
    assert_int_equal(locus_group_text(group, printed, sizeof printed), strlen(canonical));
    assert_string_equal(printed, canonical);
    locus_group_destroy(&group);
    assert_null(group);
}

static void expect_error(const char *text, ptrdiff_t offset, ptrdiff_t length, const char *part) {
    locus_group *group = (locus_group *)(uintptr_t)1;
    locus_error error = {0};
    assert_int_equal(locus_group_parse(text, &group, &error), LOCUS_ERROR_SPEC);
    assert_null(group);
    assert_int_equal(error.status, LOCUS_ERROR_SPEC);
    if (error.offset != offset || error.length != length || !strstr(error.message, part))
        fail_msg("'%s': offset %td, length %td: %s", text, error.offset, error.length, error.message);
    assert_int_equal(locus_group_parse(text, &group, NULL), LOCUS_ERROR_SPEC);
}

static void groups_print_canonically(void **state) {
    (void)state;
    expect_text("seq", "seq");
    expect_text("  seq\t", "seq");
    expect_text("(((seq)))", "seq");
    expect_text("grid:1", "seq");
    expect_text("seq*seq", "grid:2");
    expect_text("seq * seq * seq", "grid:3");
    expect_text("grid:2*(seq*grid:3)", "grid:6");
    expect_text("seq*tree:2", "seq*tree:2");
    expect_text("seq*tree:2*seq", "seq*tree:2*seq");
    expect_text("seq*(seq*tree:2)", "grid:2*tree:2");
    expect_text("(grid:2*tree:2)*(seq*cycle:6)", "grid:2*tree:2*seq*cycle:6");
    expect_text("cycle:1", "cycle:1");
    expect_text("tree:1", "tree:1");
    expect_text("cycle:007", "cycle:7");
    expect_text("cycle:3*cycle:3", "cycle:3*cycle:3");
    expect_text("cycle:9223372036854775807", "cycle:9223372036854775807");
    expect_text("tree:9223372036854775807*grid:9223372036854775807",
                "tree:9223372036854775807*grid:9223372036854775807");
    expect_text("grid:9223372036854775806*seq", "grid:9223372036854775807");
}

static void errors_point_at_the_place(void **state) {
    (void)state;
    expect_error("", 0, 1, "ends too early");
    expect_error("   ", 3, 1, "ends too early");
    expect_error("sequence", 0, 8, "unexpected 'sequence'");
    expect_error("Seq", 0, 3, "seq, cycle:n, tree:k, grid:r");
    expect_error("seq:3", 3, 1, "unexpected ':'");
    expect_error("seq seq", 4, 3, "'*' or the end");
    expect_error("seq*", 4, 1, "ends too early");
    expect_error("seq* ", 5, 1, "ends too early");
    expect_error("*seq", 0, 1, "unexpected '*'");
    expect_error("seq**seq", 4, 1, "unexpected '*'");
    expect_error("seq*ring:4", 4, 4, "unexpected 'ring'");
    expect_error("cycle", 0, 5, "cycle:2, for example");
    expect_error("seq*tree*seq", 4, 4, "tree:2, for example");
    expect_error("cycle:", 6, 1, "a whole number from 1");
    expect_error("cycle:x", 6, 1, "unexpected 'x'");
    expect_error("cycle: 4", 6, 1, "a whole number from 1");
    expect_error("cycle:-4", 6, 2, "unexpected '-4'");
    expect_error("cycle:+4", 6, 2, "unexpected '+4'");
    expect_error("cycle:4.5", 7, 2, "unexpected '.5'");
    expect_error("cycle:4x", 7, 1, "'*' or the end");
    expect_error("cycle:0", 6, 1, "cycle:0");
    expect_error("seq*tree:000", 9, 3, "tree:0");
    expect_error("grid:0", 5, 1, "grid:0");
    expect_error("cycle:9223372036854775808", 6, 19, "64 bits");
    expect_error("tree:99999999999999999999999", 5, 23, "64 bits");
    expect_error("seq*grid:9223372036854775807", 4, 24, "64 bits");
    expect_error("(seq", 0, 1, "never closed");
    expect_error("seq*(tree:2*(seq)", 4, 1, "never closed");
    expect_error("((seq)", 0, 1, "never closed");
    expect_error("seq)", 3, 1, "unexpected ')'");
    expect_error("(seq))", 5, 1, "'*' or the end");
    expect_error("()", 1, 1, "unexpected ')'");
    expect_error("(seq seq)", 5, 3, "'*' or ')'");
    expect_error("seq,", 3, 1, "unexpected ','");
    expect_error("größe", 0, 7, "unexpected 'größe'");
}

static void arguments_are_checked(void **state) {
    (void)state;
    locus_group *group = (locus_group *)(uintptr_t)1;
    locus_error error = {0};
    assert_int_equal(locus_group_parse(NULL, &group, &error), LOCUS_ERROR_ARGUMENT);
    assert_null(group);
    assert_int_equal(error.offset, -1);
    assert_int_equal(locus_group_parse("seq", NULL, &error), LOCUS_ERROR_ARGUMENT);
    locus_group_destroy(NULL);
    locus_group_destroy(&group);
}

static char *nested(size_t depth) {
    char *text = malloc(2 * depth + 4);
    assert_non_null(text);
    memset(text, '(', depth);
    memcpy(text + depth, "seq", 3);
    memset(text + depth + 3, ')', depth);
    text[2 * depth + 3] = '\0';
    return text;
}

static void deep_nesting_is_refused_not_fatal(void **state) {
    (void)state;
    char *text = nested(1000);
    expect_text(text, "seq");
    free(text);
    text = nested(1001);
    expect_error(text, 1000, 1, "nested more than 1000 deep");
    free(text);
    text = nested(1000000);
    expect_error(text, 1000, 1, "nested more than 1000 deep");
    free(text);
}

static void long_products_are_whole(void **state) {
    (void)state;
    enum { factors = SANITIZED(2000, 20000) }; /* a sanitizer reads what is left of the text at each */
    char *text = malloc(factors * 12), *printed = malloc(factors * 12), *at = text;
    assert_true(text && printed);
    for (int i = 0; i < factors; i++)
        at += sprintf(at, "%s%s:%d", i ? "*" : "", i % 2 ? "tree" : "cycle", i + 1);
    locus_group *group;
    assert_int_equal(locus_group_parse(text, &group, NULL), LOCUS_OK);
    assert_int_equal(locus_group_factor_count(group), factors);
    assert_int_equal(locus_group_text(group, printed, factors * 12), strlen(text));
    assert_string_equal(printed, text);
    locus_group_destroy(&group);
    free(text);
    free(printed);
}

static void text_is_cut_to_its_buffer(void **state) {
    (void)state;
    const char *whole = "grid:2*tree:31*cycle:4";
    locus_group *group;
    assert_int_equal(locus_group_parse(whole, &group, NULL), LOCUS_OK);
    for (size_t size = 0; size < 40; size++) {
        char text[40];
        memset(text, '#', sizeof text);
        assert_int_equal(locus_group_text(group, text, size), strlen(whole));
        size_t kept = size == 0 ? 0 : size - 1 < strlen(whole) ? size - 1 : strlen(whole);
        assert_memory_equal(text, whole, kept);
        if (size > 0)
            assert_int_equal(text[kept], '\0');
        for (size_t i = size; i < sizeof text; i++)
            assert_int_equal(text[i], '#');
    }
    assert_int_equal(locus_group_text(group, NULL, 0), strlen(whole));
    locus_group_destroy(&group);
}

static void factors_can_be_read(void **state) {
    (void)state;
    locus_group *group;
    assert_int_equal(locus_group_parse("seq*seq*tree:3*cycle:6", &group, NULL), LOCUS_OK);
    assert_int_equal(locus_group_factor_count(group), 3);
    const locus_group_factor want[] = {{LOCUS_FACTOR_GRID, 2}, {LOCUS_FACTOR_TREE, 3}, {LOCUS_FACTOR_CYCLE, 6}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(locus_group_factor_at(group, i).kind, want[i].kind);
        assert_int_equal(locus_group_factor_at(group, i).size, want[i].size);
    }
    assert_false(locus_group_equal(group, NULL));
    locus_group_destroy(&group);
    assert_true(locus_group_equal(NULL, locus_group_sequence()));
    assert_int_equal(locus_group_parse("(grid:1)", &group, NULL), LOCUS_OK);
    assert_true(locus_group_equal(group, NULL));
    locus_group_destroy(&group);
}

/* ---- properties ---- */

static const locus_random stream = {.seed = 1, .purpose = LOCUS_RANDOM_USER};
static uint64_t drawn;

static uint64_t below(uint64_t bound) {
    return locus_random_below(&stream, drawn++, bound);
}

static void put(char **at, const char *text) {
    size_t length = strlen(text);
    memcpy(*at, text, length + 1);
    *at += length;
}

/* A random group with its spaces and parentheses, and beside it the list of factors that a reader would write down. */
static void random_group(char **text, char **plain, int depth) {
    size_t factors = 1 + below(3);
    for (size_t i = 0; i < factors; i++) {
        if (i > 0) {
            put(text, below(3) ? "*" : " * ");
            put(plain, "*");
        }
        if (depth > 0 && below(3) == 0) {
            put(text, "( ");
            random_group(text, plain, depth - 1);
            put(text, ")");
            continue;
        }
        char factor[32];
        const char *const names[] = {"seq", "cycle", "tree", "grid"};
        size_t name = below(4);
        if (name == 0)
            snprintf(factor, sizeof factor, "seq");
        else
            snprintf(factor, sizeof factor, "%s:%u", names[name], (unsigned)(1 + below(name == 3 ? 4 : 100)));
        put(text, factor);
        put(plain, factor);
    }
}

/* The naive canonical form: grids written out as seq*…*seq, runs counted. */
static void naive_canonical(const char *plain, char *canonical) {
    unsigned axes = 0;
    char *at = canonical, copy[4096], *rest = copy;
    strcpy(copy, plain);
    strcat(copy, "*");
    for (char *end; *rest; rest = end + 1) {
        end = strchr(rest, '*');
        *end = '\0';
        bool grid = strncmp(rest, "grid:", 5) == 0, seq = strcmp(rest, "seq") == 0, last = end[1] == '\0';
        axes += seq ? 1 : grid ? (unsigned)atoi(rest + 5) : 0;
        if (axes > 0 && (last || !(seq || grid))) {
            at += axes == 1 ? sprintf(at, "%sseq", at > canonical ? "*" : "")
                            : sprintf(at, "%sgrid:%u", at > canonical ? "*" : "", axes);
            axes = 0;
        }
        if (!seq && !grid)
            at += sprintf(at, "%s%s", at > canonical ? "*" : "", rest);
    }
}

static void random_groups_parse_and_print(void **state) {
    (void)state;
    for (int i = 0; i < 3000; i++) {
        char text[4096] = "", plain[4096] = "", canonical[4096] = "", *a = text, *b = plain;
        random_group(&a, &b, 3);
        naive_canonical(plain, canonical);
        expect_text(text, canonical);
        expect_text(canonical, canonical);
    }
}

static void check_garbage(const char *text, size_t length) {
    locus_group *group;
    locus_error error = {0};
    locus_status status = locus_group_parse(text, &group, &error);
    if (status == LOCUS_OK) {
        assert_non_null(group);
        locus_group_destroy(&group);
        return;
    }
    assert_int_equal(status, LOCUS_ERROR_SPEC);
    assert_null(group);
    assert_true(error.offset >= 0 && error.length >= 1);
    assert_true((size_t)error.offset + (size_t)error.length <= length + 1); /* the end may be to blame */
    assert_true(strlen(error.message) > 10);
    for (const char *c = error.message; *c; c++)
        assert_false(iscntrl((unsigned char)*c));
}

/* Garbage of three sorts: any bytes, pieces of the grammar, and a good text with one byte changed. */
static void garbage_is_refused_with_a_place(void **state) {
    (void)state;
    const char *const pieces[] = {"seq", "cycle:", "tree:2",      "grid:", "*", "(",  ")", ":", " ",
                                  "0",   "12",     "99999999999", "-",     "x", "\n", "é", ",", "="};
    size_t parsed = 0;
    for (int i = 0; i < 20000; i++) {
        char text[256] = "", *at = text;
        if (i % 3 == 0)
            for (uint64_t n = below(40); n > 0; n--)
                *at++ = (char)(1 + below(255));
        else if (i % 3 == 1)
            for (uint64_t n = below(12); n > 0; n--)
                put(&at, pieces[below(sizeof pieces / sizeof *pieces)]);
        else {
            strcpy(text, "grid:2*(tree:12*cycle:5)*seq");
            text[below(strlen(text))] = (char)(1 + below(255));
        }
        check_garbage(text, strlen(text));
        locus_group *group;
        if (locus_group_parse(text, &group, NULL) == LOCUS_OK)
            parsed++;
        locus_group_destroy(&group);
    }
    assert_true(parsed > 100); /* the garbage is not so bad that only refusals are tested */
}

/* ---- coordinates, equality, shares ---- */

static locus_group *parse(const char *text) {
    locus_group *group;
    assert_int_equal(locus_group_parse(text, &group, NULL), LOCUS_OK);
    return group;
}

static void coordinates_stand_from_left_to_right(void **state) {
    (void)state;
    const locus_coordinate want[] = {{LOCUS_COORDINATE_AXIS, 0, 0}, {LOCUS_COORDINATE_AXIS, 0, 0},
                                     {LOCUS_COORDINATE_TREE, 7, 1}, {LOCUS_COORDINATE_CYCLE, 6, 2},
                                     {LOCUS_COORDINATE_AXIS, 0, 3}, {LOCUS_COORDINATE_AXIS, 0, 3},
                                     {LOCUS_COORDINATE_AXIS, 0, 3}, {LOCUS_COORDINATE_CYCLE, 9, 4}};
    locus_group *group = parse("seq*seq*(tree:7*cycle:6)*grid:3*cycle:9");
    assert_int_equal(locus_group_coordinates(group), 8);
    for (size_t i = 0; i < 8; i++) {
        locus_coordinate coordinate = locus_group_coordinate(group, i);
        assert_int_equal(coordinate.kind, want[i].kind);
        assert_int_equal(coordinate.size, want[i].size);
        assert_int_equal(coordinate.factor, want[i].factor);
    }
    assert_true(locus_group_has_tree(group));
    locus_group_destroy(&group);
    assert_int_equal(locus_group_coordinates(NULL), 1);
    assert_int_equal(locus_group_coordinate(NULL, 0).kind, LOCUS_COORDINATE_AXIS);
    assert_false(locus_group_has_tree(NULL));
}

static void expect_coordinates(const char *text, size_t coordinates, locus_status status) {
    locus_group *group = parse(text);
    locus_error error = {0};
    assert_true(locus_group_coordinates(group) == coordinates);
    assert_int_equal(locus_group_check_size(group, &error), status);
    locus_group_destroy(&group);
}

static void absurdly_many_axes_are_counted_as_such(void **state) {
    (void)state;
    expect_coordinates("grid:2147483648", (size_t)1 << 31, LOCUS_OK);
    expect_coordinates("grid:2147483649", SIZE_MAX, LOCUS_ERROR_UNSUPPORTED);
    expect_coordinates("grid:2147483648*cycle:2", SIZE_MAX, LOCUS_ERROR_UNSUPPORTED);
    expect_coordinates("grid:2147483647*cycle:2", (size_t)1 << 31, LOCUS_OK);
    expect_coordinates("cycle:2*grid:9223372036854775807*tree:1*grid:9223372036854775807", SIZE_MAX,
                       LOCUS_ERROR_UNSUPPORTED);
}

static void equality_is_of_the_canonical_form(void **state) {
    (void)state;
    const char *const same[][2] = {
        {"seq*seq", "grid:2"}, {"(seq*(grid:2))*tree:2", "grid:3*tree:2"}, {"cycle:3*cycle:4", "(cycle:3)*(cycle:4)"}};
    const char *const different[][2] = {
        {"seq", "tree:1"}, {"cycle:3*cycle:4", "cycle:4*cycle:3"}, {"seq*tree:2", "seq*tree:2*seq"}, {"grid:2", "seq"}};
    for (size_t i = 0; i < 3; i++) {
        locus_group *a = parse(same[i][0]), *b = parse(same[i][1]);
        assert_true(locus_group_equal(a, b) && locus_group_equal(b, a));
        locus_group_destroy(&a);
        locus_group_destroy(&b);
    }
    for (size_t i = 0; i < 4; i++) {
        locus_group *a = parse(different[i][0]), *b = parse(different[i][1]);
        assert_false(locus_group_equal(a, b) || locus_group_equal(b, a));
        locus_group_destroy(&a);
        locus_group_destroy(&b);
    }
    locus_group *one = parse("grid:1");
    assert_true(locus_group_equal(NULL, one) && locus_group_equal(one, NULL) && locus_group_equal(NULL, NULL));
    locus_group_destroy(&one);
}

static void shares_live_on(void **state) {
    (void)state;
    locus_group *group = parse("tree:5"), *shared = locus_group_retain(group);
    assert_ptr_equal(group, shared);
    locus_group_destroy(&group);
    assert_int_equal(locus_group_coordinate(shared, 0).size, 5); /* the address sanitizer watches */
    locus_group_destroy(&shared);
    for (int i = 0; i < 3; i++) {
        locus_group *sequence = locus_group_retain(NULL);
        assert_ptr_equal(sequence, locus_group_sequence());
        locus_group_destroy(&sequence);
        assert_null(sequence);
    }
    assert_true(locus_group_equal(locus_group_sequence(), NULL));
    char text[8];
    assert_int_equal(locus_group_text(NULL, text, sizeof text), 3);
    assert_string_equal(text, "seq");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_print_canonically),
        cmocka_unit_test(errors_point_at_the_place),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(deep_nesting_is_refused_not_fatal),
        cmocka_unit_test(long_products_are_whole),
        cmocka_unit_test(text_is_cut_to_its_buffer),
        cmocka_unit_test(factors_can_be_read),
        cmocka_unit_test(random_groups_parse_and_print),
        cmocka_unit_test(garbage_is_refused_with_a_place),
        cmocka_unit_test(coordinates_stand_from_left_to_right),
        cmocka_unit_test(absurdly_many_axes_are_counted_as_such),
        cmocka_unit_test(equality_is_of_the_canonical_form),
        cmocka_unit_test(shares_live_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
