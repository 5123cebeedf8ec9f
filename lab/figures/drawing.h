/* SPDX-License-Identifier: MIT */
/* Diagrams: lines, shapes and texts in pixels, y downward, that are written as SVG, PNG or PDF (svg_file.h). Drawing
 * never fails: running out of memory is remembered and reported when the drawing is written. */
#ifndef LAB_DRAWING_H
#define LAB_DRAWING_H

#include <locus/status.h>
#include <stdbool.h>
#include <stddef.h>

/* Colours are 0xRRGGBB. */
#define LAB_INK 0x22262bu
#define LAB_MUTED 0x6b7280u
#define LAB_FAINT 0xd5d9e0u
#define LAB_PAPER 0xffffffu
#define LAB_ACCENT 0xc2410cu /* a relative path */
#define LAB_FROM 0x15803du
#define LAB_TO 0x1d4ed8u

typedef struct lab_point {
    double x, y;
} lab_point;

typedef struct lab_stroke {
    unsigned colour;
    double width;
    bool dashed, arrow; /* arrow: a head at the last point */
} lab_stroke;

typedef enum lab_anchor { LAB_START = 0, LAB_MIDDLE = 1, LAB_END = 2 } lab_anchor;

typedef struct lab_label {
    double size; /* of the font, in pixels */
    unsigned colour;
    lab_anchor anchor;
    bool bold, upright; /* upright: turned by a quarter, reads upward */
} lab_label;

typedef struct lab_drawing lab_drawing;

lab_drawing *lab_drawing_create(double width, double height); /* NULL: out of memory */
void lab_drawing_free(lab_drawing *drawing);

void lab_draw_line(lab_drawing *drawing, const lab_point *points, size_t count, lab_stroke stroke);
void lab_draw_segment(lab_drawing *drawing, lab_point from, lab_point to, lab_stroke stroke);
void lab_draw_polygon(lab_drawing *drawing, const lab_point *points, size_t count, unsigned fill);
void lab_draw_box(lab_drawing *drawing, lab_point corner, lab_point opposite, unsigned fill);
/* width 0: no rim */
void lab_draw_disc(lab_drawing *drawing, lab_point centre, double radius, unsigned fill, unsigned rim, double width);
/* The text's baseline begins, is centred or ends at `at`. */
void lab_draw_text(lab_drawing *drawing, lab_point at, lab_label label, const char *text);

/* What belongs into the drawing could not be made for want of memory: writing it will fail. */
void lab_drawing_lacks(lab_drawing *drawing);

/* Once, by the name, as lab_svg_write does. MEMORY if the drawing lacks anything. */
locus_status lab_drawing_write(lab_drawing *drawing, const char *path, locus_error *error);

/* From red (−1) over white (0) to blue (1). */
unsigned lab_diverging_colour(double value);
/* Eight colours that can be told apart. */
unsigned lab_series_colour(size_t index);

#endif
