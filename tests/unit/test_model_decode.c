/* SPDX-License-Identifier: MIT */
/* Greedy decoding with the cache gives, token for token, what full recomputation of every prefix gives; limits and
 * end tokens are kept. The model is trained a little first, so that its answers end at different lengths and are not
 * one symbol. */
#include "model/model_parts.h"
#include "nn/loss.h"
#include "sanitized.h"
#include "train/optimizer.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 12, VOCABULARY = 9, MOST = 12, LENGTHS = 6 };

typedef struct samples {
    size_t offsets[SAMPLES + 1];
    int32_t symbols[SAMPLES * LENGTHS];
    lab_batch batch; /* copies: target = input */
} samples;

/* To a sanitizer one step is like another: there models are hardly trained, and a copy is not learned. */
enum { TRAINED = SANITIZED(6, 40), COPY_STEPS = SANITIZED(20, 500), COPY_EXACT = SANITIZED(0, SAMPLES - 2) };

static void draw(samples *set, uint32_t step) {
    locus_random random = {31, LOCUS_RANDOM_USER, step};
    set->offsets[0] = 0;
    for (size_t s = 0; s < SAMPLES; ++s) {
        size_t length = 1 + (size_t)locus_random_below(&random, s * 100, LENGTHS), at = set->offsets[s];
        for (size_t t = 0; t < length; ++t)
            set->symbols[at + t] = (int32_t)(1 + locus_random_below(&random, s * 100 + 1 + t, VOCABULARY - 2));
        set->offsets[s + 1] = at + length;
    }
    set->batch = (lab_batch){.samples = SAMPLES,
                             .input_offsets = set->offsets,
                             .target_offsets = set->offsets,
                             .input = set->symbols,
                             .target = set->symbols};
}

static lab_model_config config_make(const char *encoding, lab_norm_place norm) {
    lab_model_config config = lab_encoder_decoder.defaults;
    config.vocabulary = VOCABULARY;
    config.dim = 32;
    config.heads = 4;
    config.feed_forward = 64;
    config.encoder_layers = 1;
    config.norm = norm;
    config.encoding = encoding;
    return config;
}

static lab_model *train(const lab_model_config *config, uint32_t steps) {
    lab_model *model;
    lab_optimizer optimizer;
    lab_optimizer_config settings = lab_optimizer_default();
    locus_error error;
    if (lab_model_create(&model, config, 8, &error) != LOCUS_OK)
        fail_msg("%s: %s", config->encoding, error.message);
    assert_int_equal(lab_optimizer_create(&optimizer, &settings, lab_model_elements(model), NULL), LOCUS_OK);
    for (uint32_t step = 0; step < steps; ++step) {
        samples set;
        lab_score score = {0};
        double norm_before;
        draw(&set, step);
        assert_int_equal(lab_model_train(model, &set.batch, 2, step, &score, NULL), LOCUS_OK);
        assert_int_equal(lab_optimizer_step(&optimizer, 3e-3, lab_model_values(model), lab_model_gradients(model),
                                            &norm_before, NULL),
                         LOCUS_OK);
        assert_int_equal(lab_model_update(model, NULL), LOCUS_OK);
    }
    lab_optimizer_destroy(&optimizer);
    return model;
}

static lab_model *trained(const char *encoding, lab_norm_place norm, uint32_t steps) {
    const lab_model_config config = config_make(encoding, norm);
    return train(&config, steps);
}

/* Greedy decoding of one sample by teacher forcing what was found so far. Returns the tokens without the end. */
static size_t recompute(lab_model *model, const lab_batch *batch, size_t s, size_t limit, int32_t *output) {
    size_t length = 0;
    while (length < limit) {
        size_t input_offsets[] = {0, batch->input_offsets[s + 1] - batch->input_offsets[s]},
               target_offsets[] = {0, length};
        lab_batch one = {.samples = 1,
                         .input_offsets = input_offsets,
                         .target_offsets = target_offsets,
                         .input = batch->input + batch->input_offsets[s],
                         .target = output};
        lab_score score = {0};
        assert_int_equal(lab_model_evaluate(model, &one, &score, NULL), LOCUS_OK);
        size_t token = lab_argmax(VOCABULARY, model->step.logits + length * VOCABULARY);
        if (token == VOCABULARY - 1)
            break;
        output[length++] = (int32_t)token;
    }
    return length;
}

