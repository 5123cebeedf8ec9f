/* SPDX-License-Identifier: MIT */
/* What a batch of tokens must keep to before anything reads it. */
#include "io/fail.h"
#include "model/token_positions.h"

static locus_status offsets_check(const char *name, size_t samples, const size_t *offsets, locus_error *error) {
    if (offsets == NULL)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, name, "the batch has no %ss", name);
    for (size_t s = 0; s < samples; ++s) {
        if (offsets[s] > offsets[s + 1])
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, name, "%s offsets fall from %zu to %zu at sample %zu", name,
                            offsets[s], offsets[s + 1], s);
    }
    if (offsets[0] == 0)
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, name, "%s offsets begin with %zu: a batch begins at 0", name,
                    offsets[0]);
}

static locus_status tokens_check(const char *name, size_t count, const int32_t *tokens, size_t vocabulary,
                                 locus_error *error) {
    for (size_t t = 0; t < count; ++t) {
        if (tokens[t] < 0 || (size_t)tokens[t] >= vocabulary)
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, name,
                            "%s token %ld at place %zu is not below the vocabulary's %zu", name, (long)tokens[t], t,
                            vocabulary);
    }
    return LOCUS_OK;
}

locus_status lab_batch_check(const lab_model *model, const lab_batch *batch, bool targets, locus_error *error) {
    size_t n = batch->samples, V = model->config.vocabulary;
    if (n == 0)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "batch", "the batch is empty");
    locus_status status = offsets_check("input", n, batch->input_offsets, error);
    if (status == LOCUS_OK)
        status = tokens_check("input", batch->input_offsets[n], batch->input, V, error);
    if (status == LOCUS_OK && targets)
        status = offsets_check("target", n, batch->target_offsets, error);
    if (status == LOCUS_OK && targets)
        status = tokens_check("target", batch->target_offsets[n], batch->target, V, error);
    return status == LOCUS_OK ? lab_batch_check_trees(model, batch, targets, error) : status;
}
