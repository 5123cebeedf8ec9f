/* SPDX-License-Identifier: MIT */
/* The display list of a drawing, for the writers of its formats. */
#ifndef LAB_DRAWING_LIST_H
#define LAB_DRAWING_LIST_H

#include "report/figures/drawing.h"
#include <stdio.h>

typedef enum lab_shape_kind { LAB_SHAPE_LINE, LAB_SHAPE_POLYGON, LAB_SHAPE_DISC, LAB_SHAPE_TEXT } lab_shape_kind;

typedef struct lab_shape {
    lab_shape_kind kind;
    size_t first, count; /* of the drawing's points */
    double radius;
    unsigned fill;
    lab_stroke stroke; /* of lines and rims */
    lab_label label;
    size_t text; /* where it begins in the drawing's texts */
} lab_shape;

struct lab_drawing {
    double width, height;
    size_t shape_count, shape_room, point_count, point_room, text_bytes, text_room;
    lab_shape *shapes;
    lab_point *points;
    char *texts;
    bool broken; /* ran out of memory */
};

void lab_drawing_svg(const lab_drawing *drawing, FILE *out);
locus_status lab_drawing_png(const lab_drawing *drawing, const char *path, locus_error *error);

#endif
