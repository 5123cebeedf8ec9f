/* SPDX-License-Identifier: MIT */
/* What a model makes of the inputs of a set of words, trees or pairs, decoded greedily. */
#ifndef LAB_DECODED_H
#define LAB_DECODED_H

#include "model/model.h"
#include "train/configuration/train_config.h"

typedef struct lab_decoded {
    size_t *limits, *offsets,
        *lengths;         /* [samples], [samples + 1], [samples]: most tokens, where they begin, how many */
    int32_t *tokens;      /* without the end token */
    lab_tree_nodes nodes; /* of trees: where the tokens stand; else NULLs */
} lab_decoded;

/* A sample may get 9 tokens more than its target has, or than the longest where it is unknown, so that one sees how it
 * goes wrong. Free it in any case. ARGUMENT: outputs of the set are trees that do not grow from their symbols. */
locus_status lab_decoded_make(lab_decoded *decoded, lab_model *model, const lab_train_config *config,
                              const lab_dataset *set, locus_error *error);
void lab_decoded_free(lab_decoded *decoded);

#endif
