/* SPDX-License-Identifier: MIT */
/* The display list, and its form as SVG. Arrow heads are triangles of the list: not every program draws markers. */
#include "figures/drawing.h"

#include "figures/svg_file.h"
#include "io/fail.h"
#include "io/printable.h"
#include "io/text_stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

#define HEAD_LENGTH 4.2 /* of an arrow, in line widths, but at least 7 pixels */
#define HEAD_LEAST 8.0

lab_drawing *lab_drawing_create(double width, double height) {
    lab_drawing *drawing = calloc(1, sizeof *drawing);
    if (drawing) {
        drawing->width = ceil(width);
        drawing->height = ceil(height);
    }
    return drawing;
}

void lab_drawing_free(lab_drawing *drawing) {
    if (drawing) {
        free(drawing->shapes);
        free(drawing->points);
        free(drawing->texts);
        free(drawing);
    }
}

void lab_drawing_lacks(lab_drawing *drawing) {
    drawing->broken = true;
}

/* ---- the list ---- */

static bool grow(lab_drawing *drawing, void **block, size_t *room, size_t needed, size_t size) {
    if (drawing->broken || needed <= *room)
        return !drawing->broken;
    size_t more = 2 * needed + 64;
    void *larger = realloc(*block, more * size);
    drawing->broken = !larger;
    if (larger) {
        *block = larger;
        *room = more;
    }
    return larger != NULL;
}

static lab_shape *add_shape(lab_drawing *drawing, lab_shape_kind kind, const lab_point *points, size_t count) {
    void *shapes = drawing->shapes, *all = drawing->points;
    if (!grow(drawing, &shapes, &drawing->shape_room, drawing->shape_count + 1, sizeof(lab_shape)))
        return NULL;
    drawing->shapes = shapes;
    if (!grow(drawing, &all, &drawing->point_room, drawing->point_count + count, sizeof(lab_point)))
        return NULL;
    drawing->points = all;
    memcpy(drawing->points + drawing->point_count, points, count * sizeof *points);
    lab_shape *shape = &drawing->shapes[drawing->shape_count++];
    *shape = (lab_shape){.kind = kind, .first = drawing->point_count, .count = count};
    drawing->point_count += count;
    return shape;
}

/* A triangle whose point is at `tip`, coming from `behind`; *end is where the line should stop. */
static void draw_head(lab_drawing *drawing, lab_point behind, lab_point tip, lab_stroke stroke) {
    double dx = tip.x - behind.x, dy = tip.y - behind.y, length = hypot(dx, dy);
    if (length > 0) {
        double size = fmax(HEAD_LEAST, HEAD_LENGTH * stroke.width), ux = dx / length, uy = dy / length;
        const lab_point head[3] = {
            tip,
            {tip.x - size * ux - 0.42 * size * uy, tip.y - size * uy + 0.42 * size * ux},
            {tip.x - size * ux + 0.42 * size * uy, tip.y - size * uy - 0.42 * size * ux},
        };
        lab_draw_polygon(drawing, head, 3, stroke.colour);
    }
}

void lab_draw_line(lab_drawing *drawing, const lab_point *points, size_t count, lab_stroke stroke) {
    if (count < 2)
        return;
    lab_shape *shape = add_shape(drawing, LAB_SHAPE_LINE, points, count);
    if (!shape)
        return;
    shape->stroke = stroke;
    if (!stroke.arrow)
        return;
    /* The line ends inside the head: its square end must not stick out of the point. */
    lab_point *last = &drawing->points[shape->first + count - 1], tip = *last;
    double size = 0.7 * fmax(HEAD_LEAST, HEAD_LENGTH * stroke.width);
    size_t i = count - 1;
    while (i > 0 && hypot(tip.x - points[i - 1].x, tip.y - points[i - 1].y) < size)
        i--;
    lab_point behind = points[i ? i - 1 : 0];
    double length = hypot(tip.x - behind.x, tip.y - behind.y);
    if (length > size) {
        last->x = tip.x - (tip.x - behind.x) * size / length;
        last->y = tip.y - (tip.y - behind.y) * size / length;
        for (size_t j = i; i > 0 && j + 1 < count; j++) /* points within the head are dropped onto its base */
            drawing->points[shape->first + j] = *last;
    }
    draw_head(drawing, behind, tip, stroke);
}

void lab_draw_segment(lab_drawing *drawing, lab_point from, lab_point to, lab_stroke stroke) {
    const lab_point points[2] = {from, to};
    lab_draw_line(drawing, points, 2, stroke);
}

void lab_draw_polygon(lab_drawing *drawing, const lab_point *points, size_t count, unsigned fill) {
    lab_shape *shape = add_shape(drawing, LAB_SHAPE_POLYGON, points, count);
    if (shape)
        shape->fill = fill;
}

void lab_draw_box(lab_drawing *drawing, lab_point corner, lab_point opposite, unsigned fill) {
    const lab_point points[4] = {corner, {opposite.x, corner.y}, opposite, {corner.x, opposite.y}};
    lab_draw_polygon(drawing, points, 4, fill);
}

void lab_draw_disc(lab_drawing *drawing, lab_point centre, double radius, unsigned fill, unsigned rim, double width) {
    lab_shape *shape = add_shape(drawing, LAB_SHAPE_DISC, &centre, 1);
    if (shape) {
        shape->radius = radius;
        shape->fill = fill;
        shape->stroke = (lab_stroke){.colour = rim, .width = width};
    }
}

