/* SPDX-License-Identifier: MIT */
/* Packs sequences, makes small decoders, and trains and scores them. */
#include "decoder_case.h"
#include "model/architecture.h"

#include "train/optimizer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

const size_t decoder_natural[DECODER_SAMPLES] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

void decoder_pack(decoder_sequences *own, const size_t *order, size_t count) {
    static const size_t lengths[DECODER_SAMPLES] = {5, 2, 31, 41, 3, 17, 2, 26, 9};
    const locus_random random = {77, LOCUS_RANDOM_USER, 0};
    own->offsets[0] = 0;
    for (size_t i = 0; i < count; ++i) {
        const size_t s = order[i], at = own->offsets[i];
        for (size_t t = 0; t < lengths[s]; ++t)
            own->tokens[at + t] = (int32_t)locus_random_below(&random, s * 1000 + t, DECODER_VOCABULARY);
        own->offsets[i + 1] = at + lengths[s];
    }
    own->batch = (lab_batch){.samples = count, .input_offsets = own->offsets, .input = own->tokens};
}

lab_model_config decoder_config(const char *encoding, lab_norm_place norm) {
    lab_model_config config = lab_decoder.defaults;
    config.vocabulary = DECODER_VOCABULARY;
    config.dim = 32;
    config.heads = 4;
    config.feed_forward = 56;
    config.decoder_layers = 2;
    config.norm = norm;
    config.output = norm == LAB_NORM_BEFORE ? LAB_OUTPUT_TIED : LAB_OUTPUT_OWN;
    config.encoding = encoding;
    return config;
}

lab_model *decoder_make(const lab_model_config *config) {
    lab_model *model;
    locus_error error;
    if (lab_model_create(&model, config, 3, &error) != LOCUS_OK)
        fail_msg("%s: %s", config->encoding, error.message);
    return model;
}

/* Sequence s begins anywhere and goes on in steps of 1 + s % 4. */
static void count_up(decoder_sequences *own, uint32_t step) {
    enum { LENGTH = 14 };
    const locus_random random = {5, LOCUS_RANDOM_USER, step};
    own->offsets[0] = 0;
    for (size_t s = 0; s < DECODER_SAMPLES; ++s) {
        const size_t first = (size_t)locus_random_below(&random, s, DECODER_VOCABULARY);
        for (size_t t = 0; t < LENGTH; ++t)
            own->tokens[s * LENGTH + t] = (int32_t)((first + t * (1 + s % 4)) % DECODER_VOCABULARY);
        own->offsets[s + 1] = (s + 1) * LENGTH;
    }
    own->batch = (lab_batch){.samples = DECODER_SAMPLES, .input_offsets = own->offsets, .input = own->tokens};
}

lab_model *decoder_trained(const lab_model_config *config, uint32_t steps) {
    lab_model *model = decoder_make(config);
    lab_optimizer optimizer;
    const lab_optimizer_config settings = lab_optimizer_default();
    assert_int_equal(lab_optimizer_create(&optimizer, &settings, lab_model_elements(model), NULL), LOCUS_OK);
    for (uint32_t step = 0; step < steps; ++step) {
        decoder_sequences own;
        lab_score score = {0};
        double norm;
        locus_error error;
        count_up(&own, step);
        if (lab_model_train(model, &own.batch, 2, step, &score, &error) != LOCUS_OK)
            fail_msg("%s: %s", config->encoding, error.message);
        assert_int_equal(
            lab_optimizer_step(&optimizer, 3e-3, lab_model_values(model), lab_model_gradients(model), &norm, NULL),
            LOCUS_OK);
        assert_int_equal(lab_model_update(model, NULL), LOCUS_OK);
    }
    lab_optimizer_destroy(&optimizer);
    return model;
}

lab_score decoder_evaluate(lab_model *model, const lab_batch *batch) {
    lab_score score = {0};
    locus_error error;
    if (lab_model_evaluate(model, batch, &score, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return score;
}
