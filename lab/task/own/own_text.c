/* SPDX-License-Identifier: MIT */
/* See own_text.h. */
#include "task/own/own_text.h"

const char *const lab_token_names[] = {"words", "characters", "bytes", "ids", NULL};

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Bytes of the character at `at`; what is no UTF-8 stands for itself. */
static size_t character_bytes(const char *at, const char *end) {
    const unsigned char first = (unsigned char)*at;
    const size_t wanted = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    size_t bytes = 1;
    while (bytes < wanted && at + bytes < end && ((unsigned char)at[bytes] & 0xC0) == 0x80)
        bytes++;
    return bytes == wanted ? bytes : 1;
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
        *at += kind == LAB_TOKENS_BYTES ? 1 : character_bytes(text, end);
    return (lab_own_token){text, (size_t)(*at - text)};
}
