/* SPDX-License-Identifier: MIT */
/* A group's points and a relative path, −a + b, walked step by step: coordinate by coordinate, on a cycle the shorter
 * way round, on a tree through the last ancestor that both have. */
#include "figures/figure.h"

#include "figures/panels.h"
#include "io/fail.h"
#include "io/grow.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEFT 24.0
#define TOP 50.0
#define CAPTION 62.0 /* of one line and the measures */
#define CAPTION_SIZE 13.5
#define LINE 20.0
#define LINE_BYTES 160
#define FIGURE_WIDTH 660.0
#define STEPS 7        /* positions of an axis, at least */
#define NODES 15       /* of a tree that is filled, at most */
#define END_RADIUS 8.5 /* of the marks of a and b */
#define STEP_PIECES 10 /* of a step along a curve */
#define BOW 20         /* of a step between panels */

typedef struct group_figure {
    lab_layout layout;
    lab_drawing *drawing;
    lab_element from, to;
    bool route; /* there is a path to show */
} group_figure;

/* ---- the route ---- */

typedef struct route {
    lab_point *points;
    size_t count, room;
    bool broken;
    double at[LAB_COORDINATES_MAX];
} route;

static void route_add(route *r, const lab_layout *layout) {
    const bool fits = LAB_GROW(r->points, r->count, r->room, 256);
    r->broken = r->broken || !fits;
    if (fits)
        r->points[r->count++] = lab_layout_point(layout, r->at, NULL);
}

/* From panel to panel a step is a bow, upwards or to the right: a straight line would run through nodes that the path
 * does not visit. `done`: steps and parts of a step behind the point. */
static void bow_last(route *r, lab_point begin, double done) {
    lab_point *last = &r->points[r->count - 1];
    const double dx = last->x - begin.x, dy = last->y - begin.y, length = hypot(dx, dy);
    const double high = BOW * fabs(sin(3.14159265358979 * done));
    if (length > 0) {
        last->x += high * fabs(dy) / length;
        last->y -= high * fabs(dx) / length;
    }
}

/* Along an axis or a cycle, to a value that may be beyond the cycle's end. */
static void route_to(route *r, const lab_layout *layout, size_t coordinate, double target) {
    double start = r->at[coordinate], distance = fabs(target - start);
    const lab_point begin = lab_layout_point(layout, r->at, NULL);
    size_t pieces = distance > 0 ? (size_t)fmin(distance * STEP_PIECES, 2000) : 0;
    for (size_t i = 1; i <= pieces; i++) {
        r->at[coordinate] = start + (target - start) * (double)i / (double)pieces;
        route_add(r, layout);
        if (coordinate < layout->outer && !r->broken)
            bow_last(r, begin, distance * (double)i / (double)pieces);
    }
    r->at[coordinate] = target;
}

/* Beside the middle of an edge, on its upper side. */
static void label_step(const group_figure *figure, lab_point from, lab_point to, int64_t branch) {
    char text[32];
    double dx = to.x - from.x, dy = to.y - from.y, length = hypot(dx, dy), side = dx > 0 ? 12 : -12;
    snprintf(text, sizeof text, branch > 0 ? "+%" PRId64 : "−%" PRId64, branch > 0 ? branch : -branch);
    if (length < 1)
        return;
    lab_point at = {(from.x + to.x) / 2 + side * dy / length, (from.y + to.y) / 2 - side * dx / length + 4};
    lab_draw_text(figure->drawing, at,
                  (lab_label){.size = 12, .colour = LAB_ACCENT, .anchor = LAB_MIDDLE, .bold = true}, text);
}

