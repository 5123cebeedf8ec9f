/* SPDX-License-Identifier: MIT */
/* Checkpoints: the input as the best parameters and as the last state of a small model. What is taken is the model that
 * scores a batch; what is refused leaves the model as it was, with one line that names the file. */
#include "fuzz.h"
#include "task/word_task.h"
#include "train/train.h"

#include "train/checkpoint.h"
#include "train/configuration/config.h"

#include <stdlib.h>
#include <string.h>

typedef struct scene {
    lab_train_config config;
    lab_model *model;
    lab_optimizer optimizer;
    lab_training_state state;
    float *best, *kept;
    size_t elements;
} scene;

/* Small enough that a file has a few kilobytes. */
static scene *open_scene(void) {
    static scene made;
    static bool open;
    locus_error error = {0};
    if (open)
        return &made;
    open = true;
    lab_train_config *config = &made.config;
    const lab_task *task = lab_task_find("copy");
    FUZZ_REQUIRE(lab_train_config_budget(config, task, "smoke", LAB_SETUP_PAPER, &error) == LOCUS_OK);
    config->encoding = config->model.encoding = "algebraic(group=seq, values=on) + decay(learned=on)";
    LAB_WORDS(&config->data)->symbols = 3;
    config->model.dim = config->model.feed_forward = 4;
    config->model.heads = config->model.encoder_layers = config->model.decoder_layers = 1;
    lab_config_fill(config);
    FUZZ_REQUIRE_SAYING(lab_model_create(&made.model, &config->model, 1, &error) == LOCUS_OK, error.message);
    made.elements = lab_model_elements(made.model);
    FUZZ_REQUIRE(lab_optimizer_create(&made.optimizer, &config->optimizer, made.elements, &error) == LOCUS_OK);
    made.best = calloc(made.elements, sizeof *made.best);
    made.kept = malloc(made.elements * sizeof *made.kept);
    FUZZ_REQUIRE(made.best != NULL && made.kept != NULL);
    memcpy(made.kept, lab_model_values(made.model), made.elements * sizeof *made.kept);
    return &made;
}

static void score(scene *on) {
    static const size_t offsets[] = {0, 2, 5};
    static const int32_t tokens[] = {1, 2, 3, 1, 1};
    const lab_batch batch = {
        .samples = 2, .input_offsets = offsets, .target_offsets = offsets, .input = tokens, .target = tokens};
    lab_score found = {0};
    locus_error error = {0};
    const locus_status status = lab_model_evaluate(on->model, &batch, &found, &error);
    if (status == LOCUS_OK)
        FUZZ_REQUIRE(found.correct <= found.tokens && found.exact <= found.samples && found.samples == 2);
    else
        fuzz_check_failure(status, &error);
}

/* The model as it was at first. */
static void restore(scene *on) {
    memcpy(lab_model_values(on->model), on->kept, on->elements * sizeof *on->kept);
    FUZZ_REQUIRE(lab_model_update(on->model, NULL) == LOCUS_OK);
}

static void check(scene *on, locus_status status, const locus_error *error) {
    if (status == LOCUS_OK) {
        score(on);
        restore(on);
    } else if (status == LOCUS_ERROR_NUMERIC) { /* numbers that are finite, of which an encoding can make nothing */
        fuzz_check_failure(status, error);
        restore(on);
    } else {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO, error->message);
        fuzz_check_failure(status, error);
        FUZZ_REQUIRE(memcmp(lab_model_values(on->model), on->kept, on->elements * sizeof *on->kept) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scene *on = open_scene();
    const char *path = fuzz_file("input.safetensors", data, size);
    locus_error error = {0};
    check(on, lab_best_read(on->model, path, &error), &error);
    const lab_checkpoint whole = {on->model, on->optimizer.first, on->optimizer.second, &on->state, on->best};
    error = (locus_error){0};
    const locus_status status = lab_checkpoint_read(&whole, &on->config, path, &error);
    FUZZ_REQUIRE(status != LOCUS_OK || on->state.best_step <= on->state.step);
    check(on, status, &error);
    return 0;
}
