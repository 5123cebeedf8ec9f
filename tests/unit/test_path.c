/* SPDX-License-Identifier: MIT */
/* Paths: literal results, texts as they are read and printed, every refusal with its place, the edges of 64 bits. */
#include "algebra/path_access.h"
#include <ctype.h>
#include <locus/random.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOWEST "-9223372036854775808"
#define HIGHEST "9223372036854775807"

static locus_group *group_of(const char *text) {
    locus_group *group;
    locus_error error = {0};
    if (locus_group_parse(text, &group, &error) != LOCUS_OK)
        fail_msg("'%s': %s", text, error.message);
    return group;
}

static locus_path *path_of(const char *group_text, const char *text) {
    locus_group *group = group_of(group_text);
    locus_path *path;
    locus_error error = {0};
    if (locus_path_parse(group, text, &path, &error) != LOCUS_OK)
        fail_msg("%s, '%s': %s", group_text, text, error.message);
    locus_group_destroy(&group); /* the path holds a share */
    return path;
}

static void check_text(const locus_path *path, const char *want) {
    char text[256];
    assert_int_equal(locus_path_text(path, text, sizeof text), strlen(want));
    assert_string_equal(text, want);
}

/* ---- normal forms ---- */

static void expect_normal(const char *group, const char *text, const char *want) {
    locus_path *path = path_of(group, text);
    check_text(path, want);
    locus_path_destroy(&path);
    assert_null(path);
}

static void paths_are_read_into_normal_form(void **state) {
    (void)state;
    expect_normal("seq", "0", "0");
    expect_normal("seq", " -3 ", "-3");
    expect_normal("seq", "+7", "7");
    expect_normal("seq", "-0", "0");
    expect_normal("seq", "(((5)))", "5");
    expect_normal("seq", "000000000000000000000000000012", "12");
    expect_normal("seq", HIGHEST, HIGHEST);
    expect_normal("seq", LOWEST, LOWEST);
    expect_normal("cycle:6", "13", "1");
    expect_normal("cycle:6", "-1", "5");
    expect_normal("cycle:6", HIGHEST, "1");
    expect_normal("cycle:6", LOWEST, "4");
    expect_normal("cycle:1", "-77", "0");
    expect_normal("cycle:" HIGHEST, "-1", "9223372036854775806");
    expect_normal("cycle:" HIGHEST, LOWEST, "9223372036854775806");
    expect_normal("tree:2", "0", "0");
    expect_normal("tree:2", "1+2-2", "1");
    expect_normal("tree:2", "-2+1", "-2+1");
    expect_normal("tree:2", "+1+2", "1+2");
    expect_normal("tree:2", "1-1", "0");
    expect_normal("tree:2", "2+1-1-2+2+1", "2+1");
    expect_normal("tree:2", " 1 + 2 - 2 + 1 ", "1+1");
    expect_normal("tree:1", "1+1+1-1", "1+1");
    expect_normal("tree:" HIGHEST, HIGHEST "-" HIGHEST "-" HIGHEST, "-" HIGHEST);
    expect_normal("grid:3", "(1,-2,3)", "(1,-2,3)");
    expect_normal("grid:3", "( ( 1 , -2 ) , 3 )", "(1,-2,3)");
    expect_normal("grid:3", "(1,(-2,3))", "(1,-2,3)");
    expect_normal("(seq*tree:2)*cycle:4", "((3,1+2),7)", "(3,1+2,3)");
    expect_normal("seq*tree:2", "(3,1+2)", "(3,1+2)");
    expect_normal("tree:2*tree:2", "(1-1,2)", "(0,2)");
    expect_normal("tree:2*tree:2", "(1,-1)", "(1,-1)"); /* words of different factors do not cancel */
}

/* ---- operations ---- */

typedef locus_status (*binary)(const locus_path *, const locus_path *, locus_path **, locus_error *);

static void expect_binary(binary operation, const char *group, const char *a_text, const char *b_text,
                          const char *want) {
    locus_path *a = path_of(group, a_text), *b = path_of(group, b_text), *result;
    locus_error error = {0};
    locus_status status = operation(a, b, &result, &error);
    if (want) {
        assert_int_equal(status, LOCUS_OK);
        check_text(result, want);
    } else {
        assert_int_equal(status, LOCUS_ERROR_POSITION);
        assert_non_null(strstr(error.message, "64 bits"));
        assert_null(result);
    }
    locus_path_destroy(&a);
    locus_path_destroy(&b);
    locus_path_destroy(&result);
}

