/* SPDX-License-Identifier: MIT */
/* Paths as text.
 *
 *   path      := component | "(" path ("," path)* ")"       as many components as the group has coordinates
 *   component := [sign] digits                              on an axis or a cycle
 *              | "0" | [sign] digits (sign digits)*         on a tree: signed branches, 1 … k
 *
 * Blanks may stand between tokens. Tuples are flat in the end, so parentheses may nest as the group was written or
 * otherwise: the parser is a loop that counts them. Words are reduced while they are read, with the letters so far as a
 * stack: a branch that is the inverse of the top takes it away. Linear in the text, one allocation. Integers beyond 64
 * bits are refused; nothing is abbreviated (on tree:1, three steps are 1+1+1). */
#include "algebra/blame.h"
#include "algebra/group_access.h"
#include "algebra/path_access.h"
#include "core/error.h"
#include <stdio.h>
#include <string.h>

enum { LOCUS_MAX_NESTING = 1000 };

typedef struct parser {
    const char *text;
    size_t at, depth;
    const locus_group *group;
    size_t coordinates;
    size_t index, letters; /* components and letters read so far */
    locus_path *path;
    locus_error *error;
} parser;

/* ---- tokens ---- */

/* Loops rather than strspn: sanitizers measure the whole string at each call, and words may be millions of letters. */
static void skip_blanks(parser *p) {
    while (p->text[p->at] == ' ' || p->text[p->at] == '\t')
        p->at++;
}

static size_t count_digits(const char *text) {
    size_t count = 0;
    while (text[count] >= '0' && text[count] <= '9')
        count++;
    return count;
}

static bool is_sign(char c) {
    return c == '+' || c == '-';
}

/* Bytes of the piece of text at `at`, to blame: a signed run up to the next separator, or one character; 0 at the
 * end. */
static size_t token_length(const parser *p, size_t at) {
    const char *text = p->text + at;
    size_t sign = is_sign(text[0]), length = sign + strcspn(text + sign, " \t(),+-");
    return length ? length : text[0] != '\0';
}

/* The group in messages, cut to what a line can bear. */
typedef struct group_name {
    char text[48];
} group_name;

static group_name name_of(const locus_group *group) {
    group_name name;
    size_t length = locus_group_text(group, name.text, sizeof name.text - 4);
    if (length >= sizeof name.text - 4)
        memcpy(name.text + sizeof name.text - 5, "…", sizeof "…");
    return name;
}

static locus_status fail_at(const parser *p, size_t at, const char *expected) {
    size_t length = token_length(p, at);
    if (length == 0)
        return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "path", (ptrdiff_t)at, 1,
                             "the path ends too early: expected %s", expected);
    return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "path", (ptrdiff_t)at, (ptrdiff_t)length,
                         "unexpected '%.*s' in the path: expected %s", locus_blame_quoted(p->text + at, length),
                         p->text + at, expected);
}

/* An optional sign and digits, with blanks between. The number's size is read as the negative, whose range is the
 * larger one; `small` tells whether the signed value fits. */
typedef struct number {
    size_t start, length;
    int64_t value;
    bool small, has_sign;
} number;

static locus_status read_number(parser *p, const char *expected, number *read) {
    *read = (number){.start = p->at, .small = true, .has_sign = is_sign(p->text[p->at])};
    bool negative = p->text[p->at] == '-';
    p->at += read->has_sign;
    skip_blanks(p);
    const size_t digits = count_digits(p->text + p->at);
    if (digits == 0)
        return fail_at(p, p->text[p->at] == '\0' || read->has_sign ? p->at : read->start, expected);
    for (size_t i = 0; i < digits && read->small; i++) {
        int64_t digit = p->text[p->at + i] - '0';
        read->small = read->value >= (INT64_MIN + digit) / 10;
        if (read->small)
            read->value = 10 * read->value - digit;
    }
    p->at += digits;
    read->length = p->at - read->start;
    if (!negative) {
        read->small = read->small && read->value != INT64_MIN;
        read->value = read->small ? -read->value : 0;
    }
    return LOCUS_OK;
}

