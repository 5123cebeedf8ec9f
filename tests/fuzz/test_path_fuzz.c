/* SPDX-License-Identifier: MIT */
/* Paths from random bytes, from the grammar's own tokens, and from good paths with small damage: parsing never
 * crashes, a failure points inside the text and is one line, a success prints a text that parses to an equal path
 * whose inverse undoes it. LOCUS_FUZZ sets the number of texts. */
#include <locus/locus.h>
#include <locus/random.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const locus_random stream = {.seed = 20261121, .purpose = LOCUS_RANDOM_USER, .step = 2};
static uint64_t drawn;

static size_t below(size_t bound) {
    return (size_t)locus_random_below(&stream, drawn++, bound);
}

static const char *const groups[] = {"seq",    "cycle:6",    "cycle:9223372036854775807", "tree:1", "tree:2", "tree:40",
                                     "grid:3", "seq*tree:2", "(cycle:3*tree:2)*grid:2"};
static const char *const good[] = {
    "-3",         "602",       "9223372036854775807", "+1+1-1",    "1+2-2+1", "17+40-3-3",
    "(1,-2,300)", "(4,1+2-1)", "((2,-1+2),(7,8))",    "(2,0,7,8)", "0",       "-9223372036854775808"};
static const char *const tokens[] = {
    "0", "1",        "2",   "-",    "+", "(", ")", ",", " ", "40", "-1", "+2", "99999999999999999999",
    "x", "\xCF\x89", "(1,", "1+2-2"};

static void damage(char *text, size_t size) {
    size_t length = strlen(text), at = length ? below(length) : 0;
    switch (below(3)) {
    case 0:
        if (length)
            text[at] = (char)(1 + below(255));
        break;
    case 1:
        if (length + 2 < size) {
            memmove(text + at + 1, text + at, length - at + 1);
            text[at] = "()+-,0129 "[below(10)];
        }
        break;
    default:
        text[at] = '\0';
    }
}

static void make(char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    switch (below(3)) {
    case 0:
        for (size_t count = below(40); length < count; length++)
            text[length] = (char)(1 + below(255));
        text[length] = '\0';
        break;
    case 1:
        for (size_t count = below(20); count > 0; count--)
            length +=
                (size_t)snprintf(text + length, size - length, "%s", tokens[below(sizeof tokens / sizeof tokens[0])]);
        break;
    default:
        (void)snprintf(text, size, "%s", good[below(sizeof good / sizeof good[0])]);
        for (size_t count = below(3); count > 0; count--)
            damage(text, size);
    }
}

/* a + (−a) is the empty path, unless 64 bits do not hold −a. */
static void undo(const locus_group *group, const locus_path *path) {
    locus_path *inverse = NULL, *sum = NULL, *zero = NULL;
    char text[512];
    if (locus_path_inverse(path, &inverse, NULL) != LOCUS_OK)
        return;
    assert_int_equal(locus_path_compose(path, inverse, &sum, NULL), LOCUS_OK);
    assert_int_equal(locus_path_relative(path, path, &zero, NULL), LOCUS_OK);
    assert_true(locus_path_equal(sum, zero));
    (void)locus_path_text(sum, text, sizeof text);
    assert_int_equal(strspn(text, "(0,)"), strlen(text));
    assert_true(locus_group_equal(locus_path_group(sum), group));
    locus_path_destroy(&zero);
    locus_path_destroy(&sum);
    locus_path_destroy(&inverse);
}

static void check(const locus_group *group, const char *text, size_t *accepted) {
    char *exact = malloc(strlen(text) + 1); /* so that a sanitizer sees every byte read past the end */
    locus_path *path = NULL, *again = NULL;
    locus_error failure = {0};
    assert_non_null(exact);
    strcpy(exact, text);
    locus_status status = locus_path_parse(group, exact, &path, &failure);
    if (status == LOCUS_OK) {
        char canonical[512];
        assert_true(locus_path_text(path, canonical, sizeof canonical) < sizeof canonical);
        if (locus_path_parse(group, canonical, &again, &failure) != LOCUS_OK)
            fail_msg("'%s' prints '%s': %s", text, canonical, failure.message);
        assert_true(locus_path_equal(path, again));
        undo(group, path);
        ++*accepted;
    } else {
        assert_true(status == LOCUS_ERROR_SPEC || status == LOCUS_ERROR_POSITION);
        if (failure.offset < 0 || failure.offset > (ptrdiff_t)strlen(text))
            fail_msg("'%s' points to %td of %zu: %s", text, failure.offset, strlen(text), failure.message);
        assert_true(failure.message[0] != '\0' && !strchr(failure.message, '\n'));
        assert_null(path);
    }
    locus_path_destroy(&path);
    locus_path_destroy(&again);
    free(exact);
}

static void test_paths(void **state) {
    (void)state;
    const char *asked = getenv("LOCUS_FUZZ");
    const size_t kinds = sizeof groups / sizeof groups[0];
    size_t count = asked ? (size_t)strtoull(asked, NULL, 10) : 60000, accepted = 0;
    for (size_t g = 0; g < kinds; g++) {
        locus_group *group = NULL;
        assert_int_equal(locus_group_parse(groups[g], &group, NULL), LOCUS_OK);
        for (size_t i = 0; i < count / kinds; i++) {
            char text[512];
            make(text, sizeof text);
            check(group, text, &accepted);
        }
        locus_group_destroy(&group);
    }
    assert_true(accepted > count / 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_paths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
