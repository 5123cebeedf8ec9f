/* SPDX-License-Identifier: MIT */
/* Layer patterns: which encoding each layer has (pattern.h).
 *
 * A pattern is kept as the list of its layers, each the index of an encoding, cut to its shortest period: so patterns
 * that mean the same have the same canonical text, a run of layers being written as one item. Encodings are told apart
 * by their canonical texts. */
#include <locus/pattern.h>

#include "spec/class.h"

#include "algebra/group_access.h"
#include "core/error.h"

#include <stdio.h>
#include <string.h>

#define ENCODINGS_MAX 64 /* that differ, in a pattern */
#define LAYERS_MAX 65536 /* of one round */

struct locus_pattern {
    atomic_size_t owners;
    size_t size;
    locus_encoding *encodings[ENCODINGS_MAX];
    const locus_group *group; /* of the first that has one, borrowed; NULL: none has */
    size_t period;            /* layers */
    uint8_t layers[];         /* [LAYERS_MAX] while it is read, then [period] */
};

typedef struct pattern_reader {
    const char *text;
    size_t at;
    locus_pattern *pattern;
    locus_error *error;
} pattern_reader;

static size_t pattern_bytes(size_t layers) {
    return sizeof(locus_pattern) + layers;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static void skip_blanks(pattern_reader *reader) {
    while (is_blank(reader->text[reader->at]))
        reader->at++;
}

static locus_status fail_piece(const pattern_reader *reader, size_t first, size_t end, const char *message) {
    return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "pattern", (ptrdiff_t)first, (ptrdiff_t)(end - first), "%s",
                         message);
}

/* The end of the spec that begins here: the next '/' outside of parentheses. */
static size_t spec_end(const pattern_reader *reader) {
    size_t end = reader->at, depth = 0;
    for (char c; (c = reader->text[end]) != '\0' && (c != '/' || depth > 0); end++) {
        depth += c == '(';
        depth -= c == ')' && depth > 0;
    }
    return end;
}

/* [count "*"]; 1 if there is none. A name may begin with digits as far as this is concerned: no '*', no count. */
static locus_status read_count(pattern_reader *reader, size_t *count) {
    const size_t first = reader->at;
    size_t end = first, value = 0;
    *count = 1;
    for (; is_digit(reader->text[end]); end++)
        value = value > LAYERS_MAX ? value : 10 * value + (size_t)(reader->text[end] - '0');
    size_t star = end;
    while (is_blank(reader->text[star]))
        star++;
    if (reader->text[star] != '*' || (end == first && reader->text[first] != '*'))
        return LOCUS_OK;
    if (end == first)
        return fail_piece(reader, star, star + 1, "expected the number of layers before '*', as in 3*rope");
    if (value == 0 || value > LAYERS_MAX)
        return fail_piece(reader, first, end, "a pattern repeats an encoding for 1 to 65536 layers");
    *count = value;
    reader->at = star + 1;
    skip_blanks(reader);
    return LOCUS_OK;
}

static locus_status parse_spec(pattern_reader *reader, size_t end, locus_encoding **encoding) {
    const size_t length = end - reader->at;
    char *copy = locus_allocate(length + 1);
    if (!copy)
        return locus_fail_memory(reader->error, length + 1);
    memcpy(copy, reader->text + reader->at, length);
    copy[length] = '\0';
    locus_status status = locus_encoding_parse(copy, encoding, reader->error);
    if (status != LOCUS_OK && reader->error && reader->error->offset >= 0)
        reader->error->offset += (ptrdiff_t)reader->at;
    locus_release(copy, length + 1);
    return status;
}

