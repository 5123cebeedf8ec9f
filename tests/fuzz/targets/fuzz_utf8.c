/* SPDX-License-Identifier: MIT */
/* UTF-8 against a reference that works the other way round: it encodes every code point and compares. The detokenizer
 * of bytes gives back what is good, whole characters at a time, and puts a U+FFFD where the first bad byte is; the
 * tokenizer refuses what is bad and gives the bytes of the rest. */
#include "fuzz.h"

#include "text/tokenizer.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 1024 };

/* A code point as RFC 3629, section 3, writes it; its length. */
static size_t write_code(uint32_t code, unsigned char *to) {
    const size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    to[0] = (unsigned char)(leads[length] | code >> 6 * (length - 1));
    for (size_t i = 1; i < length; i++)
        to[i] = (unsigned char)(0x80 | (code >> 6 * (length - 1 - i) & 63));
    return length;
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
            memcmp(written, at, length) == 0) {
            FUZZ_REQUIRE(lab_utf8_sequence(at, left) == (int)length);
            FUZZ_REQUIRE(lab_utf8_code(at, (int)length) == (int32_t)code);
            return length;
        }
    }
    FUZZ_REQUIRE(left == 0 || lab_utf8_sequence(at, left) <= 0);
    return 0;
}

/* Token by token; what comes of each is whole UTF-8. */
static size_t decode(const lab_tokenizer *tokenizer, const uint8_t *text, size_t bytes, char *back, size_t size) {
    lab_detokenizer detokenizer = {.tokenizer = tokenizer};
    size_t used = 0;
    for (size_t i = 0; i <= bytes; i++) {
        const size_t came = i < bytes ? lab_detokenizer_add(&detokenizer, text[i], back + used, size - used)
                                      : lab_detokenizer_end(&detokenizer, back + used, size - used);
        FUZZ_REQUIRE(lab_utf8_check(back + used, came) == came);
        used += came;
    }
    return used;
}

static void check_decode(const lab_tokenizer *tokenizer, const uint8_t *text, size_t bytes, size_t good) {
    static char back[3 * MOST_TEXT + 256];
    const size_t used = decode(tokenizer, text, bytes, back, sizeof back);
    FUZZ_REQUIRE(used >= good && memcmp(back, text, good) == 0);
    if (good == bytes)
        FUZZ_REQUIRE(used == bytes);
    else
        FUZZ_REQUIRE(used >= good + 3 && memcmp(back + good, "\xEF\xBF\xBD", 3) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const size_t bytes = size < MOST_TEXT ? size : MOST_TEXT;
    lab_tokenizer *tokenizer = NULL;
    int32_t *tokens = NULL;
    size_t count = 0, want = 0;
    locus_error error = {0};
    FUZZ_REQUIRE(lab_tokenizer_open_bytes(&tokenizer, NULL) == LOCUS_OK);
    for (size_t length; want < bytes && (length = reference_length(data + want, bytes - want)) > 0;)
        want += length;
    FUZZ_REQUIRE(lab_utf8_check((const char *)data, bytes) == want);
    check_decode(tokenizer, data, bytes, want);
    const locus_status status = lab_tokenizer_encode(tokenizer, (const char *)data, bytes, &tokens, &count, &error);
    FUZZ_REQUIRE_SAYING(status == (want == bytes ? LOCUS_OK : LOCUS_ERROR_IO), error.message);
    if (status != LOCUS_OK)
        fuzz_check_failure(status, &error);
    FUZZ_REQUIRE(status != LOCUS_OK || count == bytes);
    for (size_t i = 0; i < count; i++)
        FUZZ_REQUIRE(tokens[i] == data[i]);
    free(tokens);
    lab_tokenizer_close(&tokenizer);
    return 0;
}
