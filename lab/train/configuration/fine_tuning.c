/* SPDX-License-Identifier: MIT */
/* The fine-tuning of a pretrained encoder as published (the ListOps experiment with Chebyshev encodings): Adam at 1e-4
 * with the decay 1e-5 in the gradient, a tenth of the rate every 3 epochs, 7 epochs of batches of 8, gradients clipped
 * at norm 1, an end after 3 epochs without a better development loss; inputs of 512 pieces, of which the first one's
 * row is looked at. Smaller budgets take fewer samples and nothing else. */
#include "train/configuration/fine_tuning.h"

#include "io/fail.h"
#include "model/pretrained/pretrained.h"
#include "train/configuration/config.h"
#include "train/feed/train_data.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PIECES = 512 };

/* An encoder with a shorter table of positions reads as far as that goes. */
static locus_status put_pieces(lab_train_config *config, const char *encoding, locus_error *error) {
    size_t places;
    const locus_status status = lab_spec_least(encoding, "learned", "size", &places, error);
    config->data.most_pieces = places < MOST_PIECES ? places : MOST_PIECES;
    return status;
}

static void put_samples(lab_train_config *config) {
    if (strcmp(config->budget, "smoke") == 0) {
        config->train_samples = 96;
        config->dev_samples = 32;
        config->test_samples = 128;
    } else if (strcmp(config->budget, "quick") == 0) {
        config->train_samples = 800;
        config->dev_samples = 200;
        config->test_samples = 500;
    }
}

static void put_training(lab_train_config *config) {
    config->optimizer = lab_optimizer_default();
    config->optimizer.decay = LAB_DECAY_COUPLED;
    config->optimizer.weight_decay = 1e-5;
    config->optimizer.clip = 1.0;
    config->schedule = LAB_SCHEDULE_STEPS;
    config->rate_peak = config->rate_initial = 1e-4;
    config->rate_final = 0.0;
    config->rate_factor = 0.1;
    config->rate_epochs = 3;
    config->warmup_share = 0.0;
    config->batch = 8;
    config->steps = 0;
    config->epochs = 7;
    config->evaluate_every = 0;
    config->patience = 3;
}

locus_status lab_train_config_pretrained(lab_train_config *config, const char *folder, locus_error *error) {
    char encoding[LAB_SPEC_SIZE];
    if (!config->task->class->classifies_text) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "pretrained", "%s has no classes for a pretrained encoder to tell",
                        config->task->name);
    }
    lab_model_config model = {.architecture = config->model.architecture, .classes = config->model.classes};
    locus_status status = lab_pretrained_config(folder, NULL, encoding, sizeof encoding, &model, error);
    if (status != LOCUS_OK)
        return status;
    model.encoding = "none"; /* the text lies in this function */
    model.attention_dropout_on = config->model.attention_dropout_on;
    model.precision = config->model.precision;
    config->model = model;
    config->pretrained = folder;
    config->pretrained_digest = 0;
    put_samples(config);
    put_training(config);
    status = put_pieces(config, encoding, error);
    return status == LOCUS_OK ? lab_train_look(config, error) : status;
}

locus_status lab_train_pretrained_encoding(const char *folder, const char *spec, char *text, size_t size,
                                           locus_error *error) {
    char own[LAB_SPEC_SIZE], all[LAB_SPEC_SIZE];
    lab_model_config model = {.classes = 2};
    const lab_train_config published = {.setup = LAB_SETUP_PAPER, .pretrained = folder};
    locus_status status = lab_train_encoding(spec, &published, own, sizeof own, error);
    if (status == LOCUS_OK)
        status = lab_pretrained_config(folder, own, all, sizeof all, &model, error);
    return status == LOCUS_OK ? lab_train_encoding(all, &published, text, size, error) : status;
}
