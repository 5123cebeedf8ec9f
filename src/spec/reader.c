/* SPDX-License-Identifier: MIT */
/* Names with options: text to values and back. See reader.h. */
#include "spec/reader.h"

#include "core/error.h"

#include <stdio.h>
#include <string.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

char locus_spec_peek(locus_spec_reader *reader) {
    while (is_blank(reader->text[reader->at]))
        reader->at++;
    return reader->text[reader->at];
}

static locus_option_text read_name(locus_spec_reader *reader) {
    (void)locus_spec_peek(reader);
    locus_option_text name = {reader->text + reader->at, 0, (ptrdiff_t)reader->at};
    while (is_name(name.text[name.length]))
        name.length++;
    reader->at += name.length;
    return name;
}

/* What stands at the reader's place, for messages: a character (all its bytes, if it is not ASCII), or the end. */
locus_status locus_spec_expected(locus_spec_reader *reader, const char *expected) {
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

#define NAMES_BYTES 512 /* of a list of names: more than a message holds */

/* The table's names from `index` on, as many as there is room for, as one list; returns the first that is not in it. */
static size_t list_names(const locus_name_table *table, size_t index, char names[NAMES_BYTES]) {
    const char *name;
    size_t at = 0;
    names[0] = '\0';
    for (; (name = table->at(index).name) && at + strlen(name) + 2 <= NAMES_BYTES; index++)
        at += (size_t)snprintf(names + at, NAMES_BYTES - at, "%s%s", at ? "|" : "", name);
    return index;
}

/* The name that was meant, of all; `names` is room for lists of them. */
static locus_option_text nearest_name(const locus_name_table *table, locus_option_text name, char *names) {
    locus_option_text nearest = {name.text, 0, 0};
    for (size_t index = 0, next; table->at(index).name && nearest.length == 0; index = next) {
        next = list_names(table, index, names);
        nearest = locus_choice_nearest(names, name.text, name.length);
        if (next == index)
            break;
    }
    return nearest;
}

static locus_status fail_name(const locus_spec_reader *reader, locus_option_text name) {
    char names[NAMES_BYTES], searched[NAMES_BYTES];
    const locus_option_text nearest = nearest_name(reader->table, name, searched);
    (void)list_names(reader->table, 0, names);
    for (char *bar = names; (bar = strchr(bar, '|'));)
        *bar = ' ';
    if (nearest.length)
        return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", name.offset, (ptrdiff_t)name.length,
                             "there is no %s '%.*s' (did you mean '%.*s'?): expected one of %s", reader->table->noun,
                             shown(name), name.text, (int)nearest.length, nearest.text, names);
    return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", name.offset, (ptrdiff_t)name.length,
                         "there is no %s '%.*s': expected one of %s", reader->table->noun, shown(name), name.text,
                         names);
}

locus_status locus_spec_name(locus_spec_reader *reader, size_t *index, locus_option_text *name) {
    *name = read_name(reader);
    if (name->length == 0) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "the name of %s %s", reader->table->article, reader->table->noun);
        return locus_spec_expected(reader, expected);
    }
    const char *known;
    for (*index = 0; (known = reader->table->at(*index).name) != NULL; ++*index)
        if (strlen(known) == name->length && memcmp(known, name->text, name->length) == 0)
            return LOCUS_OK;
    return fail_name(reader, *name);
}

static void list_options(const locus_signature *own, char *names, size_t size) {
    size_t at = 0;
    names[0] = '\0';
    for (size_t i = 0; i < own->option_count && at < size; i++)
        at += (size_t)snprintf(names + at, size - at, "%s%s", i ? "|" : "", own->options[i].name);
}

static locus_status find_option(locus_spec_reader *reader, const locus_signature *own, size_t *option,
                                locus_option_text *key) {
    *key = read_name(reader);
    if (key->length == 0)
        return locus_spec_expected(reader, "the name of an option");
    char names[512];
    list_options(own, names, sizeof names);
    *option = locus_choice_find(names, key->text, key->length);
    if (*option != SIZE_MAX)
        return LOCUS_OK;
    if (own->option_count == 0)
        return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", key->offset, (ptrdiff_t)key->length,
                             "'%s' has no options, so no '%.*s'", own->name, shown(*key), key->text);
    locus_option_text nearest = locus_choice_nearest(names, key->text, key->length);
    for (char *bar = names; (bar = strchr(bar, '|'));)
        *bar = ' ';
    if (nearest.length)
        return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", key->offset, (ptrdiff_t)key->length,
                             "'%s' has no option '%.*s' (did you mean '%.*s'?): expected one of %s", own->name,
                             shown(*key), key->text, (int)nearest.length, nearest.text, names);
    return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", key->offset, (ptrdiff_t)key->length,
                         "'%s' has no option '%.*s': expected one of %s", own->name, shown(*key), key->text, names);
}

