/* SPDX-License-Identifier: MIT */
/* Tells what a picture file is, reads it whole and hands it to its reader; writes what a file's name asks for. */
#include "io/picture/picture_formats.h"

#include "io/fail.h"
#include "io/file.h"
#include <stdlib.h>
#include <string.h>

static const unsigned char png_signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

/* ---- what a file is ---- */

typedef locus_status (*picture_reader)(lab_picture *picture, const lab_picture_bytes *bytes, locus_error *error);

/* By the file's first bytes; NULL: no picture that is known here. */
static picture_reader find_reader(const unsigned char *start, size_t count) {
    if (count >= sizeof png_signature && memcmp(start, png_signature, sizeof png_signature) == 0)
        return lab_picture_read_png;
    if (count >= 3 && start[0] == 0xFF && start[1] == 0xD8 && start[2] == 0xFF)
        return lab_picture_read_jpeg;
    bool anymap = count >= 3 && start[0] == 'P' && start[1] != '\0' && strchr("2356", start[1]) != NULL &&
                  strchr(" \t\r\n#", start[2]) != NULL && start[2] != '\0';
    return anymap ? lab_picture_read_anymap : NULL;
}

/* Looks at the beginning first: what is no picture need not be read to its end. */
static locus_status sniff(const char *path, locus_error *error) {
    unsigned char start[sizeof png_signature];
    lab_input input;
    locus_status status = lab_input_open(&input, path, error);
    if (status == LOCUS_OK) {
        size_t count = fread(start, 1, sizeof start, input.stream);
        if (find_reader(start, count) == NULL)
            status =
                lab_fail_file(error, path, count == 0 ? "is empty" : "is neither a PNG, JPEG nor PPM or PGM picture");
    }
    lab_input_close(&input);
    return status;
}

locus_status lab_picture_load(const char *path, char **data, size_t *count, locus_error *error) {
    *data = NULL;
    *count = 0;
    const locus_status status = sniff(path, error);
    return status == LOCUS_OK ? lab_file_read(path, data, count, error) : status;
}

locus_status lab_picture_decode(lab_picture *picture, const lab_picture_bytes *bytes, locus_error *error) {
    const picture_reader reader = find_reader(bytes->data, bytes->count);
    *picture = (lab_picture){0, 0, NULL};
    const locus_status status =
        reader != NULL ? reader(picture, bytes, error) : lab_fail_file(error, bytes->path, "changed while it was read");
    if (status != LOCUS_OK)
        lab_picture_free(picture);
    return status;
}

locus_status lab_picture_read(lab_picture *picture, const char *path, locus_error *error) {
    char *data;
    size_t count;
    *picture = (lab_picture){0, 0, NULL};
    locus_status status = lab_picture_load(path, &data, &count, error);
    if (status == LOCUS_OK) {
        const lab_picture_bytes bytes = {path, (const unsigned char *)data, count};
        status = lab_picture_decode(picture, &bytes, error);
    }
    free(data);
    return status;
}

/* ---- writing ---- */

locus_status lab_picture_write(const lab_picture *picture, const char *path, locus_error *error) {
    lab_output output;
    locus_status status = lab_picture_check_size(picture->width, picture->height, path, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_output_open(&output, path, error);
    if (status == LOCUS_OK) {
        status = (lab_name_ends(path, ".ppm") ? lab_picture_write_anymap
                                              : lab_picture_write_png)(picture, output.stream, path, error);
    }
    if (status == LOCUS_OK)
        status = lab_output_commit(&output, error);
    lab_output_discard(&output);
    return status;
}
