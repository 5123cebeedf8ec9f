/* SPDX-License-Identifier: MIT */
/* Tokens back to text, one at a time. Bytes wait in `pending` until they are a whole character, or can't become
 * one: the longest beginning of a character that came is then one U+FFFD, as the Unicode standard recommends
 * (3.9). */
#include "text/tokenizer_kinds.h"
#include "text/utf8.h"

#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"

typedef struct sink {
    char *text;
    size_t size, used;
} sink;

/* Whole or not at all: text is never cut within a character. */
static void put(sink *out, const void *bytes, size_t count) {
    if (count <= out->size - out->used) {
        memcpy(out->text + out->used, bytes, count);
        out->used += count;
    }
}

static void add_byte(lab_detokenizer *detokenizer, unsigned char byte, sink *out) {
    unsigned char *pending = detokenizer->pending;
    pending[detokenizer->pending_count++] = byte;
    const int length = lab_utf8_sequence(pending, detokenizer->pending_count);
    if (length == 0)
        return;
    const size_t before = detokenizer->pending_count - 1;
    detokenizer->pending_count = 0;
    if (length > 0) {
        put(out, pending, (size_t)length);
    } else {
        put(out, REPLACEMENT, 3);
        if (before > 0) /* `byte` ended what had begun, and may begin a character itself */
            add_byte(detokenizer, byte, out);
    }
}

static void add_bytes(lab_detokenizer *detokenizer, const char *bytes, size_t count, sink *out) {
    for (size_t i = 0; i < count; i++)
        add_byte(detokenizer, (unsigned char)bytes[i], out);
}

/* The space that a model puts before each line goes again. */
static void add_piece(lab_detokenizer *detokenizer, int32_t token, sink *out) {
    const lab_sentencepiece_model *model = &detokenizer->tokenizer->pieces;
    const lab_piece *piece = &model->pieces[token];
    const char *text = model->texts + piece->start;
    size_t length = piece->length;
    if (length == 0)
        return;
    if (model->dummy_prefix && !detokenizer->begun && text[0] == ' ') {
        text++;
        length--;
    }
    add_bytes(detokenizer, text, length, out);
    detokenizer->begun = token != model->line_end;
}

/* Words are parted by a space. */
static void add_word(lab_detokenizer *detokenizer, int32_t token, sink *out) {
    const char *entry = lab_wordpiece_text(detokenizer->tokenizer->words, token);
    const bool inside = entry[0] == '#' && entry[1] == '#' && entry[2] != '\0';
    if (detokenizer->begun && !inside)
        put(out, " ", 1);
    entry += inside ? 2 : 0;
    put(out, entry, strlen(entry));
    detokenizer->begun = true;
}

size_t lab_detokenizer_add(lab_detokenizer *detokenizer, int32_t token, char *text, size_t size) {
    sink out = {text, size, 0};
    if (token < 0 || (size_t)token >= lab_tokenizer_vocabulary(detokenizer->tokenizer)) {
        add_bytes(detokenizer, REPLACEMENT, 3, &out);
        return out.used;
    }
    switch (detokenizer->tokenizer->kind) {
    case LAB_TOKENIZER_BYTES:
        add_byte(detokenizer, (unsigned char)token, &out);
        break;
    case LAB_TOKENIZER_SENTENCEPIECE:
        add_piece(detokenizer, token, &out);
        break;
    case LAB_TOKENIZER_WORDPIECE:
        add_word(detokenizer, token, &out);
        break;
    }
    return out.used;
}

size_t lab_detokenizer_end(lab_detokenizer *detokenizer, char *text, size_t size) {
    sink out = {text, size, 0};
    if (detokenizer->pending_count > 0)
        put(&out, REPLACEMENT, 3);
    detokenizer->pending_count = 0;
    detokenizer->begun = false;
    return out.used;
}
