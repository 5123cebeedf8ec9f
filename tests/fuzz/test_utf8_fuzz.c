/* SPDX-License-Identifier: MIT */
/* UTF-8 from random bytes, from random characters and from those with small damage, against a reference that works
 * the other way round: it encodes every code point and compares. The detokenizer of bytes gives back what is good,
 * and puts a U+FFFD where it is not. LOCUS_FUZZ sets the number of texts. */
#include "io/fail.h"
#include "text/tokenizer.h"

#include <locus/random.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const locus_random stream = {.seed = 20261121, .purpose = LOCUS_RANDOM_USER, .step = 7};
static uint64_t drawn;

static uint32_t below(uint32_t bound) {
    return (uint32_t)locus_random_below(&stream, drawn++, bound);
}

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

static uint32_t any_code(void) {
    static const uint32_t edges[] = {0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x10FFFF, 0};
    const uint32_t bounds[] = {0x80, 0x800, 0xD800, 0x110000};
    const uint32_t code = below(4) == 0 ? edges[below(sizeof edges / sizeof *edges)]
                                        : below(bounds[below(sizeof bounds / sizeof *bounds)]);
    return code >= 0xD800 && code <= 0xDFFF ? ' ' : code;
}

static size_t make(unsigned char *text, size_t most) {
    size_t bytes = 0;
    const uint32_t how = below(3);
    const size_t wanted = below((uint32_t)most - 4);
    while (how > 0 && bytes < wanted)
        bytes += write_code(any_code(), text + bytes);
    for (; how == 0 && bytes < wanted; bytes++)
        text[bytes] = (unsigned char)below(256);
    for (uint32_t damage = how == 2 && bytes > 0 ? 1 + below(3) : 0; damage > 0; damage--)
        text[below((uint32_t)bytes)] = (unsigned char)below(256);
    return bytes;
}

/* Token by token; what comes of each is whole UTF-8. */
static size_t decode(const lab_tokenizer *tokenizer, const unsigned char *text, size_t bytes, char *back) {
    lab_detokenizer detokenizer = {.tokenizer = tokenizer};
    size_t used = 0;
    for (size_t i = 0; i <= bytes; i++) {
        const size_t came = i < bytes ? lab_detokenizer_add(&detokenizer, text[i], back + used, 256)
                                      : lab_detokenizer_end(&detokenizer, back + used, 256);
        assert_int_equal(lab_utf8_check(back + used, came), came);
        used += came;
    }
    return used;
}

static void check(const lab_tokenizer *tokenizer, const unsigned char *text, size_t bytes, size_t *good) {
    char *exact = malloc(bytes + 1), back[4 * 512]; /* so that a sanitizer sees every byte read past the end */
    assert_non_null(exact);
    memcpy(exact, text, bytes);
    char *shown = realloc(exact, bytes > 0 ? bytes : 1);
    assert_non_null(shown);
    const size_t bad = lab_utf8_check(shown, bytes), want = reference_check(text, bytes);
    if (bad != want)
        fail_msg("bad byte at %zu, the reference has %zu of %zu", bad, want, bytes);
    const size_t used = decode(tokenizer, text, bytes, back);
    assert_true(used >= bad);
    assert_memory_equal(back, text, bad);
    if (bad == bytes) {
        assert_int_equal(used, bytes);
        ++*good;
    } else {
        assert_memory_equal(back + bad, "\xEF\xBF\xBD", 3);
    }
    int32_t *tokens;
    size_t count;
    locus_error error = {0};
    assert_int_equal(lab_tokenizer_encode(tokenizer, shown, bytes, &tokens, &count, &error),
                     bad == bytes ? LOCUS_OK : LOCUS_ERROR_IO);
    assert_true(bad == bytes ? count == bytes : strstr(error.message, "is no UTF-8: byte 0x") != NULL);
    free(tokens);
    free(shown);
}

static void texts(void **state) {
    const char *asked = getenv("LOCUS_FUZZ");
    const size_t count = asked ? (size_t)strtoull(asked, NULL, 10) : 20000;
    size_t good = 0;
    lab_tokenizer *tokenizer;
    (void)state;
    assert_int_equal(lab_tokenizer_open_bytes(&tokenizer, NULL), LOCUS_OK);
    for (size_t i = 0; i < count; i++) {
        unsigned char text[512];
        const size_t bytes = make(text, i % 4 == 0 ? sizeof text : 24);
        check(tokenizer, text, bytes, &good);
    }
    lab_tokenizer_close(&tokenizer);
    assert_true(good > count / 5 && good < count);
}

/* Every pair of bytes, and every beginning of three and four. */
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(every_beginning)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
