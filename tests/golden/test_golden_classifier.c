/* SPDX-License-Identifier: MIT */
/* The text classifier against PyTorch (tools/golden_classifier.py), from the same weights on a packed batch of
 * sequences of different lengths: what the encoder gives, what the classifier reads, probabilities, losses with and
 * without label smoothing, every gradient. PyTorch's run is in float64 and one sequence at a time, ours in float32. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"
#include "model/architecture.h"

static double number_of(const char *text) {
    assert_non_null(text);
    return strtod(text, NULL);
}

static size_t size_of(const golden_file *golden, const char *key) {
    return (size_t)number_of(lab_safetensors_metadata(&golden->file, key));
}

static bool says(const golden_file *golden, size_t index, const char *key, const char *text) {
    return strcmp(golden_text(golden, index, key), text) == 0;
}

static lab_model *model_create(const golden_file *golden, size_t index) {
    lab_model_config config = lab_text_classifier.defaults;
    config.vocabulary = size_of(golden, "vocabulary");
    config.dim = size_of(golden, "dim");
    config.heads = size_of(golden, "heads");
    config.feed_forward = size_of(golden, "feed_forward");
    config.encoder_layers = size_of(golden, "layers");
    config.classes = size_of(golden, "classes");
    config.label_smoothing = number_of(lab_safetensors_metadata(&golden->file, "label_smoothing"));
    config.dropout = config.attention_dropout = 0;
    config.norm = says(golden, index, "norm", "after") ? LAB_NORM_AFTER : LAB_NORM_BEFORE;
    config.activation = says(golden, index, "activation", "gelu") ? LAB_GELU : LAB_RELU;
    config.pool = says(golden, index, "pool", "mean") ? LAB_POOL_MEAN : LAB_POOL_FIRST;
    config.head = says(golden, index, "head", "pooler") ? LAB_HEAD_POOLER : LAB_HEAD_LINEAR;
    config.token_types = (size_t)number_of(golden_text(golden, index, "token_types"));
    config.embedding_norm = (size_t)number_of(golden_text(golden, index, "embedding_norm"));
    config.norm_epsilon = number_of(golden_text(golden, index, "norm_epsilon"));
    config.embedding_init = says(golden, index, "embedding_init", "plain")  ? LAB_EMBEDDING_PLAIN
                            : says(golden, index, "embedding_init", "unit") ? LAB_EMBEDDING_UNIT
                                                                            : LAB_EMBEDDING_SCALED;
    config.encoding = golden_text(golden, index, "spec");
    lab_model *model = NULL;
    golden_ok(lab_model_create(&model, &config, 0, error));
    return model;
}

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

/* The batch and the offsets that it borrows. */
typedef struct packed {
    lab_batch batch;
    size_t offsets[16];
} packed;

static void batch_read(const golden_file *golden, bool typed, packed *own) {
    const lab_array *offsets = lab_safetensors_find(&golden->file, "offsets");
    const size_t count = lab_array_count(offsets);
    assert_true(count <= sizeof own->offsets / sizeof *own->offsets);
    for (size_t i = 0; i < count; i++)
        own->offsets[i] = (size_t)((const int64_t *)offsets->data)[i];
    own->batch = (lab_batch){.samples = count - 1,
                             .input_offsets = own->offsets,
                             .input = lab_safetensors_find(&golden->file, "tokens")->data,
                             .labels = lab_safetensors_find(&golden->file, "labels")->data};
    if (typed)
        own->batch.types = lab_safetensors_find(&golden->file, "types")->data;
}

static void compare(const char *spec, const char *name, const float *got, const lab_array *want, double tolerance) {
    const float *values = want->data;
    for (size_t j = 0; j < lab_array_count(want); j++)
        if (!(fabs((double)got[j] - (double)values[j]) <= tolerance * (1 + fabs((double)values[j]))))
            fail_msg("%s: %s[%zu]: %.9g, PyTorch has %.9g", spec, name, j, (double)got[j], (double)values[j]);
}

static void check_forward(const golden_file *golden, size_t index, lab_model *model, const lab_batch *batch) {
    const char *const spec = golden_text(golden, index, "spec");
    const lab_array *encoded = golden_array(golden, index, "encoded"), *pooled = golden_array(golden, index, "pooled");
    const lab_array *probabilities = golden_array(golden, index, "probabilities");
    float *got = malloc((lab_array_count(encoded) + lab_array_count(pooled)) * sizeof *got);
    golden_ok(lab_model_encode(model, batch, got, got + lab_array_count(encoded), error));
    compare(spec, "encoded", got, encoded, 3e-6);
    compare(spec, "pooled", got + lab_array_count(encoded), pooled, 3e-6);
    golden_ok(lab_model_classify(model, batch, got, error));
    compare(spec, "probabilities", got, probabilities, 2e-6);
    free(got);
}

static void check_loss(const char *spec, const lab_score *score, double want) {
    const double got = score->loss / (double)score->tokens;
    if (!(fabs(got - want) <= 2e-6 * want))
        fail_msg("%s: loss %.9g, PyTorch has %.9g", spec, got, want);
}

static void check_gradients(const golden_file *golden, size_t index, lab_model *model, const lab_batch *batch) {
    const char *const spec = golden_text(golden, index, "spec");
    const double *losses = golden_array(golden, index, "losses")->data; /* plain, smoothed */
    lab_score score = {0};
    golden_ok(lab_model_evaluate(model, batch, &score, error));
    assert_int_equal(score.tokens, batch->samples);
    check_loss(spec, &score, losses[0]);
    golden_ok(lab_model_train(model, batch, 1, 0, &score, error));
    check_loss(spec, &score, losses[1]);
    for (size_t i = 0; i < lab_model_parameter_count(model); i++) {
        const lab_parameter *own = lab_model_parameter(model, i);
        char key[160];
        (void)snprintf(key, sizeof key, "gradient.%s", own->name);
        assert_int_equal(lab_array_count(golden_array(golden, index, key)), own->count);
        compare(spec, own->name, own->gradient, golden_array(golden, index, key), 3e-6);
    }
}

static void test_classifier(void **state) {
    (void)state;
    golden_file golden;
    golden_open(&golden, "classifier");
    assert_true(golden.count > 0);
    for (size_t index = 0; index < golden.count; index++) {
        lab_model *model = model_create(&golden, index);
        packed own;
        batch_read(&golden, !says(&golden, index, "token_types", "0"), &own);
        first_weights_read(&golden, index, model);
        check_forward(&golden, index, model, &own.batch);
        check_gradients(&golden, index, model, &own.batch);
        lab_model_destroy(&model);
    }
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_classifier)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
