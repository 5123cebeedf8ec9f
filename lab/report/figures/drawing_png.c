/* SPDX-License-Identifier: MIT */
/* A drawing as PNG: every shape is one element of a gnuplot command whose axes are the drawing's pixels, in the list's
 * order, at twice the size for sharp screens. */
#include "report/figures/drawing_list.h"

#include "io/fail.h"
#include "io/file.h"
#include "report/figures/gnuplot.h"

#include <stdlib.h>

#define SCALE 2

static void put_data(const lab_drawing *drawing, FILE *script) {
    size_t lines = 0;
    lab_gnuplot_begin_data(script, "p");
    for (size_t i = 0; i < drawing->shape_count; i++) {
        const lab_shape *shape = &drawing->shapes[i];
        for (size_t j = 0; j < shape->count; j++) {
            const lab_point *p = &drawing->points[shape->first + j];
            fprintf(script, "%.3f %.3f %.3f\n", p->x, p->y, shape->radius);
        }
        fputs("\n\n", script); /* data of each shape are one index */
        lines += shape->count + 2;
    }
    lab_gnuplot_end_data(script, "p", lines);
}

static void put_element(const lab_drawing *drawing, size_t index, FILE *script) {
    static const char *const sides[] = {"left", "center", "right"};
    const lab_shape *shape = &drawing->shapes[index];
    switch (shape->kind) {
    case LAB_SHAPE_LINE:
        fprintf(script, "$p index %zu using 1:2 with lines lw %.3g lc rgb '#%06x'%s notitle", index,
                SCALE * shape->stroke.width, shape->stroke.colour, shape->stroke.dashed ? " dt (4,4)" : "");
        break;
    case LAB_SHAPE_POLYGON:
        fprintf(script, "$p index %zu using 1:2 with filledcurves closed fs solid noborder fc rgb '#%06x' notitle",
                index, shape->fill);
        break;
    case LAB_SHAPE_DISC:
        fprintf(script, "$p index %zu using 1:2:3 with circles fs solid ", index);
        if (shape->stroke.width > 0) /* a colour after `lc` would fill the disc, too */
            fprintf(script, "border rgb '#%06x' lw %.3g", shape->stroke.colour, SCALE * shape->stroke.width);
        else
            fputs("noborder", script);
        fprintf(script, " fc rgb '#%06x' notitle", shape->fill);
        break;
    case LAB_SHAPE_TEXT: { /* labels are centred in height: lowered to the baseline by a third of the font */
        const lab_label *label = &shape->label;
        double lower = label->upright ? 0 : -0.34 * label->size;
        fprintf(script, "$p index %zu using ($1+%.3f):($2+%.3f):(", index, label->upright ? -0.34 * label->size : 0.0,
                lower);
        lab_gnuplot_text(script, drawing->texts + shape->text);
        fprintf(script, ") with labels %s%s font '%s,%.4g' tc rgb '#%06x' notitle", sides[label->anchor],
                label->upright ? " rotate by 90" : "", label->bold ? "sans:Bold" : "sans", SCALE * 0.75 * label->size,
                label->colour);
        break;
    }
    }
}

static void write_script(const lab_drawing *drawing, FILE *script) {
    fprintf(script,
            "set encoding utf8\nset terminal pngcairo noenhanced size %.0f,%.0f background rgb '#%06x'\n"
            "set margins 0,0,0,0\nunset border\nunset tics\nunset key\n"
            "set xrange [0:%.0f]\nset yrange [%.0f:0]\n",
            SCALE * drawing->width, SCALE * drawing->height, LAB_PAPER, drawing->width, drawing->height);
    put_data(drawing, script);
    for (size_t i = 0; i < drawing->shape_count; i++) {
        fputs(i ? ", \\\n " : "plot ", script);
        put_element(drawing, i, script);
    }
    fputc('\n', script);
}

locus_status lab_drawing_png(const lab_drawing *drawing, const char *path, locus_error *error) {
    lab_gnuplot plot;
    lab_output output = {0};
    char *picture = NULL;
    size_t bytes = 0;
    locus_status status = lab_gnuplot_open(&plot, error);
    if (status == LOCUS_OK) {
        write_script(drawing, plot.script);
        status = lab_gnuplot_run(&plot, &picture, &bytes, error);
    }
    if (status == LOCUS_OK)
        status = lab_output_open(&output, path, error);
    if (status == LOCUS_OK) {
        fwrite(picture, 1, bytes, output.stream);
        status = lab_output_commit(&output, error);
    }
    free(picture);
    lab_gnuplot_close(&plot);
    return status;
}
