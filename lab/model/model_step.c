/* SPDX-License-Identifier: MIT */
/* One batch through a model, whatever its architecture. */
#include "io/fail.h"
#include "model/model_parts.h"
#include <string.h>

static locus_status batch_run(lab_model *model, const lab_batch *batch, const lab_batch_pass *pass, lab_score *score,
                              locus_error *error) {
    lab_dropout_arm(model, pass);
    return lab_products_came(model->config.architecture->run(model, batch, pass, score, error), error);
}

locus_status lab_model_train(lab_model *model, const lab_batch *batch, uint64_t seed, uint32_t step, lab_score *score,
                             locus_error *error) {
    return batch_run(model, batch, &(lab_batch_pass){.training = true, .seed = seed, .step = step}, score, error);
}

locus_status lab_model_train_shard(lab_model *model, const lab_batch *batch, const lab_shard_key *key, lab_score *score,
                                   locus_error *error) {
    const lab_batch_pass pass = {.training = true,
                                 .summed = true,
                                 .seed = key->seed,
                                 .step = key->step,
                                 .shard = key->shard,
                                 .lends = key->lends};
    return batch_run(model, batch, &pass, score, error);
}

locus_status lab_model_evaluate(lab_model *model, const lab_batch *batch, lab_score *score, locus_error *error) {
    return batch_run(model, batch, &(lab_batch_pass){0}, score, error);
}

/* A forward pass for what it leaves behind; labels don't matter. */
static locus_status look(lab_model *model, const lab_batch *batch, locus_error *error) {
    const lab_architecture *class = model->config.architecture;
    if (!class->classes)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "model", "the model is %s: it gives no classes", class->phrase);
    lab_batch plain = *batch;
    plain.labels = NULL;
    return batch_run(model, &plain, &(lab_batch_pass){0}, NULL, error);
}

locus_status lab_model_classify(lab_model *model, const lab_batch *batch, float *probabilities, locus_error *error) {
    const locus_status status = look(model, batch, error);
    if (status == LOCUS_OK)
        lab_class_probabilities(model, batch->samples, probabilities);
    return status;
}

locus_status lab_model_encode(lab_model *model, const lab_batch *batch, float *encoded, float *pooled,
                              locus_error *error) {
    const locus_status status = look(model, batch, error);
    if (status != LOCUS_OK)
        return status;
    const lab_stack *encoder = &model->encoder;
    if (encoded)
        memcpy(encoded, encoder->joins[encoder->sublayer_count].y, encoder->tokens * encoder->dim * sizeof *encoded);
    if (pooled)
        memcpy(pooled, model->head.pooled, batch->samples * encoder->dim * sizeof *pooled);
    return LOCUS_OK;
}
