/* SPDX-License-Identifier: MIT */
/* See position_list.h. */
#include "bound/position_list.h"

#include "io/fail.h"

#include <stdlib.h>
#include <string.h>

void lab_position_list_free(lab_position_list *list) {
    for (size_t i = 0; list->paths && i < list->count; i++)
        locus_path_destroy(&list->paths[i]);
    free(list->paths);
    free(list->values);
    free(list->reals);
    *list = (lab_position_list){0};
}

/* Token t of the packing is at position t of the list, or all of them at `index`, if it is given. */
static locus_status make(locus_positions **positions, const lab_position_list *list, const locus_packing *packing,
                         const size_t *index, locus_error *error) {
    const size_t width = list->paths ? 1 : locus_group_coordinates(list->group);
    const void *rows = list->paths ? (const void *)list->paths : list->reals ? (const void *)list->reals : list->values;
    const size_t bytes = width * (list->paths ? sizeof *list->paths : list->reals ? sizeof(double) : sizeof(int64_t));
    char *copies = index ? malloc(list->count * bytes + 1) : NULL;
    if (index && !copies)
        return lab_fail_memory(error, "positions");
    for (size_t i = 0; copies && i < list->count; i++)
        memcpy(copies + i * bytes, (const char *)rows + *index * bytes, bytes);
    rows = copies ? copies : rows;
    const locus_status status = list->paths ? locus_positions_create_paths(positions, list->group, packing, rows, error)
                                : list->reals
                                    ? locus_positions_create_real(positions, list->group, packing, rows, error)
                                    : locus_positions_create(positions, list->group, packing, rows, error);
    free(copies);
    return status;
}

static locus_status make_apart(locus_positions **positions, const lab_position_list *list, const size_t *index,
                               locus_error *error) {
    size_t *offsets = malloc((list->count + 1) * sizeof *offsets);
    if (!offsets)
        return lab_fail_memory(error, "positions");
    for (size_t i = 0; i <= list->count; i++)
        offsets[i] = i;
    const locus_packing packing = {.size = sizeof packing, .sequences = list->count, .offsets = offsets};
    const locus_status status = make(positions, list, &packing, index, error);
    free(offsets);
    return status;
}

locus_status lab_positions_one_sequence(locus_positions **positions, const lab_position_list *list,
                                        locus_error *error) {
    const size_t offsets[2] = {0, list->count};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    return make(positions, list, &packing, NULL, error);
}

locus_status lab_positions_apart(locus_positions **positions, const lab_position_list *list, locus_error *error) {
    return make_apart(positions, list, NULL, error);
}

locus_status lab_positions_repeated(locus_positions **positions, const lab_position_list *list, size_t index,
                                    locus_error *error) {
    return make_apart(positions, list, &index, error);
}
