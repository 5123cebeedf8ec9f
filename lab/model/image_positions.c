/* SPDX-License-Identifier: MIT */
/* Where the tokens of an image stand: row by row on a grid of `side` rows and columns. Token t has the number t on a
 * group of one coordinate, (t / side, t % side) on one of two. */
#include "io/fail.h"
#include "model/model_parts.h"
#include <stdlib.h>

locus_status lab_image_group_check(const locus_group *group, locus_error *error) {
    const size_t count = locus_group_coordinates(group);
    bool flat = count == 1 || count == 2;
    char text[64];
    for (size_t i = 0; i < count && flat; ++i)
        flat = locus_group_coordinate(group, i).kind != LOCUS_COORDINATE_TREE;
    if (flat)
        return LOCUS_OK;
    (void)locus_group_text(group, text, sizeof text);
    return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "encoding",
                    "the encoding acts on '%s', but an image's tokens stand on a grid: use grid:2, seq or cycle:n",
                    text);
}

locus_status lab_image_positions_make(const lab_model *model, locus_positions **positions, size_t images, size_t tokens,
                                      locus_error *error) {
    const locus_group *group = model->group;
    const size_t columns = locus_group_coordinates(group), side = lab_convolution_grid(model->config.image_side);
    int64_t *values = malloc(images * tokens * columns * sizeof *values);
    size_t *offsets = malloc((images + 1) * sizeof *offsets);
    locus_status status = LOCUS_OK;
    if (values == NULL || offsets == NULL) {
        status = lab_fail_memory(error, "an image's positions");
        goto done;
    }
    for (size_t i = 0; i <= images; ++i)
        offsets[i] = i * tokens;
    for (size_t i = 0; i < images * tokens; ++i) {
        const size_t t = i % tokens;
        values[i * columns] = (int64_t)(columns == 1 ? t : t / side);
        values[i * columns + columns - 1] = (int64_t)(columns == 1 ? t : t % side);
    }
    const locus_packing packing = {.size = sizeof packing, .sequences = images, .offsets = offsets};
    status = locus_positions_create(positions, group, &packing, values, error);
done:
    free(values);
    free(offsets);
    return status;
}
