/* SPDX-License-Identifier: MIT */
/* Cleaning, splitting and normalising. A run between white space (a CJK character is a run of its own) goes through
 *
 *   cased     NFC
 *   uncased   NFC, lower case, NFD, without non-spacing marks (Mn)
 *
 * and is then split at punctuation. Lower case is of single characters, as the transformers package has it: Σ at
 * the end of a word is σ, not ς. Facts about characters come from utf8proc. */
#include "text/wordpiece_words.h"

#include "io/fail.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* ---- characters ---- */

static utf8proc_category_t category(int32_t code) {
    return utf8proc_category(code);
}

static bool is_space(int32_t code) {
    if (code == '\t' || code == '\n' || code == '\r')
        return true;
    const utf8proc_category_t of = category(code);
    return of == UTF8PROC_CATEGORY_ZS || of == UTF8PROC_CATEGORY_ZL || of == UTF8PROC_CATEGORY_ZP;
}

/* Control, format, private and unassigned characters go. */
static bool is_dropped(int32_t code) {
    if (code == 0 || code == 0xFFFD)
        return true;
    switch (category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
        return true;
    default:
        return false;
    }
}

/* ASCII's symbols count as punctuation, as "$" and "^" should too. */
static bool is_punctuation(int32_t code) {
    if (code < 128) {
        return (code >= 33 && code <= 47) || (code >= 58 && code <= 64) || (code >= 91 && code <= 96) ||
               (code >= 123 && code <= 126);
    }
    const utf8proc_category_t of = category(code);
    return of >= UTF8PROC_CATEGORY_PC && of <= UTF8PROC_CATEGORY_PO;
}

