/* SPDX-License-Identifier: MIT */
/* Layer patterns from random bytes, from the grammar's tokens, and from good patterns with small damage: parsing never
 * crashes, a failure points inside the text and is one line, a success prints a canonical text that parses to itself
 * and means the same for every layer. LOCUS_FUZZ sets the number of patterns. */
#include "../property/encoding_rig.h"

#include <stdio.h>

static const locus_random stream = {.seed = 20240911, .purpose = LOCUS_RANDOM_USER, .step = 2};
static uint64_t drawn;

static size_t below(size_t bound) {
    return (size_t)locus_random_below(&stream, drawn++, bound);
}

static const char *const tokens[] = {"rope",
                                     "none",
                                     "/",
                                     "/",
                                     " / ",
                                     "*",
                                     "2*",
                                     "3 * ",
                                     "0*",
                                     "10",
                                     "(",
                                     ")",
                                     "base",
                                     "=",
                                     "1e3",
                                     ",",
                                     " + ",
                                     "alibi",
                                     "sinusoidal",
                                     "\xCF\x89",
                                     "65536*",
                                     "algebraic(group=tree:2)",
                                     "decay(rate=0.9)"};
static const char *const good[] = {"3*rope / none", "5*rope(base=10000) / rope(base=1000000)",
                                   "learned(size=7) + rope / 2*rope / alibi + decay(rate=0.9)",
                                   "2*algebraic(group=(seq*tree:2)) / none", "rope / none / 2*rope / none / rope"};

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
        for (size_t count = below(14); count > 0; count--)
            length +=
                (size_t)snprintf(text + length, size - length, "%s", tokens[below(sizeof tokens / sizeof tokens[0])]);
        break;
    default:
        length = (size_t)snprintf(text, size, "%s", good[below(sizeof good / sizeof good[0])]);
        for (size_t count = below(4); count > 0; count--)
            text[below(length)] = "/()*+=, 019rope\t"[below(16)];
    }
}

static void check_success(const char *text, locus_pattern *pattern) {
    char canonical[2048], back[2048];
    locus_pattern *again = NULL;
    locus_error failure = {0};
    assert_true(locus_pattern_text(pattern, canonical, sizeof canonical) < sizeof canonical);
    if (locus_pattern_parse(canonical, &again, &failure) != LOCUS_OK)
        fail_msg("'%s' prints '%s': %s", text, canonical, failure.message);
    (void)locus_pattern_text(again, back, sizeof back);
    assert_string_equal(canonical, back);
    for (size_t layer = 0; layer < 50; layer++) {
        char one[512], other[512];
        (void)locus_encoding_text(locus_pattern_encoding(pattern, locus_pattern_layer(pattern, layer)), one,
                                  sizeof one);
        (void)locus_encoding_text(locus_pattern_encoding(again, locus_pattern_layer(again, layer)), other,
                                  sizeof other);
        assert_string_equal(one, other);
    }
    locus_pattern_destroy(&again);
}

static void check(const char *text, size_t *accepted) {
    char *exact = malloc(strlen(text) + 1); /* so that a sanitizer sees every byte read past the end */
    locus_pattern *pattern = NULL;
    locus_error failure = {0};
    assert_non_null(exact);
    strcpy(exact, text);
    locus_status status = locus_pattern_parse(exact, &pattern, &failure);
    if (status == LOCUS_OK) {
        check_success(exact, pattern);
        ++*accepted;
    } else {
        assert_true(status == LOCUS_ERROR_SPEC || status == LOCUS_ERROR_UNSUPPORTED);
        if (failure.offset < 0 || failure.offset > (ptrdiff_t)strlen(text) || failure.length < 1 ||
            failure.offset + failure.length > (ptrdiff_t)strlen(text) + 1)
            fail_msg("'%s' points to %td+%td of %zu: %s", text, failure.offset, failure.length, strlen(text),
                     failure.message);
        assert_true(failure.message[0] != '\0' && !strchr(failure.message, '\n'));
        assert_null(pattern);
    }
    locus_pattern_destroy(&pattern);
    free(exact);
}

static void test_patterns(void **state) {
    (void)state;
    const char *asked = getenv("LOCUS_FUZZ");
    size_t count = asked ? (size_t)strtoull(asked, NULL, 10) : 20000, accepted = 0;
    for (size_t i = 0; i < count; i++) {
        char text[1024];
        make(text, sizeof text);
        check(text, &accepted);
    }
    assert_true(accepted > count / 100); /* the damage must leave some that are good */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