/* On a tree: up to the last common ancestor, then down. */
static void route_words(route *r, const group_figure *figure, size_t coordinate) {
    const lab_range *range = &figure->layout.ranges[coordinate];
    const lab_part *a = &figure->from.parts[coordinate], *b = &figure->to.parts[coordinate];
    const int64_t *x = figure->from.letters + a->first, *y = figure->to.letters + b->first;
    size_t common = 0;
    while (common < a->letters && common < b->letters && x[common] == y[common])
        common++;
    for (size_t i = 0; i < a->letters + b->letters - 2 * common; i++) {
        bool up = i < a->letters - common;
        lab_point before = lab_layout_point(&figure->layout, r->at, NULL);
        int64_t branch = up ? -x[a->letters - 1 - i] : y[i - (a->letters - common) + common];
        size_t node = up ? range->tree[(size_t)r->at[coordinate]].parent
                         : lab_range_node(range, y, i - (a->letters - common) + common + 1);
        r->at[coordinate] = (double)node;
        route_add(r, &figure->layout);
        if (coordinate >= figure->layout.outer && r->count > 0)
            label_step(figure, before, r->points[r->count - 1], branch);
    }
}

/* Where the shorter way round ends: the value itself, or it one turn on or back. */
static double around(const lab_range *range, double from, double to) {
    double n = (double)range->coordinate.size, apart = to - from;
    return apart > n / 2 ? to - n : apart < -n / 2 ? to + n : to;
}

static void route_coordinate(route *r, const group_figure *figure, size_t coordinate, double target) {
    const lab_range *range = &figure->layout.ranges[coordinate];
    if (range->coordinate.kind == LOCUS_COORDINATE_TREE) {
        route_words(r, figure, coordinate);
    } else if (range->coordinate.kind == LOCUS_COORDINATE_CYCLE && coordinate >= figure->layout.outer) {
        route_to(r, &figure->layout, coordinate, around(range, r->at[coordinate], target));
        r->at[coordinate] = target;
    } else {
        route_to(r, &figure->layout, coordinate, target);
    }
}

/* The arrow's point must not lie under the mark of its end. */
static void shorten(route *r) {
    lab_point end = r->count ? r->points[r->count - 1] : (lab_point){0, 0};
    while (r->count > 2 && hypot(end.x - r->points[r->count - 2].x, end.y - r->points[r->count - 2].y) < END_RADIUS + 1)
        r->count--;
    if (r->count > 1) {
        lab_point *last = &r->points[r->count - 1], before = r->points[r->count - 2];
        double dx = end.x - before.x, dy = end.y - before.y, length = hypot(dx, dy);
        double kept = length > END_RADIUS + 1 ? (length - END_RADIUS - 1) / length : 0;
        *last = (lab_point){before.x + kept * dx, before.y + kept * dy};
    }
}

/* An arc over a line, which would hide it: from x to y at the line's height, `high` at its top, its steps beside it. */
static void draw_arc(const group_figure *figure, lab_point from, lab_point to, double high, lab_stroke stroke) {
    lab_point points[61];
    char text[40];
    route arc = {.points = points, .count = 61, .room = 61};
    const double steps = (to.x - from.x) / figure->layout.step;
    for (size_t i = 0; i < 61; i++) {
        double t = (double)i / 60;
        points[i] = (lab_point){from.x + (to.x - from.x) * t, from.y - 12 - high * sin(3.14159265358979 * t)};
    }
    shorten(&arc);
    lab_draw_line(figure->drawing, points, arc.count, stroke);
    snprintf(text, sizeof text, "%s%.0f", steps < 0 ? "−" : "+", fabs(steps));
    lab_draw_text(figure->drawing, (lab_point){(from.x + to.x) / 2, from.y - 12 - high - 7},
                  (lab_label){.size = 12, .colour = stroke.colour, .anchor = LAB_MIDDLE, .bold = true}, text);
}

/* There, and back above it. */
static void draw_arcs(const group_figure *figure) {
    double from, to;
    lab_layout_values(&figure->layout, &figure->from, &from);
    lab_layout_values(&figure->layout, &figure->to, &to);
    const lab_point a = lab_layout_point(&figure->layout, &from, NULL),
                    b = lab_layout_point(&figure->layout, &to, NULL);
    const double high = fmin(0.13 * fabs(b.x - a.x) + 4, 50);
    if (from != to) {
        draw_arc(figure, b, a, 2 * high + 14,
                 (lab_stroke){.colour = LAB_MUTED, .width = 1.6, .dashed = true, .arrow = true});
        draw_arc(figure, a, b, high, (lab_stroke){.colour = LAB_ACCENT, .width = 2.6, .arrow = true});
    }
}

