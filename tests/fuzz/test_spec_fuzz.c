/* SPDX-License-Identifier: MIT */
/* Specs from random bytes, from the grammar's own tokens, and from good specs with small damage: parsing never crashes,
 * a failure points inside the text and is one line, a success prints a canonical text that parses to itself. LOCUS_FUZZ
 * sets the number of specs. */
#include "../property/encoding_rig.h"

#include <stdio.h>

static const locus_random stream = {.seed = 20240607, .purpose = LOCUS_RANDOM_USER, .step = 1};
static uint64_t drawn;

static size_t below(size_t bound) {
    return (size_t)locus_random_below(&stream, drawn++, bound);
}

static const char *const good[] = {
    "none",
    "rope(pairs=half, base=500, rotate=32, learned=on, side=key, values=on)",
    "rope(rotate=proportional:0.25) + alibi",
    "rope(turn=backward) + scores(chunk=8) + temperature(growth=log, length=9, least=0) + alibi(scaled=on)",
    "rope(scaling=yarn, factor=4, original=4096, fast=16, slow=2, mscale=1, mscale_all=0.5, truncate=off)",
    "roper(scaling=longrope, factor=2, original=64, short=1:1.5, long=2:1e3, attention=1.25)",
    "rope(sections=16:24:24, frequencies=running, order=interleaved, scaling=llama3, factor=8, original=8192, low=2)",
    "rope(xpos=512, gamma=0.5, centre=-7)",
    "algebraic(group=seq, generator=skew, init=random, heads=shared, side=query, values=on, decay=0.98)",
    "relative(window=100, values=on, scaled=off) + decay(rate=1e-3, learned=on)",
    "sinusoidal(base=1e4, layout=concatenated)",
    "learned(size=512) + roper(learned=on)",
    "algebraic(group=(seq*tree:2), decay=off)",
    "algebraic(group=cycle:6*grid:2*tree:3, generator=householder, split=8:4:4:6, decay=learned:0.97)",
    "mixed(group=grid:3, heads=shared) + alibi(group=seq*seq*seq)",
    "string + decay(group=grid:2, learned=on)",
    "liere(group=seq, values=on, side=key)",
};
static const char *const tokens[] = {
    "rope",     "algebraic", "decay",   "alibi",         "(",         ")",        ",",
    "=",        "+",         "group",   "seq",           "tree:2",    "*",        "base",
    "rate",     "1e3",       "-1",      "0.5",           "on",        "off",      " ",
    "\xCF\x89", "values",    "rotate",  "proportional:", "generator", "cycle:",   "999999999999999999999",
    "half",     "none",      "split",   "4:4:8",         "learned:",  "grid:2",   "mixed",
    "string",   "liere",     "scaling", "yarn",          "factor",    "original", "sections",
    "axes",     "short",     "long"};

static void damage(char *text, size_t size) {
    size_t length = strlen(text), at = length ? below(length) : 0;
    switch (below(4)) {
    case 0: /* another byte */
        if (length)
            text[at] = (char)(1 + below(255));
        break;
    case 1: /* one byte less */
        memmove(text + at, text + at + (length > 0), length - at + (length == 0));
        break;
    case 2: /* one byte more */
        if (length + 2 < size) {
            memmove(text + at + 1, text + at, length - at + 1);
            text[at] = "()=,+*: \t09ez"[below(13)];
        }
        break;
    default: /* cut */
        text[at] = '\0';
    }
}

static void make(char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    switch (below(3)) {
    case 0:
        for (size_t count = below(60); length < count; length++)
            text[length] = (char)(1 + below(255));
        text[length] = '\0';
        break;
    case 1:
        for (size_t count = below(25); count > 0; count--)
            length +=
                (size_t)snprintf(text + length, size - length, "%s", tokens[below(sizeof tokens / sizeof tokens[0])]);
        break;
    default:
        (void)snprintf(text, size, "%s", good[below(sizeof good / sizeof good[0])]);
        for (size_t count = below(4); count > 0; count--)
            damage(text, size);
    }
}

static void check(const char *text, size_t *accepted) {
    char *exact = malloc(strlen(text) + 1); /* so that a sanitizer sees every byte read past the end */
    locus_encoding *encoding = NULL, *again = NULL;
    locus_error failure = {0};
    assert_non_null(exact);
    strcpy(exact, text);
    locus_status status = locus_encoding_parse(exact, &encoding, &failure);
    if (status == LOCUS_OK) {
        char canonical[512], back[512];
        assert_true(locus_encoding_text(encoding, canonical, sizeof canonical) < sizeof canonical);
        if (locus_encoding_parse(canonical, &again, &failure) != LOCUS_OK)
            fail_msg("'%s' prints '%s': %s", text, canonical, failure.message);
        (void)locus_encoding_text(again, back, sizeof back);
        assert_string_equal(canonical, back);
        ++*accepted;
    } else {
        assert_true(status == LOCUS_ERROR_SPEC || status == LOCUS_ERROR_UNSUPPORTED);
        if (failure.offset < 0 || failure.offset > (ptrdiff_t)strlen(text) || failure.length < 1 ||
            failure.offset + failure.length > (ptrdiff_t)strlen(text) + 1)
            fail_msg("'%s' points to %td+%td of %zu: %s", text, failure.offset, failure.length, strlen(text),
                     failure.message);
        assert_true(failure.message[0] != '\0' && !strchr(failure.message, '\n'));
        assert_null(encoding);
    }
    locus_encoding_destroy(&encoding);
    locus_encoding_destroy(&again);
    free(exact);
}

static void test_specs(void **state) {
    (void)state;
    const char *asked = getenv("LOCUS_FUZZ");
    size_t count = asked ? (size_t)strtoull(asked, NULL, 10) : 60000, accepted = 0;
    for (size_t i = 0; i < count; i++) {
        char text[1024];
        make(text, sizeof text);
        check(text, &accepted);
    }
    assert_true(accepted > count / 100); /* the damage must leave some that are good */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_specs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
