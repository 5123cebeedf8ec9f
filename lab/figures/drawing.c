/* SPDX-License-Identifier: MIT */
/* Shapes are written as SVG as they come. Arrow heads are triangles: not every program draws markers. */
#include "figures/drawing.h"

#include "figures/svg_file.h"
#include "io/fail.h"
#include "io/text_stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct lab_drawing {
    FILE *out; /* NULL: closed */
    char *svg;
    size_t bytes;
    bool broken; /* lacks something for want of memory */
};

#define HEAD_LENGTH 4.2 /* of an arrow, in line widths, but at least 8 pixels */
#define HEAD_LEAST 8.0

lab_drawing *lab_drawing_create(double width, double height) {
    lab_drawing *drawing = calloc(1, sizeof *drawing);
    if (!drawing)
        return NULL;
    drawing->out = lab_text_stream(&drawing->svg, &drawing->bytes);
    if (!drawing->out) {
        free(drawing);
        return NULL;
    }
    fprintf(drawing->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" stroke-linejoin=\"round\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#%06x\"/>\n",
            ceil(width), ceil(height), ceil(width), ceil(height), LAB_PAPER);
    return drawing;
}

void lab_drawing_free(lab_drawing *drawing) {
    if (drawing) {
        if (drawing->out)
            fclose(drawing->out);
        free(drawing->svg);
        free(drawing);
    }
}

void lab_drawing_lacks(lab_drawing *drawing) {
    drawing->broken = true;
}

locus_status lab_drawing_write(lab_drawing *drawing, const char *path, locus_error *error) {
    fputs("</svg>\n", drawing->out);
    const bool whole = lab_text_close(drawing->out, &drawing->svg) && !drawing->broken;
    drawing->out = NULL;
    return whole ? lab_svg_write(drawing->svg, drawing->bytes, path, error) : lab_fail_memory(error, "a drawing");
}

/* ---- shapes ---- */

/* Of `count` points those after the first `kept` stand at `rest`. */
static void put_points(FILE *out, const lab_point *points, size_t count, size_t kept, lab_point rest) {
    for (size_t i = 0; i < count; i++) {
        const lab_point p = i < kept ? points[i] : rest;
        fprintf(out, "%s%.2f,%.2f", i ? " " : "", p.x, p.y);
    }
}

/* A triangle whose point is at `tip`, coming from `behind`. */
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
    const lab_point tip = points[count - 1];
    lab_point behind = tip, end = tip;
    size_t kept = count;
    if (stroke.arrow) {
        /* The line ends inside the head, whose base the points within are dropped onto: its square end must not stick
         * out of the point. */
        const double size = 0.7 * fmax(HEAD_LEAST, HEAD_LENGTH * stroke.width);
        size_t i = count - 1;
        while (i > 0 && hypot(tip.x - points[i - 1].x, tip.y - points[i - 1].y) < size)
            i--;
        behind = points[i ? i - 1 : 0];
        const double length = hypot(tip.x - behind.x, tip.y - behind.y);
        if (length > size) {
            end = (lab_point){tip.x - (tip.x - behind.x) * size / length, tip.y - (tip.y - behind.y) * size / length};
            kept = i;
        }
    }
    fputs("<polyline points=\"", drawing->out);
    put_points(drawing->out, points, count, kept, end);
    fprintf(drawing->out, "\" fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.3g\"%s/>\n", stroke.colour, stroke.width,
            stroke.dashed ? " stroke-dasharray=\"4 4\"" : "");
    if (stroke.arrow)
        draw_head(drawing, behind, tip, stroke);
}

void lab_draw_segment(lab_drawing *drawing, lab_point from, lab_point to, lab_stroke stroke) {
    const lab_point points[2] = {from, to};
    lab_draw_line(drawing, points, 2, stroke);
}

void lab_draw_polygon(lab_drawing *drawing, const lab_point *points, size_t count, unsigned fill) {
    fputs("<polygon points=\"", drawing->out);
    put_points(drawing->out, points, count, count, points[0]);
    fprintf(drawing->out, "\" fill=\"#%06x\"/>\n", fill);
}

void lab_draw_box(lab_drawing *drawing, lab_point corner, lab_point opposite, unsigned fill) {
    const lab_point points[4] = {corner, {opposite.x, corner.y}, opposite, {corner.x, opposite.y}};
    lab_draw_polygon(drawing, points, 4, fill);
}

void lab_draw_disc(lab_drawing *drawing, lab_point centre, double radius, unsigned fill, unsigned rim, double width) {
    fprintf(drawing->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.3g\" fill=\"#%06x\"", centre.x, centre.y, radius,
            fill);
    if (width > 0)
        fprintf(drawing->out, " stroke=\"#%06x\" stroke-width=\"%.3g\"", rim, width);
    fputs("/>\n", drawing->out);
}

void lab_draw_text(lab_drawing *drawing, lab_point at, lab_label label, const char *text) {
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(drawing->out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.4g\" fill=\"#%06x\" text-anchor=\"%s\"%s", at.x,
            at.y, label.size, label.colour, anchors[label.anchor], label.bold ? " font-weight=\"bold\"" : "");
    if (label.upright)
        fprintf(drawing->out, " transform=\"rotate(-90 %.2f %.2f)\"", at.x, at.y);
    fputc('>', drawing->out);
    lab_svg_text(drawing->out, text);
    fputs("</text>\n", drawing->out);
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
