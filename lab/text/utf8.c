/* SPDX-License-Identifier: MIT */
/* Well-formed UTF-8: Unicode 15, table 3-7. Only the second byte's range depends on the first one. */
#include "text/utf8.h"

#include "io/fail.h"

#include <string.h>

int lab_utf8_sequence(const unsigned char *at, size_t count) {
    if (count == 0)
        return 0;
    const unsigned char lead = at[0];
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return -1;
    const int length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (int i = 1; i < length; i++) {
        if ((size_t)i >= count)
            return 0;
        if (at[i] < least || at[i] > most)
            return -1;
        least = 0x80;
        most = 0xBF;
    }
    return length;
}

int32_t lab_utf8_code(const unsigned char *at, int length) {
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    int32_t code = at[0] & masks[length];
    for (int i = 1; i < length; i++)
        code = code << 6 | (at[i] & 0x3F);
    return code;
}

size_t lab_utf8_span(const char *at, size_t count) {
    const unsigned char first = (unsigned char)*at;
    const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    for (size_t i = 1; i < bytes; i++)
        if (i >= count || ((unsigned char)at[i] & 0xC0) != 0x80)
            return 1;
    return bytes;
}

size_t lab_utf8_check(const char *text, size_t bytes) {
    const unsigned char *at = (const unsigned char *)text;
    size_t i = 0;
    while (i < bytes) {
        uint64_t eight;
        if (bytes - i >= sizeof eight) {
            memcpy(&eight, at + i, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                i += sizeof eight;
                continue;
            }
        }
        const int length = lab_utf8_sequence(at + i, bytes - i);
        if (length <= 0)
            return i;
        i += (size_t)length;
    }
    return bytes;
}

locus_status lab_utf8_require(const char *text, size_t bytes, const char *place, locus_error *error) {
    const size_t bad = lab_utf8_check(text, bytes);
    size_t line = 1;
    if (bad == bytes)
        return LOCUS_OK;
    for (size_t i = 0; i < bad; i++)
        line += text[i] == '\n';
    return lab_fail(error, LOCUS_ERROR_IO, "text", "%s is no UTF-8: byte 0x%02x at offset %zu, in line %zu", place,
                    (unsigned)(unsigned char)text[bad], bad, line);
}
