/* SPDX-License-Identifier: MIT */
/* What every figure of a group shares: edges between neighbours, labels, and a walk over all points. */
#ifndef LAB_PANELS_H
#define LAB_PANELS_H

#include "figures/layout.h"

/* Calls visit(context, values) for every element that is shown, the last coordinate fastest. */
typedef void lab_panels_visit(void *context, const double *values);
void lab_panels_walk(const lab_layout *layout, lab_panels_visit *visit, void *context);

/* Lines between neighbours: axes and cycles all along, the edges of trees. */
void lab_panels_edges(const lab_layout *layout, lab_drawing *drawing);

/* Numbers along lines, rings and grids, words on trees, and over each panel where it stands. They keep clear of points
 * of this radius; words that would touch are left out. */
void lab_panels_labels(const lab_layout *layout, lab_drawing *drawing, double radius);

/* Points behind are paler. */
unsigned lab_panels_shade(unsigned colour, double nearness);

/* Radius of a point that leaves room between neighbours. */
double lab_panels_radius(const lab_layout *layout);

#endif