void lab_draw_text(lab_drawing *drawing, lab_point at, lab_label label, const char *text) {
    size_t bytes = strlen(text) + 1;
    void *texts = drawing->texts;
    if (!grow(drawing, &texts, &drawing->text_room, drawing->text_bytes + bytes, 1))
        return;
    drawing->texts = texts;
    lab_shape *shape = add_shape(drawing, LAB_SHAPE_TEXT, &at, 1);
    if (shape) {
        shape->label = label;
        shape->text = drawing->text_bytes;
        memcpy(drawing->texts + drawing->text_bytes, text, bytes);
        lab_printable(drawing->texts + drawing->text_bytes, "");
        drawing->text_bytes += bytes;
    }
}

/* ---- SVG ---- */

static void put_points(const lab_drawing *drawing, const lab_shape *shape, FILE *out) {
    for (size_t i = 0; i < shape->count; i++) {
        const lab_point *p = &drawing->points[shape->first + i];
        fprintf(out, "%s%.2f,%.2f", i ? " " : "", p->x, p->y);
    }
}

static void put_text(const lab_drawing *drawing, const lab_shape *shape, FILE *out) {
    static const char *const anchors[] = {"start", "middle", "end"};
    const lab_point *p = &drawing->points[shape->first];
    const lab_label *label = &shape->label;
    fprintf(out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.4g\" fill=\"#%06x\" text-anchor=\"%s\"%s", p->x, p->y,
            label->size, label->colour, anchors[label->anchor], label->bold ? " font-weight=\"bold\"" : "");
    if (label->upright)
        fprintf(out, " transform=\"rotate(-90 %.2f %.2f)\"", p->x, p->y);
    fputc('>', out);
    for (const char *c = drawing->texts + shape->text; *c; c++) {
        const char *entity = *c == '&' ? "&amp;" : *c == '<' ? "&lt;" : *c == '>' ? "&gt;" : NULL;
        if (entity)
            fputs(entity, out);
        else
            fputc(*c, out);
    }
    fputs("</text>\n", out);
}

static void put_shape(const lab_drawing *drawing, const lab_shape *shape, FILE *out) {
    switch (shape->kind) {
    case LAB_SHAPE_LINE:
        fputs("<polyline points=\"", out);
        put_points(drawing, shape, out);
        fprintf(out, "\" fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.3g\"%s/>\n", shape->stroke.colour,
                shape->stroke.width, shape->stroke.dashed ? " stroke-dasharray=\"4 4\"" : "");
        break;
    case LAB_SHAPE_POLYGON:
        fputs("<polygon points=\"", out);
        put_points(drawing, shape, out);
        fprintf(out, "\" fill=\"#%06x\"/>\n", shape->fill);
        break;
    case LAB_SHAPE_DISC:
        fprintf(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.3g\" fill=\"#%06x\"", drawing->points[shape->first].x,
                drawing->points[shape->first].y, shape->radius, shape->fill);
        if (shape->stroke.width > 0)
            fprintf(out, " stroke=\"#%06x\" stroke-width=\"%.3g\"", shape->stroke.colour, shape->stroke.width);
        fputs("/>\n", out);
        break;
    case LAB_SHAPE_TEXT:
        put_text(drawing, shape, out);
        break;
    }
}

static void put_drawing(const lab_drawing *drawing, FILE *out) {
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" stroke-linejoin=\"round\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#%06x\"/>\n",
            drawing->width, drawing->height, drawing->width, drawing->height, LAB_PAPER);
    for (size_t i = 0; i < drawing->shape_count; i++)
        put_shape(drawing, &drawing->shapes[i], out);
    fputs("</svg>\n", out);
}

locus_status lab_drawing_write(const lab_drawing *drawing, const char *path, locus_error *error) {
    char *svg = NULL;
    size_t bytes = 0;
    FILE *out = drawing->broken ? NULL : open_memstream(&svg, &bytes);
    if (out)
        put_drawing(drawing, out);
    const locus_status status =
        lab_text_close(out, &svg) ? lab_svg_write(svg, bytes, path, error) : lab_fail_memory(error, "a drawing");
    free(svg);
    return status;
}

/* ---- colours ---- */

unsigned lab_diverging_colour(double value) {
    static const unsigned stops[9] = {0x8e1b27, 0xc8433f, 0xec8d6b, 0xfad3bd, 0xf7f7f7,
                                      0xcbe2ef, 0x85bcdb, 0x3a86bd, 0x144d85};
    double at = 4 * (1 + (value < -1 ? -1 : value > 1 ? 1 : isnan(value) ? 0 : value));
    size_t stop = at >= 8 ? 7 : (size_t)at;
    double share = at - (double)stop;
    unsigned colour = 0;
    for (unsigned shift = 0; shift <= 16; shift += 8) {
        double a = (double)(stops[stop] >> shift & 0xff), b = (double)(stops[stop + 1] >> shift & 0xff);
        colour |= (unsigned)(a + (b - a) * share + 0.5) << shift;
    }
    return colour;
}

unsigned lab_series_colour(size_t index) {
    static const unsigned colours[8] = {0x1d4ed8, 0xc2410c, 0x15803d, 0x7e22ce, 0xa16207, 0x0e7490, 0xbe185d, 0x4b5563};
    return colours[index % 8];
}
