/* SPDX-License-Identifier: MIT */
/* See position_list.h. */
#include "bound/position_list.h"

#include "io/fail.h"

#include <stdlib.h>
#include <string.h>

locus_status lab_path_list_open(lab_position_list *list, const locus_group *group, size_t count, locus_error *error) {
    *list = (lab_position_list){.group = group, .count = count, .paths = calloc(count + 1, sizeof(locus_path *))};
    return list->paths ? LOCUS_OK : lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory for %zu paths", count);
}

locus_status lab_path_list_of(lab_position_list *paths, const lab_position_list *list, locus_error *error) {
    locus_positions *positions = NULL;
    locus_status status = lab_path_list_open(paths, list->group, list->count, error);
    if (status == LOCUS_OK)
        status = lab_positions_one_sequence(&positions, list, error);
    for (size_t i = 0; i < list->count && status == LOCUS_OK; i++)
        status = locus_positions_path(positions, i, &paths->paths[i], error);
    locus_positions_destroy(&positions);
    return status;
}

void lab_position_list_free(lab_position_list *list) {
    for (size_t i = 0; list->paths && i < list->count; i++)
        locus_path_destroy(&list->paths[i]);
    free(list->paths);
    free(list->values);
    free(list->reals);
    *list = (lab_position_list){0};
}

/* Some positions of a list, each `repeat` times in a row; one sequence for each token if `apart`, else one for all. */
typedef struct choice {
    size_t first, count, repeat;
    bool apart;
} choice;

static locus_status make(locus_positions **positions, const lab_position_list *list, choice of, locus_error *error) {
    const size_t tokens = of.count * of.repeat, sequences = of.apart ? tokens : 1;
    const size_t width = list->paths ? 1 : locus_group_coordinates(list->group);
    const void *all = list->paths ? (const void *)list->paths : list->reals ? (const void *)list->reals : list->values;
    const size_t bytes = width * (list->paths ? sizeof *list->paths : list->reals ? sizeof(double) : sizeof(int64_t));
    char *copies = malloc(tokens * bytes + 1);
    size_t *offsets = calloc(sequences + 1, sizeof *offsets);
    const void *rows = copies;
    locus_status status = copies && offsets ? LOCUS_OK : lab_fail_memory(error, "positions");
    if (status == LOCUS_OK) {
        for (size_t i = 0; i < tokens; i++)
            // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a list with positions has them in one form
            memcpy(copies + i * bytes, (const char *)all + (of.first + i / of.repeat) * bytes, bytes);
        for (size_t i = 0; i <= sequences; i++)
            offsets[i] = of.apart ? i : i * tokens;
        const locus_packing packing = {.size = sizeof packing, .sequences = sequences, .offsets = offsets};
        status = list->paths   ? locus_positions_create_paths(positions, list->group, &packing, rows, error)
                 : list->reals ? locus_positions_create_real(positions, list->group, &packing, rows, error)
                               : locus_positions_create(positions, list->group, &packing, rows, error);
    }
    free(copies);
    free(offsets);
    return status;
}

locus_status lab_positions_one_sequence(locus_positions **positions, const lab_position_list *list,
                                        locus_error *error) {
    return make(positions, list, (choice){0, list->count, 1, false}, error);
}

locus_status lab_positions_apart(locus_positions **positions, const lab_position_list *list, locus_error *error) {
    return make(positions, list, (choice){0, list->count, 1, true}, error);
}

locus_status lab_positions_repeated(locus_positions **positions, const lab_position_list *list, size_t index,
                                    locus_error *error) {
    return make(positions, list, (choice){index, 1, list->count, true}, error);
}

locus_status lab_path_positions(const locus_path *const *paths, size_t count, const locus_group *group, size_t repeat,
                                bool apart, locus_positions **positions, locus_error *error) {
    const lab_position_list list = {.group = group, .count = count, .paths = (locus_path **)paths};
    return make(positions, &list, (choice){0, count, repeat, apart}, error);
}