/* ---- components ---- */

static locus_status read_integer(parser *p, locus_coordinate coordinate, int64_t *value) {
    number read;
    locus_status status = read_number(p, "an integer", &read);
    if (status != LOCUS_OK)
        return status;
    if (!read.small)
        return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "path", (ptrdiff_t)read.start, (ptrdiff_t)read.length,
                             "the integer does not fit in 64 bits: use %lld to %lld", (long long)INT64_MIN,
                             (long long)INT64_MAX);
    *value = coordinate.kind == LOCUS_COORDINATE_CYCLE ? locus_residue(read.value, coordinate.size) : read.value;
    return LOCUS_OK;
}

static locus_status check_branch(const parser *p, const number *read, int64_t size) {
    if (read->small && read->value != 0 && read->value >= -size && read->value <= size)
        return LOCUS_OK;
    int length = locus_blame_quoted(p->text + read->start, read->length);
    if (read->small && read->value == 0)
        return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "path", (ptrdiff_t)read->start, (ptrdiff_t)read->length,
                             "there is no branch '%.*s': branches count from 1, and only '0' alone is the root", length,
                             p->text + read->start);
    return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "path", (ptrdiff_t)read->start, (ptrdiff_t)read->length,
                         "there is no branch '%.*s' on tree:%lld: use 1 to %lld or their inverses", length,
                         p->text + read->start, (long long)size, (long long)size);
}

/* A stack of letters from `start`. */
static void push_letter(parser *p, size_t start, int64_t letter) {
    int64_t *letters = p->path->letters;
    if (p->letters > start && letters[p->letters - 1] == -letter)
        p->letters--;
    else
        letters[p->letters++] = letter;
}

static locus_status read_word(parser *p, locus_coordinate coordinate, locus_path_part *part) {
    const size_t start = p->letters;
    number read;
    locus_status status = read_number(p, "signed branches such as 1+2-1, or 0", &read);
    skip_blanks(p);
    if (status == LOCUS_OK && !read.has_sign && read.small && read.value == 0 && !is_sign(p->text[p->at])) {
        *part = (locus_path_part){0, start};
        return LOCUS_OK;
    }
    while (status == LOCUS_OK) {
        status = check_branch(p, &read, coordinate.size);
        if (status != LOCUS_OK)
            return status;
        push_letter(p, start, read.value);
        skip_blanks(p);
        if (!is_sign(p->text[p->at]))
            break;
        status = read_number(p, "a branch", &read);
    }
    *part = (locus_path_part){(int64_t)(p->letters - start), start};
    return status;
}

static locus_status read_component(parser *p) {
    if (p->index == p->coordinates)
        return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "path", (ptrdiff_t)p->at, (ptrdiff_t)token_length(p, p->at),
                             "more components than the %zu of '%s': take this one and what follows away",
                             p->coordinates, name_of(p->group).text);
    locus_coordinate coordinate = locus_group_coordinate(p->group, p->index);
    locus_path_part *part = &p->path->parts[p->index++];
    return coordinate.kind == LOCUS_COORDINATE_TREE ? read_word(p, coordinate, part)
                                                    : read_integer(p, coordinate, &part->value);
}

/* ---- tuples ---- */

/* A component with the parentheses that open before it. */
static locus_status read_operand(parser *p) {
    for (skip_blanks(p); p->text[p->at] == '('; skip_blanks(p)) {
        if (p->depth++ == LOCUS_MAX_NESTING)
            return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "path", (ptrdiff_t)p->at, 1,
                                 "the path is nested more than %d deep: leave parentheses out, tuples may be flat",
                                 LOCUS_MAX_NESTING);
        p->at++;
    }
    return read_component(p);
}

static const char *expected_next(const parser *p) {
    if (p->depth)
        return "',' or ')'";
    if (p->coordinates > 1)
        return "the end; a tuple stands in parentheses, such as (1,2)";
    if (locus_group_coordinate(p->group, 0).kind == LOCUS_COORDINATE_TREE)
        return "'+', '-' or the end";
    return "the end, since a path here is one integer";
}

