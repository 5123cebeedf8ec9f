/* SPDX-License-Identifier: MIT */
/* The scales of what is added to tokens and of tied logits. A model that scales is one that does not whose parameters
 * have the factor in them: a learned table times sqrt(D), the last norm over sqrt(D). At dimension 64 the factor is 8,
 * so that losses and drawn tokens are the same to the last bit, in training, evaluation and decoding. */
#include "decoder_case.h"
#include "model/architecture.h"
#include "train/configuration/config.h"
#include "train/train.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROOT = 8, LENGTH = 12 };

static lab_model_config config_of(const lab_architecture *architecture, const char *encoding) {
    lab_model_config config = architecture == &lab_decoder           ? lab_decoder.defaults
                              : architecture == &lab_text_classifier ? lab_text_classifier.defaults
                                                                     : lab_encoder_decoder.defaults;
    config.vocabulary = DECODER_VOCABULARY;
    config.dim = ROOT * ROOT;
    config.heads = 4;
    config.feed_forward = 56;
    config.encoder_layers = architecture == &lab_decoder ? 0 : 1;
    config.decoder_layers = architecture == &lab_text_classifier ? 0 : 1;
    config.norm = LAB_NORM_BEFORE;
    config.output = LAB_OUTPUT_TIED;
    config.encoding = encoding;
    return config;
}

static lab_model *make_with(lab_model_config config, lab_position_scale positions, lab_logit_scale logits) {
    config.position_scale = positions;
    config.logit_scale = logits;
    return decoder_make(&config);
}

/* The parameters whose names begin so, times a factor. */
static void multiply(lab_model *model, const char *begin, float factor) {
    size_t found = 0;
    for (size_t i = 0; i < lab_model_parameter_count(model); ++i) {
        const lab_parameter *p = lab_model_parameter(model, i);
        for (size_t j = 0; strncmp(p->name, begin, strlen(begin)) == 0 && j < p->count; ++j, ++found)
            p->value[j] *= factor;
    }
    assert_true(found > 0);
    assert_int_equal(lab_model_update(model, NULL), LOCUS_OK);
}

static void batch_of(decoder_sequences *own, const lab_architecture *architecture) {
    static const int32_t labels[DECODER_SAMPLES] = {1, 3, 0, 2, 9, 4, 4, 7, 5};
    decoder_pack(own, decoder_natural, DECODER_SAMPLES);
    if (architecture == &lab_encoder_decoder) {
        own->batch.target = own->tokens;
        own->batch.target_offsets = own->offsets;
    }
    own->batch.labels = architecture == &lab_text_classifier ? labels : NULL;
}

/* Loss of a training step with dropout, and without. */
static void losses_of(lab_model *model, double losses[2]) {
    decoder_sequences own;
    lab_score score = {0};
    batch_of(&own, lab_model_get_config(model)->architecture);
    assert_int_equal(lab_model_train(model, &own.batch, 2, 7, &score, NULL), LOCUS_OK);
    losses[0] = score.loss;
    losses[1] = decoder_evaluate(model, &own.batch).loss;
}

static bool same_losses(lab_model *a, lab_model *b) {
    double first[2], second[2];
    losses_of(a, first);
    losses_of(b, second);
    return memcmp(first, second, sizeof first) == 0;
}

static void drawn(lab_model *model, const lab_sampling *sampling, int32_t tokens[DECODER_SAMPLES * LENGTH]) {
    decoder_sequences own;
    size_t limits[DECODER_SAMPLES], offsets[DECODER_SAMPLES + 1], lengths[DECODER_SAMPLES];
    const lab_generation generation = {
        .limits = limits, .output = tokens, .output_offsets = offsets, .lengths = lengths, .sampling = sampling};
    decoder_pack(&own, decoder_natural, DECODER_SAMPLES);
    memset(tokens, 0, DECODER_SAMPLES * LENGTH * sizeof *tokens);
    for (size_t s = 0; s < DECODER_SAMPLES; ++s)
        limits[s] = LENGTH;
    assert_int_equal(lab_model_generate(model, &own.batch, &generation, NULL), LOCUS_OK);
}

static bool same_tokens(lab_model *a, lab_model *b, const lab_sampling *sampling) {
    int32_t first[DECODER_SAMPLES * LENGTH], second[DECODER_SAMPLES * LENGTH];
    drawn(a, sampling, first);
    drawn(b, sampling, second);
    return memcmp(first, second, sizeof first) == 0;
}

/* `scaled` against `plain` before and after `plain` has the factor in its parameters. Frees both. */
static void check_pair(lab_model *scaled, lab_model *plain, const char *parameters, float factor) {
    const bool decodes = lab_model_get_config(scaled)->architecture != &lab_text_classifier;
    const bool draws = lab_model_get_config(scaled)->architecture == &lab_decoder;
    const lab_sampling sampling = {.temperature = 1.0, .top_p = 1.0, .seed = 4};
    assert_false(same_losses(scaled, plain));
    if (draws)
        assert_false(same_tokens(scaled, plain, &sampling));
    multiply(plain, parameters, factor);
    assert_true(same_losses(scaled, plain));
    if (decodes)
        assert_true(same_tokens(scaled, plain, NULL));
    if (draws)
        assert_true(same_tokens(scaled, plain, &sampling));
    lab_model_destroy(&scaled);
    lab_model_destroy(&plain);
}

