/* SPDX-License-Identifier: MIT */
/* Layer patterns: canonical texts, what each layer has, and for everything else the place and the words. */
#include "../property/encoding_rig.h"

#include <stdio.h>

static locus_pattern *parse(const char *text) {
    locus_pattern *pattern = NULL;
    locus_error failure = {0};
    if (locus_pattern_parse(text, &pattern, &failure) != LOCUS_OK)
        fail_msg("'%s': %s", text, failure.message);
    return pattern;
}

/* `layers`: a letter for each layer, 'a' for encoding 0; the pattern goes on as it began. */
static void check(const char *text, const char *want, size_t size, const char *layers) {
    locus_pattern *pattern = parse(text), *again;
    char printed[512], back[512];
    assert_int_equal(locus_pattern_text(pattern, printed, sizeof printed), strlen(want));
    assert_string_equal(printed, want);
    assert_int_equal(locus_pattern_size(pattern), size);
    assert_null(locus_pattern_encoding(pattern, size));
    for (size_t i = 0; layers[i] != '\0'; i++)
        assert_int_equal(locus_pattern_layer(pattern, i), (size_t)(layers[i] - 'a'));
    again = parse(printed);
    (void)locus_pattern_text(again, back, sizeof back);
    assert_string_equal(printed, back);
    locus_pattern_destroy(&again);
    locus_pattern_destroy(&pattern);
    assert_null(pattern);
}

static void test_canonical(void **state) {
    (void)state;
    check("rope", "rope", 1, "aaaaa");
    check("  rope ( base = 10000 ) ", "rope", 1, "aaa");
    check("7*rope", "rope", 1, "aaaaaaaaa");
    check("rope/none", "rope / none", 2, "abababab");
    check("3*rope / none", "3*rope / none", 2, "aaabaaab");
    check("3 * rope/1*none", "3*rope / none", 2, "aaabaaab");
    check("rope / rope / rope / none", "3*rope / none", 2, "aaabaaab");
    check("rope / none / rope / none", "rope / none", 2, "abababab");
    check("rope / none / 2*rope / none / rope", "rope / none / rope", 2, "abaabaab");
    check("5*rope(base=10000) / rope(base=1000000)", "5*rope / rope(base=1000000)", 2, "aaaaabaaaaab");
    check("none / rope / alibi / rope", "none / rope / alibi / rope", 3, "abcbabcb");
    check("learned(size=7) + rope / rope", "learned(size=7) + rope / rope", 2, "abab");
    check("chebyshev(site=output) / 2*none / chebyshev(site=output)",
          "chebyshev(site=output) / 2*none / chebyshev(site=output)", 2, "abba");
    check("2*algebraic(group=(seq*tree:2)) / none", "2*algebraic(group=seq*tree:2) / none", 2, "aab");
    check("65535*none / rope", "65535*none / rope", 2, "aaa");
}

static void test_shared(void **state) {
    (void)state;
    locus_pattern *pattern = parse("rope / none / rope(base=1e4) / alibi");
    assert_int_equal(locus_pattern_size(pattern), 3);
    assert_int_equal(locus_pattern_layer(pattern, 0), locus_pattern_layer(pattern, 2));
    char text[32];
    (void)locus_encoding_text(locus_pattern_encoding(pattern, 2), text, sizeof text);
    assert_string_equal(text, "alibi");
    /* cut, and asked for without room */
    assert_int_equal(locus_pattern_text(pattern, text, 6), strlen("rope / none / rope / alibi"));
    assert_string_equal(text, "rope ");
    assert_int_equal(locus_pattern_text(pattern, text, 1), strlen("rope / none / rope / alibi"));
    assert_string_equal(text, "");
    assert_int_equal(locus_pattern_text(pattern, NULL, 0), strlen("rope / none / rope / alibi"));
    memset(text, 'x', sizeof text); /* room for all but the zero behind it */
    assert_int_equal(locus_pattern_text(pattern, text, strlen("rope / none / rope / alibi")), 26);
    assert_string_equal(text, "rope / none / rope / alib");
    assert_int_equal(text[26], 'x');
    locus_pattern_destroy(&pattern);
    locus_pattern_destroy(&pattern);
    locus_pattern_destroy(NULL);
    assert_int_equal(locus_pattern_size(NULL), 0);
    assert_int_equal(locus_pattern_layer(NULL, 3), 0);
    for (size_t room = 1; room <= sizeof text; room += sizeof text - 1) {
        memset(text, 'x', sizeof text);
        assert_int_equal(locus_pattern_text(NULL, text, room), 0);
        assert_string_equal(text, "");
    }
}

