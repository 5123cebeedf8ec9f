/* SPDX-License-Identifier: MIT */
/* The decoder alone against PyTorch (tools/golden_decoder.py), from the same first weights and batches: the loss and
 * the gradients of every tensor, and ten steps of AdamW: losses, gradient norms, last weights. Norms before and after,
 * tied and own outputs, every way to scale an embedding, ReLU and GELU, label smoothing. PyTorch's runs are in float64,
 * ours in float32. */
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

#define LARGEST_BATCH 64

static size_t number_of(const golden_file *golden, const char *key) {
    const char *text = lab_safetensors_metadata(&golden->file, key);
    assert_non_null(text);
    return (size_t)strtoull(text, NULL, 10);
}

static bool says(const golden_file *golden, size_t index, const char *key, const char *text) {
    return strcmp(golden_text(golden, index, key), text) == 0;
}

static lab_embedding_init embedding_of(const golden_file *golden, size_t index) {
    if (says(golden, index, "embedding", "plain"))
        return LAB_EMBEDDING_PLAIN;
    return says(golden, index, "embedding", "unit") ? LAB_EMBEDDING_UNIT : LAB_EMBEDDING_SCALED;
}

static lab_model *model_create(const golden_file *golden, size_t index) {
    lab_model_config config = lab_decoder.defaults;
    config.vocabulary = number_of(golden, "vocabulary");
    config.dim = number_of(golden, "dim");
    config.heads = number_of(golden, "heads");
    config.feed_forward = number_of(golden, "feed_forward");
    config.decoder_layers = number_of(golden, "layers");
    config.norm = says(golden, index, "norm", "before") ? LAB_NORM_BEFORE : LAB_NORM_AFTER;
    config.output = says(golden, index, "output", "own") ? LAB_OUTPUT_OWN : LAB_OUTPUT_TIED;
    config.activation = says(golden, index, "activation", "gelu") ? LAB_GELU : LAB_RELU;
    config.embedding_init = embedding_of(golden, index);
    config.label_smoothing = strtod(golden_text(golden, index, "smoothing"), NULL);
    config.dropout = config.attention_dropout = 0;
    config.encoding = golden_text(golden, index, "spec");
    lab_model *model = NULL;
    golden_ok(lab_model_create(&model, &config, 0, error));
    return model;
}

static const float *weights_of(const golden_file *golden, size_t index, const char *when,
                               const lab_parameter *parameter) {
    char key[160];
    (void)snprintf(key, sizeof key, "%s.%s", when, parameter->name);
    const lab_array *array = golden_array(golden, index, key);
    assert_int_equal(lab_array_count(array), parameter->count);
    return array->data;
}

static lab_batch batch_read(const golden_file *golden, size_t index, size_t step, size_t *offsets) {
    char key[64];
    (void)snprintf(key, sizeof key, "%zu.tokens", step);
    const lab_array *tokens = golden_array(golden, index, key);
    (void)snprintf(key, sizeof key, "%zu.offsets", step);
    const lab_array *bounds = golden_array(golden, index, key);
    const size_t samples = lab_array_count(bounds) - 1;
    assert_true(samples < LARGEST_BATCH);
    for (size_t s = 0; s <= samples; s++)
        offsets[s] = (size_t)((const int64_t *)bounds->data)[s];
    assert_int_equal(lab_array_count(tokens), offsets[samples]);
    return (lab_batch){.samples = samples, .input_offsets = offsets, .input = tokens->data};
}

static void first_gradients_compare(const golden_file *golden, size_t index, const lab_model *model) {
    for (size_t i = 0; i < lab_model_parameter_count(model); i++) {
        const lab_parameter *parameter = lab_model_parameter(model, i);
        const float *want = weights_of(golden, index, "gradient", parameter);
        for (size_t j = 0; j < parameter->count; j++) {
            if (!(fabsf(parameter->gradient[j] - want[j]) <= 2e-6f + 2e-5f * fabsf(want[j]))) {
                fail_msg("case %zu (%s), gradient of %s[%zu]: %.9g, PyTorch has %.9g", index,
                         golden_text(golden, index, "spec"), parameter->name, j, (double)parameter->gradient[j],
                         (double)want[j]);
            }
        }
    }
}

static void compare_loss(const golden_file *golden, size_t index, const char *key, size_t step, double got) {
    const double want = ((const double *)golden_array(golden, index, key)->data)[step];
    const double tolerance = strcmp(key, "norms") == 0 ? 2e-4 : 2e-5;
    if (!(fabs(got - want) <= tolerance * want)) {
        fail_msg("case %zu (%s), step %zu, %s: %.9g, PyTorch has %.9g", index, golden_text(golden, index, "spec"), step,
                 key, got, want);
    }
}

static void train_steps(const golden_file *golden, size_t index, lab_model *model) {
    lab_optimizer_config config = lab_optimizer_default();
    config.epsilon = 1e-4;
    config.clip = 1;
    lab_optimizer optimizer;
    golden_ok(lab_optimizer_create(&optimizer, &config, lab_model_elements(model), error));
    const double *rates = lab_safetensors_find(&golden->file, "rates")->data;
    for (size_t step = 0; step < number_of(golden, "steps"); step++) {
        size_t offsets[LARGEST_BATCH];
        const lab_batch batch = batch_read(golden, index, step, offsets);
        lab_score plain = {0}, score = {0};
        double norm = 0;
        golden_ok(lab_model_evaluate(model, &batch, &plain, error));
        golden_ok(lab_model_train(model, &batch, 1, (uint32_t)step, &score, error));
        if (step == 0)
            first_gradients_compare(golden, index, model);
        golden_ok(lab_optimizer_step(&optimizer, rates[step], lab_model_values(model), lab_model_gradients(model),
                                     &norm, error));
        golden_ok(lab_model_update(model, error));
        compare_loss(golden, index, "plain", step, plain.loss / (double)plain.tokens);
        compare_loss(golden, index, "losses", step, score.loss / (double)score.tokens);
        compare_loss(golden, index, "norms", step, norm);
    }
    lab_optimizer_destroy(&optimizer);
}

static void check_case(const golden_file *golden, size_t index) {
    lab_model *model = model_create(golden, index);
    for (size_t i = 0; i < lab_model_parameter_count(model); i++) {
        const lab_parameter *parameter = lab_model_parameter(model, i);
        memcpy(parameter->value, weights_of(golden, index, "first", parameter), parameter->count * sizeof(float));
    }
    golden_ok(lab_model_update(model, error));
    train_steps(golden, index, model);
    for (size_t i = 0; i < lab_model_parameter_count(model); i++) {
        const lab_parameter *parameter = lab_model_parameter(model, i);
        const float *want = weights_of(golden, index, "last", parameter);
        for (size_t j = 0; j < parameter->count; j++) {
            if (!(fabsf(parameter->value[j] - want[j]) <= 2e-5f * (1 + fabsf(want[j])))) {
                fail_msg("case %zu (%s), %s[%zu]: %.9g, PyTorch has %.9g", index, golden_text(golden, index, "spec"),
                         parameter->name, j, (double)parameter->value[j], (double)want[j]);
            }
        }
    }
    lab_model_destroy(&model);
}

static void test_decoders(void **state) {
    (void)state;
    golden_file golden;
    golden_open(&golden, "decoder");
    for (size_t i = 0; i < golden.count; i++)
        check_case(&golden, i);
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_decoders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
