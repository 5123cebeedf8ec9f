/* SPDX-License-Identifier: MIT */
/* Specs: text to an encoding and back.
 *
 *   spec := term ("+" term)*;  term := name [ "(" key "=" value ("," key "=" value)* ")" ]
 *
 * Blanks may stand between any two tokens. A value reaches to the next ',' or ')' outside of its own parentheses, so
 * groups such as (seq*tree:2) need no quotes. Every failure points into the text and says what was expected there. */
#include "encoding/class.h"
#include "encoding/option.h"

#include "algebra/group_access.h"
#include "core/error.h"

#include <stdio.h>
#include <string.h>

typedef struct locus_spec_reader {
    const char *text;
    size_t at;
    locus_error *error;
    locus_option_text given[LOCUS_OPTIONS_MAX]; /* key=value of the term's options, where they are given */
} locus_spec_reader;

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static char peek(locus_spec_reader *reader) {
    while (is_blank(reader->text[reader->at]))
        reader->at++;
    return reader->text[reader->at];
}

static locus_option_text read_name(locus_spec_reader *reader) {
    (void)peek(reader);
    locus_option_text name = {reader->text + reader->at, 0, (ptrdiff_t)reader->at};
    while (is_name(name.text[name.length]))
        name.length++;
    reader->at += name.length;
    return name;
}

/* What stands at the reader's place, for messages: a character (all its bytes, if it is not ASCII), or the end. */
static locus_status fail_expected(locus_spec_reader *reader, const char *expected) {
    const char *here = reader->text + reader->at;
    size_t length = *here != '\0';
    while (length > 0 && ((unsigned char)here[length] & 0xC0) == 0x80 && length < 4)
        length++;
    if (length == 0)
        return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", (ptrdiff_t)reader->at, 1,
                             "the spec ends where %s was expected", expected);
    return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", (ptrdiff_t)reader->at, (ptrdiff_t)length,
                         "expected %s, not '%.*s'", expected, (int)length, here);
}

static int shown(locus_option_text name) {
    return (int)(name.length < 48 ? name.length : 48);
}

/* ---- names ---- */

/* The registry's names as one list. */
static void list_names(char *names, size_t size) {
    size_t at = 0;
    names[0] = '\0';
    for (size_t i = 0; locus_class_at(i) && at < size; i++)
        at += (size_t)snprintf(names + at, size - at, "%s%s", i ? "|" : "", locus_class_at(i)->info.name);
}

static locus_status find_class(locus_spec_reader *reader, const locus_encoding_class **class, locus_option_text *name) {
    *name = read_name(reader);
    if (name->length == 0)
        return fail_expected(reader, "the name of an encoding");
    char names[512];
    list_names(names, sizeof names);
    size_t index = locus_choice_find(names, name->text, name->length);
    if (index != SIZE_MAX) {
        *class = locus_class_at(index);
        return LOCUS_OK;
    }
    locus_option_text nearest = locus_choice_nearest(names, name->text, name->length);
    for (char *bar = names; (bar = strchr(bar, '|'));)
        *bar = ' ';
    if (nearest.length)
        return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", name->offset, (ptrdiff_t)name->length,
                             "there is no encoding '%.*s' (did you mean '%.*s'?): expected one of %s", shown(*name),
                             name->text, (int)nearest.length, nearest.text, names);
    return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", name->offset, (ptrdiff_t)name->length,
                         "there is no encoding '%.*s': expected one of %s", shown(*name), name->text, names);
}

static void list_options(const locus_encoding_class *class, char *names, size_t size) {
    size_t at = 0;
    names[0] = '\0';
    for (size_t i = 0; i < class->info.option_count && at < size; i++)
        at += (size_t)snprintf(names + at, size - at, "%s%s", i ? "|" : "", class->info.options[i].name);
}

static locus_status find_option(locus_spec_reader *reader, const locus_encoding_class *class, size_t *option,
                                locus_option_text *key) {
    *key = read_name(reader);
    if (key->length == 0)
        return fail_expected(reader, "the name of an option");
    char names[512];
    list_options(class, names, sizeof names);
    *option = locus_choice_find(names, key->text, key->length);
    if (*option != SIZE_MAX)
        return LOCUS_OK;
    if (class->info.option_count == 0)
        return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", key->offset, (ptrdiff_t)key->length,
                             "'%s' has no options, so no '%.*s'", class->info.name, shown(*key), key->text);
    locus_option_text nearest = locus_choice_nearest(names, key->text, key->length);
    for (char *bar = names; (bar = strchr(bar, '|'));)
        *bar = ' ';
    if (nearest.length)
        return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", key->offset, (ptrdiff_t)key->length,
                             "'%s' has no option '%.*s' (did you mean '%.*s'?): expected one of %s", class->info.name,
                             shown(*key), key->text, (int)nearest.length, nearest.text, names);
    return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", key->offset, (ptrdiff_t)key->length,
                         "'%s' has no option '%.*s': expected one of %s", class->info.name, shown(*key), key->text,
                         names);
}

