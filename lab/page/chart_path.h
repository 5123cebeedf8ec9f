/* SPDX-License-Identifier: MIT */
/* Lines as paths of an SVG: in tenths of a unit, without points that nobody would see. */
#ifndef LAB_CHART_PATH_H
#define LAB_CHART_PATH_H

#include "figures/drawing.h"

#include <stdio.h>

/* Takes out points that lie nearer than `tolerance` to the line that is left (Douglas and Peucker 1973), and more of
 * them while more than `most` are left; the first and the last stay. Returns how many are left. `room` has a byte for
 * each point. */
size_t lab_path_simplify(lab_point *points, size_t count, double tolerance, size_t most, unsigned char *room);

/* "M1 2l3-4…"; points further on are written as steps from the last one. `joined`: the first one is reached by a line,
 * too. */
void lab_path_write(FILE *page, const lab_point *points, size_t count, bool joined);

#endif
