/* SPDX-License-Identifier: MIT */
/* Which characters are only shown. UTF-8 is read as Unicode 15, table 3-7, has it: no longer form than needed, no half
 * of a pair, nothing above U+10FFFF. */
#include "io/printable.h"

#include <stdint.h>
#include <string.h>

static bool is_shown(uint32_t code) {
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029;
    const bool turns = code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
                       (code >= 0x2066 && code <= 0x2069);
    return !control && !turns;
}

size_t lab_printable_at(const char *text, size_t left, bool *shown) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    const size_t bytes = at[0] < 0x80   ? 1
                         : at[0] < 0xC2 ? 0
                         : at[0] < 0xE0 ? 2
                         : at[0] < 0xF0 ? 3
                         : at[0] < 0xF5 ? 4
                                        : 0;
    uint32_t code = bytes < 2 ? at[0] : at[0] & (0x7FU >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if (i >= left || (at[i] & 0xC0) != 0x80) {
            *shown = false;
            return 1;
        }
        code = code << 6 | (at[i] & 0x3F);
    }
    const bool good = bytes > 0 && code >= least[bytes] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    *shown = good && is_shown(code);
    return good ? bytes : 1;
}

bool lab_is_printable(const char *text) {
    bool shown = true;
    for (const char *end = text + strlen(text); shown && text < end;)
        text += lab_printable_at(text, (size_t)(end - text), &shown);
    return shown;
}

void lab_printable(char *text, const char *kept) {
    char *to = text;
    const char *end = text + strlen(text);
    for (const char *at = text; at < end;) {
        bool shown;
        const size_t bytes = lab_printable_at(at, (size_t)(end - at), &shown);
        if (shown || strchr(kept, *at) != NULL) {
            memmove(to, at, bytes);
            to += bytes;
        } else {
            *to++ = '?';
        }
        at += bytes;
    }
    *to = '\0';
}

void lab_mark_cut(char *text, size_t size) {
    static const char mark[] = "…";
    size_t end = size - sizeof mark;
    while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80)
        end--;
    memcpy(text + end, mark, sizeof mark);
}
