/* SPDX-License-Identifier: MIT */
/* Paths: see chart_path.h. */
#include "page/chart_path.h"

#include <math.h>

/* Of a point from a piece of line. */
static double distance(lab_point at, lab_point from, lab_point to) {
    const double x = to.x - from.x, y = to.y - from.y, square = x * x + y * y;
    const double along = square > 0 ? ((at.x - from.x) * x + (at.y - from.y) * y) / square : 0;
    const double share = fmin(fmax(along, 0), 1);
    return hypot(at.x - from.x - share * x, at.y - from.y - share * y);
}

/* Where the points between two are furthest from the line between these. */
static size_t furthest(const lab_point *points, size_t from, size_t to, double *most) {
    size_t found = from;
    *most = 0;
    for (size_t i = from + 1; i < to; i++) {
        const double far = distance(points[i], points[from], points[to]);
        if (far > *most) {
            *most = far;
            found = i;
        }
    }
    return found;
}

/* From the left: a piece that strays is cut where it does, until it does not. What is kept stands in `kept`. */
static size_t mark(const lab_point *points, size_t count, double tolerance, unsigned char *kept) {
    size_t left = 2, from = 0;
    for (size_t i = 0; i < count; i++)
        kept[i] = i == 0 || i + 1 == count;
    while (from + 1 < count) {
        size_t to = from + 1;
        double far;
        while (!kept[to])
            to++;
        const size_t at = furthest(points, from, to, &far);
        if (far > tolerance) {
            kept[at] = 1;
            left++;
        } else {
            from = to;
        }
    }
    return left;
}

size_t lab_path_simplify(lab_point *points, size_t count, double tolerance, size_t most, unsigned char *room) {
    size_t left = 0;
    if (count < 3)
        return count;
    while (mark(points, count, tolerance, room) > most && most > 2)
        tolerance *= 1.5;
    for (size_t i = 0; i < count; i++)
        if (room[i])
            points[left++] = points[i];
    return left;
}

/* "-1.2", ".5", "3"; a blank before what would run into the number before it. */
static void put_tenths(FILE *page, long tenths, bool first) {
    const long size = tenths < 0 ? -tenths : tenths;
    fputs(tenths < 0 ? "-" : first ? "" : " ", page);
    if (size >= 10 || size == 0)
        fprintf(page, "%ld", size / 10);
    if (size % 10 != 0)
        fprintf(page, ".%ld", size % 10);
}

void lab_path_write(FILE *page, const lab_point *points, size_t count, bool joined) {
    long x = 0, y = 0;
    for (size_t i = 0, steps = 0; i < count; i++) {
        const long next_x = lround(10 * points[i].x), next_y = lround(10 * points[i].y);
        if (i > 0 && next_x == x && next_y == y && (steps > 0 || i + 1 < count))
            continue;
        const char *between = steps > 0 ? next_x < x ? "" : " " : "l";
        fputs(i > 0 ? between : joined ? "L" : "M", page);
        steps += i > 0;
        put_tenths(page, next_x - x, true);
        put_tenths(page, next_y - y, false);
        x = next_x;
        y = next_y;
    }
}
