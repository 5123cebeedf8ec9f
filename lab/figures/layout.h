/* SPDX-License-Identifier: MIT */
/* Where the elements of a group stand in the plane.
 *
 *   one axis  a line        one cycle  a ring        two axes  a grid        one tree  the root on top
 *   two cycles  a torus     an axis and a cycle  a tube
 *
 * The last coordinates of a product make one panel in this way; the coordinates before repeat it, the first along a row
 * and, if there are two, the first down a column and the second along the rows. */
#ifndef LAB_LAYOUT_H
#define LAB_LAYOUT_H

#include "figures/drawing.h"
#include "figures/elements_text.h"

typedef enum lab_panel_kind {
    LAB_PANEL_LINE,
    LAB_PANEL_RING,
    LAB_PANEL_GRID,
    LAB_PANEL_TORUS,
    LAB_PANEL_TUBE,
    LAB_PANEL_TREE
} lab_panel_kind;

typedef struct lab_node {
    size_t parent, depth;
    int64_t branch; /* from the parent, signed */
    double across;  /* in leaves */
} lab_node;

/* What of a coordinate is shown. */
typedef struct lab_range {
    locus_coordinate coordinate;
    int64_t low, high; /* axes and cycles: both included; trees: the nodes' indices */
    /* trees: nodes in the order in which they were found, parents first; node 0 is the root */
    lab_node *tree;
    size_t nodes, room;
    double leaves;
    size_t deepest;
} lab_range;

typedef struct lab_layout {
    size_t count, outer; /* coordinates, and how many of them repeat panels */
    lab_range ranges[LAB_COORDINATES_MAX];
    lab_panel_kind kind;
    double step;          /* pixels between neighbours */
    double width, height; /* of a panel, its margins included */
    lab_point origin;     /* of the first panel */
} lab_layout;

/* Ranges begin at the origin (the root, position 0, the whole cycle) and grow as elements are shown. */
locus_status lab_layout_open(lab_layout *layout, const locus_group *group, locus_error *error);
void lab_layout_close(lab_layout *layout);
locus_status lab_layout_show(lab_layout *layout, const lab_element *element, locus_error *error);
/* Widens axes to at least `steps` positions, trees to full ones of at most `nodes` nodes. */
locus_status lab_layout_fill(lab_layout *layout, int64_t steps, size_t nodes, locus_error *error);

/* Sizes, once everything is shown: `across` is how wide a panel should be about. UNSUPPORTED for too many elements. */
locus_status lab_layout_measure(lab_layout *layout, double across, locus_error *error);
double lab_layout_width(const lab_layout *layout);
double lab_layout_height(const lab_layout *layout);

/* An element as one number for each coordinate: values, for trees the node (which must be shown). */
void lab_layout_values(const lab_layout *layout, const lab_element *element, double *values);
/* Where it stands; values between two neighbours stand between them. *nearness, unless NULL, receives 0 (behind, on a
 * torus or a tube) … 1 (in front). */
lab_point lab_layout_point(const lab_layout *layout, const double *values, double *nearness);
/* The node of a tree that a word leads to, SIZE_MAX if it is not shown. */
size_t lab_range_node(const lab_range *range, const int64_t *letters, size_t count);

#endif
