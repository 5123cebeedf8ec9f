/* SPDX-License-Identifier: MIT */
/* A vocabulary as a hash table (FNV-1a, open addressing, at most half full), and words cut greedily into its longest
 * entries. */
#include "text/wordpiece.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/grow.h"
#include "text/utf8.h"
#include "text/wordpiece_words.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CHARACTERS = 100, SPECIALS = 5 };
#define MOST_ENTRIES ((size_t)1 << 24)

static const char *const special_names[SPECIALS] = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"};

struct lab_wordpiece {
    char *text; /* the file, each entry ended by a 0 */
    size_t count, longest;
    const char **entries; /* [count] */
    int32_t *table;       /* [slots] entry, or −1 */
    size_t slots;         /* a power of 2 */
    int32_t specials[SPECIALS];
    bool uncased;
};

/* ---- the vocabulary ---- */

/* FNV-1a, begun by 0xcbf29ce484222325. */
static uint64_t hash_on(uint64_t hash, const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* The slot of prefix + bytes, or the empty one where it belongs. */
static size_t find_slot(const lab_wordpiece *words, const char *prefix, const char *bytes, size_t count) {
    const size_t before = strlen(prefix);
    const uint64_t hash = hash_on(hash_on(UINT64_C(0xcbf29ce484222325), prefix, before), bytes, count);
    size_t slot = (size_t)(hash ^ hash >> 32) & (words->slots - 1);
    for (;; slot = (slot + 1) & (words->slots - 1)) {
        const int32_t entry = words->table[slot];
        if (entry < 0)
            return slot;
        const char *text = words->entries[entry];
        if (strncmp(text, prefix, before) == 0 && strncmp(text + before, bytes, count) == 0 &&
            text[before + count] == '\0')
            return slot;
    }
}

/* Lines become entries; a line end before the end of the file begins no further one. Of equal lines the last counts. */
static locus_status read_entries(lab_wordpiece *words, const char *path, size_t bytes, locus_error *error) {
    size_t lines = bytes > 0 && words->text[bytes - 1] != '\n';
    for (size_t i = 0; i < bytes; i++)
        lines += words->text[i] == '\n';
    if (lines > MOST_ENTRIES || memchr(words->text, '\0', bytes) != NULL) {
        return lab_fail_file(error, path, "is no vocabulary: it has %s",
                             lines > MOST_ENTRIES ? "too many lines" : "a NUL");
    }
    for (words->slots = 16; words->slots < 2 * lines; words->slots *= 2) {
    }
    words->entries = calloc(lines + 1, sizeof *words->entries);
    words->table = malloc(words->slots * sizeof *words->table);
    if (words->entries == NULL || words->table == NULL)
        return lab_fail_memory(error, "a vocabulary");
    memset(words->table, 0xFF, words->slots * sizeof *words->table);
    for (char *at = words->text; words->count < lines;) {
        const size_t length = strcspn(at, "\n");
        char *next = at + length + (at[length] == '\n');
        const size_t kept = length > 0 && at[length - 1] == '\r' ? length - 1 : length;
        at[kept] = '\0';
        words->entries[words->count] = at;
        words->table[find_slot(words, "", at, kept)] = (int32_t)words->count++;
        words->longest = kept > words->longest ? kept : words->longest;
        at = next;
    }
    return LOCUS_OK;
}

static locus_status find_specials(lab_wordpiece *words, const char *path, locus_error *error) {
    for (int s = 0; s < SPECIALS; s++) {
        words->specials[s] = lab_wordpiece_find(words, special_names[s], strlen(special_names[s]));
        if (words->specials[s] < 0 && s < 3)
            return lab_fail_file(error, path, "is no WordPiece vocabulary: it has no line %s", special_names[s]);
    }
    return LOCUS_OK;
}

locus_status lab_wordpiece_open(lab_wordpiece **words, const char *path, bool uncased, locus_error *error) {
    lab_wordpiece *made = calloc(1, sizeof *made);
    size_t bytes = 0;
    char place[256];
    *words = made;
    if (made == NULL)
        return lab_fail_memory(error, "a vocabulary");
    made->uncased = uncased;
    snprintf(place, sizeof place, "'%s'", path);
    locus_status status = lab_file_read(path, &made->text, &bytes, error);
    if (status == LOCUS_OK)
        status = lab_utf8_require(made->text, bytes, place, error);
    if (status == LOCUS_OK)
        status = read_entries(made, path, bytes, error);
    if (status == LOCUS_OK)
        status = find_specials(made, path, error);
    if (status != LOCUS_OK)
        lab_wordpiece_close(words);
    return status;
}

void lab_wordpiece_close(lab_wordpiece **words) {
    if (words == NULL || *words == NULL)
        return;
    free((*words)->text);
    free((void *)(*words)->entries);
    free((*words)->table);
    free(*words);
    *words = NULL;
}

size_t lab_wordpiece_count(const lab_wordpiece *words) {
    return words->count;
}

bool lab_wordpiece_uncased(const lab_wordpiece *words) {
    return words->uncased;
}

const char *lab_wordpiece_text(const lab_wordpiece *words, int32_t token) {
    return token >= 0 && (size_t)token < words->count ? words->entries[token] : "";
}

int32_t lab_wordpiece_find(const lab_wordpiece *words, const char *entry, size_t length) {
    return words->table[find_slot(words, "", entry, length)];
}

lab_wordpiece_specials lab_wordpiece_special(const lab_wordpiece *words) {
    const int32_t *of = words->specials;
    return (lab_wordpiece_specials){of[0], of[1], of[2], of[3], of[4]};
}

/* ---- tokens ---- */

typedef struct token_list {
    int32_t *tokens;
    size_t count, room, most; /* what is beyond `most` is not kept */
} token_list;

static locus_status push(token_list *to, int32_t token, locus_error *error) {
    if (!LAB_GROW(to->tokens, to->count, to->room, 64))
        return lab_fail_memory(error, "the tokens of a text");
    to->tokens[to->count++] = token;
    return LOCUS_OK;
}

/* Longest entries from the left; [UNK] for the whole word if one step finds none. */
static locus_status push_word(const lab_wordpiece *words, const char *word, size_t length, token_list *to,
                              locus_error *error) {
    const size_t before = to->count;
    size_t characters = 0, at = 0;
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < length; i++)
        characters += ((unsigned char)word[i] & 0xC0) != 0x80;
    while (characters <= MOST_CHARACTERS && at < length && status == LOCUS_OK) {
        const char *prefix = at > 0 ? "##" : "";
        const size_t most = words->longest - (at > 0 && words->longest >= 2 ? 2 : 0);
        size_t end = length - at < most ? length : at + most;
        int32_t found = -1;
        for (; end > at; end--) {
            found = words->table[find_slot(words, prefix, word + at, end - at)];
            if (found >= 0)
                break;
        }
        if (found < 0)
            break;
        status = push(to, found, error);
        at = end;
    }
    if (status == LOCUS_OK && (at < length || characters > MOST_CHARACTERS)) {
        to->count = before;
        status = push(to, words->specials[0], error);
    }
    return status;
}