static locus_status draw_route(const group_figure *figure, locus_error *error) {
    route r = {0};
    double target[LAB_COORDINATES_MAX];
    lab_layout_values(&figure->layout, &figure->from, r.at);
    lab_layout_values(&figure->layout, &figure->to, target);
    route_add(&r, &figure->layout);
    for (size_t i = 0; i < figure->layout.count; i++)
        route_coordinate(&r, figure, i, target[i]);
    shorten(&r);
    if (!r.broken) {
        lab_draw_line(figure->drawing, r.points, r.count,
                      (lab_stroke){.colour = LAB_ACCENT, .width = 2.6, .arrow = true});
    }
    free(r.points);
    return r.broken ? lab_fail_memory(error, "a path") : LOCUS_OK;
}

/* ---- points ---- */

static void draw_point(void *context, const double *values) {
    const group_figure *figure = context;
    double nearness = 1, radius = lab_panels_radius(&figure->layout);
    lab_point at = lab_layout_point(&figure->layout, values, &nearness);
    lab_draw_disc(figure->drawing, at, radius * (0.7 + 0.3 * nearness), lab_panels_shade(LAB_INK, nearness), LAB_PAPER,
                  radius > 2.5 ? 1.2 : 0);
}

static void draw_end(const group_figure *figure, const lab_element *element, unsigned colour, const char *name) {
    double values[LAB_COORDINATES_MAX];
    lab_layout_values(&figure->layout, element, values);
    lab_point at = lab_layout_point(&figure->layout, values, NULL);
    lab_draw_disc(figure->drawing, at, END_RADIUS, colour, LAB_PAPER, 1.6);
    lab_draw_text(figure->drawing, (lab_point){at.x, at.y + 3.8},
                  (lab_label){.size = 11, .colour = LAB_PAPER, .anchor = LAB_MIDDLE, .bold = true}, name);
}

/* ---- words ---- */

/* a, b and −a + b on one line, or on three where that is too long; and how far it is. */
typedef struct caption {
    char lines[3][LINE_BYTES], measure[80];
    size_t count;
} caption;

/* The most characters in a line of a caption: what the figure is wide enough for, and what `caption` has room for. */
static size_t line_holds(double width) {
    return (size_t)fmin((width - 2 * LEFT) / (0.72 * CAPTION_SIZE), LINE_BYTES - 16);
}

/* Cut to `most` characters, of which the last says so. */
static locus_status write_path(char line[LINE_BYTES], const char *name, const locus_path *path, size_t most,
                               locus_error *error) {
    char *text = lab_path_text(path);
    if (!text)
        return lab_fail_memory(error, "the text of a path");
    const size_t room = most - 9, bytes = strlen(text); /* beside "−a + b = " */
    snprintf(line, LINE_BYTES, "%s = %.*s%s", name, (int)(bytes > room ? room - 1 : bytes), text,
             bytes > room ? "…" : "");
    free(text);
    return LOCUS_OK;
}

static locus_status write_caption(caption *own, const locus_path *from, const locus_path *to, double width,
                                  locus_error *error) {
    const size_t most = line_holds(width);
    locus_path *between = NULL;
    int64_t length = 0, distance = 0;
    locus_status status = locus_path_relative(from, to, &between, error);
    if (status == LOCUS_OK)
        status = locus_path_length(between, &length, error);
    if (status == LOCUS_OK)
        status = locus_path_distance(from, to, &distance, error);
    if (status == LOCUS_OK)
        status = write_path(own->lines[0], "a", from, most, error);
    if (status == LOCUS_OK)
        status = write_path(own->lines[1], "b", to, most, error);
    if (status == LOCUS_OK)
        status = write_path(own->lines[2], "−a + b", between, most, error);
    locus_path_destroy(&between);
    own->count = 3;
    snprintf(own->measure, sizeof own->measure, "length %" PRId64 ", distance %" PRId64, length, distance);
    size_t used = strlen(own->lines[0]);
    if (status == LOCUS_OK && used + strlen(own->lines[1]) + strlen(own->lines[2]) + 2 <= most) {
        for (size_t i = 1; i < 3; i++)
            used += (size_t)snprintf(own->lines[0] + used, LINE_BYTES - used, "  %s", own->lines[i]);
        own->count = 1;
    }
    return status;
}

