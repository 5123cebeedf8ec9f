/* SPDX-License-Identifier: MIT */
/* Splits and joins specs. The library has parsed the text before: nothing here checks it again. */
#include "spec_text.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

static char *piece(const char *text, size_t length) {
    char *copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

static int no_memory(void) {
    return cli_failure("out of memory for a spec");
}

/* Length up to one of the characters of `ends` outside parentheses. */
static size_t span(const char *text, const char *ends) {
    size_t depth = 0, i = 0;
    for (; text[i] && (depth > 0 || !strchr(ends, text[i])); i++) {
        depth += text[i] == '(';
        depth -= text[i] == ')' && depth > 0;
    }
    return i;
}

static int read_options(cli_term *term, const char *at, const char *end) {
    while (at < end) {
        at += strspn(at, " ");
        size_t length = span(at, ",)"), key = strcspn(at, "=");
        if (term->count == CLI_TERM_OPTIONS_MAX)
            return cli_failure("'%s' has more than %d options", term->name, CLI_TERM_OPTIONS_MAX);
        term->options[term->count].key = piece(at, key);
        term->options[term->count++].value = piece(at + key + 1, length - key - 1);
        if (!term->options[term->count - 1].key || !term->options[term->count - 1].value)
            return no_memory();
        at += length + 1;
    }
    return 0;
}

/* `at` begins a term of `length` bytes. */
static int read_term(cli_term *term, const char *at, size_t length) {
    size_t name = strcspn(at, "( +");
    locus_encoding *own = NULL;
    char *text = piece(at, length);
    term->name = piece(at, name < length ? name : length);
    if (!text || !term->name) {
        free(text);
        return no_memory();
    }
    if (locus_encoding_parse(text, &own, NULL) == LOCUS_OK)
        term->sites = locus_encoding_sites(own);
    locus_encoding_destroy(&own);
    free(text);
    return name < length && at[name] == '(' ? read_options(term, at + name + 1, at + length - 1) : 0;
}

int cli_spec_open(cli_spec *spec, const locus_encoding *encoding) {
    *spec = (cli_spec){0};
    size_t bytes = locus_encoding_text(encoding, NULL, 0) + 1;
    char *text = malloc(bytes);
    if (!text)
        return no_memory();
    locus_encoding_text(encoding, text, bytes);
    int status = 0;
    for (const char *at = text; *at && status == 0 && spec->count < CLI_TERMS_MAX;) {
        size_t length = span(at, "+"), trimmed = length;
        while (trimmed > 0 && at[trimmed - 1] == ' ')
            trimmed--;
        status = read_term(&spec->terms[spec->count++], at, trimmed);
        at += length + (at[length] == '+');
        at += strspn(at, " ");
    }
    free(text);
    return status;
}

static void drop_option(cli_term *term, size_t index) {
    free(term->options[index].key);
    free(term->options[index].value);
    term->count--;
    memmove(&term->options[index], &term->options[index + 1], (term->count - index) * sizeof *term->options);
}

void cli_spec_close(cli_spec *spec) {
    for (size_t i = 0; i < spec->count; i++) {
        while (spec->terms[i].count)
            drop_option(&spec->terms[i], spec->terms[i].count - 1);
        free(spec->terms[i].name);
    }
    *spec = (cli_spec){0};
}

static size_t find(const cli_term *term, const char *key) {
    size_t i = 0;
    while (i < term->count && strcmp(term->options[i].key, key) != 0)
        i++;
    return i;
}

const char *cli_term_option(const cli_term *term, const char *key, const char *initial) {
    size_t i = find(term, key);
    return i < term->count ? term->options[i].value : initial;
}

bool cli_term_has(const cli_term *term, const char *key, const char *value, const char *initial) {
    return strcmp(cli_term_option(term, key, initial), value) == 0;
}

int cli_term_set(cli_term *term, const char *key, const char *value) {
    size_t i = find(term, key);
    if (!value) {
        if (i < term->count)
            drop_option(term, i);
        return 0;
    }
    char *copy = piece(value, strlen(value));
    if (i < term->count) {
        free(term->options[i].value);
        term->options[i].value = copy;
    } else if (i < CLI_TERM_OPTIONS_MAX) {
        term->options[i].key = piece(key, strlen(key));
        term->options[i].value = copy;
        term->count++;
    } else {
        free(copy);
    }
    return copy && i < CLI_TERM_OPTIONS_MAX && term->options[i].key ? 0 : no_memory();
}

int cli_term_rename(cli_term *term, const char *name) {
    free(term->name);
    term->name = piece(name, strlen(name));
    return term->name ? 0 : no_memory();
}

int cli_spec_append(cli_spec *spec, const char *name, cli_term **term) {
    if (spec->count == CLI_TERMS_MAX)
        return cli_failure("a spec has at most %d terms: '%s' does not fit", CLI_TERMS_MAX, name);
    *term = &spec->terms[spec->count++];
    return cli_term_rename(*term, name);
}

/* ---- joining ---- */

typedef struct joined {
    char *text;
    size_t size, length;
} joined;

static void put(joined *out, const char *text) {
    size_t length = strlen(text);
    if (out->length < out->size) {
        size_t room = out->size - out->length, part = length + 1 < room ? length + 1 : room;
        memcpy(out->text + out->length, text, part);
        out->text[out->length + part - 1] = '\0';
    }
    out->length += length;
}

size_t cli_spec_text(const cli_spec *spec, char *text, size_t size) {
    joined out = {text, size, 0};
    if (size > 0)
        text[0] = '\0';
    for (size_t i = 0; i < spec->count; i++) {
        const cli_term *term = &spec->terms[i];
        put(&out, i ? " + " : "");
        put(&out, term->name);
        for (size_t j = 0; j < term->count; j++) {
            put(&out, j ? ", " : "(");
            put(&out, term->options[j].key);
            put(&out, "=");
            put(&out, term->options[j].value);
        }
        put(&out, term->count ? ")" : "");
    }
    return out.length;
}

char *cli_spec_string(const cli_spec *spec) {
    const size_t size = cli_spec_text(spec, NULL, 0) + 1;
    char *text = malloc(size);
    if (text)
        cli_spec_text(spec, text, size);
    else
        no_memory();
    return text;
}

const char *cli_parameter_base(const char *name, size_t *term) {
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    const bool prefixed = end != name && *end == '.';
    *term = prefixed ? number : 0;
    return prefixed ? end + 1 : name;
}
