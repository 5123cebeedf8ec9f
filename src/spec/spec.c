/* SPDX-License-Identifier: MIT */
/* Specs: text to an encoding and back.
 *
 *   spec := term ("+" term)*;  a term is a name with options (reader.h) */
#include "spec/class.h"
#include "spec/reader.h"

#include "algebra/group_access.h"
#include "core/error.h"

#include <string.h>

static locus_signature signature_at(size_t index) {
    const locus_encoding_class *class = locus_class_at(index);
    return class ? locus_class_signature(class) : (locus_signature){0};
}

static const locus_name_table encodings = {"encoding", "an", signature_at};

/* ---- terms ---- */

/* A group that the text does not give follows from other options, or is the class's default. */
static locus_status resolve_group(locus_spec_reader *reader, locus_term *term) {
    const size_t option = locus_class_group_option(term->class);
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
    size_t index = 0;
    locus_status status = locus_spec_name(reader, &index, name);
    if (status != LOCUS_OK)
        return status;
    term->class = locus_class_at(index);
    const locus_signature signature = locus_class_signature(term->class);
    status = locus_spec_options(reader, &signature, term->options);
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
locus_encoding *locus_encoding_retain(const locus_encoding *encoding) {
    locus_encoding *shared = (locus_encoding *)(uintptr_t)encoding;
    if (shared)
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

/* What two terms both do that only one of a sum can; NULL if they go together. */
static const char *shared_part(const locus_term *term, const locus_term *other) {
    const unsigned both = locus_term_sites(term) & locus_term_sites(other);
    const char *claim = term->class->claim, *more = other->class->claim;
    if (both & LOCUS_SITE_QUERY_KEY)
        return "put an operator on queries and keys";
    if (both & LOCUS_SITE_VALUE)
        return "act on values";
    return claim && more && strcmp(claim, more) == 0 ? claim : NULL;
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

/* Terms meet on the same positions, so they must mean the same group. */
static locus_status join_group(locus_spec_reader *reader, locus_encoding *encoding, locus_option_text name) {
    const locus_term *last = &encoding->terms[encoding->term_count - 1];
    const locus_group *group = locus_term_group(last);
    if (!group)
        return LOCUS_OK;
    if (!encoding->group) {
        encoding->group = locus_group_retain(group);
        return LOCUS_OK;
    }
    if (locus_group_equal(encoding->group, group))
        return LOCUS_OK;
    char own[96], other[96];
    const bool takes = locus_class_group_option(last->class) != SIZE_MAX;
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
        char next = locus_spec_peek(reader);
        if (next == '\0')
            return LOCUS_OK;
        if (next != '+')
            return locus_spec_expected(reader, closed ? "'+' and another term, or the end" : "'(', '+' or the end");
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
    locus_spec_reader reader = {.text = spec, .error = error, .table = &encodings};
    locus_status status = read_sum(&reader, fresh);
    if (status != LOCUS_OK)
        locus_encoding_destroy(&fresh);
    *encoding = fresh;
    return status;
}

/* ---- back to text ---- */

size_t locus_encoding_text(const locus_encoding *encoding, char *text, size_t size) {
    locus_spec_writer writer = {text, text ? size : 0, 0};
    for (size_t i = 0; encoding && i < encoding->term_count; i++) {
        if (i > 0)
            locus_spec_write(&writer, " + ");
        const locus_signature signature = locus_class_signature(encoding->terms[i].class);
        locus_spec_write_entry(&writer, &signature, encoding->terms[i].options);
    }
    return locus_spec_write_end(&writer);
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
    const locus_signature signature = locus_class_signature(own->class);
    if (has)
        locus_spec_write_value(&writer, &signature, own->options, option);
    return locus_spec_write_end(&writer);
}
