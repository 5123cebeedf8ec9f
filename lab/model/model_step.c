/* SPDX-License-Identifier: MIT */
/* One batch through a model: each architecture has a file of its own. */
#include "model/model_parts.h"

static locus_status batch_run(lab_model *model, const lab_batch *batch, const lab_batch_pass *pass, lab_score *score,
                              locus_error *error) {
    static lab_batch_run *const runs[] = {[LAB_ENCODER_DECODER] = lab_pair_batch_run,
                                          [LAB_IMAGE_CLASSIFIER] = lab_image_batch_run,
                                          [LAB_DECODER] = lab_decoder_batch_run,
                                          [LAB_TEXT_CLASSIFIER] = lab_text_batch_run};
    lab_dropout_arm(model, pass);
    return lab_products_came(runs[model->config.architecture](model, batch, pass, score, error), error);
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
