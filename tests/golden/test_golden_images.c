/* SPDX-License-Identifier: MIT */
/* The image classifier against PyTorch (tools/golden_images.py), from the same first weights and images: class
 * probabilities, losses with and without label smoothing, every gradient of the first batch, and ten steps of AdamW.
 * PyTorch's run is in float64, ours in float32. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"
#include "model/architecture.h"
#include "train/optimizer.h"

enum { MOST_PROBABILITIES = 64 };

static double number_of(const golden_file *golden, const char *key) {
    const char *text = lab_safetensors_metadata(&golden->file, key);
    assert_non_null(text);
    return strtod(text, NULL);
}

static size_t size_of(const golden_file *golden, const char *key) {
    return (size_t)number_of(golden, key);
}

static lab_model *model_create(const golden_file *golden, size_t index) {
    lab_model_config config = lab_image_classifier.defaults;
    config.dim = size_of(golden, "dim");
    config.heads = size_of(golden, "heads");
    config.feed_forward = size_of(golden, "feed_forward");
    config.encoder_layers = size_of(golden, "layers");
    config.image_side = size_of(golden, "side");
    config.image_channels = size_of(golden, "channels");
    config.classes = size_of(golden, "classes");
    config.label_smoothing = number_of(golden, "label_smoothing");
    config.attention_dropout = config.stochastic_depth = 0;
    config.encoding = golden_text(golden, index, "spec");
    lab_model *model = NULL;
    golden_ok(lab_model_create(&model, &config, 0, error));
    return model;
}

/* The case's tensors of all parameters: "first", "gradient" or "last". */
static const float *tensor_of(const golden_file *golden, size_t index, const char *when, const lab_parameter *own) {
    char key[160];
    (void)snprintf(key, sizeof key, "%s.%s", when, own->name);
    const lab_array *array = golden_array(golden, index, key);
    assert_int_equal(lab_array_count(array), own->count);
    return array->data;
}

static void first_weights_read(const golden_file *golden, size_t index, lab_model *model) {
    for (size_t i = 0; i < lab_model_parameter_count(model); i++) {
        const lab_parameter *own = lab_model_parameter(model, i);
        memcpy(own->value, tensor_of(golden, index, "first", own), own->count * sizeof(float));
    }
    golden_ok(lab_model_update(model, error));
}

static lab_batch batch_read(const golden_file *golden, size_t step) {
    const size_t images = size_of(golden, "batch"), side = size_of(golden, "side");
    const float *pixels = lab_safetensors_find(&golden->file, "images")->data;
    const int32_t *labels = lab_safetensors_find(&golden->file, "labels")->data;
    return (lab_batch){.samples = images,
                       .images = pixels + step * images * size_of(golden, "channels") * side * side,
                       .labels = labels + step * images};
}

static void compare(const char *name, const float *got, const float *want, size_t count, double tolerance) {
    for (size_t j = 0; j < count; j++)
        if (!(fabs((double)got[j] - (double)want[j]) <= tolerance * (1 + fabs((double)want[j]))))
            fail_msg("%s[%zu]: %.9g, PyTorch has %.9g", name, j, (double)got[j], (double)want[j]);
}

/* Without smoothing, as in an evaluation. */
static void check_forward(const golden_file *golden, size_t index, lab_model *model) {
    const lab_batch batch = batch_read(golden, 0);
    const lab_array *want = golden_array(golden, index, "probabilities");
    const double plain = *(const double *)golden_array(golden, index, "plain")->data;
    float got[MOST_PROBABILITIES];
    assert_true(lab_array_count(want) <= MOST_PROBABILITIES);
    golden_ok(lab_model_classify(model, &batch, got, error));
    compare(golden_text(golden, index, "spec"), got, want->data, lab_array_count(want), 2e-6);
    lab_score score = {0};
    golden_ok(lab_model_evaluate(model, &batch, &score, error));
    assert_int_equal(score.tokens, batch.samples);
    if (fabs(score.loss / (double)score.tokens - plain) > 2e-6 * plain)
        fail_msg("%s: loss %.9g, PyTorch has %.9g", golden_text(golden, index, "spec"),
                 score.loss / (double)score.tokens, plain);
}

static void check_gradients(const golden_file *golden, size_t index, lab_model *model) {
    const lab_batch batch = batch_read(golden, 0);
    lab_score score = {0};
    golden_ok(lab_model_train(model, &batch, 1, 0, &score, error));
    for (size_t i = 0; i < lab_model_parameter_count(model); i++) {
        const lab_parameter *own = lab_model_parameter(model, i);
        compare(own->name, own->gradient, tensor_of(golden, index, "gradient", own), own->count, 2e-6);
    }
}

static void train_steps(const golden_file *golden, size_t index, lab_model *model) {
    lab_optimizer_config config = lab_optimizer_default();
    config.epsilon = number_of(golden, "epsilon");
    config.weight_decay = number_of(golden, "weight_decay");
    config.clip = number_of(golden, "clip");
    lab_optimizer optimizer;
    golden_ok(lab_optimizer_create(&optimizer, &config, lab_model_elements(model), error));
    const double *losses = golden_array(golden, index, "losses")->data,
                 *norms = golden_array(golden, index, "norms")->data;
    const double *rates = lab_safetensors_find(&golden->file, "rates")->data;
    for (size_t step = 0; step < size_of(golden, "steps"); step++) {
        const lab_batch batch = batch_read(golden, step);
        lab_score score = {0};
        double norm = 0;
        golden_ok(lab_model_train(model, &batch, 1, (uint32_t)step, &score, error));
        golden_ok(lab_optimizer_step(&optimizer, rates[step], lab_model_values(model), lab_model_gradients(model),
                                     &norm, error));
        golden_ok(lab_model_update(model, error));
        double loss = score.loss / (double)score.tokens;
        if (fabs(loss - losses[step]) > 2e-5 * losses[step] || fabs(norm - norms[step]) > 2e-4 * norms[step])
            fail_msg("%s, step %zu: loss %.9g, norm %.9g; PyTorch has %.9g, %.9g", golden_text(golden, index, "spec"),
                     step, loss, norm, losses[step], norms[step]);
    }
    lab_optimizer_destroy(&optimizer);
}

static void test_images(void **state) {
    (void)state;
    golden_file golden;
    golden_open(&golden, "images");
    assert_true(golden.count > 0);
    for (size_t index = 0; index < golden.count; index++) {
        lab_model *model = model_create(&golden, index);
        first_weights_read(&golden, index, model);
        check_forward(&golden, index, model);
        check_gradients(&golden, index, model);
        train_steps(&golden, index, model);
        for (size_t i = 0; i < lab_model_parameter_count(model); i++) {
            const lab_parameter *own = lab_model_parameter(model, i);
            compare(own->name, own->value, tensor_of(&golden, index, "last", own), own->count, 2e-5);
        }
        lab_model_destroy(&model);
    }
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_images)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
