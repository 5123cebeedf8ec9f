/* SPDX-License-Identifier: MIT */
/* Expressions as text and back. An operator with n arguments is n + 1 nested pairs: ( ( ( [MAX 2 ) 9 ) ] ). The pairs
 * say nothing that the rest doesn't; where a text has round brackets they are held against those it should have. */
#include "task/listops/listops.h"

#include "io/fail.h"
#include "io/grow.h"

#include <stdlib.h>
#include <string.h>

const char *const lab_listops_texts[LAB_LISTOPS_TOKENS] = {"start", "0", "1", "2",    "3",    "4",    "5",   "6",
                                                           "7",     "8", "9", "[MIN", "[MAX", "[MED", "[SM", "]"};

/* ---- writing ---- */

/* A token takes 12 characters at most: blank, "( " of itself and of the operator's pair, word, " )". */
enum { TOKEN_TEXT = 12 };

static char *put(char *to, const char *text) {
    const size_t length = strlen(text);
    memcpy(to, text, length); // NOLINT(bugprone-not-null-terminated-result): the last one ends it
    return to + length;
}

char *lab_listops_string(size_t n, const int32_t *tokens, const int32_t *parents, const int32_t *branches) {
    char *text = malloc(TOKEN_TEXT * n + 1), *to = text;
    int32_t *arguments = calloc(n + 1, sizeof *arguments);
    if (text == NULL || arguments == NULL) {
        free(text);
        free(arguments);
        return NULL;
    }
    for (size_t t = 1; t < n; t++)
        arguments[parents[t]] += branches[t] > 0;
    for (size_t t = 1; t < n; t++) {
        const bool end = tokens[t] == LAB_LISTOPS_END;
        to = put(to, end || branches[t] > 0 ? " " : "");
        for (int32_t pair = 0; lab_listops_is_operator(tokens[t]) && pair <= arguments[t]; pair++)
            to = put(to, "( ");
        to = put(to, lab_listops_texts[tokens[t]]);
        to = put(to, end ? " )" : "");
        const bool argument = branches[end ? (size_t)parents[t] : t] > 0;
        to = put(to, argument && !lab_listops_is_operator(tokens[t]) ? " )" : "");
    }
    *to = '\0';
    free(arguments);
    return text;
}

/* ---- reading ---- */

static bool push(lab_listops_reader *reader, int32_t token) {
    if (reader->count == reader->room) {
        const size_t room = reader->room == 0 ? 1024 : 2 * reader->room;
        if (!lab_enlarge(&reader->tokens, room) || !lab_enlarge(&reader->parents, room) ||
            !lab_enlarge(&reader->branches, room))
            return false;
        reader->room = room;
    }
    reader->tokens[reader->count++] = token;
    return true;
}

/* The frames of a walk: as many operators as are in the text. */
static bool fit_frames(lab_listops_reader *reader, size_t operators) {
    if (operators < reader->frame_room)
        return true;
    const size_t room = 2 * operators + 16;
    lab_listops_frame *grown = realloc(reader->frames, room * sizeof *grown);
    reader->frames = grown == NULL ? reader->frames : grown;
    reader->frame_room = grown == NULL ? reader->frame_room : room;
    return grown != NULL;
}

void lab_listops_reader_destroy(lab_listops_reader *reader) {
    free(reader->tokens);
    free(reader->parents);
    free(reader->branches);
    free(reader->frames);
    memset(reader, 0, sizeof *reader);
}

/* The token of a word; −1: it is none. */
static int32_t find_token(const char *word, size_t length) {
    if (length == 1)
        return *word >= '0' && *word <= '9' ? LAB_LISTOPS_ZERO + (*word - '0') : *word == ']' ? LAB_LISTOPS_END : -1;
    for (int32_t token = LAB_LISTOPS_MIN; token <= LAB_LISTOPS_SM; token++)
        if (strncmp(lab_listops_texts[token], word, length) == 0 && lab_listops_texts[token][length] == '\0')
            return token;
    return -1;
}

/* The next word at *at, of *length characters: 0 at the end. */
static const char *next_word(const char *at, size_t *length) {
    while (*at == ' ')
        at++;
    const char *end = at;
    while (*end != ' ' && *end != '\0')
        end++;
    *length = (size_t)(end - at);
    return at;
}

/* The place behind the end of a text has a length of 1, too. */
static void mark(locus_error *error, const char *text, const char *at, size_t length) {
    if (error != NULL) {
        error->offset = at - text;
        error->length = length > 0 ? (ptrdiff_t)length : 1;
    }
}

