/* SPDX-License-Identifier: MIT */
/* Splits and joins specs. The library has parsed the text before: nothing here checks it again. */
#include "bound/spec_text.h"

#include "bound/bound.h"
#include "io/fail.h"
#include "io/text_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t lab_spec_span(const char *text, const char *ends) {
    size_t depth = 0, i = 0;
    for (; text[i] && (depth > 0 || !strchr(ends, text[i])); i++) {
        depth += text[i] == '(';
        depth -= text[i] == ')' && depth > 0;
    }
    return i;
}

static locus_status read_options(lab_term *term, const char *at, const char *end, locus_error *error) {
    while (at < end) {
        at += strspn(at, " ");
        size_t length = lab_spec_span(at, ",)"), key = strcspn(at, "=");
        if (term->count == LAB_TERM_OPTIONS_MAX)
            return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL, "'%s' has more than %d options", term->name,
                            LAB_TERM_OPTIONS_MAX);
        term->options[term->count].key = strndup(at, key);
        term->options[term->count++].value = key < length ? strndup(at + key + 1, length - key - 1) : NULL;
        if (!term->options[term->count - 1].key || !term->options[term->count - 1].value)
            return lab_fail_memory(error, "a spec");
        at += length + 1;
    }
    return 0;
}

/* `at` begins a term of `length` bytes. */
static locus_status read_term(lab_term *term, const char *at, size_t length, locus_error *error) {
    size_t name = strcspn(at, "( +");
    locus_encoding *own = NULL;
    char *text = strndup(at, length);
    term->name = strndup(at, name);
    if (!text || !term->name) {
        free(text);
        return lab_fail_memory(error, "a spec");
    }
    const locus_status status = locus_encoding_parse(text, &own, NULL);
    if (status == LOCUS_OK)
        term->sites = locus_encoding_sites(own);
    locus_encoding_destroy(&own);
    free(text);
    if (status == LOCUS_ERROR_MEMORY)
        return lab_fail_memory(error, "a spec");
    return at[name] == '(' ? read_options(term, at + name + 1, at + length - 1, error) : LOCUS_OK;
}

locus_status lab_spec_open(lab_spec *spec, const locus_encoding *encoding, locus_error *error) {
    *spec = (lab_spec){0};
    char *text = lab_spec_of(encoding);
    locus_status status = text ? LOCUS_OK : lab_fail_memory(error, "a spec");
    for (const char *at = text; text && *at && status == LOCUS_OK && spec->count < LAB_TERMS_MAX;) {
        size_t length = lab_spec_span(at, "+"), trimmed = length;
        while (trimmed > 0 && at[trimmed - 1] == ' ')
            trimmed--;
        status = read_term(&spec->terms[spec->count++], at, trimmed, error);
        at += length + (at[length] == '+');
        at += strspn(at, " ");
    }
    free(text);
    return status;
}

static void drop_option(lab_term *term, size_t index) {
    free(term->options[index].key);
    free(term->options[index].value);
    term->count--;
    memmove(&term->options[index], &term->options[index + 1], (term->count - index) * sizeof *term->options);
}

void lab_spec_close(lab_spec *spec) {
    for (size_t i = 0; i < spec->count; i++) {
        while (spec->terms[i].count)
            drop_option(&spec->terms[i], spec->terms[i].count - 1);
        free(spec->terms[i].name);
    }
    *spec = (lab_spec){0};
}

static size_t find(const lab_term *term, const char *key) {
    size_t i = 0;
    while (i < term->count && strcmp(term->options[i].key, key) != 0)
        i++;
    return i;
}

const char *lab_term_option(const lab_term *term, const char *key, const char *initial) {
    size_t i = find(term, key);
    return i < term->count ? term->options[i].value : initial;
}

bool lab_term_has(const lab_term *term, const char *key, const char *value, const char *initial) {
    return strcmp(lab_term_option(term, key, initial), value) == 0;
}

locus_status lab_term_set(lab_term *term, const char *key, const char *value, locus_error *error) {
    size_t i = find(term, key);
    if (!value) {
        if (i < term->count)
            drop_option(term, i);
        return LOCUS_OK;
    }
    char *copy = strdup(value), *name = i < term->count || i == LAB_TERM_OPTIONS_MAX ? NULL : strdup(key);
    if (copy && i < term->count) {
        free(term->options[i].value);
        term->options[i].value = copy;
        return LOCUS_OK;
    }
    if (copy && name) {
        term->options[i].key = name;
        term->options[i].value = copy;
        term->count++;
        return LOCUS_OK;
    }
    free(copy);
    free(name);
    return lab_fail_memory(error, "a spec");
}

locus_status lab_term_rename(lab_term *term, const char *name, locus_error *error) {
    free(term->name);
    term->name = strdup(name);
    return term->name ? LOCUS_OK : lab_fail_memory(error, "a spec");
}

locus_status lab_spec_append(lab_spec *spec, const char *name, lab_term **term, locus_error *error) {
    if (spec->count == LAB_TERMS_MAX)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL, "a spec has at most %d terms: '%s' does not fit",
                        LAB_TERMS_MAX, name);
    *term = &spec->terms[spec->count++];
    return lab_term_rename(*term, name, error);
}

char *lab_spec_string(const lab_spec *spec) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = lab_text_stream(&text, &size);
    for (size_t i = 0; out && i < spec->count; i++) {
        const lab_term *term = &spec->terms[i];
        fprintf(out, "%s%s", i ? " + " : "", term->name);
        for (size_t j = 0; j < term->count; j++)
            fprintf(out, "%s%s=%s", j ? ", " : "(", term->options[j].key, term->options[j].value);
        fputs(term->count ? ")" : "", out);
    }
    lab_text_close(out, &text);
    return text;
}