/* ---- terms ---- */

static locus_status read_value(locus_spec_reader *reader, locus_option_text *value) {
    (void)peek(reader);
    *value = (locus_option_text){reader->text + reader->at, 0, (ptrdiff_t)reader->at};
    size_t depth = 0, opened = 0;
    for (;; reader->at++) {
        char c = reader->text[reader->at];
        if (c == '\0' && depth > 0)
            return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", (ptrdiff_t)opened, 1,
                                 "this '(' is not closed: expected ')'");
        if (c == '\0' || (depth == 0 && (c == ',' || c == ')')))
            break;
        opened = c == '(' && depth == 0 ? reader->at : opened;
        depth += c == '(';
        depth -= c == ')';
    }
    value->length = reader->at - (size_t)value->offset;
    while (value->length > 0 && is_blank(value->text[value->length - 1]))
        value->length--;
    if (value->length == 0)
        return fail_expected(reader, "a value");
    return LOCUS_OK;
}

static locus_status read_option(locus_spec_reader *reader, locus_term *term) {
    size_t option = 0;
    locus_option_text key, value;
    locus_status status = find_option(reader, term->class, &option, &key);
    if (status != LOCUS_OK)
        return status;
    if (term->options[option].given)
        return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", key.offset, (ptrdiff_t)key.length,
                             "option '%s' of '%s' is given twice", term->class->info.options[option].name,
                             term->class->info.name);
    if (peek(reader) != '=')
        return fail_expected(reader, "'=' and a value");
    reader->at++;
    status = read_value(reader, &value);
    reader->given[option] =
        (locus_option_text){key.text, (size_t)(value.offset - key.offset) + value.length, key.offset};
    return status == LOCUS_OK ? locus_option_parse(term->class, option, value, &term->options[option], reader->error)
                              : status;
}

static locus_status read_options(locus_spec_reader *reader, locus_term *term) {
    if (peek(reader) != '(')
        return LOCUS_OK;
    size_t opened = reader->at++;
    for (;;) {
        locus_status status = read_option(reader, term);
        if (status != LOCUS_OK)
            return status;
        char next = peek(reader);
        if (next == '\0')
            return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", (ptrdiff_t)opened, 1,
                                 "this '(' is not closed: expected ',' or ')' at the end");
        reader->at++;
        if (next == ')')
            return LOCUS_OK;
    }
}

/* The class's option that is a group, or SIZE_MAX. */
static size_t group_option(const locus_encoding_class *class) {
    for (size_t i = 0; i < class->info.option_count; i++)
        if (class->rules[i].kind == LOCUS_OPTION_GROUP)
            return i;
    return SIZE_MAX;
}

/* A group that the text does not give follows from other options, or is the class's default. */
static locus_status resolve_group(locus_spec_reader *reader, locus_term *term) {
    const size_t option = group_option(term->class);
    char text[64] = "";
    if (term->class->group_text)
        term->class->group_text(term, text, sizeof text);
    if (text[0] != '\0')
        return locus_group_parse(text, &term->group, reader->error);
    if (option == SIZE_MAX || term->options[option].group)
        return LOCUS_OK;
    return locus_group_parse(term->class->info.options[option].initial, &term->options[option].group, reader->error);
}

/* Points at the option if it is given, else at the whole term. */
static locus_status check_conflict(locus_spec_reader *reader, const locus_term *term, locus_option_text name) {
    size_t option = 0;
    const char *conflict = term->class->conflict ? term->class->conflict(term, &option) : NULL;
    if (!conflict)
        return LOCUS_OK;
    const locus_option_text whole = {name.text, reader->at - (size_t)name.offset, name.offset};
    const locus_option_text at = term->options[option].given ? reader->given[option] : whole;
    return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, term->class->info.options[option].name, at.offset,
                         (ptrdiff_t)at.length, "%s", conflict);
}

static locus_status read_term(locus_spec_reader *reader, locus_term *term, locus_option_text *name) {
    locus_status status = find_class(reader, &term->class, name);
    if (status != LOCUS_OK)
        return status;
    for (size_t i = 0; i < term->class->info.option_count; i++)
        term->options[i] = locus_option_initial(term->class, i);
    status = read_options(reader, term);
    if (status == LOCUS_OK)
        status = resolve_group(reader, term);
    return status == LOCUS_OK ? check_conflict(reader, term, *name) : status;
}

