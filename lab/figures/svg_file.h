/* SPDX-License-Identifier: MIT */
/* A picture that was written as SVG, as the file that its name asks for. */
#ifndef LAB_SVG_FILE_H
#define LAB_SVG_FILE_H

#include <locus/status.h>
#include <stdbool.h>
#include <stdio.h>

/* How names of pictures end, for messages: ".svg, .png or .pdf". */
#define LAB_PICTURE_ENDS ".svg, .png or .pdf"

/* Whether a name says a format; what lies below /dev is an SVG. */
bool lab_picture_named(const char *path);

/* A text of an SVG: escaped, and what is not printable (printable.h) as '?'. */
void lab_svg_text(FILE *out, const char *text);

/* Whole or not at all. ARGUMENT for a name that says no format; UNSUPPORTED for .png and .pdf without rsvg-convert. */
locus_status lab_svg_write(const char *svg, size_t bytes, const char *path, locus_error *error);

#endif
