/* SPDX-License-Identifier: MIT */
/* See decoded.h. */
#include "train/decoded.h"

#include "io/fail.h"
#include "task/growth.h"

#include <stdlib.h>

enum { OVER = 9 }; /* tokens that an output may have too many */

static locus_status allocate(lab_decoded *out, const lab_dataset *set, bool trees, locus_error *error) {
    size_t n = set->samples, total = 0;
    out->limits = malloc((n + 1) * sizeof *out->limits);
    out->lengths = malloc((n + 1) * sizeof *out->lengths);
    out->offsets = malloc((n + 1) * sizeof *out->offsets);
    for (size_t s = 0; out->limits != NULL && s < n; s++) {
        out->limits[s] =
            (set->target_offsets != NULL ? set->target_offsets[s + 1] - set->target_offsets[s] : set->longest) + OVER;
        total += out->limits[s];
    }
    out->tokens = malloc((total + 1) * sizeof *out->tokens);
    out->nodes.parents = trees ? malloc((total + 1) * sizeof *out->nodes.parents) : NULL;
    out->nodes.branches = trees ? malloc((total + 1) * sizeof *out->nodes.branches) : NULL;
    const bool good = out->limits != NULL && out->lengths != NULL && out->offsets != NULL && out->tokens != NULL &&
                      (!trees || (out->nodes.parents != NULL && out->nodes.branches != NULL));
    return good ? LOCUS_OK : lab_fail_memory(error, "outputs");
}

/* Lets the generated trees grow once more, to know where their tokens stand. */
static void place_nodes(lab_grower *grower, const lab_decoded *out, size_t samples) {
    lab_grower_restart(grower);
    for (size_t s = 0; s < samples; s++)
        for (size_t i = out->offsets[s]; i < out->offsets[s] + out->lengths[s]; i++)
            lab_grower_grow(grower, s, out->tokens[i], &out->nodes.parents[i], &out->nodes.branches[i]);
}

locus_status lab_decoded_make(lab_decoded *out, lab_model *model, const lab_train_config *config,
                              const lab_dataset *set, locus_error *error) {
    const bool trees = set->input_tree.parents != NULL;
    const lab_batch batch = {.samples = set->samples,
                             .input_offsets = set->input_offsets,
                             .target_offsets = set->target_offsets,
                             .input = set->input,
                             .target = set->target,
                             .input_tree = {set->input_tree.parents, set->input_tree.branches},
                             .target_tree = {set->target_tree.parents, set->target_tree.branches}};
    *out = (lab_decoded){0};
    locus_status status = allocate(out, set, trees, error);
    const lab_grower_input input = {.task = config->task,
                                    .options = &config->data,
                                    .table = set->children,
                                    .samples = set->samples,
                                    .input_offsets = set->input_offsets,
                                    .input = set->input,
                                    .limits = out->limits};
    lab_grower *grower = NULL;
    if (status == LOCUS_OK && trees)
        status = lab_grower_create(&grower, &input, error);
    const lab_growth growth = {lab_grower_grow, grower};
    const lab_generation generation = {.limits = out->limits,
                                       .output = out->tokens,
                                       .output_offsets = out->offsets,
                                       .lengths = out->lengths,
                                       .growth = trees ? &growth : NULL};
    if (status == LOCUS_OK)
        status = lab_model_generate(model, &batch, &generation, error);
    if (status == LOCUS_OK && trees)
        place_nodes(grower, out, set->samples);
    lab_grower_destroy(&grower);
    return status;
}

void lab_decoded_free(lab_decoded *out) {
    free(out->limits);
    free(out->offsets);
    free(out->lengths);
    free(out->tokens);
    free(out->nodes.parents);
    free(out->nodes.branches);
    *out = (lab_decoded){0};
}
