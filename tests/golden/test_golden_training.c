/* SPDX-License-Identifier: MIT */
/* Ten steps of training from the same first weights and batches as PyTorch (tools/golden_training.py): losses, gradient
 * norms and last weights agree, for both places of LayerNorm; with dropout on activations and on weights or logits,
 * whose random words the script draws by itself; and the same on trees (tools/golden_trees.py), where PyTorch takes
 * scores from relative paths, one pair of tokens at a time. PyTorch's runs are in float64, ours in float32. */
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

typedef struct training_case {
    const golden_file *golden;
    size_t index;
    bool trees;
} training_case;

static size_t number_of(const golden_file *golden, const char *key) {
    const char *text = lab_safetensors_metadata(&golden->file, key);
    assert_non_null(text);
    return (size_t)strtoull(text, NULL, 10);
}

static bool has_dropout(const golden_file *golden) {
    return lab_safetensors_metadata(&golden->file, "dropout") != NULL;
}

static void set_dropout(const golden_file *golden, size_t index, lab_model_config *config) {
    config->dropout = config->attention_dropout = 0;
    if (!has_dropout(golden))
        return;
    const bool logits = strcmp(golden_text(golden, index, "dropout_on"), "logits") == 0;
    config->dropout = config->attention_dropout = strtod(lab_safetensors_metadata(&golden->file, "dropout"), NULL);
    config->attention_dropout_on = logits ? LOCUS_DROPOUT_LOGITS : LOCUS_DROPOUT_WEIGHTS;
}

static lab_model *model_create(const training_case *own) {
    const golden_file *golden = own->golden;
    const size_t index = own->index;
    lab_model_config config = lab_encoder_decoder.defaults;
    config.tree_arity = own->trees ? number_of(golden, "arity") : 0;
    config.vocabulary = number_of(golden, "vocabulary");
    config.dim = number_of(golden, "dim");
    config.heads = number_of(golden, "heads");
    config.feed_forward = number_of(golden, "feed_forward");
    config.encoder_layers = config.decoder_layers = 2;
    config.norm = strcmp(golden_text(golden, index, "norm"), "before") == 0 ? LAB_NORM_BEFORE : LAB_NORM_AFTER;
    set_dropout(golden, index, &config);
    config.encoding = golden_text(golden, index, "spec");
    lab_model *model = NULL;
    golden_ok(lab_model_create(&model, &config, 0, error));
    return model;
}

static const lab_array *weight_of(const golden_file *golden, size_t index, const char *when,
                                  const lab_parameter *parameter) {
    char key[160];
    (void)snprintf(key, sizeof key, "%s.%s", when, parameter->name);
    const lab_array *array = golden_array(golden, index, key);
    assert_int_equal(lab_array_count(array), parameter->count);
    return array;
}

/* A step's batch, and what it borrows. */
typedef struct batch_room {
    size_t input_offsets[LARGEST_BATCH], target_offsets[LARGEST_BATCH];
    int32_t target[LARGEST_BATCH];
} batch_room;

/* The task is reverse. */
static lab_batch words_read(const training_case *own, size_t step, batch_room *room) {
    const golden_file *golden = own->golden;
    const size_t index = own->index;
    size_t *offsets = room->input_offsets;
    int32_t *target = room->target;
    char key[64];
    (void)snprintf(key, sizeof key, "%zu.tokens", step);
    const lab_array *tokens = golden_array(golden, index, key);
    (void)snprintf(key, sizeof key, "%zu.offsets", step);
    const lab_array *bounds = golden_array(golden, index, key);
    size_t samples = lab_array_count(bounds) - 1;
    assert_true(lab_array_count(tokens) <= LARGEST_BATCH && samples < LARGEST_BATCH);
    const int32_t *input = tokens->data;
    for (size_t s = 0; s <= samples; s++)
        offsets[s] = (size_t)((const int64_t *)bounds->data)[s];
    for (size_t s = 0; s < samples; s++)
        for (size_t i = offsets[s]; i < offsets[s + 1]; i++)
            target[i] = input[offsets[s] + offsets[s + 1] - 1 - i];
    return (lab_batch){
        .samples = samples, .input_offsets = offsets, .target_offsets = offsets, .input = input, .target = target};
}

static const void *side_array(const training_case *own, const char *side, const char *what) {
    char key[64];
    (void)snprintf(key, sizeof key, "%s.%s", side, what);
    return golden_array(own->golden, own->index, key)->data;
}

