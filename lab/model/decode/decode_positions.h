/* SPDX-License-Identifier: MIT */
/* Where the tokens of a decoding stand: words at 0, 1, 2, …; trees at nodes that are known as they are written.
 *
 *   rows   | start t0 t1 .  . | start t0 .  .  . | …      as many as a sample may read; its last token is not */
#ifndef LAB_DECODE_POSITIONS_H
#define LAB_DECODE_POSITIONS_H

#include "model/token_positions.h"

typedef struct lab_decode_positions {
    lab_token_places read, written; /* by token of the input, by row; words: zeros */
    size_t *starts;                 /* of the words of a step's tokens, [samples + 1] */
    int64_t *branches;              /* [rows] */
} lab_decode_positions;

/* Sample s owns rows from row_offsets[s] to row_offsets[s + 1]. Destroy them after a failure, too. */
locus_status lab_decode_positions_create(lab_decode_positions *positions, const lab_model *model,
                                         const lab_batch *batch, const size_t *row_offsets, locus_error *error);
void lab_decode_positions_destroy(lab_decode_positions *positions);

/* A written token of a tree, before it is read. */
typedef struct lab_decode_node {
    size_t sample, first_row, index; /* token `index` of the sample whose rows begin at first_row */
    int32_t parent, branch;
} lab_decode_node;
/* ARGUMENT for what is no node of a tree of this arity. */
locus_status lab_decode_positions_grow(lab_decode_positions *positions, const lab_decode_node *node, size_t arity,
                                       locus_error *error);

/* Of the tokens of a step, one for each of `rows`; true until the next call. */
lab_token_values lab_decode_positions_step(lab_decode_positions *positions, size_t count, const size_t *rows,
                                           const int64_t *indices);

#endif
