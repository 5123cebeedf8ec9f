/* SPDX-License-Identifier: MIT */
/* Draws the panels of a layout: what a group looks like before anything is shown on it. */
#include "figures/panels.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SAMPLES 8 /* pieces of a curved edge */
#define LABEL_SIZE 10.5
#define LETTER_WIDTH 5.4 /* of a label, about */
#define LETTERS_MOST 12  /* of a word that is written out */

void lab_panels_walk(const lab_layout *layout, lab_panels_visit *visit, void *context) {
    double values[LAB_COORDINATES_MAX] = {0};
    size_t at = 0;
    for (size_t i = 0; i < layout->count; i++)
        values[i] = (double)layout->ranges[i].low;
    while (at != SIZE_MAX) {
        visit(context, values);
        for (at = layout->count - 1; at != SIZE_MAX; at--) {
            if (++values[at] <= (double)layout->ranges[at].high)
                break;
            values[at] = (double)layout->ranges[at].low;
        }
    }
}

unsigned lab_panels_shade(unsigned colour, double nearness) {
    unsigned shaded = 0;
    double share = 0.28 + 0.72 * nearness;
    for (unsigned shift = 0; shift <= 16; shift += 8) {
        double own = (double)(colour >> shift & 0xff);
        shaded |= (unsigned)(255 + (own - 255) * share + 0.5) << shift;
    }
    return shaded;
}

double lab_panels_radius(const lab_layout *layout) {
    double step = layout->step;
    if (layout->kind == LAB_PANEL_RING) {
        step = 2 * 3.14159 * layout->step / (double)(layout->ranges[layout->outer].high + 1);
    } else if (layout->kind == LAB_PANEL_TORUS) {
        double n = (double)layout->ranges[layout->outer].high + 1,
               m = (double)layout->ranges[layout->outer + 1].high + 1;
        step = fmin(2 * layout->step / n * 2, layout->step / m * 2);
    } else if (layout->kind == LAB_PANEL_TUBE) {
        step = fmin(step, 24);
    }
    double radius = 0.19 * step;
    return radius < 1.6 ? 1.6 : radius > 5 ? 5 : radius;
}

/* ---- edges ---- */

typedef struct edge_job {
    const lab_layout *layout;
    lab_drawing *drawing;
    size_t axis; /* the coordinate along which edges run */
} edge_job;

static bool is_tree(const lab_range *range) {
    return range->coordinate.kind == LOCUS_COORDINATE_TREE;
}

/* From `values` to the next value along the axis. */
static void draw_step(const edge_job *job, const double *values) {
    const lab_range *range = &job->layout->ranges[job->axis];
    bool cycle = range->coordinate.kind == LOCUS_COORDINATE_CYCLE;
    double at[LAB_COORDINATES_MAX], near = 1, sum = 0;
    lab_point points[SAMPLES + 1];
    if (values[job->axis] >= (double)range->high && (!cycle || range->high == 0))
        return;
    size_t pieces = job->layout->kind == LAB_PANEL_LINE || job->layout->kind == LAB_PANEL_GRID ? 1 : SAMPLES;
    for (size_t i = 0; i < job->layout->count; i++)
        at[i] = values[i];
    for (size_t i = 0; i <= pieces; i++) {
        at[job->axis] = values[job->axis] + (double)i / (double)pieces;
        points[i] = lab_layout_point(job->layout, at, &near);
        sum += near;
    }
    unsigned colour = lab_panels_shade(0x9aa3af, sum / (double)(pieces + 1));
    lab_draw_line(job->drawing, points, pieces + 1, (lab_stroke){.colour = colour, .width = 1.2});
}

/* From a node to its parent. */
static void draw_branch(const edge_job *job, const double *values) {
    const lab_range *range = &job->layout->ranges[job->axis];
    size_t node = (size_t)values[job->axis];
    double parent[LAB_COORDINATES_MAX];
    if (node == 0)
        return;
    for (size_t i = 0; i < job->layout->count; i++)
        parent[i] = values[i];
    parent[job->axis] = (double)range->tree[node].parent;
    lab_draw_segment(job->drawing, lab_layout_point(job->layout, parent, NULL),
                     lab_layout_point(job->layout, values, NULL),
                     (lab_stroke){.colour = 0x9aa3af, .width = 1.2, .dashed = range->tree[node].branch < 0});
}

static void draw_edge(void *context, const double *values) {
    const edge_job *job = context;
    if (is_tree(&job->layout->ranges[job->axis]))
        draw_branch(job, values);
    else
        draw_step(job, values);
}

