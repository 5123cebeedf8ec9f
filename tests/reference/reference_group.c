/* SPDX-License-Identifier: MIT */
/* Distances: |m − n| on a sequence, the shorter way round on a cycle, the way through the lowest common ancestor on a
 * tree, the floor of the Euclidean norm on a grid, the sum over the factors of any other product. */
#include "reference/reference.h"

#include <math.h>

static double on_tree(const reference_position *a, const reference_position *b, size_t c) {
    size_t shared = 0;
    while (shared < a->letters[c] && shared < b->letters[c] && a->word[c][shared] == b->word[c][shared])
        shared++;
    return (double)(a->letters[c] + b->letters[c] - 2 * shared);
}

static double on_cycle(double a, double b, double n) {
    const double apart = fabs(a - b);
    return fmin(apart, n - apart);
}

static double on_axes(const reference_position *a, const reference_position *b, size_t first, size_t end) {
    double square = 0;
    if (end == first + 1)
        return fabs(a->value[first] - b->value[first]);
    for (size_t c = first; c < end; c++)
        square += (a->value[c] - b->value[c]) * (a->value[c] - b->value[c]);
    double root = floor(sqrt(square));
    root += (root + 1) * (root + 1) <= square; /* exact, whatever the square root rounds to */
    return root * root > square ? root - 1 : root;
}

double reference_distance(const locus_group *group, const reference_position *a, const reference_position *b) {
    const size_t count = locus_group_coordinates(group);
    double sum = 0;
    for (size_t c = 0, end; c < count; c = end) {
        const locus_coordinate coordinate = locus_group_coordinate(group, c);
        for (end = c + 1; end < count && coordinate.kind == LOCUS_COORDINATE_AXIS &&
                          locus_group_coordinate(group, end).kind == LOCUS_COORDINATE_AXIS;)
            end++; /* an unbroken run of axes is a grid */
        if (coordinate.kind == LOCUS_COORDINATE_TREE)
            sum += on_tree(a, b, c);
        else if (coordinate.kind == LOCUS_COORDINATE_CYCLE)
            sum += on_cycle(a->value[c], b->value[c], (double)coordinate.size);
        else
            sum += on_axes(a, b, c, end);
    }
    return sum;
}
