/* SPDX-License-Identifier: MIT */
/* Portable any-maps, as the netpbm manual pages ppm(5) and pgm(5) define them:
 *
 *   P6  width height maxval ␠ raster     P6 colour, P5 grey: 1 byte a value, 2 (high byte first) if maxval > 255
 *   P3  width height maxval   numbers    P3 colour, P2 grey: decimal text
 *
 * A comment, # to the end of its line, may stand wherever white space may. Of several pictures in a file the first is
 * read. A value v is ⌊255·v/maxval + ½⌋ in the picture. */
#include "io/picture/picture_formats.h"

#include "io/fail.h"
#include <stdlib.h>

#define MOST_NUMBER 1000000

typedef struct scanner {
    const unsigned char *at, *end;
} scanner;

static bool is_space(unsigned char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_space(scanner *text) {
    while (text->at < text->end && (is_space(*text->at) || *text->at == '#')) {
        bool comment = *text->at++ == '#';
        while (comment && text->at < text->end && *text->at != '\n' && *text->at != '\r')
            text->at++;
    }
}

/* The next decimal number; numbers beyond any use stay at MOST_NUMBER. false: there is none. */
static bool scan(scanner *text, size_t *value) {
    skip_space(text);
    const unsigned char *start = text->at;
    *value = 0;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        *value = 10 * *value + (size_t)(*text->at - '0');
        *value = *value < MOST_NUMBER ? *value : MOST_NUMBER;
    }
    return text->at > start;
}

typedef struct anymap {
    bool plain;
    size_t channels, width, height, most;
} anymap;

static locus_status read_header(anymap *map, scanner *text, const char *path, locus_error *error) {
    unsigned char kind = text->at[1];
    map->plain = kind == '2' || kind == '3';
    map->channels = kind == '3' || kind == '6' ? 3 : 1;
    text->at += 2;
    if (!scan(text, &map->width) || !scan(text, &map->height) || !scan(text, &map->most))
        return lab_fail_file(error, path, "is cut or damaged: a P%c needs width, height and largest value", kind);
    if (map->most == 0 || map->most > 65535)
        return lab_fail_file(error, path, "is damaged: its largest value is not in 1 to 65535");
    if (map->plain)
        return LOCUS_OK;
    if (text->at == text->end || !is_space(*text->at))
        return lab_fail_file(error, path, "is cut or damaged: no space ends its head");
    text->at++;
    return LOCUS_OK;
}

/* Fewer bytes than the least that so many values take: said before any memory is asked for. */
static locus_status check_length(const anymap *map, const scanner *text, const char *path, locus_error *error) {
    size_t values = map->width * map->height * map->channels, left = (size_t)(text->end - text->at);
    size_t least = map->plain ? 2 * values - 1 : values * (map->most > 255 ? 2 : 1);
    return left >= least ? LOCUS_OK
                         : lab_fail_file(error, path, "is cut: %zu bytes of %zu×%zu pixels are missing at least",
                                         least - left, map->width, map->height);
}

static bool next_value(const anymap *map, scanner *text, size_t *value) {
    if (map->plain)
        return scan(text, value);
    *value = *text->at++;
    if (map->most > 255)
        *value = *value << 8 | *text->at++;
    return true;
}

static locus_status read_raster(uint8_t *rgb, const anymap *map, scanner *text, const char *path, locus_error *error) {
    size_t values = map->width * map->height * map->channels, copies = 3 / map->channels, value;
    for (size_t i = 0; i < values; i++) {
        if (!next_value(map, text, &value))
            return lab_fail_file(error, path, "is cut or damaged: value %zu of %zu is no number", i + 1, values);
        if (value > map->most) {
            return lab_fail_file(error, path, "is damaged: value %zu of %zu is above its largest value, %zu", i + 1,
                                 values, map->most);
        }
        for (size_t c = 0; c < copies; c++)
            *rgb++ = (uint8_t)((value * 255 + map->most / 2) / map->most);
    }
    return LOCUS_OK;
}

locus_status lab_picture_read_anymap(lab_picture *picture, const lab_picture_bytes *bytes, locus_error *error) {
    anymap map;
    scanner text = {bytes->data, bytes->data + bytes->count};
    locus_status status = read_header(&map, &text, bytes->path, error);
    if (status == LOCUS_OK)
        status = lab_picture_check_size(map.width, map.height, bytes->path, error);
    if (status == LOCUS_OK)
        status = check_length(&map, &text, bytes->path, error);
    if (status == LOCUS_OK)
        status = lab_picture_allocate(picture, map.width, map.height, error);
    return status == LOCUS_OK ? read_raster(picture->rgb, &map, &text, bytes->path, error) : status;
}

/* ---- writing ---- */

locus_status lab_picture_write_anymap(const lab_picture *picture, FILE *stream, const char *path, locus_error *error) {
    const size_t bytes = picture->width * picture->height * 3;
    const bool written = fprintf(stream, "P6\n%zu %zu\n255\n", picture->width, picture->height) > 0 &&
                         fwrite(picture->rgb, 1, bytes, stream) == bytes;
    return written || ferror(stream) ? LOCUS_OK : lab_fail_file(error, path, "cannot be written");
}