/* ---- owners ---- */

static void release_term(locus_term *term) {
    for (size_t i = 0; i < LOCUS_OPTIONS_MAX; i++)
        locus_option_release(&term->options[i]);
    locus_group_destroy(&term->group);
}

/* The count of owners is the one thing about an encoding that changes. */
locus_encoding *locus_encoding_share(const locus_encoding *encoding) {
    locus_encoding *shared = (locus_encoding *)(uintptr_t)encoding;
    atomic_fetch_add(&shared->owners, 1);
    return shared;
}

void locus_encoding_destroy(locus_encoding **encoding) {
    if (!encoding || !*encoding)
        return;
    locus_encoding *gone = *encoding;
    *encoding = NULL;
    if (atomic_fetch_sub(&gone->owners, 1) != 1)
        return;
    for (size_t i = 0; i < gone->term_count; i++)
        release_term(&gone->terms[i]);
    locus_group_destroy(&gone->group);
    locus_release(gone, sizeof *gone);
}

/* ---- sums ---- */

unsigned locus_term_sites(const locus_term *term) {
    return term->class->sites ? term->class->sites(term) : term->class->info.sites;
}

/* What two terms both do that only one of a sum can; NULL if they go together. */
static const char *shared_part(const locus_term *term, const locus_term *other) {
    const unsigned both = locus_term_sites(term) & locus_term_sites(other);
    const bool content = term->class == &locus_relative_class || term->class == &locus_cope_class;
    const bool more = other->class == &locus_relative_class || other->class == &locus_cope_class;
    if (both & LOCUS_SITE_QUERY_KEY)
        return "put an operator on queries and keys";
    if (both & LOCUS_SITE_VALUE)
        return "act on values";
    if (content && more)
        return term->class == other->class && term->class == &locus_relative_class
                   ? "bring tables of relative positions"
                   : "bring a table that queries are multiplied with";
    return term->class == &locus_scores_class && other->class == term->class ? "say how scores are made" : NULL;
}

/* A site takes any number of vectors, factors and biases, but one operator; and a plan has one table of content. */
static locus_status check_sum(locus_spec_reader *reader, const locus_encoding *encoding, locus_option_text name) {
    const locus_term *last = &encoding->terms[encoding->term_count - 1];
    for (size_t i = 0; i + 1 < encoding->term_count; i++) {
        const locus_term *other = &encoding->terms[i];
        const char *what = shared_part(last, other);
        if (what)
            return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", name.offset, (ptrdiff_t)name.length,
                                 "'%s' and '%s' both %s: a sum can have one such term", other->class->info.name,
                                 last->class->info.name, what);
    }
    return LOCUS_OK;
}

const locus_group *locus_term_group(const locus_term *term) {
    const size_t option = group_option(term->class);
    if (term->group)
        return term->group;
    if (option != SIZE_MAX)
        return term->options[option].group;
    return term->class->any_group ? NULL : locus_group_sequence();
}

/* Terms meet on the same positions, so they must mean the same group. */
static locus_status join_group(locus_spec_reader *reader, locus_encoding *encoding, locus_option_text name) {
    const locus_term *last = &encoding->terms[encoding->term_count - 1];
    const locus_group *group = locus_term_group(last);
    if (!group)
        return LOCUS_OK;
    if (!encoding->group) {
        encoding->group = locus_group_share(group);
        return LOCUS_OK;
    }
    if (locus_group_equal(encoding->group, group))
        return LOCUS_OK;
    char own[96], other[96];
    const bool takes = group_option(last->class) != SIZE_MAX;
    (void)locus_group_text(group, own, sizeof own);
    (void)locus_group_text(encoding->group, other, sizeof other);
    return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", name.offset, (ptrdiff_t)name.length,
                         "'%s' acts on '%s', the terms before it on '%s': a sum needs one group%s%s",
                         last->class->info.name, own, other, takes ? ", say group=" : "", takes ? other : "");
}