/* Texts may be long (lists of numbers): they are written where there is room. MEMORY, or OK with *equal set. */
static locus_status compare(const locus_encoding *a, const locus_encoding *b, bool *equal, locus_error *error) {
    const size_t length = locus_encoding_text(a, NULL, 0), bytes = 2 * (length + 1);
    *equal = false;
    if (locus_encoding_text(b, NULL, 0) != length)
        return LOCUS_OK;
    char *texts = locus_allocate(bytes);
    if (!texts)
        return locus_fail_memory(error, bytes);
    (void)locus_encoding_text(a, texts, length + 1);
    (void)locus_encoding_text(b, texts + length + 1, length + 1);
    *equal = memcmp(texts, texts + length + 1, length) == 0;
    locus_release(texts, bytes);
    return LOCUS_OK;
}

/* What a further encoding must be to stand beside the first ones. */
static locus_status check_further(pattern_reader *reader, const locus_encoding *encoding, size_t end) {
    locus_pattern *pattern = reader->pattern;
    const locus_group *group = encoding->group;
    if (pattern->size == ENCODINGS_MAX)
        return fail_piece(reader, reader->at, end, "a pattern has at most 64 different encodings");
    if (pattern->size > 0 && locus_encoding_sites(encoding) & (LOCUS_SITE_EMBEDDING | LOCUS_SITE_ENCODED))
        return fail_piece(reader, reader->at, end,
                          "vectors are added once, before the first layer or behind the last: only the first encoding "
                          "of a pattern can do it");
    if (!group || !pattern->group || locus_group_equal(group, pattern->group)) {
        pattern->group = pattern->group ? pattern->group : group;
        return LOCUS_OK;
    }
    char own[96], other[96];
    (void)locus_group_text(group, own, sizeof own);
    (void)locus_group_text(pattern->group, other, sizeof other);
    return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "pattern", (ptrdiff_t)reader->at,
                         (ptrdiff_t)(end - reader->at),
                         "this encoding acts on '%s', those before it on '%s': a pattern needs one group", own, other);
}

/* Takes the encoding over, or finds the one that it equals. */
static locus_status enter(pattern_reader *reader, locus_encoding *encoding, size_t end, size_t *index) {
    locus_pattern *pattern = reader->pattern;
    locus_status status = LOCUS_OK;
    bool equal = false;
    for (*index = 0; *index < pattern->size; ++*index) {
        status = compare(pattern->encodings[*index], encoding, &equal, reader->error);
        if (status != LOCUS_OK || equal)
            break;
    }
    if (status == LOCUS_OK && !equal)
        status = check_further(reader, encoding, end);
    if (status == LOCUS_OK && !equal)
        pattern->encodings[pattern->size++] = encoding;
    else
        locus_encoding_destroy(&encoding);
    return status;
}

static locus_status read_item(pattern_reader *reader) {
    locus_pattern *pattern = reader->pattern;
    size_t count, index = 0;
    locus_encoding *encoding = NULL;
    skip_blanks(reader);
    const size_t first = reader->at;
    locus_status status = read_count(reader, &count);
    if (status != LOCUS_OK)
        return status;
    size_t end = spec_end(reader), last = end;
    while (last > reader->at && is_blank(reader->text[last - 1]))
        last--;
    status = parse_spec(reader, end, &encoding);
    if (status == LOCUS_OK)
        status = enter(reader, encoding, last, &index);
    if (status != LOCUS_OK)
        return status;
    if (count > LAYERS_MAX - pattern->period)
        return fail_piece(reader, first, last, "a pattern has at most 65536 layers before it begins again");
    memset(pattern->layers + pattern->period, (int)index, count);
    pattern->period += count;
    reader->at = end;
    return LOCUS_OK;
}

/* The shortest period that divides the layers. A shift by p that leaves them as they are is found by comparison. */
static size_t shortest_period(const uint8_t *layers, size_t count) {
    for (size_t period = 1; period < count; period++)
        if (count % period == 0 && memcmp(layers, layers + period, count - period) == 0)
            return period;
    return count;
}

/* The same in a block of its own size. */
static locus_status shrink(locus_pattern *pattern, locus_pattern **shrunk, locus_error *error) {
    pattern->period = shortest_period(pattern->layers, pattern->period);
    *shrunk = locus_allocate(pattern_bytes(pattern->period));
    if (!*shrunk)
        return locus_fail_memory(error, pattern_bytes(pattern->period));
    memcpy(*shrunk, pattern, pattern_bytes(pattern->period));
    atomic_init(&(*shrunk)->owners, 1);
    return LOCUS_OK;
}