/* One side of a step's batch: fills its offsets, and returns its first token among those of all steps. */
static size_t side_read(const training_case *own, size_t step, const char *side, size_t *offsets) {
    const size_t samples = number_of(own->golden, "samples");
    const int64_t *all = (const int64_t *)side_array(own, side, "offsets") + step * samples;
    assert_true(samples < LARGEST_BATCH);
    for (size_t s = 0; s <= samples; s++)
        offsets[s] = (size_t)(all[s] - all[0]);
    return (size_t)all[0];
}

static lab_batch trees_read(const training_case *own, size_t step, batch_room *room) {
    const size_t input = side_read(own, step, "input", room->input_offsets),
                 target = side_read(own, step, "target", room->target_offsets);
    return (lab_batch){.samples = number_of(own->golden, "samples"),
                       .input_offsets = room->input_offsets,
                       .target_offsets = room->target_offsets,
                       .input = (const int32_t *)side_array(own, "input", "tokens") + input,
                       .target = (const int32_t *)side_array(own, "target", "tokens") + target,
                       .input_tree = {(const int32_t *)side_array(own, "input", "parents") + input,
                                      (const int32_t *)side_array(own, "input", "branches") + input},
                       .target_tree = {(const int32_t *)side_array(own, "target", "parents") + target,
                                       (const int32_t *)side_array(own, "target", "branches") + target}};
}

static void train_steps(const training_case *own, lab_model *model) {
    const golden_file *golden = own->golden;
    const size_t index = own->index;
    lab_optimizer_config config = lab_optimizer_default();
    config.epsilon = 1e-4;
    config.clip = 1;
    lab_optimizer optimizer;
    golden_ok(lab_optimizer_create(&optimizer, &config, lab_model_elements(model), error));
    const double *losses = golden_array(golden, index, "losses")->data,
                 *norms = golden_array(golden, index, "norms")->data;
    const double *rates = lab_safetensors_find(&golden->file, "rates")->data;
    const uint64_t seed = has_dropout(golden) ? number_of(golden, "seed") : 0;
    for (size_t step = 0; step < number_of(golden, "steps"); step++) {
        batch_room room;
        lab_batch batch = own->trees ? trees_read(own, step, &room) : words_read(own, step, &room);
        lab_score score = {0};
        double norm = 0;
        golden_ok(lab_model_train(model, &batch, seed, (uint32_t)step, &score, error));
        golden_ok(lab_optimizer_step(&optimizer, rates[step], lab_model_values(model), lab_model_gradients(model),
                                     &norm, error));
        golden_ok(lab_model_update(model, error));
        double loss = score.loss / (double)score.tokens;
        if (fabs(loss - losses[step]) > 2e-5 * losses[step] || fabs(norm - norms[step]) > 2e-4 * norms[step]) {
            fail_msg("case %zu (%s), step %zu: loss %.9g, norm %.9g; PyTorch has %.9g, %.9g", index,
                     golden_text(golden, index, "spec"), step, loss, norm, losses[step], norms[step]);
        }
    }
    lab_optimizer_destroy(&optimizer);
}

static void check_case(const training_case *own) {
    const golden_file *golden = own->golden;
    const size_t index = own->index;
    lab_model *model = model_create(own);
    for (size_t i = 0; i < lab_model_parameter_count(model); i++) {
        const lab_parameter *parameter = lab_model_parameter(model, i);
        memcpy(parameter->value, weight_of(golden, index, "first", parameter)->data, parameter->count * sizeof(float));
    }
    golden_ok(lab_model_update(model, error));
    train_steps(own, model);
    for (size_t i = 0; i < lab_model_parameter_count(model); i++) {
        const lab_parameter *parameter = lab_model_parameter(model, i);
        const float *want = weight_of(golden, index, "last", parameter)->data;
        for (size_t j = 0; j < parameter->count; j++) {
            if (!(fabsf(parameter->value[j] - want[j]) <= 2e-5f * (1 + fabsf(want[j])))) {
                fail_msg("case %zu (%s), %s[%zu]: %.9g, PyTorch has %.9g", index, golden_text(golden, index, "spec"),
                         parameter->name, j, (double)parameter->value[j], (double)want[j]);
            }
        }
    }
    lab_model_destroy(&model);
}

static void check_file(const char *name, bool trees) {
    golden_file golden;
    golden_open(&golden, name);
    assert_true(golden.count > 0);
    for (size_t i = 0; i < golden.count; i++)
        check_case(&(training_case){&golden, i, trees});
    golden_close(&golden);
}

static void test_trajectories(void **state) {
    (void)state;
    check_file("training", false);
}

static void test_trajectories_with_dropout(void **state) {
    (void)state;
    check_file("dropout", false);
}

static void test_trajectories_on_trees(void **state) {
    (void)state;
    check_file("trees", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trajectories),
                                       cmocka_unit_test(test_trajectories_with_dropout),
                                       cmocka_unit_test(test_trajectories_on_trees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