/* Token types, which only a classifier has, are added unscaled behind positions. */
static void positions_are_multiplied(void **state) {
    (void)state;
    static const lab_architecture *const architectures[] = {&lab_encoder_decoder, &lab_decoder, &lab_text_classifier};
    for (size_t i = 0; i < 3; ++i) {
        lab_model_config config = config_of(architectures[i], "learned(size=64)");
        config.token_types = architectures[i] == &lab_text_classifier ? 2 : 0;
        check_pair(make_with(config, LAB_POSITIONS_SQRT_DIM, LAB_LOGITS_AS_THEY_ARE),
                   make_with(config, LAB_POSITIONS_AS_THEY_ARE, LAB_LOGITS_AS_THEY_ARE), "position.", ROOT);
    }
}

static void logits_are_divided(void **state) {
    (void)state;
    static const lab_architecture *const architectures[] = {&lab_encoder_decoder, &lab_decoder};
    for (size_t i = 0; i < 2; ++i) {
        const lab_model_config config = config_of(architectures[i], "rope");
        check_pair(make_with(config, LAB_POSITIONS_AS_THEY_ARE, LAB_LOGITS_INVERSE_SQRT_DIM),
                   make_with(config, LAB_POSITIONS_AS_THEY_ARE, LAB_LOGITS_AS_THEY_ARE), "decoder.norm.", 1.0f / ROOT);
    }
}

/* Sinusoids have nothing to multiply them by: they are told from themselves unscaled, and on rope there is nothing. */
static void only_what_is_added(void **state) {
    (void)state;
    static const struct {
        const char *encoding;
        bool added;
    } cases[] = {{"sinusoidal", true},
                 {"chebyshev(size=64, site=input)", true},
                 {"chebyshev(size=64, site=output)", false},
                 {"rope", false},
                 {"none", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const lab_model_config config = config_of(&lab_encoder_decoder, cases[i].encoding);
        lab_model *scaled = make_with(config, LAB_POSITIONS_SQRT_DIM, LAB_LOGITS_AS_THEY_ARE);
        lab_model *plain = make_with(config, LAB_POSITIONS_AS_THEY_ARE, LAB_LOGITS_AS_THEY_ARE);
        assert_int_equal(same_losses(scaled, plain), !cases[i].added);
        lab_model_destroy(&scaled);
        lab_model_destroy(&plain);
        lab_train_config training = {.encoding = cases[i].encoding, .model = config};
        training.model.position_scale = LAB_POSITIONS_SQRT_DIM;
        assert_int_equal(lab_config_settle(&training, NULL), LOCUS_OK);
        assert_int_equal(training.model.position_scale, cases[i].added);
    }
}

static void refused(lab_model_config config, const char *argument) {
    lab_model *model = NULL;
    locus_error error = {0};
    assert_int_equal(lab_model_create(&model, &config, 1, &error), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.argument, argument);
    assert_null(model);
}

static void scales_of_nothing_are_refused(void **state) {
    (void)state;
    lab_model_config config = config_of(&lab_decoder, "rope");
    config.output = LAB_OUTPUT_OWN;
    config.logit_scale = LAB_LOGITS_INVERSE_SQRT_DIM;
    refused(config, "logit_scale");
    config = config_of(&lab_text_classifier, "rope");
    config.logit_scale = LAB_LOGITS_INVERSE_SQRT_DIM;
    refused(config, "logit_scale");
    config = lab_image_classifier.defaults;
    config.position_scale = LAB_POSITIONS_SQRT_DIM;
    refused(config, "position_scale");
    config = config_of(&lab_encoder_decoder, "rope");
    config.position_scale = (lab_position_scale)2;
    refused(config, "position_scale");
}

/* A run remembers its scales; one without has the name and the text that it had before there were any. */
static void configurations_remember(void **state) {
    (void)state;
    for (int choice = 0; choice < 4; ++choice) {
        lab_train_config config, back;
        char name[256];
        lab_run run = {.task = (char[]){"copy"}, .encoding = (char[]){"sinusoidal"}, .budget = (char[]){"smoke"}};
        assert_int_equal(lab_train_config_budget(&config, lab_task_find("copy"), "smoke", LAB_SETUP_PAPER, NULL),
                         LOCUS_OK);
        config.encoding = config.model.encoding = "sinusoidal";
        config.model.position_scale = choice & 1 ? LAB_POSITIONS_SQRT_DIM : LAB_POSITIONS_AS_THEY_ARE;
        config.model.logit_scale = choice & 2 ? LAB_LOGITS_INVERSE_SQRT_DIM : LAB_LOGITS_AS_THEY_ARE;
        char *json = lab_config_json(&config);
        assert_non_null(json);
        assert_int_equal(strstr(json, "\"position_scale\":\"sqrt-dim\"") != NULL, (choice & 1) != 0);
        assert_int_equal(strstr(json, "\"logit_scale\":\"inverse-sqrt-dim\"") != NULL, (choice & 2) != 0);
        assert_int_equal(lab_config_parse(&back, json, &run, "a test", NULL), LOCUS_OK);
        assert_null(lab_config_difference(&config, &back));
        assert_int_equal(back.model.position_scale, config.model.position_scale);
        assert_int_equal(back.model.logit_scale, config.model.logit_scale);
        lab_train_name(&back, name, sizeof name);
        static const char *const names[] = {"copy-sinusoidal-smoke-s0-", "copy-sinusoidal-smoke-positions-s0-",
                                            "copy-sinusoidal-smoke-logits-s0-",
                                            "copy-sinusoidal-smoke-positions-logits-s0-"};
        assert_memory_equal(name, names[choice], strlen(names[choice]));
        cJSON_free(json);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_are_multiplied), cmocka_unit_test(logits_are_divided),
        cmocka_unit_test(only_what_is_added),       cmocka_unit_test(scales_of_nothing_are_refused),
        cmocka_unit_test(configurations_remember),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