static void paths_compose(void **state) {
    (void)state;
    expect_binary(locus_path_compose, "seq", "3", "-5", "-2");
    expect_binary(locus_path_compose, "seq", HIGHEST, LOWEST, "-1");
    expect_binary(locus_path_compose, "seq", HIGHEST, "1", NULL);
    expect_binary(locus_path_compose, "seq", LOWEST, "-1", NULL);
    expect_binary(locus_path_compose, "grid:2", "(1," HIGHEST ")", "(1,1)", NULL);
    expect_binary(locus_path_compose, "cycle:6", "4", "5", "3");
    expect_binary(locus_path_compose, "cycle:" HIGHEST, "9223372036854775806", "9223372036854775806",
                  "9223372036854775805");
    expect_binary(locus_path_compose, "tree:2", "1+2", "-2+1", "1+1");
    expect_binary(locus_path_compose, "tree:2", "1+2", "-2-1", "0");
    expect_binary(locus_path_compose, "tree:2", "1", "2", "1+2");
    expect_binary(locus_path_compose, "tree:2", "0", "2-1", "2-1");
    expect_binary(locus_path_compose, "seq*tree:2*cycle:3", "(1,2+1,2)", "(4,-1+1-1,2)", "(5,2,1)");
}

static void relative_paths(void **state) {
    (void)state;
    expect_binary(locus_path_relative, "seq", "3", "-5", "-8");
    expect_binary(locus_path_relative, "seq", LOWEST, "-1", HIGHEST);
    expect_binary(locus_path_relative, "seq", LOWEST, LOWEST, "0");
    expect_binary(locus_path_relative, "seq", LOWEST, "0", NULL);
    expect_binary(locus_path_relative, "seq", "1", LOWEST, NULL);
    expect_binary(locus_path_relative, "cycle:6", "5", "1", "2");
    expect_binary(locus_path_relative, "cycle:6", "0", "0", "0");
    expect_binary(locus_path_relative, "tree:2", "1+2+2", "1+1", "-2-2+1");
    expect_binary(locus_path_relative, "tree:2", "1+2", "1+2", "0");
    expect_binary(locus_path_relative, "tree:2", "0", "1+2", "1+2");
    expect_binary(locus_path_relative, "tree:2", "1+2", "0", "-2-1");
    expect_binary(locus_path_relative, "grid:2*tree:2", "(1,2,1)", "(4,0,2)", "(3,-2,-1+2)");
}

static void expect_inverse(const char *group, const char *text, const char *want) {
    locus_path *a = path_of(group, text), *result;
    locus_error error = {0};
    locus_status status = locus_path_inverse(a, &result, &error);
    assert_int_equal(status, want ? LOCUS_OK : LOCUS_ERROR_POSITION);
    if (want)
        check_text(result, want);
    else
        assert_non_null(strstr(error.message, "inverse does not fit in 64 bits"));
    locus_path_destroy(&a);
    locus_path_destroy(&result);
}

static void paths_invert(void **state) {
    (void)state;
    expect_inverse("seq", "-3", "3");
    expect_inverse("seq", HIGHEST, "-" HIGHEST);
    expect_inverse("seq", LOWEST, NULL);
    expect_inverse("cycle:6", "2", "4");
    expect_inverse("cycle:6", "0", "0");
    expect_inverse("tree:2", "1+2-1", "1-2-1");
    expect_inverse("tree:2", "0", "0");
    expect_inverse("seq*tree:2", "(3,1+2)", "(-3,-2-1)");
}

/* `want` below 0: overflow. */
static void expect_length(const char *group, const char *text, int64_t want) {
    locus_path *path = path_of(group, text);
    int64_t length = -1;
    assert_int_equal(locus_path_length(path, &length, NULL), want < 0 ? LOCUS_ERROR_POSITION : LOCUS_OK);
    assert_true(length == want);
    locus_path_destroy(&path);
}

static void lengths_count_steps(void **state) {
    (void)state;
    expect_length("seq", "-3", 3);
    expect_length("seq", "-" HIGHEST, INT64_MAX);
    expect_length("seq", LOWEST, -1);
    expect_length("grid:2", "(" HIGHEST ",1)", -1);
    expect_length("grid:3", "(1,-2,3)", 6);
    expect_length("cycle:6", "-1", 5);
    expect_length("tree:2", "1+2-2", 1);
    expect_length("tree:2", "-2-1+2", 3);
    expect_length("seq*tree:2*cycle:4", "(-3,1+2,3)", 8);
}

