/* SPDX-License-Identifier: MIT */
/* JPEG (ITU T.81, baseline and progressive, 8 bits) through libjpeg. Values are taken as they are stored: colour
 * profiles and the camera's turn (Exif) are not looked at. Grey becomes three equal channels; of the four inks of CMYK
 * a channel is (255 − ink)(255 − black) / 255, rounded; Adobe's programs store inks inverted.
 *
 * Refused, beside what is damaged: arithmetic coding, and more than 200 scans, which no picture needs and whose
 * decoding can be made to take hours. A warning of the decoder means that pixels are made up, and is a failure; bytes
 * between two markers that it passes over are not. */
#include "io/picture/picture_formats.h"

#include "io/fail.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

enum { MOST_SCANS = 200, MOST_RATIO = 1024, INKS = 4 };

/* What the decoder calls: its error manager comes first, so that a pointer to it is one to this. */
typedef struct watcher {
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    char reason[JMSG_LENGTH_MAX];
} watcher;

/* libjpeg does not go on after this. */
_Noreturn static void stop(j_common_ptr decoder) {
    watcher *eye = (watcher *)(void *)decoder->err;
    eye->errors.format_message(decoder, eye->reason);
    longjmp(eye->back, 1);
}

_Noreturn static void stop_saying(j_common_ptr decoder, const char *reason) {
    watcher *eye = (watcher *)(void *)decoder->err;
    snprintf(eye->reason, sizeof eye->reason, "%s", reason);
    longjmp(eye->back, 1);
}

static void told(j_common_ptr decoder, int level) {
    const int code = decoder->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM)
        stop(decoder);
}

static void count_scans(j_common_ptr decoder) {
    if (((j_decompress_ptr)decoder)->input_scan_number > MOST_SCANS)
        stop_saying(decoder, "it has more than 200 scans");
}

/* Fewer bytes than so many pixels can be packed into, a bit for each block of 8×8 in its sparsest component: said
 * before any memory is asked for. */
static void check_length(j_decompress_ptr decoder, size_t count) {
    const size_t pixels = (size_t)decoder->image_width * decoder->image_height;
    if (decoder->arith_code)
        stop_saying((j_common_ptr)decoder, "it is coded arithmetically, which is not read here");
    if (pixels / MOST_RATIO > count)
        stop_saying((j_common_ptr)decoder, "so few bytes cannot hold so many pixels");
}

/* A row of inks, in place: each pixel is written at or before where it was read. */
static void mix_inks(uint8_t *row, size_t width, bool inverted) {
    for (size_t x = 0; x < width; x++) {
        const unsigned flip = inverted ? 0 : 255, black = row[INKS * x + 3] ^ flip;
        for (size_t c = 0; c < 3; c++)
            row[3 * x + c] = (uint8_t)(((row[INKS * x + c] ^ flip) * black + 127) / 255);
    }
}

/* The head: size, and memory for the rows. `status` tells memory from what the decoder says. */
static locus_status begin(j_decompress_ptr decoder, lab_picture *picture, const lab_picture_bytes *bytes,
                          locus_error *error) {
    jpeg_mem_src(decoder, bytes->data, bytes->count);
    (void)jpeg_read_header(decoder, TRUE);
    locus_status status = lab_picture_check_size(decoder->image_width, decoder->image_height, bytes->path, error);
    if (status != LOCUS_OK)
        return status;
    check_length(decoder, bytes->count);
    const bool inks = decoder->jpeg_color_space == JCS_CMYK || decoder->jpeg_color_space == JCS_YCCK;
    decoder->out_color_space = inks ? JCS_CMYK : JCS_RGB;
    decoder->dct_method = JDCT_ISLOW;
    decoder->mem->max_memory_to_use = 0;
    return lab_picture_allocate(picture, decoder->image_width, decoder->image_height, error);
}

/* Everything between the setjmp and its return works on `decoder` and memory behind pointers. */
static bool decode(j_decompress_ptr decoder, watcher *eye, lab_picture *picture, const lab_picture_bytes *bytes,
                   locus_status *status, locus_error *error) {
    uint8_t *volatile row = NULL;
    if (setjmp(eye->back) != 0) {
        free(row);
        return false;
    }
    *status = begin(decoder, picture, bytes, error);
    if (*status != LOCUS_OK)
        return true;
    (void)jpeg_start_decompress(decoder);
    row = malloc(INKS * picture->width);
    if (row == NULL)
        *status = lab_fail_memory(error, "a picture");
    while (*status == LOCUS_OK && decoder->output_scanline < decoder->output_height) {
        const size_t y = decoder->output_scanline;
        JSAMPROW into = row;
        (void)jpeg_read_scanlines(decoder, &into, 1);
        if (decoder->out_color_space == JCS_CMYK)
            mix_inks(into, picture->width, decoder->saw_Adobe_marker);
        memcpy(picture->rgb + 3 * y * picture->width, into, 3 * picture->width);
    }
    if (*status == LOCUS_OK)
        (void)jpeg_finish_decompress(decoder);
    free(row);
    return true;
}

locus_status lab_picture_read_jpeg(lab_picture *picture, const lab_picture_bytes *bytes, locus_error *error) {
    struct jpeg_decompress_struct decoder;
    watcher eye;
    locus_status status = LOCUS_OK;
    memset(&decoder, 0, sizeof decoder);
    memset(&eye, 0, sizeof eye);
    decoder.err = jpeg_std_error(&eye.errors);
    eye.errors.error_exit = stop;
    eye.errors.emit_message = told;
    if (setjmp(eye.back) != 0) /* the library's version, or its first memory */
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "", "libjpeg: %s", eye.reason);
    jpeg_create_decompress(&decoder);
    eye.progress.progress_monitor = count_scans;
    decoder.progress = &eye.progress;
    if (!decode(&decoder, &eye, picture, bytes, &status, error))
        status = eye.errors.msg_code == JERR_OUT_OF_MEMORY
                     ? lab_fail_memory(error, "a picture")
                     : lab_fail_file(error, bytes->path, "is cut or damaged: %s", eye.reason);
    jpeg_destroy_decompress(&decoder);
    return status;
}
