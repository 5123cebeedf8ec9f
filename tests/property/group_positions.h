/* SPDX-License-Identifier: MIT */
/* Random positions on any group, for tests of what acts on all of them. */
#ifndef TESTS_GROUP_POSITIONS_H
#define TESTS_GROUP_POSITIONS_H

#include "encoding_rig.h"

enum { GROUP_POSITIONS_WORD = 5, GROUP_POSITIONS_COORDINATES = 8 };

typedef struct group_drawing {
    const char *group;
    size_t sequences;
    const size_t *lengths; /* one gap of a token follows each sequence */
    int64_t reach;         /* axes: −reach … reach; words: over at most so many branches */
    bool repeat;           /* sequences stand where the first one stands; they are as long */
} group_drawing;

static inline uint64_t group_random(uint64_t *state, uint64_t below) {
    const locus_random stream = {.seed = 17, .purpose = LOCUS_RANDOM_USER, .step = 1};
    return (uint64_t)(locus_random_uniform(&stream, (*state)++) * (double)below) % below;
}

static inline void group_draw_column(const locus_coordinate *coordinate, const group_drawing *drawing, size_t tokens,
                                     uint64_t *state, locus_position_column *column) {
    int64_t *values = calloc(tokens * GROUP_POSITIONS_WORD + 1, sizeof *values);
    size_t *starts = calloc(tokens + 1, sizeof *starts);
    assert_true(values && starts);
    const bool tree = coordinate->kind == LOCUS_COORDINATE_TREE;
    const uint64_t branches = (uint64_t)(coordinate->size < drawing->reach ? coordinate->size : drawing->reach);
    const size_t period = drawing->repeat ? drawing->lengths[0] + 1 : tokens;
    uint64_t first = *state;
    for (size_t t = 0; t < tokens; t++) {
        if (t % period == 0)
            *state = first;
        starts[t + 1] = starts[t] + (tree ? group_random(state, GROUP_POSITIONS_WORD + 1) : 0);
        for (size_t i = starts[t]; i < starts[t + 1]; i++)
            values[i] = (int64_t)(1 + group_random(state, branches)) * (group_random(state, 3) ? 1 : -1);
        if (coordinate->kind == LOCUS_COORDINATE_AXIS)
            values[t] = (int64_t)group_random(state, 2 * (uint64_t)drawing->reach + 1) - drawing->reach;
        else if (!tree)
            values[t] = (int64_t)group_random(state, (uint64_t)coordinate->size);
    }
    *column = tree
                  ? (locus_position_column){.size = sizeof(locus_position_column), .branches = values, .starts = starts}
                  : (locus_position_column){.size = sizeof(locus_position_column), .values = values};
    if (!tree)
        free(starts);
}

static inline locus_positions *group_positions(const group_drawing *drawing, uint64_t *state) {
    locus_position_column columns[GROUP_POSITIONS_COORDINATES];
    size_t *offsets = calloc(drawing->sequences + 1, sizeof *offsets);
    locus_positions *positions = NULL;
    locus_group *group = NULL;
    rig_ok(locus_group_parse(drawing->group, &group, error));
    const size_t count = locus_group_coordinates(group);
    assert_true(offsets && count <= GROUP_POSITIONS_COORDINATES);
    for (size_t s = 0; s < drawing->sequences; s++)
        offsets[s + 1] = offsets[s] + drawing->lengths[s] + 1;
    for (size_t c = 0; c < count; c++) {
        const locus_coordinate coordinate = locus_group_coordinate(group, c);
        uint64_t own = *state + ((uint64_t)c << 24); /* the first tokens do not depend on how many there are */
        group_draw_column(&coordinate, drawing, offsets[drawing->sequences], &own, &columns[c]);
    }
    *state += (uint64_t)1 << 32;
    const locus_packing packing = {sizeof packing, drawing->sequences, offsets, drawing->lengths};
    rig_ok(locus_positions_create_columns(&positions, group, &packing, columns, error));
    for (size_t c = 0; c < count; c++) {
        free((void *)(uintptr_t)columns[c].values);
        free((void *)(uintptr_t)columns[c].branches);
        free((void *)(uintptr_t)columns[c].starts);
    }
    locus_group_destroy(&group);
    free(offsets);
    return positions;
}

/* Distance of a query's and a key's position, as paths have it. */
static inline double group_distance(const locus_positions *queries, size_t query, const locus_positions *keys,
                                    size_t key) {
    locus_path *a = NULL, *b = NULL;
    int64_t distance = 0;
    rig_ok(locus_positions_path(queries, query, &a, error));
    rig_ok(locus_positions_path(keys, key, &b, error));
    rig_ok(locus_path_distance(a, b, &distance, error));
    locus_path_destroy(&a);
    locus_path_destroy(&b);
    return (double)distance;
}

#endif
