/* SPDX-License-Identifier: MIT */
/* Checkpoints: every number that is written comes back, and a file that is another training's, damaged or put together
 * by somebody else is refused with its whole reason and changes nothing. */
#include "task/word_task.h"
#include "train/checkpoint.h"
#include "train/configuration/budgets.h"
#include "train/configuration/config.h"
#include "unit/scratch_folder.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static lab_train_config config;
static lab_model *model;
static size_t elements, tensors;
static float *first, *second, *best, *values;
static lab_training_state state_now;

static int setup(void **state) {
    if (scratch_create(state) != 0)
        return 1;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find("copy"), "smoke", LAB_SETUP_PAPER, NULL), LOCUS_OK);
    config.encoding = config.model.encoding = "rope";
    LAB_WORDS(&config.data)->symbols = 3;
    config.model.dim = config.model.feed_forward = 4;
    config.model.heads = config.model.encoder_layers = config.model.decoder_layers = 1;
    config.epochs = 0;
    config.steps = 20;
    lab_config_fill(&config);
    assert_int_equal(lab_model_create(&model, &config.model, 1, NULL), LOCUS_OK);
    elements = lab_model_elements(model);
    tensors = lab_model_parameter_count(model);
    first = calloc(elements, sizeof *first);
    second = calloc(elements, sizeof *second);
    best = calloc(elements, sizeof *best);
    values = calloc(elements, sizeof *values);
    assert_true(first != NULL && second != NULL && best != NULL && values != NULL);
    return 0;
}

static int teardown(void **state) {
    lab_model_destroy(&model);
    free(first);
    free(second);
    free(best);
    free(values);
    return scratch_remove(state);
}

static lab_checkpoint checkpoint(void) {
    return (lab_checkpoint){model, first, second, &state_now, best};
}

/* Each number is another one. */
static void fill(uint64_t best_step) {
    for (size_t i = 0; i < elements; i++) {
        lab_model_values(model)[i] = values[i] = 1.0f + (float)i;
        first[i] = 1e4f + (float)i;
        second[i] = 2e4f + (float)i;
        best[i] = 3e4f + (float)i;
    }
    state_now = (lab_training_state){.step = 20,
                                     .best_step = best_step,
                                     .tokens_seen = 3,
                                     .record_steps = 4,
                                     .record_tokens = 5,
                                     .peak_bytes = 6,
                                     .record_loss = 7.5,
                                     .record_norm = 8.5,
                                     .best_measure = 1.0 / 3,
                                     .wall_seconds = 10.5,
                                     .train_seconds = 11.5};
}

static void spoil(void) {
    for (size_t i = 0; i < elements; i++)
        lab_model_values(model)[i] = first[i] = second[i] = best[i] = -1.0f;
    memset(&state_now, 0, sizeof state_now);
}

static const char *write_one(uint64_t best_step) {
    const char *path = scratch_path("last.safetensors");
    const lab_checkpoint all = checkpoint();
    fill(best_step);
    assert_int_equal(lab_checkpoint_write(&all, &config, (lab_array_source){NULL, NULL}, path, NULL), LOCUS_OK);
    return path;
}

static void what_is_written_comes_back(void **state) {
    (void)state;
    for (uint64_t best_step = 0; best_step <= 20; best_step += 10) {
        const char *path = write_one(best_step);
        const lab_checkpoint all = checkpoint();
        locus_error error = {0};
        spoil();
        if (lab_checkpoint_read(&all, &config, path, &error) != LOCUS_OK)
            fail_msg("%s", error.message);
        assert_true(state_now.step == 20 && state_now.best_step == best_step && state_now.tokens_seen == 3);
        assert_true(state_now.record_steps == 4 && state_now.record_tokens == 5 && state_now.peak_bytes == 6);
        const double reals[] = {7.5, 8.5, 1.0 / 3, 10.5, 11.5};
        const double back[] = {state_now.record_loss, state_now.record_norm, state_now.best_measure,
                               state_now.wall_seconds, state_now.train_seconds};
        assert_memory_equal(reals, back, sizeof reals);
        for (size_t i = 0; i < elements; i++) {
            assert_true(lab_model_values(model)[i] == values[i]);
            assert_true(first[i] == 1e4f + (float)i && second[i] == 2e4f + (float)i);
            assert_true(best[i] == (best_step > 0 ? 3e4f + (float)i : -1.0f));
        }
    }
}

