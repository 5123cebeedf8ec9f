/* SPDX-License-Identifier: MIT */
/* Ranges grow with what is shown, then panels are sized, then points are asked for. A torus is seen from above at an
 * angle: big circle by the first cycle, small circle by the second; a tube lies, its axis from left to right. */
#include "figures/layout.h"

#include "io/fail.h"
#include "io/grow.h"

#include <math.h>
#include <stdlib.h>

#define PI 3.14159265358979323846
#define MOST_POINTS 16384
#define MOST_NODES 65504 /* that are gathered: more than are drawn */
#define MOST_PANELS 144
#define MARGIN 34.0     /* round a panel, for its labels */
#define TREE_LEVEL 58.0 /* pixels between levels, at most */
#define TORUS_TILT 0.55 /* height of the big circle by its width */

void lab_layout_close(lab_layout *layout) {
    for (size_t i = 0; i < layout->count; i++)
        free(layout->ranges[i].tree);
    *layout = (lab_layout){0};
}

/* ---- ranges ---- */

static locus_status add_node(lab_range *range, size_t parent, int64_t branch, locus_error *error) {
    if (range->nodes >= MOST_NODES) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "group", "the tree is too large to be drawn: at most %d nodes",
                        MOST_POINTS);
    }
    if (!LAB_GROW(range->tree, range->nodes, range->room, 32))
        return lab_fail_memory(error, "the nodes of a tree");
    const size_t depth = range->nodes ? range->tree[parent].depth + 1 : 0;
    range->tree[range->nodes++] = (lab_node){parent, depth, branch, 0};
    range->deepest = depth > range->deepest ? depth : range->deepest;
    range->high = (int64_t)range->nodes - 1;
    return LOCUS_OK;
}

static size_t child_of(const lab_range *range, size_t parent, int64_t branch) {
    for (size_t i = parent + 1; i < range->nodes; i++)
        if (range->tree[i].parent == parent && range->tree[i].branch == branch)
            return i;
    return SIZE_MAX;
}

size_t lab_range_node(const lab_range *range, const int64_t *letters, size_t count) {
    size_t node = 0;
    for (size_t i = 0; i < count && node != SIZE_MAX; i++)
        node = child_of(range, node, letters[i]);
    return node;
}

static locus_status show_word(lab_range *range, const int64_t *letters, size_t count, locus_error *error) {
    size_t node = 0;
    for (size_t i = 0; i < count; i++) {
        size_t next = child_of(range, node, letters[i]);
        if (next == SIZE_MAX) {
            locus_status status = add_node(range, node, letters[i], error);
            if (status != LOCUS_OK)
                return status;
            next = range->nodes - 1;
        }
        node = next;
    }
    return LOCUS_OK;
}

locus_status lab_layout_show(lab_layout *layout, const lab_element *element, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < layout->count && status == LOCUS_OK; i++) {
        lab_range *range = &layout->ranges[i];
        const lab_part *part = &element->parts[i];
        if (range->coordinate.kind == LOCUS_COORDINATE_TREE) {
            status = show_word(range, element->letters + part->first, part->letters, error);
        } else {
            range->low = part->value < range->low ? part->value : range->low;
            range->high = part->value > range->high ? part->value : range->high;
        }
    }
    return status;
}

/* All words of one more letter, while there is room. */
static locus_status fill_tree(lab_range *range, size_t nodes, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t depth = 0; status == LOCUS_OK; depth++) {
        size_t level = 0, before = range->nodes;
        for (size_t i = 0; i < before; i++)
            level += range->tree[i].depth == depth;
        if (level == 0 || (double)before + (double)level * (double)range->coordinate.size > (double)nodes) {
            if (before == 1) {
                return lab_fail(
                    error, LOCUS_ERROR_UNSUPPORTED, "group",
                    "tree:%lld has more branches than can be drawn here (%zu): give --from and --to, and the "
                    "nodes between them are drawn",
                    (long long)range->coordinate.size, nodes - 1);
            }
            break;
        }
        for (size_t i = 0; i < before && status == LOCUS_OK; i++)
            for (int64_t b = 1; range->tree[i].depth == depth && b <= range->coordinate.size && status == LOCUS_OK; b++)
                status = child_of(range, i, b) == SIZE_MAX ? add_node(range, i, b, error) : LOCUS_OK;
    }
    return status;
}