/* A sequence goes on in one direction, and in both if negative positions are shown. */
static void draw_ends(const lab_layout *layout, lab_drawing *drawing) {
    const lab_range *range = &layout->ranges[layout->outer];
    const lab_stroke stroke = {.colour = 0x9aa3af, .width = 1.2, .arrow = true};
    double first = (double)range->low, last = (double)range->high;
    lab_point low = lab_layout_point(layout, &first, NULL), high = lab_layout_point(layout, &last, NULL);
    lab_draw_segment(drawing, high, (lab_point){high.x + 28, high.y}, stroke);
    if (range->low < 0)
        lab_draw_segment(drawing, low, (lab_point){low.x - 28, low.y}, stroke);
}

void lab_panels_edges(const lab_layout *layout, lab_drawing *drawing) {
    edge_job job = {layout, drawing, 0};
    for (job.axis = layout->outer; job.axis < layout->count; job.axis++)
        lab_panels_walk(layout, draw_edge, &job);
    if (layout->kind == LAB_PANEL_LINE && layout->outer == 0)
        draw_ends(layout, drawing);
}

/* ---- labels ---- */

/* Numbers are left out so that they do not touch: every 1st, 2nd, 5th, 10th … */
static int64_t label_every(double step, double wanted) {
    static const int64_t factors[3] = {1, 2, 5};
    int64_t power = 1;
    for (size_t i = 0;; i++) {
        int64_t every = factors[i % 3] * power;
        if ((double)every * step >= wanted || every > 1000000)
            return every;
        power *= i % 3 == 2 ? 10 : 1;
    }
}

static void put_number(lab_drawing *drawing, lab_point at, lab_anchor anchor, int64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, number);
    lab_draw_text(drawing, at, (lab_label){.size = LABEL_SIZE, .colour = LAB_MUTED, .anchor = anchor}, text);
}

/* The word of a node; false if it is longer than fits. */
static bool node_text(const lab_range *range, size_t node, char *text, size_t size) {
    int64_t letters[LETTERS_MOST];
    size_t count = 0, used = 0;
    if (range->tree[node].depth > LETTERS_MOST)
        return false;
    for (size_t at = node; at != 0; at = range->tree[at].parent)
        letters[count++] = range->tree[at].branch;
    snprintf(text, size, "0");
    for (size_t i = count; i-- > 0 && used + 24 < size;) {
        used +=
            (size_t)snprintf(text + used, size - used, used && letters[i] > 0 ? "+%" PRId64 : "%" PRId64, letters[i]);
    }
    return true;
}

typedef struct label_job {
    const lab_layout *layout;
    lab_drawing *drawing;
    int64_t every[2];
    double radius;
} label_job;

/* Pixels from a node to the nearest of its level. */
static double node_room(const lab_layout *layout, const lab_range *range, size_t node) {
    double nearest = 4;
    for (size_t i = 0; i < range->nodes; i++)
        if (i != node && range->tree[i].depth == range->tree[node].depth)
            nearest = fmin(nearest, fabs(range->tree[i].across - range->tree[node].across));
    return nearest * layout->step;
}

/* Whether a node is to the right of the nearest ancestor that it is not straight below. */
static bool stands_right(const lab_range *range, size_t node) {
    while (node > 0 && !(range->tree[node].across > range->tree[range->tree[node].parent].across)) {
        if (range->tree[node].across < range->tree[range->tree[node].parent].across)
            return false;
        node = range->tree[node].parent;
    }
    return node > 0;
}

/* Under a leaf; beside another node, on the side where its ancestors are not. */
static void label_node(const label_job *job, const double *values) {
    const lab_layout *layout = job->layout;
    const lab_range *range = &layout->ranges[layout->outer];
    const size_t node = (size_t)values[layout->outer];
    const lab_point at = lab_layout_point(layout, values, NULL);
    const double clear = job->radius > 4 ? job->radius : 4;
    const bool right = stands_right(range, node);
    bool leaf = true;
    char text[160];
    for (size_t i = node + 1; i < range->nodes; i++)
        leaf = leaf && range->tree[i].parent != node;
    double room = node_room(layout, range, node);
    if (!node_text(range, node, text, sizeof text) ||
        LETTER_WIDTH * (double)strlen(text) > (leaf ? room - 3 : room / 2 - clear - 5))
        return;
    const lab_label label = {.size = LABEL_SIZE - 0.5,
                             .colour = LAB_MUTED,
                             .anchor = leaf    ? LAB_MIDDLE
                                       : right ? LAB_START
                                               : LAB_END};
    const lab_point beside = {at.x + (right ? clear + 4 : -clear - 4), at.y - 5};
    lab_draw_text(job->drawing, leaf ? (lab_point){at.x, at.y + clear + 13} : beside, label, text);
}

