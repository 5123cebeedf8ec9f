/* SPDX-License-Identifier: MIT */
/* PNG through libpng. Values are taken as they are stored: colour profiles and gamma are not looked at, as programs
 * that prepare training images do it. A pixel of opacity α over white is ⌊(αv + (255 − α)·255)/255 + ½⌋.
 *
 * All kinds are brought to 8-bit RGBA, [height, width, 4], in memory that becomes the picture's: [height, width, 3]. */
#include "io/picture/picture_formats.h"

#include "io/fail.h"
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Width and height stand behind the signature and the length and name of the first chunk, then depth and kind. */
enum { SIZE_AT = 16, DEPTH_AT = 24, KIND_AT = 25, HEAD = 26 };
enum { MOST_RATIO = 1032 }; /* deflate (RFC 1951) makes at most 258 bytes of two bits */

/* Chunks that say nothing of values are passed over: libpng would take as much memory as they say they need. */
static const png_byte unused[] =
    "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0tIME\0zTXt";

typedef struct source {
    const unsigned char *at;
    size_t left;
    char reason[96]; /* of a failure */
} source;

static void give(png_structp reader, png_bytep target, size_t count) {
    source *from = png_get_io_ptr(reader);
    if (count > from->left)
        png_error(reader, "the file ends too early");
    memcpy(target, from->at, count);
    from->at += count;
    from->left -= count;
}

/* libpng does not go on after this. */
PNG_NORETURN static void stop(png_structp png, png_const_charp reason) {
    source *from = png_get_error_ptr(png);
    snprintf(from->reason, sizeof from->reason, "%s", reason);
    png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp warning) {
    (void)png;
    (void)warning;
}

/* ---- reading ---- */

/* The size that the first chunk states; `decode` holds it against libpng's, which may have read it from a later one. */
static size_t read_size(const unsigned char *at) {
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* Everything between the setjmp and its return works on `reader` and memory behind pointers: no variable changes. */
static bool decode(png_structp reader, png_infop info, const lab_picture *into) {
    if (setjmp(png_jmpbuf(reader)) != 0)
        return false;
    png_set_keep_unknown_chunks(reader, PNG_HANDLE_CHUNK_NEVER, unused, (int)(sizeof unused / 5));
    png_read_info(reader, info);
    if (png_get_image_width(reader, info) != into->width || png_get_image_height(reader, info) != into->height)
        png_error(reader, "its head does not come first");
    png_set_expand(reader);
    png_set_scale_16(reader);
    png_set_gray_to_rgb(reader);
    png_set_add_alpha(reader, 0xFF, PNG_FILLER_AFTER);
    const int passes = png_set_interlace_handling(reader);
    png_read_update_info(reader, info);
    const size_t stride = png_get_rowbytes(reader, info);
    if (stride != into->width * 4)
        png_error(reader, "of an unknown kind");
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < into->height; y++)
            png_read_row(reader, into->rgb + y * stride, NULL);
    png_read_end(reader, NULL);
    return true;
}

/* Lays RGBA on white, in place: each pixel is written at or before where it was read. */
static void lay_on_white(uint8_t *pixels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        unsigned alpha = pixels[4 * i + 3];
        for (size_t c = 0; c < 3; c++)
            pixels[3 * i + c] = (uint8_t)((alpha * pixels[4 * i + c] + (255 - alpha) * 255 + 127) / 255);
    }
}

/* `into` has its size, and memory of four bytes a pixel. */
static locus_status read_pixels(const lab_picture *into, const lab_picture_bytes *bytes, locus_error *error) {
    source from = {bytes->data, bytes->count, ""};
    png_structp reader = png_create_read_struct(PNG_LIBPNG_VER_STRING, &from, stop, ignore);
    png_infop info = reader != NULL ? png_create_info_struct(reader) : NULL;
    locus_status status = LOCUS_OK;
    if (info == NULL) {
        status = lab_fail_memory(error, "a picture");
    } else {
        png_set_read_fn(reader, &from, give);
        if (!decode(reader, info, into))
            status = lab_fail_file(error, bytes->path, "is cut or damaged: %s", from.reason);
    }
    png_destroy_read_struct(&reader, &info, NULL);
    return status;
}

/* Channels by PNG's number of a kind; libpng refuses the kinds that there are not. */
static size_t channels_of(unsigned kind) {
    static const size_t channels[] = {1, 1, 3, 1, 2, 1, 4};
    return kind < sizeof channels / sizeof *channels ? channels[kind] : 1;
}

/* Fewer bytes than so many pixels can be packed into: said before any memory is asked for. */
static locus_status check_length(size_t width, size_t height, const lab_picture_bytes *bytes, locus_error *error) {
    const size_t depth = bytes->data[DEPTH_AT] > 0 ? bytes->data[DEPTH_AT] : 1;
    const size_t bits = depth * channels_of(bytes->data[KIND_AT]);
    return height * (width * bits / 8) / MOST_RATIO <= bytes->count
               ? LOCUS_OK
               : lab_fail_file(error, bytes->path, "is cut or damaged: %zu bytes cannot hold %zu×%zu pixels",
                               bytes->count, width, height);
}

locus_status lab_picture_read_png(lab_picture *picture, const lab_picture_bytes *bytes, locus_error *error) {
    if (bytes->count < HEAD)
        return lab_fail_file(error, bytes->path, "is cut or damaged: the file ends too early");
    size_t width = read_size(bytes->data + SIZE_AT), height = read_size(bytes->data + SIZE_AT + 4);
    locus_status status = lab_picture_check_size(width, height, bytes->path, error);
    if (status == LOCUS_OK)
        status = check_length(width, height, bytes, error);
    if (status != LOCUS_OK)
        return status;
    *picture = (lab_picture){width, height, malloc(width * height * 4)};
    if (picture->rgb == NULL)
        return lab_fail_memory(error, "a picture");
    status = read_pixels(picture, bytes, error);
    if (status == LOCUS_OK) {
        lay_on_white(picture->rgb, width * height);
        uint8_t *rgb = realloc(picture->rgb, width * height * 3);
        picture->rgb = rgb != NULL ? rgb : picture->rgb;
    }
    return status;
}

/* ---- writing ---- */

locus_status lab_picture_write_png(const lab_picture *picture, FILE *stream, const char *path, locus_error *error) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)picture->width;
    image.height = (png_uint_32)picture->height;
    image.format = PNG_FORMAT_RGB;
    bool written = png_image_write_to_stdio(&image, stream, 0, picture->rgb, 0, NULL) != 0;
    /* A full disk shows as the stream's own error, which the commit names better. */
    return written || ferror(stream) ? LOCUS_OK : lab_fail_file(error, path, "cannot be written: %s", image.message);
}