static void expect_distance(const char *group, const char *a_text, const char *b_text, int64_t want) {
    locus_path *a = path_of(group, a_text), *b = path_of(group, b_text);
    int64_t there = -1, back = -1;
    locus_error error = {0};
    assert_int_equal(locus_path_distance(a, b, &there, &error), want < 0 ? LOCUS_ERROR_POSITION : LOCUS_OK);
    assert_int_equal(locus_path_distance(b, a, &back, &error), want < 0 ? LOCUS_ERROR_POSITION : LOCUS_OK);
    if (there != want || back != want)
        fail_msg("%s: from %s to %s: %lld, %lld", group, a_text, b_text, (long long)there, (long long)back);
    locus_path_destroy(&a);
    locus_path_destroy(&b);
}

static void distances_of_each_group(void **state) {
    (void)state;
    expect_distance("seq", "-3", "4", 7);
    expect_distance("seq", LOWEST, "-1", INT64_MAX);
    expect_distance("seq", LOWEST, "0", -1);
    expect_distance("cycle:6", "1", "5", 2);
    expect_distance("cycle:6", "0", "3", 3);
    expect_distance("cycle:7", "0", "4", 3);
    expect_distance("cycle:" HIGHEST, "0", "9223372036854775806", 1);
    expect_distance("tree:2", "1+2+2", "1+1", 3);
    expect_distance("tree:2", "1", "-1", 2);
    expect_distance("grid:2", "(0,0)", "(3,4)", 5);
    expect_distance("grid:2", "(0,0)", "(3,3)", 4); /* √18 */
    expect_distance("seq*seq", "(1,1)", "(2,2)", 1);
    expect_distance("grid:3", "(1,1,1)", "(2,2,2)", 1);
    expect_distance("grid:4", "(0,0,0,0)", "(1,1,1,1)", 2);
    expect_distance("grid:2*tree:2", "(0,0,1)", "(3,4,2)", 7);
    expect_distance("seq*cycle:6*seq", "(0,0,0)", "(3,5,4)", 8); /* not a grid: parted by the cycle */
}

/* Perfect squares and their neighbours, far above what doubles tell apart. */
static void grid_distances_are_exact(void **state) {
    (void)state;
    expect_distance("grid:2", "(0,0)", "(5534023222112865483,7378697629483820644)", 9223372036854775805); /* 3 4 5 */
    expect_distance("grid:2", "(0,0)", "(5534023222112865483,7378697629483820643)", 9223372036854775804);
    expect_distance("grid:2", "(1,0)", "(5534023222112865483,7378697629483820644)", 9223372036854775804);
    expect_distance("grid:2", "(0,0)", "(" HIGHEST ",0)", INT64_MAX);
    expect_distance("grid:2", "(0,0)", "(" HIGHEST ",1)", INT64_MAX);
    expect_distance("grid:2", "(0,0)", "(" HIGHEST ",4294967295)", INT64_MAX); /* Σ d² = 2^126 − 2^33 + 2 */
    expect_distance("grid:2", "(0,0)", "(" HIGHEST ",4294967296)", -1);        /* Σ d² = 2^126 + 1 */
    expect_distance("grid:2", "(0,-1)", "(0," HIGHEST ")", -1);
    expect_distance("grid:2", "(" LOWEST ",0)", "(" HIGHEST ",0)", -1);
    expect_distance("grid:2", "(" LOWEST "," LOWEST ")", "(-1,-1)", -1);
    expect_distance("grid:2", "(" LOWEST ",7)", "(-1,7)", INT64_MAX);
    expect_distance("grid:2*seq*cycle:3*seq", "(0,0,0,0," HIGHEST ")", "(0,0,0,1,0)", -1); /* the sum */
}

