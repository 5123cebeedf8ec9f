/* SPDX-License-Identifier: MIT */
/* See own_text.h. */
#include "task/own/own_text.h"

#include "text/utf8.h"

const char *const lab_token_names[] = {"words", "characters", "bytes", "ids", NULL};

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

lab_own_token lab_own_next(lab_token_kind kind, const char **at, const char *end) {
    while (kind == LAB_TOKENS_WORDS && *at < end && is_space(**at))
        (*at)++;
    const char *text = *at;
    if (text == end)
        return (lab_own_token){text, 0};
    if (kind == LAB_TOKENS_WORDS)
        while (*at < end && !is_space(**at))
            (*at)++;
    else
        *at += kind == LAB_TOKENS_BYTES ? 1 : lab_utf8_span(text, (size_t)(end - text));
    return (lab_own_token){text, (size_t)(*at - text)};
}
