/* SPDX-License-Identifier: MIT */
/* A backward that gives the memory of activations back as it goes has the gradients of one that keeps it, to the bit;
 * and it does give it back. The models are large enough for that: only whole large pages go. */
#include "model/model_parts.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 8, LENGTH = 72, VOCABULARY = 20, CLASSES = 4, SIDE = 32, PIXELS = 3 * SIDE * SIDE };
enum { LARGE_PAGE = 1 << 21 };

static size_t offsets[SAMPLES + 1];
static int32_t tokens[SAMPLES * LENGTH], labels[SAMPLES];
static float pixels[SAMPLES * PIXELS];

static int setup(void **state) {
    (void)state;
    const locus_random random = {7, LOCUS_RANDOM_USER, 0};
    for (size_t s = 0; s < SAMPLES; ++s) {
        offsets[s + 1] = (s + 1) * LENGTH;
        labels[s] = (int32_t)(s % CLASSES);
    }
    for (size_t t = 0; t < SAMPLES * LENGTH; ++t)
        tokens[t] = (int32_t)locus_random_below(&random, t, VOCABULARY - 4);
    for (size_t i = 0; i < SAMPLES * (size_t)PIXELS; ++i)
        pixels[i] = (float)locus_random_normal(&random, i);
    return 0;
}

static lab_batch batch_make(void) {
    return (lab_batch){.samples = SAMPLES,
                       .input_offsets = offsets,
                       .input = tokens,
                       .target_offsets = offsets,
                       .target = tokens,
                       .images = pixels,
                       .labels = labels};
}

static lab_model_config deep(void) {
    lab_model_config config = lab_model_image_default();
    config.stochastic_depth = 0.3;
    config.norm = LAB_NORM_AFTER;
    config.classes = CLASSES;
    return config;
}

static lab_model_config text(void) {
    lab_model_config config = lab_model_classifier_default();
    config.activation = LAB_GELU;
    config.classes = CLASSES;
    return config;
}

static lab_model_config halved(void) {
    lab_model_config config = lab_model_decoder_default();
    config.precision = LAB_BF16;
    return config;
}

static lab_model *model_make(lab_model_config config) {
    lab_model *model = NULL;
    locus_error error;
    config.dim = 256;
    config.heads = 4;
    config.feed_forward = 768;
    config.vocabulary = config.architecture == LAB_IMAGE_CLASSIFIER ? 0 : VOCABULARY;
    config.encoder_layers = config.encoder_layers > 0 ? 4 : 0;
    config.decoder_layers = config.decoder_layers > 0 ? 4 : 0;
    config.encoding = config.architecture == LAB_IMAGE_CLASSIFIER ? "rope(axes=2)" : "rope";
    if (lab_model_create(&model, &config, 5, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return model;
}

static void train(lab_model *model, bool releases) {
    const lab_batch batch = batch_make();
    const lab_shard_key key = {.seed = 3, .step = 1, .shard = 1, .releases = releases};
    lab_score score = {0};
    locus_error error;
    if (lab_model_train_shard(model, &batch, &key, &score, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
}

/* Large pages of the arena that have nothing but zeros. */
static size_t empty_pages(const lab_model *model) {
    size_t count = 0;
    const size_t before = (uintptr_t)model->arena.block % LARGE_PAGE, first = before > 0 ? LARGE_PAGE - before : 0;
    for (size_t at = first; at + LARGE_PAGE <= model->arena.used; at += LARGE_PAGE) {
        const unsigned char *page = model->arena.block + at;
        count += page[0] == 0 && memcmp(page, page + 1, LARGE_PAGE - 1) == 0;
    }
    return count;
}

static void check(lab_model_config config) {
    lab_model *model = model_make(config);
    const size_t bytes = lab_model_elements(model) * sizeof(float);
    float *kept = malloc(bytes);
    assert_non_null(kept);
    train(model, false);
    const size_t empty = empty_pages(model);
    memcpy(kept, lab_model_gradients(model), bytes);
    for (int round = 0; round < 2; ++round) {
        lab_model_gradients_release(model);
        train(model, true);
        assert_memory_equal(lab_model_gradients(model), kept, bytes);
        assert_true(empty_pages(model) >= empty + 2);
    }
    lab_model_activations_release(model);
    train(model, false);
    assert_memory_equal(lab_model_gradients(model), kept, bytes);
    assert_int_equal(empty_pages(model), empty);
    free(kept);
    lab_model_destroy(&model);
}

static void test_pair(void **state) {
    (void)state;
    check(lab_model_default());
}

static void test_decoder(void **state) {
    (void)state;
    check(lab_model_decoder_default());
    check(halved());
}

static void test_images(void **state) {
    (void)state;
    check(lab_model_image_default());
    check(deep());
}

static void test_text(void **state) {
    (void)state;
    check(text());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pair),
        cmocka_unit_test(test_decoder),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
