/* SPDX-License-Identifier: MIT */
/* See path_list.h. */
#include "bound/path_list.h"

#include "bound/position_list.h"
#include "io/fail.h"

#include <stdlib.h>

locus_status lab_paths_open(lab_paths *paths, size_t count, locus_error *error) {
    *paths = (lab_paths){calloc(count + 1, sizeof(locus_path *)), count};
    return paths->items ? LOCUS_OK : lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory for %zu paths", count);
}

void lab_paths_close(lab_paths *paths) {
    for (size_t i = 0; paths->items && i < paths->count; i++)
        locus_path_destroy(&paths->items[i]);
    free(paths->items);
    *paths = (lab_paths){0};
}

locus_status lab_paths_of(lab_paths *paths, const lab_position_list *list, locus_error *error) {
    locus_positions *positions = NULL;
    locus_status status = lab_paths_open(paths, list->count, error);
    if (status == LOCUS_OK)
        status = lab_positions_one_sequence(&positions, list, error);
    for (size_t i = 0; i < list->count && status == LOCUS_OK; i++)
        status = locus_positions_path(positions, i, &paths->items[i], error);
    locus_positions_destroy(&positions);
    return status;
}

locus_status lab_path_positions(const locus_path *const *paths, size_t count, const locus_group *group, size_t repeat,
                                bool apart, locus_positions **positions, locus_error *error) {
    const size_t tokens = count * repeat, sequences = apart ? tokens : 1;
    const locus_path **each = calloc(tokens + 1, sizeof *each);
    size_t *offsets = calloc(sequences + 1, sizeof *offsets);
    locus_status status = each && offsets ? LOCUS_OK : lab_fail_memory(error, "positions");
    if (status == LOCUS_OK) {
        for (size_t i = 0; i < tokens; i++)
            each[i] = paths[i / repeat];
        for (size_t i = 0; i <= sequences; i++)
            offsets[i] = apart ? i : i * tokens;
        const locus_packing packing = {.size = sizeof packing, .sequences = sequences, .offsets = offsets};
        status = locus_positions_create_paths(positions, group, &packing, each, error);
    }
    free(each);
    free(offsets);
    return status;
}