/* The best parameters, with where they stand. */
static void what_is_best_comes_back(void **state) {
    (void)state;
    const char *path = scratch_path("best.safetensors");
    const lab_checkpoint all = checkpoint();
    lab_safetensors file;
    locus_error error = {0};
    fill(10);
    assert_int_equal(lab_best_write(&all, &config, path, NULL), LOCUS_OK);
    assert_int_equal(lab_safetensors_read(&file, path, NULL), LOCUS_OK);
    assert_int_equal(file.count, tensors);
    assert_int_equal(file.metadata_count, 4);
    assert_string_equal(lab_safetensors_metadata(&file, "format"), "locus-model-1");
    assert_string_equal(lab_safetensors_metadata(&file, "step"), "10");
    assert_string_equal(lab_safetensors_metadata(&file, "dev_loss"), "0.33333333333333331");
    char *json = lab_config_json(&config);
    assert_string_equal(lab_safetensors_metadata(&file, "config"), json);
    cJSON_free(json);
    lab_safetensors_close(&file);
    spoil();
    if (lab_best_read(model, path, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    for (size_t i = 0; i < elements; i++)
        assert_true(lab_model_values(model)[i] == 3e4f + (float)i);
    spoil();
    assert_int_equal(lab_init_read(model, path, NULL), LOCUS_OK);
    for (size_t i = 0; i < elements; i++)
        assert_true(lab_model_values(model)[i] == 3e4f + (float)i);
    assert_int_equal(lab_init_read(model, "no/file", &error), LOCUS_ERROR_IO);
    assert_string_equal(error.message, "cannot read 'no/file': No such file or directory");
    lab_train_config images = config;
    fill(10);
    images.task = lab_task_find("cifar10");
    assert_int_equal(lab_best_write(&all, &images, path, NULL), LOCUS_OK);
    assert_int_equal(lab_safetensors_read(&file, path, NULL), LOCUS_OK);
    assert_string_equal(lab_safetensors_metadata(&file, "dev_error"), "0.33333333333333331");
    assert_null(lab_safetensors_metadata(&file, "dev_loss"));
    lab_safetensors_close(&file);
}

/* ---- what does not fit ---- */

/* One change of a file that is good. */
typedef struct change {
    const char *array, *as; /* a tensor, and what it is called now; "": it goes */
    int64_t *integers;      /* the first two of the state; NULL: as they are */
    lab_dtype dtype;        /* 0: as it is */
    size_t count;           /* 0: as it is */
    const char *key, *value;
    uint64_t best_step;
    const char *says; /* NULL: it is read all the same */
} change;

/* The file's arrays and what is said of it, with the change in it. */
static void rewrite(const char *path, const change *of) {
    lab_safetensors file;
    assert_int_equal(lab_safetensors_read(&file, path, NULL), LOCUS_OK);
    size_t count = 0;
    for (size_t i = 0; i < file.count; i++) {
        lab_array array = file.arrays[i];
        const bool meant = of->array != NULL && strcmp(array.name, of->array) == 0;
        if (of->integers != NULL && strcmp(array.name, "state.integers") == 0)
            memcpy(array.data, of->integers, 2 * sizeof *of->integers);
        if (meant && of->as != NULL)
            snprintf(array.name, sizeof array.name, "%s", of->as);
        if (meant && of->dtype != 0)
            array.dtype = of->dtype;
        if (meant && of->count != 0) {
            array.rank = 1;
            array.shape[0] = (int64_t)of->count;
        }
        file.arrays[count] = array;
        count += array.name[0] != '\0';
    }
    for (size_t i = 0; of->key != NULL && i < file.metadata_count; i++)
        if (strcmp(file.metadata[i].key, of->key) == 0)
            file.metadata[i] =
                (lab_metadata){of->value != NULL ? of->key : "other", of->value != NULL ? of->value : ""};
    const char *changed = scratch_path("changed.safetensors");
    assert_int_equal(lab_safetensors_write(changed, file.arrays, count, file.metadata, file.metadata_count, NULL),
                     LOCUS_OK);
    lab_safetensors_close(&file);
}

static char *json_with(const char *from, const char *to) {
    char *json = lab_config_json(&config), *made = calloc(1, strlen(json) + strlen(to) + 1);
    const char *at = strstr(json, from);
    assert_true(made != NULL && at != NULL);
    sprintf(made, "%.*s%s%s", (int)(at - json), json, to, at + strlen(from));
    cJSON_free(json);
    return made;
}

static void expect_change(const change *of) {
    const lab_checkpoint all = checkpoint();
    char says[900];
    locus_error error = {0};
    rewrite(write_one(of->best_step), of);
    const char *path = scratch_path("changed.safetensors");
    spoil();
    const locus_status status = lab_checkpoint_read(&all, &config, path, &error);
    if (of->says == NULL) {
        if (status != LOCUS_OK)
            fail_msg("%s", error.message);
        return;
    }
    snprintf(says, sizeof says, "the checkpoint '%s' does not fit (%s): train again with --restart", path, of->says);
    assert_string_equal(error.message, says);
    assert_int_equal(status, LOCUS_ERROR_IO);
    assert_string_equal(error.argument, "checkpoint");
    for (size_t i = 0; i < elements; i++)
        assert_true(lab_model_values(model)[i] < 0 && first[i] < 0 && second[i] < 0 && best[i] < 0);
    assert_int_equal(state_now.step, 0);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    char *other_dim = json_with("\"dim\":4", "\"dim\":8"), *other_task = json_with("\"copy\"", "\"reverse\"");
    char *other_seed = json_with("\"seed\":\"", "\"seed\":\"1");
    const char *name = lab_model_parameter(model, 0)->name;
    char missing[600], shape[600], type[600], here[LAB_SHAPE_TEXT];
    lab_shape_text(lab_model_parameter(model, 0)->rank, lab_model_parameter(model, 0)->shape, here);
    snprintf(missing, sizeof missing, "%s is not in it", name);
    snprintf(shape, sizeof shape, "%s is [2] there and %s in the model", name, here);
    snprintf(type, sizeof type, "%s is %s of another type there and %s in the model", name, here, here);
    const change changes[] = {
        {.key = "format", .value = "locus-checkpoint-2", .says = "another format"},
        {.key = "format", .says = "another format"},
        {.key = "config", .says = "no configuration"},
        {.key = "config", .value = "{", .says = "no configuration"},
        {.key = "config", .value = other_dim, .says = "dim"},
        {.key = "config", .value = other_seed, .says = "seed"},
        {.key = "config", .value = other_task, .says = "task or encoding"},
        {.array = "optimizer.first", .as = "", .says = "optimizer"},
        {.array = "optimizer.second", .as = "", .says = "optimizer"},
        {.array = "optimizer.first", .count = elements - 1, .says = "optimizer"},
        {.array = "optimizer.second", .dtype = LAB_I32, .says = "optimizer"},
        {.array = "state.integers", .as = "", .says = "state"},
        {.array = "state.reals", .as = "", .says = "state"},
        {.array = "state.integers", .count = 5, .says = "state"},
        {.array = "state.reals", .count = 4, .says = "state"},
        {.array = "state.reals", .dtype = LAB_I64, .says = "state"},
        {.array = "state.integers", .dtype = LAB_F64, .says = "state"},
        {.integers = (int64_t[]){0, 0}, .best_step = 10},
        {.integers = (int64_t[]){-1, 0}, .says = "state"},
        {.integers = (int64_t[]){20, 20}, .best_step = 10},
        {.integers = (int64_t[]){21, 10}, .best_step = 10, .says = "state"},
        {.integers = (int64_t[]){19, 20}, .best_step = 10, .says = "state"},
        {.integers = (int64_t[]){5, -1}, .best_step = 10, .says = "state"},
        {.integers = (int64_t[]){5, 1}, .says = "state"},
        {.integers = (int64_t[]){5, 1}, .best_step = 1},
        {.array = "best", .as = "", .best_step = 10, .says = "state"},
        {.array = "best", .count = elements - 1, .best_step = 10, .says = "state"},
        {.array = "best",
         .as = "worst",
         .says = "worst is not in the model",
         .best_step = 10,
         .integers = (int64_t[]){5, 0}},
        {.array = name, .as = "", .says = missing},
        {.array = name, .count = 2, .says = shape},
        {.array = name, .dtype = LAB_I32, .says = type},
    };
    for (size_t i = 0; i < COUNT(changes); i++)
        expect_change(&changes[i]);
    free(other_dim);
    free(other_task);
    free(other_seed);
}

/* Every tensor is looked at, each of its numbers. */
static void numbers_that_are_not_finite_are_refused(void **state) {
    (void)state;
    for (size_t t = 0; t < tensors; t++) {
        const lab_parameter *parameter = lab_model_parameter(model, t);
        const lab_checkpoint all = checkpoint();
        const char *path = scratch_path("last.safetensors");
        char says[900];
        locus_error error = {0};
        fill(0);
        parameter->value[t % 2 == 0 ? 0 : parameter->count - 1] = t % 3 == 0 ? NAN : INFINITY;
        assert_int_equal(lab_checkpoint_write(&all, &config, (lab_array_source){NULL, NULL}, path, NULL), LOCUS_OK);
        spoil();
        assert_int_equal(lab_checkpoint_read(&all, &config, path, &error), LOCUS_ERROR_IO);
        snprintf(says, sizeof says,
                 "the checkpoint '%s' does not fit (%s has numbers that are not finite): train again with --restart",
                 path, parameter->name);
        assert_string_equal(error.message, says);
        error = (locus_error){0};
        assert_int_equal(lab_init_read(model, path, &error), LOCUS_ERROR_ARGUMENT);
        snprintf(says, sizeof says,
                 "--init-from: '%s' has the parameters of another model (%s has numbers that are not finite)", path,
                 parameter->name);
        assert_string_equal(error.message, says);
        assert_true(lab_model_values(model)[0] < 0);
    }
}

static void runs_without_a_checkpoint(void **state) {
    (void)state;
    char name[] = "brought";
    lab_run run = {.name = name, .imported = true};
    locus_error error = {0};
    const char *there = write_one(0), *gone = scratch_path("gone.safetensors");
    assert_int_equal(lab_best_expected(&run, there, &error), LOCUS_OK);
    assert_int_equal(lab_best_expected(&run, gone, &error), LOCUS_ERROR_IO);
    assert_string_equal(error.message, "the run 'brought' was imported: it has scores and curves here, but no "
                                       "checkpoint; train it with --restart to have one");
    run.imported = false;
    assert_int_equal(lab_best_expected(&run, gone, &error), LOCUS_OK);
    assert_int_equal(lab_best_read(model, gone, &error), LOCUS_ERROR_IO); /* which is told when it is read */
    assert_int_equal(lab_best_read(model, there, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "(another format)"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back),   cmocka_unit_test(what_is_best_comes_back),
        cmocka_unit_test(what_does_not_fit_is_refused), cmocka_unit_test(numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(runs_without_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