static void equal_paths(void **state) {
    (void)state;
    const char *const groups[] = {"seq", "cycle:5", "tree:3", "grid:2*tree:2", "tree:2*tree:2"};
    const char *const same[][2] = {
        {"3", "+3"}, {"7", "2"}, {"1+2-2", "1"}, {"(1,2,1)", "((1,2),1+2-2)"}, {"(1,2)", "(1,2)"}};
    const char *const other[] = {"-3", "1", "1+2", "(1,2,2)", "(2,1)"};
    for (size_t i = 0; i < 5; i++) {
        locus_path *a = path_of(groups[i], same[i][0]), *b = path_of(groups[i], same[i][1]);
        locus_path *c = path_of(groups[i], other[i]), *d = path_of(i ? "seq" : "tree:1", i ? "3" : "1+1+1");
        assert_true(locus_path_equal(a, b));
        assert_false(locus_path_equal(a, c) || locus_path_equal(a, d));
        assert_true(locus_group_equal(locus_path_group(a), locus_path_group(c)));
        locus_path_destroy(&a);
        locus_path_destroy(&b);
        locus_path_destroy(&c);
        locus_path_destroy(&d);
    }
}

/* ---- refusals ---- */

static void expect_refused(const char *group_text, const char *text, ptrdiff_t offset, ptrdiff_t length,
                           const char *part) {
    locus_group *group = group_of(group_text);
    locus_path *path = (locus_path *)(uintptr_t)1;
    locus_error error = {0};
    assert_int_equal(locus_path_parse(group, text, &path, &error), LOCUS_ERROR_SPEC);
    assert_null(path);
    if (error.offset != offset || error.length != length || !strstr(error.message, part))
        fail_msg("%s, '%s': offset %td, length %td: %s", group_text, text, error.offset, error.length, error.message);
    assert_int_equal(locus_path_parse(group, text, &path, NULL), LOCUS_ERROR_SPEC);
    locus_group_destroy(&group);
}

static void bad_integers_are_placed(void **state) {
    (void)state;
    expect_refused("seq", "", 0, 1, "ends too early: expected an integer");
    expect_refused("seq", "  ", 2, 1, "ends too early");
    expect_refused("seq", "-", 1, 1, "ends too early");
    expect_refused("seq", "x", 0, 1, "unexpected 'x'");
    expect_refused("seq", "3x", 1, 1, "unexpected 'x'");
    expect_refused("seq", "1+2", 1, 2,
                   "unexpected '+2' in the path: expected the end, since a path here is one integer");
    expect_refused("seq", "1.5", 1, 2, "unexpected '.5'");
    expect_refused("seq", "--3", 1, 2, "unexpected '-3'");
    expect_refused("seq", "1 2", 2, 1, "unexpected '2'");
    expect_refused("seq", "1,2", 1, 1, "unexpected ','");
    expect_refused("seq", "9223372036854775808", 0, 19, "does not fit in 64 bits");
    expect_refused("seq", "-9223372036854775809", 0, 20, "does not fit in 64 bits");
    expect_refused("cycle:6", "99999999999999999999999", 0, 23, "does not fit in 64 bits");
    expect_refused("cycle:6", "1+2", 1, 2, "one integer");
    expect_refused("seq", "größe", 0, 7, "unexpected 'größe'");
}

static void bad_words_are_placed(void **state) {
    (void)state;
    expect_refused("tree:2", "", 0, 1, "expected signed branches");
    expect_refused("tree:2", "3", 0, 1, "no branch '3' on tree:2: use 1 to 2");
    expect_refused("tree:2", "1+2-3+1", 3, 2, "no branch '-3' on tree:2");
    expect_refused("tree:2", "1+0", 1, 2, "branches count from 1");
    expect_refused("tree:2", "-0", 0, 2, "branches count from 1");
    expect_refused("tree:2", "0+1", 0, 1, "branches count from 1");
    expect_refused("tree:2", "0 1", 2, 1, "'+', '-' or the end");
    expect_refused("tree:2", "1+", 2, 1, "ends too early: expected a branch");
    expect_refused("tree:2", "1++2", 2, 2, "unexpected '+2'");
    expect_refused("tree:2", "1 2", 2, 1, "'+', '-' or the end");
    expect_refused("tree:2", "1+a", 2, 1, "unexpected 'a'");
    expect_refused("tree:2", "1*3", 1, 2, "unexpected '*3'");
    expect_refused("tree:1", "3", 0, 1, "no branch '3' on tree:1"); /* never abbreviated */
    expect_refused("tree:2", "1+99999999999999999999", 1, 21, "no branch '+99999999999999999999'");
    expect_refused("tree:" HIGHEST, LOWEST, 0, 20, "no branch");
}