/* Positions or nodes that are shown; integers of 64 bits may be further apart than one can say. */
static double extent(const lab_range *range) {
    return (double)range->high - (double)range->low + 1;
}

locus_status lab_layout_fill(lab_layout *layout, int64_t steps, size_t nodes, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < layout->count && status == LOCUS_OK; i++) {
        lab_range *range = &layout->ranges[i];
        if (range->coordinate.kind == LOCUS_COORDINATE_TREE)
            status = fill_tree(range, nodes, error);
        else if (range->coordinate.kind == LOCUS_COORDINATE_AXIS && extent(range) < (double)steps)
            range->high = range->low + steps - 1;
    }
    return status;
}

static locus_status open_range(lab_range *range, locus_coordinate coordinate, locus_error *error) {
    *range = (lab_range){.coordinate = coordinate};
    if (coordinate.kind == LOCUS_COORDINATE_TREE)
        return add_node(range, 0, 0, error);
    if (coordinate.kind == LOCUS_COORDINATE_CYCLE)
        range->high = coordinate.size - 1;
    return LOCUS_OK;
}

/* What the last coordinates make together. */
static lab_panel_kind panel_of(const lab_layout *layout, size_t *inner) {
    const locus_coordinate_kind last = layout->ranges[layout->count - 1].coordinate.kind;
    const bool pair = layout->count > 1 && last != LOCUS_COORDINATE_TREE;
    const locus_coordinate_kind before = pair ? layout->ranges[layout->count - 2].coordinate.kind : last;
    *inner = pair && before != LOCUS_COORDINATE_TREE ? 2 : 1;
    if (*inner == 1) {
        return last == LOCUS_COORDINATE_AXIS    ? LAB_PANEL_LINE
               : last == LOCUS_COORDINATE_CYCLE ? LAB_PANEL_RING
                                                : LAB_PANEL_TREE;
    }
    return before != last ? LAB_PANEL_TUBE : last == LOCUS_COORDINATE_AXIS ? LAB_PANEL_GRID : LAB_PANEL_TORUS;
}

locus_status lab_layout_open(lab_layout *layout, const locus_group *group, locus_error *error) {
    size_t inner = 1;
    *layout = (lab_layout){.count = 0};
    const size_t count = locus_group_coordinates(group);
    if (count > LAB_COORDINATES_MAX) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "group",
                        "a group of %zu coordinates cannot be drawn: at most %d can", count, LAB_COORDINATES_MAX);
    }
    for (; layout->count < count; layout->count++) {
        locus_status status =
            open_range(&layout->ranges[layout->count], locus_group_coordinate(group, layout->count), error);
        if (status != LOCUS_OK) {
            layout->count++;
            return status;
        }
    }
    layout->kind = panel_of(layout, &inner);
    layout->outer = count - inner;
    if (layout->outer > 2) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "group",
                        "a product of %zu coordinates cannot be drawn: a panel shows the last one or two, and two more "
                        "repeat it",
                        count);
    }
    return LOCUS_OK;
}

/* ---- trees in the plane ---- */

/* Branches in their order: inverse ones to the left. */
static size_t next_child(const lab_range *range, size_t parent, int64_t after) {
    size_t best = SIZE_MAX;
    for (size_t i = parent + 1; i < range->nodes; i++) {
        bool right = range->tree[i].parent == parent && range->tree[i].branch > after;
        best = right && (best == SIZE_MAX || range->tree[i].branch < range->tree[best].branch) ? i : best;
    }
    return best;
}

/* Leaves side by side, parents above the middle of their children; without recursion, for a tree may be deep. */
static void spread_tree(lab_range *range) {
    double leaves = 0;
    size_t node = 0;
    int64_t after = INT64_MIN;
    for (bool done = false; !done;) {
        size_t child = next_child(range, node, after);
        if (child != SIZE_MAX) {
            node = child;
            after = INT64_MIN;
            continue;
        }
        if (after == INT64_MIN) {
            range->tree[node].across = leaves++;
        } else {
            size_t first = next_child(range, node, INT64_MIN);
            double low = range->tree[first].across, high = low;
            for (size_t i = first; i != SIZE_MAX; i = next_child(range, node, range->tree[i].branch))
                high = range->tree[i].across;
            range->tree[node].across = (low + high) / 2;
        }
        done = node == 0;
        after = range->tree[node].branch;
        node = range->tree[node].parent;
    }
    range->leaves = leaves;
}

