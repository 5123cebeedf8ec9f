/* SPDX-License-Identifier: MIT */
/* WordPiece. The input is a vocabulary and a text, parted by the byte 0x1F. Entries are found under their last number;
 * the text's tokens are in the vocabulary, and framed and cut they are its beginning between [CLS] and [SEP]; text that
 * is no UTF-8 is refused, and only that. */
#include "fuzz.h"

#include "text/tokenizer.h"
#include "text/utf8.h"
#include "text/wordpiece.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 4096 };

static void check_entries(const lab_wordpiece *words) {
    for (size_t i = 0; i < lab_wordpiece_count(words); i++) {
        const char *entry = lab_wordpiece_text(words, (int32_t)i);
        const int32_t found = lab_wordpiece_find(words, entry, strlen(entry));
        FUZZ_REQUIRE(found >= (int32_t)i && strcmp(lab_wordpiece_text(words, found), entry) == 0);
    }
    FUZZ_REQUIRE(lab_wordpiece_text(words, -1)[0] == '\0');
    FUZZ_REQUIRE(lab_wordpiece_text(words, (int32_t)lab_wordpiece_count(words))[0] == '\0');
}

static void check_frame(const lab_wordpiece *words, const char *text, const int32_t *tokens, size_t count) {
    const lab_wordpiece_specials special = lab_wordpiece_special(words);
    for (size_t most = 1; most < 12; most += 2) {
        int32_t *framed = NULL;
        size_t got = 0;
        FUZZ_REQUIRE(lab_wordpiece_frame(words, text, strlen(text), most, &framed, &got, NULL) == LOCUS_OK);
        const size_t room = (most > 2 ? most : 2) - 2, kept = count < room ? count : room;
        FUZZ_REQUIRE(got == kept + 2 && framed[0] == special.first && framed[got - 1] == special.separator);
        FUZZ_REQUIRE(memcmp(framed + 1, tokens, kept * sizeof *tokens) == 0);
        free(framed);
    }
}

static void check_encode(const lab_wordpiece *words, const char *text) {
    int32_t *tokens = NULL;
    size_t count = 0;
    locus_error error = {0};
    const locus_status status = lab_wordpiece_encode(words, text, strlen(text), &tokens, &count, &error);
    const bool good = lab_utf8_check(text, strlen(text)) == strlen(text);
    FUZZ_REQUIRE_SAYING(status == (good ? LOCUS_OK : LOCUS_ERROR_IO), error.message);
    if (!good) {
        fuzz_check_failure(status, &error);
        return;
    }
    for (size_t i = 0; i < count; i++)
        FUZZ_REQUIRE(tokens[i] >= 0 && (size_t)tokens[i] < lab_wordpiece_count(words));
    check_frame(words, text, tokens, count);
    free(tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const size_t kept = size < MOST_TEXT ? size : MOST_TEXT;
    const uint8_t *mark = kept > 0 ? memchr(data, 0x1F, kept) : NULL;
    const size_t vocabulary = mark != NULL ? (size_t)(mark - data) : kept;
    char *text = mark != NULL ? fuzz_text(mark + 1, kept - vocabulary - 1) : fuzz_text(data, 0);
    const char *path = fuzz_file("input.txt", data, vocabulary);
    for (int uncased = 0; uncased < 2; uncased++) {
        lab_wordpiece *words = NULL;
        locus_error error = {0};
        const locus_status status = lab_wordpiece_open(&words, path, uncased == 1, &error);
        if (status == LOCUS_OK) {
            check_entries(words);
            check_encode(words, text);
        } else {
            FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO, error.message);
            fuzz_check_failure(status, &error);
        }
        lab_wordpiece_close(&words);
    }
    free(text);
    return 0;
}