static void bad_tuples_are_placed(void **state) {
    (void)state;
    expect_refused("grid:2", "5", 0, 1, "the path has 1 component, 'grid:2' needs a tuple of 2");
    expect_refused("grid:3", "(1,2)", 0, 5, "has 2 components, 'grid:3' needs a tuple of 3");
    expect_refused("grid:2", "(1,2,3)", 5, 1, "more components than the 2 of 'grid:2'");
    expect_refused("grid:2", "1,2", 1, 1, "a tuple stands in parentheses");
    expect_refused("grid:2", "(1,2", 0, 1, "never closed");
    expect_refused("grid:2", "((1,2)", 0, 1, "never closed");
    expect_refused("grid:2", "(1,(2)", 0, 1, "never closed");
    expect_refused("grid:2", "(1,(2", 3, 1, "never closed");
    expect_refused("grid:2", "(1,2))", 5, 1, "unexpected ')'");
    expect_refused("grid:2", "(1,)", 3, 1, "unexpected ')' in the path: expected an integer");
    expect_refused("grid:2", "()", 1, 1, "unexpected ')'");
    expect_refused("grid:2", "(1;2)", 2, 2, "',' or ')'");
    expect_refused("seq*tree:2", "(3,1+5)", 4, 2, "no branch '+5' on tree:2");
    expect_refused("seq*tree:2", "(1+2,3)", 2, 2, "',' or ')'");
    expect_refused("seq", "(1,2)", 3, 1, "more components than the 1 of 'seq'");
    /* A group's name of at most 43 letters is told whole. */
    expect_refused("cycle:1234567*cycle:1234567*cycle:123456789", "(5)", 0, 3,
                   "the path has 1 component, 'cycle:1234567*cycle:1234567*cycle:123456789' needs a tuple of 3");
    expect_refused("cycle:1234567*cycle:1234567*cycle:1234567890", "(5)", 0, 3,
                   "the path has 1 component, 'cycle:1234567*cycle:1234567*cycle:123456789…' needs a tuple of 3");
    expect_refused("cycle:1234567*cycle:1234567*cycle:1234567890*seq", "(1,2,3,4,5)", 9, 1,
                   "more components than the 4 of 'cycle:1234567*cycle:1234567*cycle:123456789…': take this one");
    char deep[2100];
    memset(deep, '(', 1001);
    strcpy(deep + 1001, "3");
    expect_refused("seq", deep, 1000, 1, "nested more than 1000 deep");
    memset(deep, '(', 1000);
    deep[1000] = '3';
    memset(deep + 1001, ')', 1000);
    deep[2001] = '\0';
    expect_normal("seq", deep, "3");
}