/* The blocks of CJK unified and compatibility ideographs; not kana or hangul, which are words like any other. */
static bool is_cjk(int32_t code) {
    static const int32_t blocks[][2] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
                                        {0x2B740, 0x2B81F}, {0x2B820, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
    for (size_t i = 0; code >= 0x3400 && i < sizeof blocks / sizeof *blocks; i++)
        if (code >= blocks[i][0] && code <= blocks[i][1])
            return true;
    return false;
}

/* ---- normalising a run ---- */

static locus_status reserve(lab_words *words, size_t bytes, size_t codes, locus_error *error) {
    if (bytes > words->word_room) {
        char *grown = realloc(words->word, bytes + bytes / 2);
        if (grown == NULL)
            return lab_fail_memory(error, "a word");
        words->word = grown;
        words->word_room = bytes + bytes / 2;
    }
    if (codes > words->code_room) {
        int *grown = realloc(words->codes, (codes + codes / 2) * sizeof *grown);
        if (grown == NULL)
            return lab_fail_memory(error, "a word");
        words->codes = grown;
        words->code_room = codes + codes / 2;
    }
    return LOCUS_OK;
}

/* The run in canonical decomposition, as codes. */
static locus_status decompose(lab_words *words, size_t *count, locus_error *error) {
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    const utf8proc_ssize_t length = (utf8proc_ssize_t)words->word_bytes;
    utf8proc_ssize_t needed = utf8proc_decompose((const utf8proc_uint8_t *)words->word, length, NULL, 0, options);
    *count = 0;
    if (needed < 0)
        return lab_fail(error, LOCUS_ERROR_IO, "text", "%s", utf8proc_errmsg(needed));
    const locus_status status = reserve(words, words->word_bytes, (size_t)needed + 1, error);
    if (status == LOCUS_OK) {
        needed = utf8proc_decompose((const utf8proc_uint8_t *)words->word, length, words->codes, needed, options);
        *count = needed > 0 ? (size_t)needed : 0;
    }
    return status;
}

static void compose(lab_words *words, size_t *count) {
    const utf8proc_ssize_t left =
        utf8proc_normalize_utf32(words->codes, (utf8proc_ssize_t)*count, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    *count = left > 0 ? (size_t)left : 0;
}

/* İ becomes i and a dot above it, a mark that goes anyway. */
static void lower(int *codes, size_t count) {
    for (size_t i = 0; i < count; i++)
        codes[i] = codes[i] == 0x130 ? 'i' : utf8proc_tolower(codes[i]);
}

static size_t strip_marks(int *codes, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (category(codes[i]) != UTF8PROC_CATEGORY_MN)
            codes[kept++] = codes[i];
    return kept;
}

static locus_status write_codes(lab_words *words, size_t count, locus_error *error) {
    const locus_status status = reserve(words, 4 * count + 1, 0, error);
    words->word_bytes = 0;
    for (size_t i = 0; status == LOCUS_OK && i < count; i++) {
        utf8proc_uint8_t *to = (utf8proc_uint8_t *)words->word + words->word_bytes;
        words->word_bytes += (size_t)utf8proc_encode_char(words->codes[i], to);
    }
    return status;
}

static locus_status normalise(lab_words *words, locus_error *error) {
    bool ascii = true;
    for (size_t i = 0; i < words->word_bytes; i++)
        ascii = ascii && (unsigned char)words->word[i] < 0x80;
    for (size_t i = 0; ascii && words->uncased && i < words->word_bytes; i++) {
        const char c = words->word[i];
        words->word[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    if (ascii)
        return LOCUS_OK;
    size_t count = 0;
    locus_status status = decompose(words, &count, error);
    if (status == LOCUS_OK) {
        compose(words, &count);
        if (words->uncased)
            lower(words->codes, count);
        status = write_codes(words, count, error);
    }
    if (status == LOCUS_OK && words->uncased) {
        status = decompose(words, &count, error);
        count = status == LOCUS_OK ? strip_marks(words->codes, count) : 0;
        status = status == LOCUS_OK ? write_codes(words, count, error) : status;
    }
    return status;
}

/* ---- runs and words ---- */

/* The next run between white space into `word`; empty: the text is over, or all of it was dropped. */
static locus_status read_run(lab_words *words, locus_error *error) {
    const unsigned char *text = (const unsigned char *)words->text;
    words->word_bytes = words->word_at = 0;
    while (words->at < words->bytes) {
        const int length = lab_utf8_sequence(text + words->at, words->bytes - words->at);
        const int32_t code = length > 0 ? lab_utf8_code(text + words->at, length) : 0xFFFD;
        const size_t step = length > 0 ? (size_t)length : 1;
        const bool alone = is_cjk(code);
        if (words->word_bytes > 0 && (alone || is_space(code)))
            break;
        if (!is_space(code) && !is_dropped(code)) {
            const locus_status status = reserve(words, words->word_bytes + step, 0, error);
            if (status != LOCUS_OK)
                return status;
            memcpy(words->word + words->word_bytes, text + words->at, step);
            words->word_bytes += step;
        }
        words->at += step;
        if (alone)
            break;
    }
    return words->word_bytes > 0 ? normalise(words, error) : LOCUS_OK;
}

/* Bytes of the word at `word_at`: a punctuation character, or all up to the next one. */
static size_t word_length(const lab_words *words) {
    const unsigned char *word = (const unsigned char *)words->word;
    size_t at = words->word_at;
    while (at < words->word_bytes) {
        const int length = lab_utf8_sequence(word + at, words->word_bytes - at);
        if (is_punctuation(lab_utf8_code(word + at, length))) {
            at += at == words->word_at ? (size_t)length : 0;
            break;
        }
        at += (size_t)length;
    }
    return at - words->word_at;
}

void lab_words_begin(lab_words *words, const char *text, size_t bytes, bool uncased) {
    *words = (lab_words){.text = text, .bytes = bytes, .uncased = uncased};
}

locus_status lab_words_next(lab_words *words, const char **word, size_t *length, locus_error *error) {
    *word = NULL;
    *length = 0;
    while (words->word_at == words->word_bytes && words->at < words->bytes) {
        const locus_status status = read_run(words, error);
        if (status != LOCUS_OK)
            return status;
    }
    if (words->word_at < words->word_bytes) {
        *word = words->word + words->word_at;
        *length = word_length(words);
        words->word_at += *length;
    }
    return LOCUS_OK;
}

void lab_words_end(lab_words *words) {
    free(words->word);
    free(words->codes);
    *words = (lab_words){0};
}