static void put_caption(const group_figure *figure, const caption *own) {
    double y = TOP + lab_layout_height(&figure->layout) + 26;
    for (size_t i = 0; i < own->count; i++, y += LINE) { // NOLINT(cert-flp30-c): i counts
        lab_draw_text(figure->drawing, (lab_point){LEFT, y}, (lab_label){.size = CAPTION_SIZE, .colour = LAB_INK},
                      own->lines[i]);
    }
    lab_draw_text(figure->drawing, (lab_point){LEFT, y}, (lab_label){.size = 12, .colour = LAB_MUTED}, own->measure);
}

static void put_title(const group_figure *figure, const locus_group *group) {
    char text[160];
    locus_group_text(group, text, sizeof text);
    lab_draw_text(figure->drawing, (lab_point){LEFT, 28}, (lab_label){.size = 16, .colour = LAB_INK, .bold = true},
                  text);
}

/* ---- all of it ---- */

static locus_status lay_out(group_figure *figure, const locus_group *group, const locus_path *from,
                            const locus_path *to, locus_error *error) {
    locus_status status = lab_layout_open(&figure->layout, group, error);
    if (status == LOCUS_OK && figure->route)
        status = lab_element_read(&figure->from, from, error);
    if (status == LOCUS_OK && figure->route)
        status = lab_element_read(&figure->to, to, error);
    if (status == LOCUS_OK && figure->route)
        status = lab_layout_show(&figure->layout, &figure->from, error);
    if (status == LOCUS_OK && figure->route)
        status = lab_layout_show(&figure->layout, &figure->to, error);
    if (status == LOCUS_OK) {
        bool many = figure->layout.outer > 0;
        status = lab_layout_fill(&figure->layout, many ? 3 : STEPS, many ? 7 : NODES, error);
    }
    return status == LOCUS_OK ? lab_layout_measure(&figure->layout, FIGURE_WIDTH, error) : status;
}

static locus_status draw_all(group_figure *figure, const locus_group *group, const locus_path *from,
                             const locus_path *to, locus_error *error) {
    double width = fmax(lab_layout_width(&figure->layout) + 2 * LEFT, figure->route ? 560 : 260);
    caption words = {.count = 0};
    locus_status status = figure->route ? write_caption(&words, from, to, width, error) : LOCUS_OK;
    if (status != LOCUS_OK)
        return status;
    const double below = figure->route ? CAPTION + LINE * (double)(words.count - 1) : 14;
    figure->drawing = lab_drawing_create(width, TOP + lab_layout_height(&figure->layout) + below);
    if (!figure->drawing)
        return lab_fail_memory(error, "a drawing");
    figure->layout.origin = (lab_point){(width - lab_layout_width(&figure->layout)) / 2, TOP};
    put_title(figure, group);
    lab_panels_edges(&figure->layout, figure->drawing);
    lab_panels_walk(&figure->layout, draw_point, figure);
    lab_panels_labels(&figure->layout, figure->drawing, lab_panels_radius(&figure->layout));
    const bool line = figure->layout.kind == LAB_PANEL_LINE && figure->layout.count == 1;
    status = figure->route && !line ? draw_route(figure, error) : LOCUS_OK;
    if (figure->route && line)
        draw_arcs(figure);
    if (status == LOCUS_OK && figure->route) {
        draw_end(figure, &figure->from, LAB_FROM, "a");
        draw_end(figure, &figure->to, LAB_TO, "b");
        put_caption(figure, &words);
    }
    return status;
}

locus_status lab_figure_group(const locus_group *group, const locus_path *from, const locus_path *to, const char *path,
                              locus_error *error) {
    group_figure figure = {.route = from && to};
    locus_status status = lay_out(&figure, group, from, to, error);
    if (status == LOCUS_OK)
        status = draw_all(&figure, group, from, to, error);
    if (status == LOCUS_OK)
        status = lab_drawing_write(figure.drawing, path, error);
    lab_drawing_free(figure.drawing);
    lab_layout_close(&figure.layout);
    lab_element_free(&figure.from);
    lab_element_free(&figure.to);
    return status;
}
