/* SPDX-License-Identifier: MIT */
/* Where the tokens of words, of trees and of expressions stand.
 *
 *   axis, cycle   0, 1, 2, … in each sequence, in the order in which tokens are read
 *   tree          the path of the token's node; the start token stands at the root (words: everything does). A token of
 *                 branch 0 that has a parent stands at its parent's node, as a closing bracket does at its operator's:
 *                 text classifiers take it, models of pairs don't
 *   product       both: a number for the flat coordinate, a path for the tree
 *
 * The nodes of all trees of a batch are one tree: their roots are its node 0.
 *
 * Next paths (lab_tree_paths): number the places of the complete k-ary tree level by level, from the left, the root
 * first, whether the tree has a node there or not. A token stands where the place after its own node's is:
 *
 *   root                → its first child
 *   child i < k of p    → child i + 1 of p
 *   child k of p        → child 1 of where the token of p stands
 *
 * So the last place of a level is followed by the first of the next one, which is a step deeper. No two nodes come to
 * stand at one path, and none at the root's, which is left to the start token. */
#ifndef LAB_MODEL_TOKEN_POSITIONS_H
#define LAB_MODEL_TOKEN_POSITIONS_H

#include "model/model_parts.h"

/* Places of packed tokens. Starts as zeros, which is what words have. */
typedef struct lab_token_places {
    int64_t *indices, *nodes; /* [tokens]: numbers in the sequence, nodes that tokens stand at */
    int64_t *own;             /* [tokens]: their own nodes; the same array unless paths are the next ones */
    int64_t *branches;        /* of nodes: from the parent */
    size_t *parents;
    size_t node_count;
    size_t next_paths; /* of the model */
} lab_token_places;

/* Tokens at 0, 1, 2, … in each sequence, all of them at the root, and room for the nodes that they will stand at. */
locus_status lab_token_places_create(lab_token_places *places, size_t sequences, const size_t *offsets,
                                     size_t next_paths, locus_error *error);
void lab_token_places_destroy(lab_token_places *places);

/* A tree's token that is child `branch` of token `parent`, which has its place already; the root if parent is negative.
 * Branch 0 is the parent's own node. */
void lab_token_places_put(lab_token_places *places, size_t token, ptrdiff_t parent, int32_t branch);

/* What the encoder reads, and what the decoder reads under teacher forcing: `offsets` are those of the tokens read.
 * Words have no places. */
locus_status lab_places_of_input(lab_token_places *places, const lab_model *model, const lab_batch *batch,
                                 locus_error *error);
locus_status lab_places_of_target(lab_token_places *places, const lab_model *model, const lab_batch *batch,
                                  const size_t *offsets, locus_error *error);

/* What each coordinate of the model's group takes. */
typedef struct lab_token_values {
    const int64_t *indices;     /* [tokens]; NULL: 0, 1, 2, … */
    locus_position_column tree; /* all zeros but its size: the root */
} lab_token_values;
lab_token_values lab_token_places_values(const lab_token_places *places);

/* Positions of the group of the model's encodings; `values` NULL: those of words. */
locus_status lab_positions_make(const lab_model *model, locus_positions **positions, const locus_packing *packing,
                                const lab_token_values *values, locus_error *error);

/* Of what the encoder reads, or, where `targets` are offsets of tokens read, of what the decoder reads under teacher
 * forcing. */
locus_status lab_positions_of(const lab_model *model, locus_positions **positions, const lab_batch *batch,
                              const size_t *targets, locus_error *error);

/* Whether tokens of the model have positions of this group. */
locus_status lab_positions_check_group(const lab_model_config *config, const locus_group *group, locus_error *error);

/* Whether the batch has trees as the model expects them. */
locus_status lab_batch_check_trees(const lab_model *model, const lab_batch *batch, bool targets, locus_error *error);

#endif