/* ---- sizes ---- */

static double clamp(double value, double low, double high) {
    return value < low ? low : value > high ? high : value;
}

static const lab_range *inner_range(const lab_layout *layout, size_t index) {
    return &layout->ranges[layout->outer + index];
}

/* The axis and the cycle of a tube, by their place among the inner coordinates. */
static size_t tube_axis(const lab_layout *layout) {
    return inner_range(layout, 0)->coordinate.kind == LOCUS_COORDINATE_AXIS ? 0 : 1;
}

static void measure_panel(lab_layout *layout, double across) {
    const lab_range *first = inner_range(layout, 0);
    switch (layout->kind) {
    case LAB_PANEL_LINE:
        layout->step = clamp(across / extent(first), 7, 58);
        layout->width = (extent(first) - 1) * layout->step;
        layout->height = layout->outer ? 40 : fmin(0.26 * layout->width, 122) + 30;
        break;
    case LAB_PANEL_RING:
        layout->step = clamp(extent(first) * 46 / (2 * PI), 46, across / 3.2); /* the radius */
        layout->width = layout->height = 2 * layout->step;
        break;
    case LAB_PANEL_GRID:
        layout->step = clamp(across / fmax(extent(inner_range(layout, 1)), extent(first)), 5, 56);
        layout->width = (extent(inner_range(layout, 1)) - 1) * layout->step;
        layout->height = (extent(first) - 1) * layout->step;
        break;
    case LAB_PANEL_TORUS:
        layout->step = across / 2;
        layout->width = across;
        layout->height = 0.69 * across;
        break;
    case LAB_PANEL_TUBE:
        layout->step = clamp(across / extent(inner_range(layout, tube_axis(layout))), 9, 84);
        layout->height = clamp(0.36 * across, 120, 230);
        layout->width = (extent(inner_range(layout, tube_axis(layout))) - 1) * layout->step + 0.3 * layout->height;
        break;
    case LAB_PANEL_TREE:
        layout->step = clamp(across / fmax(first->leaves, 1), 7, 54);
        layout->width = fmax(first->leaves - 1, 1) * layout->step;
        layout->height = (double)first->deepest * clamp(420 / (double)(first->deepest + 1), 9, TREE_LEVEL);
        break;
    }
    layout->width += 2 * MARGIN;
    layout->height += 2 * MARGIN;
}

#define MOST_COORDINATE ((int64_t)1 << 53) /* from here on a double does not tell neighbours apart */

locus_status lab_layout_measure(lab_layout *layout, double across, locus_error *error) {
    double points = 1, panels = 1;
    for (size_t i = 0; i < layout->count; i++) {
        lab_range *range = &layout->ranges[i];
        if (range->low <= -MOST_COORDINATE || range->high >= MOST_COORDINATE)
            return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "group",
                            "positions beyond 2^53 cannot be drawn: choose nearer ones");
        points *= extent(range);
        panels *= i < layout->outer ? extent(range) : 1;
        if (range->coordinate.kind == LOCUS_COORDINATE_TREE)
            spread_tree(range);
    }
    if (points > MOST_POINTS || panels > MOST_PANELS) {
        return lab_fail(
            error, LOCUS_ERROR_UNSUPPORTED, "group",
            "%.0f points in %.0f panels are too many to be drawn (at most %d in %d): choose a smaller cycle "
            "or nearer positions",
            points, panels, MOST_POINTS, MOST_PANELS);
    }
    measure_panel(layout, panels > 1 ? fmax(120, across / sqrt(panels)) : across);
    return LOCUS_OK;
}

static double panels_along(const lab_layout *layout) {
    return layout->outer ? extent(&layout->ranges[layout->outer - 1]) : 1;
}

double lab_layout_width(const lab_layout *layout) {
    return panels_along(layout) * layout->width;
}

