/* SPDX-License-Identifier: MIT */
/* UTF-8: every pair of bytes, and every beginning of three and four, against a reference that works the other way
 * round: it encodes the code point and compares. Whole texts are the fuzz target's, tests/fuzz/targets/fuzz_utf8.c. */
#include "text/tokenizer.h"
#include "text/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A code point as RFC 3629, section 3, writes it; its length. */
static size_t write_code(uint32_t code, unsigned char *to) {
    if (code < 0x80)
        return to[0] = (unsigned char)code, 1;
    if (code < 0x800)
        return to[0] = (unsigned char)(0xC0 | code >> 6), to[1] = (unsigned char)(0x80 | (code & 63)), 2;
    if (code < 0x10000)
        return to[0] = (unsigned char)(0xE0 | code >> 12), to[1] = (unsigned char)(0x80 | (code >> 6 & 63)),
               to[2] = (unsigned char)(0x80 | (code & 63)), 3;
    return to[0] = (unsigned char)(0xF0 | code >> 18), to[1] = (unsigned char)(0x80 | (code >> 12 & 63)),
           to[2] = (unsigned char)(0x80 | (code >> 6 & 63)), to[3] = (unsigned char)(0x80 | (code & 63)), 4;
}

/* The length of the character at `at`, found by writing the code that its bits say; 0: there is none. */
static size_t reference_length(const unsigned char *at, size_t left) {
    static const uint32_t lead_bits[] = {0x7F, 0x1F, 0x0F, 0x07};
    for (size_t length = 1; length <= 4 && length <= left; length++) {
        unsigned char written[4];
        uint32_t code = at[0] & lead_bits[length - 1];
        for (size_t i = 1; i < length; i++)
            code = code << 6 | (at[i] & 63u);
        if (code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF) && write_code(code, written) == length &&
            memcmp(written, at, length) == 0)
            return length;
    }
    return 0;
}

static size_t reference_check(const unsigned char *text, size_t bytes) {
    size_t at = 0;
    for (size_t length; at < bytes && (length = reference_length(text + at, bytes - at)) > 0;)
        at += length;
    return at;
}

static void every_beginning(void **state) {
    (void)state;
    for (uint32_t lead = 0; lead < 0x10000; lead++) {
        static const unsigned char tails[][2] = {{0x80, 0x80}, {0xBF, 0xBF}, {0x7F, 0x80}, {0x80, 0xC0}, {'a', 'b'}};
        for (size_t t = 0; t < sizeof tails / sizeof *tails; t++) {
            const unsigned char text[] = {(unsigned char)(lead >> 8), (unsigned char)lead, tails[t][0], tails[t][1]};
            for (size_t bytes = 1; bytes <= 4; bytes++)
                assert_int_equal(lab_utf8_check((const char *)text, bytes), reference_check(text, bytes));
        }
    }
}

/* Tokens of bytes back to text: each beginning that can't become a character is one U+FFFD, and nothing else. */
static void damaged_texts(void **state) {
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        {"a\xc3\xa9\xf0\x9f\x98\x80z", "a\xc3\xa9\xf0\x9f\x98\x80z"},
        {"\xff"
         "b",
         "\xef\xbf\xbd"
         "b"},
        {"\xe2\x82"
         "A",
         "\xef\xbf\xbd"
         "A"}, /* the longest beginning counts once */
        {"\xe2\x82\xe2\x82\xac", "\xef\xbf\xbd\xe2\x82\xac"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"x\xf0\x9f", "x\xef\xbf\xbd"}, /* the end comes first */
    };
    lab_tokenizer *tokenizer = NULL;
    (void)state;
    assert_int_equal(lab_tokenizer_open_bytes(&tokenizer, NULL), LOCUS_OK);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        lab_detokenizer detokenizer = {.tokenizer = tokenizer};
        char text[64];
        size_t used = 0;
        const size_t room = strlen(cases[c].text); /* just enough */
        for (const char *at = cases[c].bytes; *at != '\0'; at++)
            used += lab_detokenizer_add(&detokenizer, (unsigned char)*at, text + used, room - used);
        used += lab_detokenizer_end(&detokenizer, text + used, room - used);
        assert_int_equal(used, strlen(cases[c].text));
        assert_memory_equal(text, cases[c].text, used);
    }
    lab_detokenizer detokenizer = {.tokenizer = tokenizer};
    char nothing = 'x';
    assert_int_equal(lab_detokenizer_add(&detokenizer, 0, &nothing, 1), 1); /* a byte like others */
    assert_int_equal(nothing, '\0');
    lab_tokenizer_close(&tokenizer);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_beginning), cmocka_unit_test(damaged_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
