/* SPDX-License-Identifier: MIT */
/* The image classifier's gradients against central differences of its loss: every tensor, for encodings at every site,
 * with label smoothing, and stochastic depth that leaves out some samples or a whole layer. */
#include "model/architecture.h"
#include "model_differences.h"

enum { IMAGES = 5, CHANNELS = 3, SIDE = 11, CLASSES = 4 };

static float pixels[IMAGES * CHANNELS * SIDE * SIDE];
static const int32_t labels[IMAGES] = {1, 0, 3, 2, 1};
static const lab_batch batch = {.samples = IMAGES, .images = pixels, .labels = labels};

static lab_model_config config_make(const char *encoding) {
    lab_model_config config = lab_image_classifier.defaults;
    config.dim = 24;
    config.heads = 3;
    config.feed_forward = 16;
    config.encoder_layers = 2;
    config.attention_dropout = 0.0;
    config.stochastic_depth = 0.5;
    config.classes = CLASSES;
    config.image_side = SIDE;
    config.encoding = encoding;
    return config;
}

static void check_config(lab_model_config config) {
    locus_error error;
    differences_subject subject = {.name = config.encoding, .batch = &batch};
    if (lab_model_create(&subject.model, &config, 17, &error) != LOCUS_OK)
        fail_msg("%s: %s", config.encoding, error.message);
    differences_check(&subject);
    lab_model_destroy(&subject.model);
}

static void gradients_of_encodings(void **state) {
    static const char *const encodings[] = {"none",
                                            "sinusoidal",
                                            "learned(size=9)",
                                            "rope(learned=on)",
                                            "relative(window=3, values=on)",
                                            "algebraic(group=seq, decay=0.98)",
                                            "algebraic(group=grid:2)",
                                            "algebraic(group=grid:2, decay=0.98, values=on)"};
    (void)state;
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; ++i)
        check_config(config_make(encodings[i]));
}

static void gradients_behind_the_encoder(void **state) {
    (void)state;
    check_config(config_make("chebyshev(size=16, site=output) + rope(learned=on)"));
}

static void gradients_of_layers_that_differ(void **state) {
    (void)state;
    check_config(config_make("rope(learned=on) / algebraic(group=seq)"));
}

static void gradients_with_dropout(void **state) {
    (void)state;
    for (int norm = LAB_NORM_BEFORE; norm <= LAB_NORM_AFTER; ++norm) {
        lab_model_config config = config_make("rope(learned=on)");
        config.norm = (lab_norm_place)norm;
        config.dropout = config.attention_dropout = 0.2;
        config.survivors = LAB_SURVIVORS_AS_THEY_ARE;
        config.stochastic_depth = 0.4;
        config.encoder_layers = 3;
        check_config(config);
    }
}

/* From the second layer on nothing is left. */
static void gradients_of_a_layer_left_out(void **state) {
    (void)state;
    lab_model_config config = config_make("algebraic(group=grid:2)");
    config.stochastic_depth = 1.0;
    check_config(config);
}

static void gradients_without_stochastic_depth(void **state) {
    (void)state;
    for (int norm = LAB_NORM_BEFORE; norm <= LAB_NORM_AFTER; ++norm) {
        lab_model_config config = config_make("algebraic(group=grid:2, heads=shared)");
        config.stochastic_depth = 0.0;
        config.norm = (lab_norm_place)norm;
        config.heads = 6;
        config.kv_heads = 2;
        check_config(config);
    }
}

static void draw_pixels(void) {
    const locus_random random = {3, LOCUS_RANDOM_USER, 0};
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; ++i)
        pixels[i] = (float)locus_random_normal(&random, i);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_encodings),          cmocka_unit_test(gradients_behind_the_encoder),
        cmocka_unit_test(gradients_of_layers_that_differ), cmocka_unit_test(gradients_with_dropout),
        cmocka_unit_test(gradients_of_a_layer_left_out),   cmocka_unit_test(gradients_without_stochastic_depth),
    };
    if (locus_threads_set(1) != LOCUS_OK) /* thousands of tiny calls */
        return 1;
    draw_pixels();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