double lab_layout_height(const lab_layout *layout) {
    return (layout->outer > 1 ? extent(&layout->ranges[0]) : 1) * layout->height;
}

/* ---- points ---- */

void lab_layout_values(const lab_layout *layout, const lab_element *element, double *values) {
    for (size_t i = 0; i < layout->count; i++) {
        const lab_range *range = &layout->ranges[i];
        const lab_part *part = &element->parts[i];
        values[i] = range->coordinate.kind == LOCUS_COORDINATE_TREE
                        ? (double)lab_range_node(range, element->letters + part->first, part->letters)
                        : (double)part->value;
    }
}

static lab_point tree_point(const lab_layout *layout, double node) {
    const lab_range *range = inner_range(layout, 0);
    size_t index = (size_t)node;
    double level = range->deepest ? (layout->height - 2 * MARGIN) / (double)range->deepest : 0;
    double alone = range->leaves < 2 ? 0.5 * layout->step : 0;
    return (lab_point){MARGIN + alone + range->tree[index].across * layout->step,
                       MARGIN + (double)range->tree[index].depth * level};
}

static lab_point torus_point(const lab_layout *layout, const double *values, double *nearness) {
    double big = 2 * PI * values[0] / extent(inner_range(layout, 0)) + PI / 2;
    double small = 2 * PI * values[1] / extent(inner_range(layout, 1));
    double R = 0.70 * layout->step, r = 0.30 * layout->step, ring = R + r * cos(small);
    double depth = ring * sin(big) / (R + r), up = r * sin(small);
    if (nearness)
        *nearness = clamp(0.5 + 0.30 * depth + 0.35 * sin(small) + 0.12 * cos(small) * sin(big), 0, 1);
    return (lab_point){layout->width / 2 + ring * cos(big),
                       layout->height / 2 + TORUS_TILT * ring * sin(big) - 0.83 * up};
}

static lab_point tube_point(const lab_layout *layout, const double *values, double *nearness) {
    size_t axis = tube_axis(layout);
    const lab_range *range = inner_range(layout, axis);
    double round = 2 * PI * values[1 - axis] / extent(inner_range(layout, 1 - axis)) - PI / 2;
    double radius = (layout->height - 2 * MARGIN) / 2;
    if (nearness)
        *nearness = 0.5 + 0.5 * cos(round);
    return (lab_point){MARGIN + 0.3 * radius + (values[axis] - (double)range->low) * layout->step +
                           0.3 * radius * cos(round),
                       layout->height / 2 + radius * sin(round)};
}

static lab_point panel_point(const lab_layout *layout, const double *values, double *nearness) {
    const lab_range *first = inner_range(layout, 0);
    switch (layout->kind) {
    case LAB_PANEL_LINE:
        return (lab_point){MARGIN + (values[0] - (double)first->low) * layout->step, layout->height - MARGIN - 6};
    case LAB_PANEL_RING: {
        double angle = 2 * PI * values[0] / extent(first) - PI / 2;
        return (lab_point){layout->width / 2 + layout->step * cos(angle),
                           layout->height / 2 + layout->step * sin(angle)};
    }
    case LAB_PANEL_GRID:
        return (lab_point){MARGIN + (values[1] - (double)inner_range(layout, 1)->low) * layout->step,
                           MARGIN + (values[0] - (double)first->low) * layout->step};
    case LAB_PANEL_TORUS:
        return torus_point(layout, values, nearness);
    case LAB_PANEL_TUBE:
        return tube_point(layout, values, nearness);
    case LAB_PANEL_TREE:
        return tree_point(layout, values[0]);
    }
    return (lab_point){0, 0};
}

lab_point lab_layout_point(const lab_layout *layout, const double *values, double *nearness) {
    if (nearness)
        *nearness = 1;
    lab_point point = panel_point(layout, values + layout->outer, nearness);
    size_t outer = layout->outer;
    double column = outer ? values[outer - 1] - (double)layout->ranges[outer - 1].low : 0;
    double row = outer > 1 ? values[0] - (double)layout->ranges[0].low : 0;
    point.x += layout->origin.x + column * layout->width;
    point.y += layout->origin.y + row * layout->height;
    return point;
}