/* ---- options ---- */

static locus_status read_value(locus_spec_reader *reader, locus_option_text *value) {
    (void)locus_spec_peek(reader);
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
        return locus_spec_expected(reader, "a value");
    return LOCUS_OK;
}

static locus_status read_option(locus_spec_reader *reader, const locus_signature *own, locus_option_value *values) {
    size_t option = 0;
    locus_option_text key, value;
    locus_status status = find_option(reader, own, &option, &key);
    if (status != LOCUS_OK)
        return status;
    if (values[option].given)
        return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", key.offset, (ptrdiff_t)key.length,
                             "option '%s' of '%s' is given twice", own->options[option].name, own->name);
    if (locus_spec_peek(reader) != '=')
        return locus_spec_expected(reader, "'=' and a value");
    reader->at++;
    status = read_value(reader, &value);
    reader->given[option] =
        (locus_option_text){key.text, (size_t)(value.offset - key.offset) + value.length, key.offset};
    locus_option_release(&values[option]); /* a list may be a default */
    return status == LOCUS_OK ? locus_option_parse(own, option, value, &values[option], reader->error) : status;
}

locus_status locus_spec_options(locus_spec_reader *reader, const locus_signature *own, locus_option_value *values) {
    for (size_t i = 0; i < own->option_count; i++)
        values[i] = locus_option_initial(own, i);
    if (locus_spec_peek(reader) != '(')
        return LOCUS_OK;
    size_t opened = reader->at++;
    for (;;) {
        locus_status status = read_option(reader, own, values);
        if (status != LOCUS_OK)
            return status;
        char next = locus_spec_peek(reader);
        if (next == '\0')
            return locus_fail_at(reader->error, LOCUS_ERROR_SPEC, "spec", (ptrdiff_t)opened, 1,
                                 "this '(' is not closed: expected ',' or ')' at the end");
        reader->at++;
        if (next == ')')
            return LOCUS_OK;
    }
}

/* ---- back to text ---- */

void locus_spec_write(locus_spec_writer *writer, const char *text) {
    for (; *text; text++, writer->length++)
        if (writer->length + 1 < writer->size)
            writer->text[writer->length] = *text;
}

/* Lists may be long: they are written in place. */
void locus_spec_write_value(locus_spec_writer *writer, const locus_signature *own, const locus_option_value *values,
                            size_t option) {
    const size_t left = writer->length < writer->size ? writer->size - writer->length : 0;
    const locus_option_value *value = &values[option];
    char brief[512];
    if (value->list) {
        writer->length += locus_option_print(own, option, value, left ? writer->text + writer->length : NULL, left);
        return;
    }
    (void)locus_option_print(own, option, value, brief, sizeof brief);
    locus_spec_write(writer, brief);
}

size_t locus_spec_write_end(const locus_spec_writer *writer) {
    if (writer->size > 0)
        writer->text[writer->length < writer->size ? writer->length : writer->size - 1] = '\0';
    return writer->length;
}

void locus_spec_write_entry(locus_spec_writer *writer, const locus_signature *own, const locus_option_value *values) {
    const char *before = "(";
    locus_spec_write(writer, own->name);
    for (size_t i = 0; i < own->option_count; i++) {
        const bool kept = (own->kept & 1u << i) != 0 && values[i].given;
        if (!kept && locus_option_is_initial(own, i, &values[i]))
            continue;
        locus_spec_write(writer, before);
        locus_spec_write(writer, own->options[i].name);
        locus_spec_write(writer, "=");
        locus_spec_write_value(writer, own, values, i);
        before = ", ";
    }
    if (before[0] == ',')
        locus_spec_write(writer, ")");
}