static locus_status read_sum(locus_spec_reader *reader, locus_encoding *encoding) {
    for (;;) {
        locus_option_text name;
        if (encoding->term_count == LOCUS_TERMS_MAX)
            return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", (ptrdiff_t)reader->at, 1,
                                 "a sum has at most %d terms", LOCUS_TERMS_MAX);
        locus_term *term = &encoding->terms[encoding->term_count];
        locus_status status = read_term(reader, term, &name);
        if (status != LOCUS_OK) {
            release_term(term);
            return status;
        }
        encoding->term_count++;
        status = check_sum(reader, encoding, name);
        if (status == LOCUS_OK)
            status = join_group(reader, encoding, name);
        if (status != LOCUS_OK)
            return status;
        bool closed = reader->text[reader->at - 1] == ')';
        char next = peek(reader);
        if (next == '\0')
            return LOCUS_OK;
        if (next != '+')
            return fail_expected(reader, closed ? "'+' and another term, or the end" : "'(', '+' or the end");
        reader->at++;
    }
}

locus_status locus_encoding_parse(const char *spec, locus_encoding **encoding, locus_error *error) {
    if (!encoding)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "encoding", "encoding is NULL: give a place for the result");
    *encoding = NULL;
    if (!spec)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "spec", "spec is NULL: give a text such as \"rope\"");
    locus_encoding *fresh = locus_allocate(sizeof *fresh);
    if (!fresh)
        return locus_fail_memory(error, sizeof *fresh);
    memset(fresh, 0, sizeof *fresh);
    atomic_init(&fresh->owners, 1);
    locus_spec_reader reader = {.text = spec, .error = error};
    locus_status status = read_sum(&reader, fresh);
    if (status != LOCUS_OK)
        locus_encoding_destroy(&fresh);
    *encoding = fresh;
    return status;
}

/* ---- back to text ---- */

typedef struct locus_spec_writer {
    char *text;
    size_t size, length;
} locus_spec_writer;

static void write_text(locus_spec_writer *writer, const char *text) {
    for (; *text; text++, writer->length++)
        if (writer->length + 1 < writer->size)
            writer->text[writer->length] = *text;
}

/* Lists may be long: they are written in place. */
static void write_value(locus_spec_writer *writer, const locus_term *term, size_t option) {
    const size_t left = writer->length < writer->size ? writer->size - writer->length : 0;
    const locus_option_value *value = &term->options[option];
    char brief[512];
    if (value->list) {
        writer->length +=
            locus_option_print(term->class, option, value, left ? writer->text + writer->length : NULL, left);
        return;
    }
    (void)locus_option_print(term->class, option, value, brief, sizeof brief);
    write_text(writer, brief);
}

static void close_text(const locus_spec_writer *writer) {
    if (writer->size > 0)
        writer->text[writer->length < writer->size ? writer->length : writer->size - 1] = '\0';
}

static void write_term(locus_spec_writer *writer, const locus_term *term) {
    const char *before = "(";
    write_text(writer, term->class->info.name);
    for (size_t i = 0; i < term->class->info.option_count; i++) {
        const bool kept = (term->class->kept & 1u << i) != 0 && term->options[i].given;
        if (!kept && locus_option_is_initial(term->class, i, &term->options[i]))
            continue;
        write_text(writer, before);
        write_text(writer, term->class->info.options[i].name);
        write_text(writer, "=");
        write_value(writer, term, i);
        before = ", ";
    }
    if (before[0] == ',')
        write_text(writer, ")");
}

size_t locus_encoding_text(const locus_encoding *encoding, char *text, size_t size) {
    locus_spec_writer writer = {text, text ? size : 0, 0};
    for (size_t i = 0; encoding && i < encoding->term_count; i++) {
        if (i > 0)
            write_text(&writer, " + ");
        write_term(&writer, &encoding->terms[i]);
    }
    close_text(&writer);
    return writer.length;
}

/* ---- taken apart ---- */

size_t locus_encoding_term_count(const locus_encoding *encoding) {
    return encoding ? encoding->term_count : 0;
}

const locus_encoding_info *locus_encoding_term(const locus_encoding *encoding, size_t index) {
    return index < locus_encoding_term_count(encoding) ? &encoding->terms[index].class->info : NULL;
}

static size_t option_index(const locus_encoding_info *info, const char *name) {
    size_t option = 0;
    while (option < info->option_count && strcmp(info->options[option].name, name) != 0)
        option++;
    return option;
}

size_t locus_encoding_option(const locus_encoding *encoding, size_t term, const char *name, char *text, size_t size) {
    const locus_encoding_info *info = locus_encoding_term(encoding, term);
    const size_t option = info && name ? option_index(info, name) : 0;
    if (!info || !name || option == info->option_count)
        return SIZE_MAX;
    const locus_term *own = &encoding->terms[term];
    const bool has = own->options[option].given || *info->options[option].initial != '\0';
    locus_spec_writer writer = {text, text ? size : 0, 0};
    if (has)
        write_value(&writer, own, option);
    close_text(&writer);
    return writer.length;
}
