/* SPDX-License-Identifier: MIT */
/* Writes SVG text as it is, or through rsvg-convert as PNG or PDF, into a file that is whole or not there. */
#include "figures/svg_file.h"

#include "figures/converter.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/printable.h"

#include <stdlib.h>
#include <string.h>

bool lab_picture_named(const char *path) {
    return lab_name_ends(path, ".svg") || lab_name_ends(path, ".png") || lab_name_ends(path, ".pdf") ||
           strncmp(path, "/dev/", 5) == 0;
}

void lab_svg_text(FILE *out, const char *text) {
    const char *end = text + strlen(text);
    for (size_t length; text < end; text += length) {
        bool shown;
        length = lab_printable_at(text, (size_t)(end - text), &shown);
        const char *entity = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;
        if (entity != NULL)
            fputs(entity, out);
        else if (shown)
            fwrite(text, 1, length, out);
        else
            fputc('?', out);
    }
}

static locus_status write_bytes(const char *data, size_t bytes, const char *path, locus_error *error) {
    lab_output output;
    locus_status status = lab_output_open(&output, path, error);
    if (status == LOCUS_OK) {
        fwrite(data, 1, bytes, output.stream);
        status = lab_output_commit(&output, error);
    }
    return status;
}

locus_status lab_svg_write(const char *svg, size_t bytes, const char *path, locus_error *error) {
    const bool png = lab_name_ends(path, ".png"), pdf = lab_name_ends(path, ".pdf");
    char *picture;
    if (!lab_picture_named(path)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "output",
                        "'%s' must end in " LAB_PICTURE_ENDS ": its name is its format", path);
    }
    if (!png && !pdf)
        return write_bytes(svg, bytes, path, error);
    locus_status status = lab_convert(svg, bytes, png ? LAB_CONVERTED_PNG : LAB_CONVERTED_PDF, &picture, &bytes, error);
    if (status == LOCUS_OK)
        status = write_bytes(picture, bytes, path, error);
    free(picture);
    return status;
}