static void compare(lab_model *model, const char *encoding, size_t *ended, size_t *cut) {
    samples set;
    draw(&set, 1000);
    size_t limits[SAMPLES], offsets[SAMPLES + 1], lengths[SAMPLES];
    int32_t output[SAMPLES * MOST], wanted[MOST];
    for (size_t s = 0; s < SAMPLES; ++s)
        limits[s] = s * 5 % MOST; /* 0 is among them */
    lab_generation generation = {.limits = limits, .output = output, .output_offsets = offsets, .lengths = lengths};
    locus_error error;
    if (lab_model_generate(model, &set.batch, &generation, &error) != LOCUS_OK)
        fail_msg("%s: %s", encoding, error.message);
    for (size_t s = 0; s < SAMPLES; ++s) {
        assert_int_equal(offsets[s + 1] - offsets[s], limits[s]);
        size_t length = recompute(model, &set.batch, s, limits[s], wanted);
        assert_int_equal(lengths[s], length);
        for (size_t t = 0; t < length; ++t)
            assert_int_equal(output[offsets[s] + t], wanted[t]);
        *ended += length < limits[s];
        *cut += length == limits[s];
    }
}

static void the_cache_gives_what_recomputation_gives(void **state) {
    (void)state;
    static const char *const encodings[] = {
        "none",  "sinusoidal", "learned(size=32)",     "relative(window=4, values=on)", "rope",
        "roper", "alibi",      "algebraic(group=seq)", "rope + decay(rate=0.9)",        "rope + relative(window=4)"};
    size_t ended = 0, cut = 0;
    for (size_t e = 0; e < sizeof encodings / sizeof *encodings; ++e) {
        lab_model *model = trained(encodings[e], e % 2 ? LAB_NORM_AFTER : LAB_NORM_BEFORE, TRAINED);
        compare(model, encodings[e], &ended, &cut);
        lab_model_destroy(&model);
    }
    assert_true(ended > SANITIZED(0, 10) && cut > SANITIZED(0, 10)); /* both ends of a sequence were met */
}

static void check_config(lab_model_config config) {
    size_t ended = 0, cut = 0;
    lab_model *model = train(&config, TRAINED);
    compare(model, config.encoding, &ended, &cut);
    lab_model_destroy(&model);
}

static void layers_that_differ_are_decoded(void **state) {
    (void)state;
    static const char *const encodings[] = {"rope / none",
                                            "sinusoidal + rope(learned=on) / relative(window=4, values=on)",
                                            "none / algebraic(group=seq)", "chebyshev(site=output, size=64) / alibi"};
    for (size_t e = 0; e < sizeof encodings / sizeof *encodings; ++e)
        check_config(config_make(encodings[e], e % 2 ? LAB_NORM_AFTER : LAB_NORM_BEFORE));
}

static void shared_heads_are_decoded(void **state) {
    (void)state;
    lab_model_config config = config_make("rope / alibi", LAB_NORM_BEFORE);
    config.kv_heads = 2;
    check_config(config);
    config.encoding = "relative(window=4, values=on)";
    config.kv_heads = 1;
    check_config(config);
}

static void other_attentions_are_decoded(void **state) {
    (void)state;
    static const char *const kinds[] = {"linear", "soft", "clustered"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        lab_model_config config = config_make("rope", LAB_NORM_BEFORE);
        strcpy(config.attention, kinds[k]);
        check_config(config);
    }
}

static void a_copy_is_learned_and_decoded(void **state) {
    (void)state;
    lab_model *model = trained("rope", LAB_NORM_BEFORE, COPY_STEPS);
    samples set;
    draw(&set, 2000);
    size_t limits[SAMPLES], offsets[SAMPLES + 1], lengths[SAMPLES], exact = 0;
    int32_t output[SAMPLES * MOST];
    for (size_t s = 0; s < SAMPLES; ++s)
        limits[s] = MOST;
    lab_generation generation = {.limits = limits, .output = output, .output_offsets = offsets, .lengths = lengths};
    assert_int_equal(lab_model_generate(model, &set.batch, &generation, NULL), LOCUS_OK);
    for (size_t s = 0; s < SAMPLES; ++s) {
        size_t length = set.offsets[s + 1] - set.offsets[s];
        exact += lengths[s] == length &&
                 memcmp(output + offsets[s], set.symbols + set.offsets[s], length * sizeof *output) == 0;
    }
    assert_in_range(exact, COPY_EXACT, SAMPLES);
    lab_model_destroy(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cache_gives_what_recomputation_gives),
        cmocka_unit_test(layers_that_differ_are_decoded),
        cmocka_unit_test(shared_heads_are_decoded),
        cmocka_unit_test(other_attentions_are_decoded),
        cmocka_unit_test(a_copy_is_learned_and_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
