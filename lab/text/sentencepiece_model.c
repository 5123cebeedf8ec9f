/* SPDX-License-Identifier: MIT */
/* The pieces of a SentencePiece model, read from its protocol buffer (sentencepiece_model.proto, wire format proto2):
 *
 *   ModelProto       1: repeated SentencePiece   3: NormalizerSpec
 *   SentencePiece    1: text   3: type, NORMAL if it is not there
 *   NormalizerSpec   3: add_dummy_prefix, true if it is not there
 *
 * All other fields are passed over. Nothing is believed: lengths are checked against what is left. */
#include "text/sentencepiece.h"

#include "io/fail.h"
#include "io/file.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

#define SPACE_MARK "\xE2\x96\x81"

/* ---- wire format ---- */

typedef struct message {
    const unsigned char *at, *end;
} message;

/* One field. `bytes` is of fields with a length, `value` of numbers. */
typedef struct field {
    uint32_t number;
    bool sized;
    uint64_t value;
    message bytes;
} field;

static bool read_varint(message *from, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64 && from->at < from->end; shift += 7) {
        const unsigned char byte = *from->at++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool skip(message *from, uint64_t bytes) {
    const bool fits = bytes <= (uint64_t)(from->end - from->at);
    from->at += fits ? bytes : 0;
    return fits;
}

/* false: the message is over, or *good is false. */
static bool next_field(message *from, field *found, bool *good) {
    uint64_t tag;
    if (from->at == from->end)
        return false;
    *good = *good && read_varint(from, &tag) && tag >> 3 <= UINT32_MAX;
    if (!*good)
        return false;
    *found = (field){.number = (uint32_t)(tag >> 3), .sized = (tag & 7) == 2};
    switch (tag & 7) {
    case 0:
        *good = read_varint(from, &found->value);
        break;
    case 1:
        *good = skip(from, 8);
        break;
    case 2:
        *good = read_varint(from, &found->value);
        found->bytes.at = from->at;
        *good = *good && skip(from, found->value);
        found->bytes.end = from->at;
        break;
    case 5:
        *good = skip(from, 4);
        break;
    default:
        *good = false;
    }
    return *good;
}

/* ---- pieces ---- */

/* What is filled while a model is read: `texts` is as large as the file. */
typedef struct reading {
    lab_sentencepiece_model *model;
    const char *path;
    size_t used;
    bool good;
} reading;

static int hexadecimal(char digit) {
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* The byte of "<0x0A>"; −1: the text is none. */
static int byte_of(const char *text, size_t length) {
    if (length != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return -1;
    const int high = hexadecimal(text[3]), low = hexadecimal(text[4]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
}

static void add_text(reading *of, const char *text, size_t length) {
    char *to = of->model->texts + of->used;
    for (size_t i = 0; i < length;) {
        const bool space = length - i >= 3 && memcmp(text + i, SPACE_MARK, 3) == 0;
        *to++ = space ? ' ' : text[i];
        i += space ? 3 : 1;
    }
    of->used = (size_t)(to - of->model->texts);
}

static locus_status add_piece(reading *of, const char *text, size_t length, uint64_t type, locus_error *error) {
    lab_sentencepiece_model *model = of->model;
    const int32_t number = (int32_t)model->count;
    lab_piece *piece = &model->pieces[model->count++];
    *piece = (lab_piece){.start = of->used, .type = (lab_piece_type)type};
    if (length > LAB_PIECE_MOST_BYTES) {
        return lab_fail_file(error, of->path, "has piece %ld of %zu bytes: at most %d are read", (long)number, length,
                             LAB_PIECE_MOST_BYTES);
    }
    if (type < LAB_PIECE_NORMAL || type > LAB_PIECE_BYTE || lab_utf8_check(text, length) != length)
        return lab_fail_file(error, of->path, "is no SentencePiece model, or damaged: piece %ld", (long)number);
    if (type == LAB_PIECE_BYTE) {
        const int byte = byte_of(text, length);
        if (byte < 0)
            return lab_fail_file(error, of->path, "is damaged: piece %ld should be a byte", (long)number);
        const char one = (char)(unsigned char)byte;
        model->bytes[byte] = number;
        model->texts[of->used++] = one;
    } else if (type == LAB_PIECE_UNKNOWN) {
        model->unknown = number;
    } else if (type != LAB_PIECE_CONTROL) {
        add_text(of, text, length);
        model->line_end = length == 1 && text[0] == '\n' ? number : model->line_end;
    }
    piece->length = of->used - piece->start;
    return LOCUS_OK;
}

static locus_status read_piece(reading *of, message from, locus_error *error) {
    field found;
    const char *text = "";
    size_t length = 0;
    uint64_t type = LAB_PIECE_NORMAL;
    while (next_field(&from, &found, &of->good)) {
        if (found.number == 1 && found.sized) {
            text = (const char *)found.bytes.at;
            length = (size_t)(found.bytes.end - found.bytes.at);
        } else if (found.number == 3 && !found.sized) {
            type = found.value;
        }
    }
    return of->good ? add_piece(of, text, length, type, error) : LOCUS_OK;
}

static void read_normalizer(reading *of, message from) {
    field found;
    while (next_field(&from, &found, &of->good))
        if (found.number == 3 && !found.sized)
            of->model->dummy_prefix = found.value != 0;
}

static size_t count_pieces(message from, bool *good) {
    field found;
    size_t count = 0;
    while (next_field(&from, &found, good))
        count += found.number == 1 && found.sized;
    return count;
}

static locus_status read_model(reading *of, message from, locus_error *error) {
    locus_status status = LOCUS_OK;
    field found;
    while (status == LOCUS_OK && next_field(&from, &found, &of->good))
        if (found.number == 1 && found.sized)
            status = read_piece(of, found.bytes, error);
        else if (found.number == 3 && found.sized)
            read_normalizer(of, found.bytes);
    return status;
}

locus_status lab_sentencepiece_read(lab_sentencepiece_model *model, const char *path, locus_error *error) {
    reading of = {.model = model, .path = path, .good = true};
    char *data;
    size_t bytes;
    *model = (lab_sentencepiece_model){.unknown = -1, .line_end = -1, .dummy_prefix = true};
    for (int b = 0; b < 256; b++)
        model->bytes[b] = -1;
    locus_status status = lab_file_read(path, &data, &bytes, error);
    if (status != LOCUS_OK)
        return status;
    const message whole = {(const unsigned char *)data, (const unsigned char *)data + bytes};
    const size_t count = count_pieces(whole, &of.good);
    if (of.good && count > 0 && count <= INT32_MAX) {
        model->pieces = calloc(count, sizeof *model->pieces);
        model->texts = malloc(bytes);
        status = model->pieces != NULL && model->texts != NULL
                     ? read_model(&of, whole, error)
                     : lab_fail_memory(error, "the pieces of a SentencePiece model");
    }
    if (status == LOCUS_OK && (!of.good || count == 0 || count > INT32_MAX))
        status = lab_fail_file(error, path, "is no SentencePiece model, or damaged");
    model->line_end = model->line_end < 0 ? model->bytes['\n'] : model->line_end;
    free(data);
    if (status != LOCUS_OK)
        lab_sentencepiece_release(model);
    return status;
}

void lab_sentencepiece_release(lab_sentencepiece_model *model) {
    free(model->pieces);
    free(model->texts);
    *model = (lab_sentencepiece_model){0};
}