/* Text without special tokens in it. */
static locus_status push_text(const lab_wordpiece *words, const char *text, size_t bytes, token_list *to,
                              locus_error *error) {
    lab_words basic;
    const char *word = NULL;
    size_t length;
    lab_words_begin(&basic, text, bytes, words->uncased);
    locus_status status = lab_words_next(&basic, &word, &length, error);
    while (status == LOCUS_OK && word != NULL && to->count < to->most) {
        status = push_word(words, word, length, to, error);
        status = status == LOCUS_OK ? lab_words_next(&basic, &word, &length, error) : status;
    }
    lab_words_end(&basic);
    return status;
}

/* The special token that stands at `at`; −1: none does. */
static int special_at(const lab_wordpiece *words, const char *at, size_t left) {
    for (int s = 0; *at == '[' && s < SPECIALS; s++) {
        const size_t length = strlen(special_names[s]);
        if (words->specials[s] >= 0 && length <= left && memcmp(at, special_names[s], length) == 0)
            return s;
    }
    return -1;
}

static locus_status push_all(const lab_wordpiece *words, const char *text, size_t bytes, token_list *to,
                             locus_error *error) {
    locus_status status = lab_utf8_require(text, bytes, "the text", error);
    size_t from = 0, at = 0;
    while (status == LOCUS_OK && at < bytes && to->count < to->most) {
        const char *bracket = memchr(text + at, '[', bytes - at);
        at = bracket == NULL ? bytes : (size_t)(bracket - text);
        const int special = bracket == NULL ? -1 : special_at(words, bracket, bytes - at);
        if (special < 0) {
            at += at < bytes;
            continue;
        }
        status = push_text(words, text + from, at - from, to, error);
        status = status == LOCUS_OK ? push(to, words->specials[special], error) : status;
        at += strlen(special_names[special]);
        from = at;
    }
    return status == LOCUS_OK ? push_text(words, text + from, bytes - from, to, error) : status;
}

/* Hands the list over, or drops it. */
static locus_status hand_over(token_list *from, locus_status status, int32_t **tokens, size_t *count,
                              locus_error *error) {
    if (status == LOCUS_OK && from->tokens == NULL) { /* no token, but a list all the same */
        from->tokens = malloc(sizeof *from->tokens);
        status = from->tokens != NULL ? LOCUS_OK : lab_fail_memory(error, "the tokens of a text");
    }
    if (status != LOCUS_OK) {
        free(from->tokens);
        *from = (token_list){0};
    }
    *tokens = from->tokens;
    *count = from->count;
    return status;
}

locus_status lab_wordpiece_encode(const lab_wordpiece *words, const char *text, size_t bytes, int32_t **tokens,
                                  size_t *count, locus_error *error) {
    token_list list = {.most = SIZE_MAX};
    const locus_status status = push_all(words, text, bytes, &list, error);
    return hand_over(&list, status, tokens, count, error);
}

locus_status lab_wordpiece_frame(const lab_wordpiece *words, const char *text, size_t bytes, size_t most,
                                 int32_t **tokens, size_t *count, locus_error *error) {
    const size_t least = most > 2 ? most : 2;
    token_list list = {.most = least - 1};
    locus_status status = push(&list, words->specials[1], error);
    if (status == LOCUS_OK)
        status = push_all(words, text, bytes, &list, error);
    if (status == LOCUS_OK) {
        list.count = list.count < list.most ? list.count : list.most;
        status = push(&list, words->specials[2], error);
    }
    return hand_over(&list, status, tokens, count, error);
}