/* Outside of the ring. */
static void label_ring(const label_job *job, const double *values) {
    const lab_layout *layout = job->layout;
    double centre[LAB_COORDINATES_MAX], n = (double)layout->ranges[layout->outer].high + 1;
    for (size_t i = 0; i < layout->count; i++)
        centre[i] = values[i];
    centre[layout->outer] = fmod(values[layout->outer] + n / 2, n);
    lab_point at = lab_layout_point(layout, values, NULL), other = lab_layout_point(layout, centre, NULL);
    double dx = at.x - other.x, dy = at.y - other.y, length = hypot(dx, dy), out = job->radius + 12;
    if ((int64_t)values[layout->outer] % job->every[0] == 0 && length > 0) {
        put_number(job->drawing, (lab_point){at.x + out * dx / length, at.y + out * dy / length + 4}, LAB_MIDDLE,
                   (int64_t)values[layout->outer]);
    }
}

static void label_point(void *context, const double *values) {
    const label_job *job = context;
    const lab_layout *layout = job->layout;
    const double *inner = values + layout->outer;
    const lab_range *ranges = layout->ranges + layout->outer;
    lab_point at = lab_layout_point(layout, values, NULL);
    double gap = job->radius + 7;
    switch (layout->kind) {
    case LAB_PANEL_LINE:
        if ((int64_t)inner[0] % job->every[0] == 0)
            put_number(job->drawing, (lab_point){at.x, at.y + job->radius + 14}, LAB_MIDDLE, (int64_t)inner[0]);
        break;
    case LAB_PANEL_RING:
        label_ring(job, values);
        break;
    case LAB_PANEL_GRID:
        gap = fmax(gap, layout->step * 0.5 + 6);
        if (inner[1] <= (double)ranges[1].low && (int64_t)inner[0] % job->every[0] == 0)
            put_number(job->drawing, (lab_point){at.x - gap, at.y + 4}, LAB_END, (int64_t)inner[0]);
        if (inner[0] <= (double)ranges[0].low && (int64_t)inner[1] % job->every[1] == 0)
            put_number(job->drawing, (lab_point){at.x, at.y - gap}, LAB_MIDDLE, (int64_t)inner[1]);
        break;
    case LAB_PANEL_TREE:
        label_node(job, values);
        break;
    case LAB_PANEL_TORUS:
    case LAB_PANEL_TUBE:
        break;
    }
}

/* Over a panel: the values of the coordinates that repeat it. */
static void label_panels(const lab_layout *layout, lab_drawing *drawing) {
    const int64_t rows = layout->outer > 1 ? layout->ranges[0].high - layout->ranges[0].low + 1 : 1;
    for (int64_t row = 0; row < rows; row++) {
        const lab_range *along = &layout->ranges[layout->outer - 1];
        for (int64_t column = 0; column <= along->high - along->low; column++) {
            char text[256], first[32] = "", last[160];
            if (layout->outer > 1)
                snprintf(first, sizeof first, "%" PRId64 ", ", layout->ranges[0].low + row);
            if (is_tree(along)) {
                if (!node_text(along, (size_t)column, last, sizeof last))
                    snprintf(last, sizeof last, "…");
            } else {
                snprintf(last, sizeof last, "%" PRId64, along->low + column);
            }
            snprintf(text, sizeof text, "%s%s", first, last);
            lab_draw_text(drawing,
                          (lab_point){layout->origin.x + ((double)column + 0.5) * layout->width,
                                      layout->origin.y + (double)row * layout->height +
                                          (layout->kind == LAB_PANEL_GRID ? -3 : 12)},
                          (lab_label){.size = 12, .colour = LAB_INK, .anchor = LAB_MIDDLE, .bold = true}, text);
        }
    }
}

void lab_panels_labels(const lab_layout *layout, lab_drawing *drawing, double radius) {
    double step = layout->step;
    if (layout->kind == LAB_PANEL_RING)
        step = 2 * 3.14159 * layout->step / (double)(layout->ranges[layout->outer].high + 1);
    label_job job = {
        layout, drawing, {label_every(step, layout->kind == LAB_PANEL_GRID ? 15 : 22), label_every(step, 22)}, radius};
    lab_panels_walk(layout, label_point, &job);
    if (layout->outer > 0)
        label_panels(layout, drawing);
}