static locus_status read_end(const parser *p) {
    if (p->depth)
        return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "path", (ptrdiff_t)locus_blame_open(p->text, p->at), 1,
                             "this '(' is never closed: add a ')'");
    if (p->index < p->coordinates)
        return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "path", 0, (ptrdiff_t)p->at,
                             "the path has %zu component%s, '%s' needs a tuple of %zu", p->index,
                             p->index == 1 ? "" : "s", name_of(p->group).text, p->coordinates);
    return LOCUS_OK;
}

static locus_status read_path(parser *p) {
    for (;;) {
        locus_status status = read_operand(p);
        if (status != LOCUS_OK)
            return status;
        for (skip_blanks(p); p->text[p->at] == ')' && p->depth > 0; skip_blanks(p)) {
            p->depth--;
            p->at++;
        }
        if (p->text[p->at] == '\0')
            return read_end(p);
        if (p->text[p->at] != ',' || p->depth == 0)
            return fail_at(p, p->at, expected_next(p));
        p->at++;
    }
}

/* Upper bounds of what the text can hold: components by commas, letters by runs of digits. */
static void count_tokens(const char *text, size_t *components, size_t *runs) {
    *components = 1;
    *runs = 0;
    bool inside = false;
    for (; *text; text++) {
        bool digit = *text >= '0' && *text <= '9';
        *components += *text == ',';
        *runs += digit && !inside;
        inside = digit;
    }
}

locus_status locus_path_parse(const locus_group *group, const char *text, locus_path **path, locus_error *error) {
    if (!path)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "path", "path is NULL: give a place for the result");
    *path = NULL;
    if (!text)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "text", "text is NULL: give a path such as 1+2-1");
    locus_status status = locus_group_check_size(group, error);
    if (status != LOCUS_OK)
        return status;
    parser p = {.text = text, .group = group, .coordinates = locus_group_coordinates(group), .error = error};
    size_t components, runs;
    count_tokens(text, &components, &runs);
    status = locus_path_allocate(&p.path, group, components, locus_group_has_tree(group) ? runs : 0, error);
    if (status == LOCUS_OK)
        status = read_path(&p);
    if (status != LOCUS_OK)
        locus_path_destroy(&p.path);
    *path = p.path;
    return status;
}

/* ---- printing ---- */

typedef struct printer {
    char *text;
    size_t size, length;
} printer;

static void print(printer *to, const char *piece, size_t length) {
    if (to->length < to->size) {
        size_t room = to->size - to->length - 1, some = length < room ? length : room;
        memcpy(to->text + to->length, piece, some);
        to->text[to->length + some] = '\0';
    }
    to->length += length;
}

/* With its sign if it is negative, or if `plus` asks for one. */
static void print_integer(printer *to, int64_t value, bool plus) {
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0 || plus)
        *--at = value < 0 ? '-' : '+';
    print(to, at, (size_t)(digits + sizeof digits - at));
}

static void print_word(printer *to, const int64_t *letters, int64_t count) {
    if (count == 0)
        print(to, "0", 1);
    for (int64_t i = 0; i < count; i++)
        print_integer(to, letters[i], i > 0);
}

size_t locus_path_text(const locus_path *path, char *text, size_t size) {
    printer to = {text, size, 0};
    if (size > 0)
        text[0] = '\0';
    size_t coordinates = locus_group_coordinates(path->group);
    if (coordinates > 1)
        print(&to, "(", 1);
    for (size_t c = 0; c < coordinates; c++) {
        const locus_path_part *part = &path->parts[c];
        if (c > 0)
            print(&to, ",", 1);
        if (locus_group_coordinate(path->group, c).kind == LOCUS_COORDINATE_TREE)
            print_word(&to, path->letters + part->start, part->value);
        else
            print_integer(&to, part->value, false);
    }
    if (coordinates > 1)
        print(&to, ")", 1);
    return to.length;
}
