/* SPDX-License-Identifier: MIT */
/* Runs rsvg-convert, without a shell: the SVG is its standard input, a file without a name below TMPDIR, so that
 * nothing is left behind, whatever happens. The picture comes through a pipe, so that no half of it lies in a file. */
#ifndef LAB_CONVERTER_H
#define LAB_CONVERTER_H

#include <locus/status.h>

typedef enum lab_converted { LAB_CONVERTED_PNG = 0, LAB_CONVERTED_PDF = 1 } lab_converted;

/* *picture: from malloc, a PNG of twice the SVG's pixels or a PDF of its size. UNSUPPORTED if rsvg-convert is not
 * there; IO if it fails, or if it did not draw the picture to the end. */
locus_status lab_convert(const char *svg, size_t svg_bytes, lab_converted form, char **picture, size_t *bytes,
                         locus_error *error);

#endif