static void arguments_are_checked(void **state) {
    (void)state;
    locus_path *seq = path_of("seq", "1"), *ring = path_of("cycle:4", "1"), *out = (locus_path *)(uintptr_t)1;
    locus_error error;
    int64_t number;
    assert_int_equal(locus_path_parse(NULL, "3", NULL, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_path_parse(NULL, NULL, &out, &error), LOCUS_ERROR_ARGUMENT);
    assert_null(out);
    assert_int_equal(locus_path_compose(seq, ring, &out, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "'seq' and 'cycle:4'"));
    assert_int_equal(locus_path_relative(seq, ring, &out, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_path_distance(seq, ring, &number, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_path_compose(seq, NULL, &out, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_path_compose(seq, seq, NULL, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_path_inverse(NULL, &out, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_path_length(seq, NULL, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_path_parse(NULL, "3", &out, &error), LOCUS_OK); /* NULL is seq */
    assert_true(locus_path_text(out, NULL, 0) == 1);
    locus_path_destroy(&out);
    locus_path_destroy(&seq);
    locus_path_destroy(&ring);
    locus_path_destroy(NULL);
    locus_path_destroy(&out);
    locus_group *absurd = group_of("grid:9223372036854775807");
    assert_int_equal(locus_path_parse(absurd, "(1,2)", &out, &error), LOCUS_ERROR_UNSUPPORTED);
    locus_group_destroy(&absurd);
    locus_group *wide = group_of("grid:2000000000"); /* storable in principle: nothing is allocated for it here */
    assert_int_equal(locus_path_parse(wide, "(1,2)", &out, &error), LOCUS_ERROR_SPEC);
    locus_group_destroy(&wide);
}

static void text_is_cut_to_its_buffer(void **state) {
    (void)state;
    const char whole[] = "(-3,1+2-1,4)";
    locus_path *path = path_of("seq*tree:2*cycle:5", whole);
    for (size_t size = 0; size < sizeof whole + 2; size++) {
        char text[32];
        memset(text, '#', sizeof text);
        assert_int_equal(locus_path_text(path, text, size), sizeof whole - 1);
        size_t kept = size == 0 ? 0 : size < sizeof whole ? size - 1 : sizeof whole - 1;
        assert_memory_equal(text, whole, kept);
        assert_true(size == 0 || text[kept] == '\0');
        assert_true(text[size] == '#');
    }
    locus_path_destroy(&path);
}

/* Millions of letters: linear, or this would not end. */
static void long_words_are_no_matter(void **state) {
    (void)state;
    enum { LETTERS = 2000000 };
    char *text = malloc(2 * LETTERS + 1), *printed = malloc(2 * LETTERS + 1);
    assert_true(text && printed);
    for (size_t i = 0; i < LETTERS; i++)
        memcpy(text + 2 * i, i % 7 ? "+1" : "+2", 2);
    text[2 * LETTERS] = '\0';
    locus_path *path = path_of("tree:2", text), *inverse, *sum, *relative;
    int64_t length;
    assert_int_equal(locus_path_inverse(path, &inverse, NULL), LOCUS_OK);
    assert_int_equal(locus_path_compose(path, inverse, &sum, NULL), LOCUS_OK);
    check_text(sum, "0");
    assert_int_equal(locus_path_relative(inverse, path, &relative, NULL), LOCUS_OK);
    assert_int_equal(locus_path_length(relative, &length, NULL), LOCUS_OK);
    assert_true(length == 2 * (int64_t)LETTERS);
    assert_int_equal(locus_path_distance(inverse, path, &length, NULL), LOCUS_OK);
    assert_true(length == 2 * (int64_t)LETTERS);
    assert_int_equal(locus_path_text(path, printed, 2 * LETTERS), 2 * LETTERS - 1);
    assert_string_equal(printed, text + 1);
    locus_path_destroy(&path);
    locus_path_destroy(&inverse);
    locus_path_destroy(&sum);
    locus_path_destroy(&relative);
    free(text);
    free(printed);
}

static const locus_random stream = {.seed = 2, .purpose = LOCUS_RANDOM_USER};
static uint64_t drawn;

static size_t below(size_t bound) {
    return (size_t)locus_random_below(&stream, drawn++, bound);
}

/* Whatever the text: a path, or a refusal that points into it. */
static void garbage_is_refused_with_a_place(void **state) {
    (void)state;
    const char *const pieces[] = {"1", "2", "0", "+", "-", "(", ")", ",", " ", "12", "x", "é", "\n", HIGHEST "9"};
    const char *const groups[] = {"seq", "cycle:7", "tree:3", "grid:2", "seq*tree:2*cycle:4"};
    size_t parsed = 0;
    for (size_t i = 0; i < 30000; i++) {
        char text[512] = "";
        size_t length = 0;
        for (size_t n = below(7); n > 0; n--)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s",
                                       pieces[below(sizeof pieces / sizeof *pieces)]);
        locus_group *group = group_of(groups[i % 5]);
        locus_path *path;
        locus_error error = {0};
        locus_status status = locus_path_parse(group, text, &path, &error);
        assert_true((status == LOCUS_OK) == (path != NULL));
        if (status == LOCUS_OK) {
            parsed++;
            locus_path_destroy(&path);
        } else {
            assert_int_equal(status, LOCUS_ERROR_SPEC);
            assert_true(error.offset >= 0 && error.length >= 1);
            assert_true((size_t)error.offset + (size_t)error.length <= length + 1);
            for (const char *c = error.message; *c; c++)
                assert_false(iscntrl((unsigned char)*c));
        }
        locus_group_destroy(&group);
    }
    assert_true(parsed > 1000); /* the garbage is not so bad that only refusals are tested */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_read_into_normal_form),
        cmocka_unit_test(paths_compose),
        cmocka_unit_test(relative_paths),
        cmocka_unit_test(paths_invert),
        cmocka_unit_test(lengths_count_steps),
        cmocka_unit_test(distances_of_each_group),
        cmocka_unit_test(grid_distances_are_exact),
        cmocka_unit_test(equal_paths),
        cmocka_unit_test(bad_integers_are_placed),
        cmocka_unit_test(bad_words_are_placed),
        cmocka_unit_test(bad_tuples_are_placed),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(text_is_cut_to_its_buffer),
        cmocka_unit_test(long_words_are_no_matter),
        cmocka_unit_test(garbage_is_refused_with_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