static locus_status fail_word(locus_error *error, const char *text, const char *word, size_t length) {
    const int shown = length > 24 ? 24 : (int)length;
    lab_fail(error, LOCUS_ERROR_SPEC, "expression",
             "character %zu: '%.*s%s' is no digit, no operator ([MIN [MAX [MED [SM) and no bracket",
             (size_t)(word - text) + 1, shown, word, length > 24 ? "…" : "");
    mark(error, text, word, length);
    return LOCUS_ERROR_SPEC;
}

/* What the words of a text come to, beside the tokens. */
typedef struct counts {
    size_t operators;
    bool round; /* there are round brackets */
} counts;

static locus_status read_words(lab_listops_reader *reader, const char *text, counts *seen, locus_error *error) {
    size_t length;
    for (const char *word = next_word(text, &length); length > 0; word = next_word(word + length, &length)) {
        if (length == 1 && (*word == '(' || *word == ')')) {
            seen->round = true;
            continue;
        }
        const int32_t token = find_token(word, length);
        if (token < 0)
            return fail_word(error, text, word, length);
        seen->operators += lab_listops_is_operator(token);
        if (!push(reader, token))
            return lab_fail_memory(error, "an expression");
    }
    return LOCUS_OK;
}

/* Where token `index` (of which the start token is 0) stands in the text; its end, if there are fewer. */
static const char *place_of(const char *text, size_t index) {
    size_t length;
    const char *word = next_word(text, &length);
    for (; length > 0; word = next_word(word + length, &length))
        if (*word != '(' && *word != ')' && --index == 0)
            break;
    return word;
}

static locus_status fail_flaw(const lab_listops_reader *reader, const char *text, locus_error *error) {
    static const char *const says[] = {
        [LAB_LISTOPS_EMPTY] = "there is no expression",
        [LAB_LISTOPS_BEHIND] = "the expression is over, but the text goes on",
        [LAB_LISTOPS_STRAY_END] = "this ']' closes no operator",
        [LAB_LISTOPS_NO_ARGUMENT] = "the operator that is closed here has no arguments",
        [LAB_LISTOPS_UNCLOSED] = "the operator that begins here is not closed: brackets are unbalanced",
    };
    const char *at = place_of(text, reader->found.at);
    lab_fail(error, LOCUS_ERROR_SPEC, "expression", "character %zu: %s", (size_t)(at - text) + 1,
             says[reader->found.flaw]);
    mark(error, text, at, strcspn(at, " "));
    return LOCUS_ERROR_SPEC;
}

/* Word by word against the text as it should be. */
static locus_status check_pairs(const lab_listops_reader *reader, const char *text, locus_error *error) {
    char *wanted = lab_listops_string(reader->count, reader->tokens, reader->parents, reader->branches);
    if (wanted == NULL)
        return lab_fail_memory(error, "an expression's text");
    size_t length, other;
    const char *word = next_word(text, &length), *good = next_word(wanted, &other);
    while (length > 0 && length == other && memcmp(word, good, length) == 0) {
        word = next_word(word + length, &length);
        good = next_word(good + other, &other);
    }
    const bool same = length == 0 && other == 0;
    if (!same) {
        lab_fail(
            error, LOCUS_ERROR_SPEC, "expression",
            "character %zu: unbalanced round brackets: expected %s%.*s%s, which pair an operator with one argument "
            "after another, and with its ']'",
            (size_t)(word - text) + 1, other > 0 ? "'" : "the end", (int)other, good, other > 0 ? "'" : "");
        mark(error, text, word, length);
    }
    free(wanted);
    return same ? LOCUS_OK : LOCUS_ERROR_SPEC;
}

locus_status lab_listops_read(lab_listops_reader *reader, const char *text, locus_error *error) {
    counts seen = {0};
    reader->count = 0;
    if (!push(reader, LAB_LISTOPS_START))
        return lab_fail_memory(error, "an expression");
    locus_status status = read_words(reader, text, &seen, error);
    if (status == LOCUS_OK && !fit_frames(reader, seen.operators))
        status = lab_fail_memory(error, "an expression");
    if (status != LOCUS_OK)
        return status;
    reader->found = lab_listops_walk(reader->count, reader->tokens, reader->parents, reader->branches, reader->frames);
    if (reader->found.flaw != LAB_LISTOPS_FINE)
        return fail_flaw(reader, text, error);
    return seen.round ? check_pairs(reader, text, error) : LOCUS_OK;
}
