/* SPDX-License-Identifier: MIT */
/* See decode_positions.h. The tokens of a step are given as words of branches, from the root down, since the tree of
 * all that is written is much larger than their paths. */
#include "model/decode/decode_positions.h"

#include "io/fail.h"
#include <stdlib.h>

locus_status lab_decode_positions_create(lab_decode_positions *positions, const lab_model *model,
                                         const lab_batch *batch, const size_t *row_offsets, locus_error *error) {
    const size_t rows = row_offsets[batch->samples];
    *positions = (lab_decode_positions){0};
    if (model->config.tree_arity == 0)
        return LOCUS_OK;
    locus_status status = lab_places_of_input(&positions->read, model, batch, error);
    if (status == LOCUS_OK)
        status = lab_token_places_create(&positions->written, batch->samples, row_offsets, model->next_paths, error);
    if (status != LOCUS_OK)
        return status;
    positions->starts = calloc(batch->samples + 1, sizeof *positions->starts);
    positions->branches = calloc(rows + 1, sizeof *positions->branches);
    return positions->starts && positions->branches ? LOCUS_OK : lab_fail_memory(error, "decoding");
}

void lab_decode_positions_destroy(lab_decode_positions *positions) {
    lab_token_places_destroy(&positions->read);
    lab_token_places_destroy(&positions->written);
    free(positions->starts);
    free(positions->branches);
    *positions = (lab_decode_positions){0};
}

locus_status lab_decode_positions_grow(lab_decode_positions *positions, const lab_decode_node *node, size_t arity,
                                       locus_error *error) {
    const bool root = node->index == 0;
    const bool placed = root ? node->parent == -1 : node->parent >= 0 && (size_t)node->parent < node->index;
    if (!placed || (!root && (node->branch < 1 || (size_t)node->branch > arity)))
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "growth",
                        "token %zu of output %zu would be child %ld of token %ld: the root (parent -1) comes first, "
                        "and others are children 1 to %zu of a token before them",
                        node->index, node->sample, (long)node->branch, (long)node->parent, arity);
    const size_t first = node->first_row + 1; /* behind the start token */
    const ptrdiff_t parent = root ? -1 : (ptrdiff_t)first + node->parent;
    lab_token_places_put(&positions->written, first + node->index, parent, node->branch);
    return LOCUS_OK;
}

lab_token_values lab_decode_positions_step(lab_decode_positions *positions, size_t count, const size_t *rows,
                                           const int64_t *indices) {
    const lab_token_places *written = &positions->written;
    lab_token_values values = {.indices = indices};
    if (positions->starts == NULL)
        return values;
    size_t end = 0;
    for (size_t i = 0; i < count; ++i) {
        positions->starts[i] = end;
        const size_t node = (size_t)written->nodes[rows[i]];
        for (size_t at = node; at != 0; at = written->parents[at])
            ++end;
        size_t place = end;
        for (size_t at = node; at != 0; at = written->parents[at])
            positions->branches[--place] = written->branches[at];
    }
    positions->starts[count] = end;
    values.tree = (locus_position_column){
        .size = sizeof(locus_position_column), .branches = positions->branches, .starts = positions->starts};
    return values;
}
