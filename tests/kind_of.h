/* SPDX-License-Identifier: MIT */
/* Kinds of attention by their texts, for tests: parsed once, kept until the program ends; and what they say, read back
 * from the canonical text and the registry. Not for several threads at once. */
#ifndef LOCUS_TESTS_KIND_OF_H
#define LOCUS_TESTS_KIND_OF_H

#include <locus/attention_kind.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_OF_TEXT = 96, KIND_OF_MOST = 4096 };

/* NULL for "softmax", which is what NULL means. */
static inline const locus_attention_kind *kind_of(const char *text) {
    static struct {
        char text[KIND_OF_TEXT];
        locus_attention_kind *kind;
    } known[KIND_OF_MOST];
    size_t at = 0;
    locus_error error = {.offset = -1};
    if (strcmp(text, "softmax") == 0)
        return NULL;
    while (at < KIND_OF_MOST && known[at].kind && strcmp(known[at].text, text) != 0)
        at++;
    if (at == KIND_OF_MOST || strlen(text) >= KIND_OF_TEXT ||
        (!known[at].kind && locus_attention_kind_parse(text, &known[at].kind, &error) != LOCUS_OK)) {
        fprintf(stderr, "kind of attention '%s': %s\n", text, at == KIND_OF_MOST ? "too many" : error.message);
        abort();
    }
    strcpy(known[at].text, text);
    return known[at].kind;
}

static inline bool kind_is(const locus_attention_kind *kind, const char *name) {
    return strcmp(locus_attention_kind_entry(kind)->name, name) == 0;
}

/* An option that is an integer. */
static inline size_t kind_number(const locus_attention_kind *kind, const char *option) {
    const locus_attention_kind_info *info = locus_attention_kind_entry(kind);
    char text[KIND_OF_TEXT], wanted[KIND_OF_TEXT];
    locus_attention_kind_text(kind, text, sizeof text);
    snprintf(wanted, sizeof wanted, "%s=", option);
    const char *at = strstr(text, wanted);
    if (at)
        return (size_t)strtoull(at + strlen(wanted), NULL, 10);
    for (size_t i = 0; i < info->option_count; i++)
        if (strcmp(info->options[i].name, option) == 0)
            return (size_t)strtoull(info->options[i].initial, NULL, 10);
    return 0;
}

#endif