/* The text stands in memory of its own size, for the sanitizer to see what is read beside it. */
static void bad(const char *given, int offset, int length, const char *words) {
    locus_pattern *pattern = (locus_pattern *)1;
    locus_error error = {0};
    char *text = strdup(given);
    assert_non_null(text);
    locus_status status = locus_pattern_parse(text, &pattern, &error);
    assert_null(pattern);
    if (status != LOCUS_ERROR_SPEC || error.status != status)
        fail_msg("'%s' gave %d: %s", text, (int)status, error.message);
    if (error.offset != offset || error.length != length || !strstr(error.message, words))
        fail_msg("'%s' points to %d+%d: %s", text, (int)error.offset, (int)error.length, error.message);
    assert_null(strchr(error.message, '\n'));
    assert_int_equal(locus_pattern_parse(text, &pattern, NULL), LOCUS_ERROR_SPEC);
    free(text);
}

static void test_errors(void **state) {
    (void)state;
    bad("", 0, 1, "the name of an encoding");
    bad("/", 0, 1, "the name of an encoding");
    bad("rope /", 6, 1, "the name of an encoding");
    bad("rope / / none", 7, 1, "the name of an encoding");
    bad("rope / ropy", 7, 4, "did you mean 'rope'");
    bad("none / rope(bose=1)", 12, 4, "did you mean 'base'");
    bad("none / rope(base=1 / none", 17, 8, "cannot be '1 / none'");
    bad("rope) / none", 4, 1, "'+'");
    bad("*rope", 0, 1, "number of layers");
    bad("rope / * none", 7, 1, "number of layers");
    bad("0*rope", 0, 1, "1 to 65536");
    bad("rope / 65537*none", 7, 5, "1 to 65536");
    bad("rope / 99999999999999999999999*none", 7, 23, "1 to 65536");
    bad("65536*rope / none", 13, 4, "at most 65536 layers");
    bad("655360*rope", 0, 6, "65536");
    bad("3rope / none", 0, 5, "3rope");
    bad("3*2*rope", 2, 1, "no encoding '2'");
    bad("rope * 3", 5, 1, "'(', '+' or the end");
    bad("rope / sinusoidal + rope", 7, 17, "only the first encoding");
    bad("none / chebyshev(site=output)", 7, 22, "only the first encoding");
    bad("algebraic(group=seq) / 2 * algebraic(group=tree:2)", 27, 23, "acts on 'tree:2', those before it on 'seq'");
    bad("none / shiv-quirk", 7, 10, "only the first encoding");
}

static void test_null(void **state) {
    (void)state;
    locus_pattern *pattern = NULL;
    locus_error error = {0};
    assert_int_equal(locus_pattern_parse(NULL, &pattern, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_pattern_parse("rope", NULL, &error), LOCUS_ERROR_ARGUMENT);
}

static void test_many(void **state) {
    (void)state;
    char text[4096] = "";
    locus_pattern *pattern = NULL;
    locus_error error = {0};
    size_t length = 0;
    for (int i = 1; i <= 65; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%srope(base=%d)", i > 1 ? "/" : "", i);
    assert_int_equal(locus_pattern_parse(text, &pattern, &error), LOCUS_ERROR_SPEC);
    assert_non_null(strstr(error.message, "64 different"));
    *strrchr(text, '/') = '\0';
    pattern = parse(text);
    assert_int_equal(locus_pattern_size(pattern), 64);
    assert_int_equal(locus_pattern_layer(pattern, 64 * 7 + 63), 63);
    locus_pattern_destroy(&pattern);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_canonical), cmocka_unit_test(test_shared),
                                       cmocka_unit_test(test_errors), cmocka_unit_test(test_null),
                                       cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