static locus_status read_items(pattern_reader *reader) {
    for (;;) {
        locus_status status = read_item(reader);
        if (status != LOCUS_OK || reader->text[reader->at] == '\0')
            return status;
        reader->at++; /* '/' */
    }
}

static void release_encodings(locus_pattern *pattern) {
    for (size_t i = 0; i < pattern->size; i++)
        locus_encoding_destroy(&pattern->encodings[i]);
}

locus_status locus_pattern_parse(const char *text, locus_pattern **pattern, locus_error *error) {
    if (!pattern)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "pattern", "pattern is NULL: give a place for the result");
    *pattern = NULL;
    if (!text)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "text", "text is NULL: give a text such as \"3*rope / none\"");
    locus_pattern *fresh = locus_allocate(pattern_bytes(LAYERS_MAX));
    if (!fresh)
        return locus_fail_memory(error, pattern_bytes(LAYERS_MAX));
    memset(fresh, 0, sizeof *fresh);
    pattern_reader reader = {text, 0, fresh, error};
    locus_status status = read_items(&reader);
    if (status == LOCUS_OK)
        status = shrink(fresh, pattern, error);
    if (status != LOCUS_OK)
        release_encodings(fresh);
    locus_release(fresh, pattern_bytes(LAYERS_MAX));
    return status;
}

/* The count of owners is the one thing about a pattern that changes. */
locus_pattern *locus_pattern_retain(const locus_pattern *pattern) {
    locus_pattern *shared = (locus_pattern *)(uintptr_t)pattern;
    if (shared)
        atomic_fetch_add(&shared->owners, 1);
    return shared;
}

void locus_pattern_destroy(locus_pattern **pattern) {
    if (!pattern || !*pattern)
        return;
    locus_pattern *gone = *pattern;
    *pattern = NULL;
    if (atomic_fetch_sub(&gone->owners, 1) != 1)
        return;
    release_encodings(gone);
    locus_release(gone, pattern_bytes(gone->period));
}

size_t locus_pattern_size(const locus_pattern *pattern) {
    return pattern ? pattern->size : 0;
}

const locus_encoding *locus_pattern_encoding(const locus_pattern *pattern, size_t index) {
    return pattern && index < pattern->size ? pattern->encodings[index] : NULL;
}

size_t locus_pattern_layer(const locus_pattern *pattern, size_t layer) {
    return pattern ? pattern->layers[layer % pattern->period] : 0;
}

/* ---- back to text ---- */

/* Writes at `length` what fits into `size` bytes; returns the new length. */
static size_t put(char *text, size_t size, size_t length, const char *piece) {
    for (; *piece; piece++, length++)
        if (length + 1 < size)
            text[length] = *piece;
    return length;
}

static size_t put_encoding(char *text, size_t size, size_t length, const locus_encoding *encoding) {
    const size_t left = length < size ? size - length : 0;
    return length + locus_encoding_text(encoding, left ? text + length : NULL, left);
}

size_t locus_pattern_text(const locus_pattern *pattern, char *text, size_t size) {
    size_t length = 0, end;
    size = text ? size : 0;
    for (size_t layer = 0; pattern && layer < pattern->period; layer = end) {
        char count[24];
        for (end = layer + 1; end < pattern->period && pattern->layers[end] == pattern->layers[layer];)
            end++;
        (void)snprintf(count, sizeof count, "%zu*", end - layer);
        length = put(text, size, length, layer > 0 ? " / " : "");
        length = put(text, size, length, end - layer > 1 ? count : "");
        length = put_encoding(text, size, length, pattern->encodings[pattern->layers[layer]]);
    }
    if (size > 0)
        text[length < size ? length : size - 1] = '\0';
    return length;
}
