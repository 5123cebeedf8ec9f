/* SPDX-License-Identifier: MIT */
/* Packs model, optimiser and state into tensors of a safetensors file, and takes them back after checking each. */
#include "train/checkpoint.h"

#include "io/fail.h"
#include "io/json.h"
#include "train/configuration/config.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECKPOINT_FORMAT "locus-checkpoint-1"
#define MODEL_FORMAT "locus-model-1"
enum { INTEGERS = 6, REALS = 5, EXTRAS = 5 };
/* What a checkpoint holds beside the model. */
static const char *const extras[EXTRAS] = {"optimizer.first", "optimizer.second", "state.integers", "state.reals",
                                           "best"};

/* ---- writing ---- */

static lab_array flat(const char *name, lab_dtype dtype, size_t count, const void *data) {
    lab_array array = {.dtype = dtype, .rank = 1, .shape = {(int64_t)count}, .data = (void *)(uintptr_t)data};
    snprintf(array.name, sizeof array.name, "%s", name);
    return array;
}

/* The model's tensors with their values at `values`, a block laid out as the model's. */
static void model_arrays(lab_model *model, const float *values, lab_array *arrays) {
    for (size_t i = 0; i < lab_model_parameter_count(model); i++) {
        const lab_parameter *parameter = lab_model_parameter(model, i);
        arrays[i] = flat(parameter->name, LAB_F32, 0, values + (parameter->value - lab_model_values(model)));
        arrays[i].rank = parameter->rank;
        memcpy(arrays[i].shape, parameter->shape, sizeof parameter->shape);
    }
}

static void pack_state(const lab_training_state *s, int64_t integers[INTEGERS], double reals[REALS]) {
    const int64_t whole[INTEGERS] = {(int64_t)s->step,         (int64_t)s->best_step,     (int64_t)s->tokens_seen,
                                     (int64_t)s->record_steps, (int64_t)s->record_tokens, s->peak_bytes};
    const double real[REALS] = {s->record_loss, s->record_norm, s->best_measure, s->wall_seconds, s->train_seconds};
    memcpy(integers, whole, sizeof whole);
    memcpy(reals, real, sizeof real);
}

static void unpack_state(lab_training_state *s, const int64_t *integers, const double *reals) {
    const lab_training_state state = {
        .step = (uint64_t)integers[0],
        .best_step = (uint64_t)integers[1],
        .tokens_seen = (uint64_t)integers[2],
        .record_steps = (uint64_t)integers[3],
        .record_tokens = (uint64_t)integers[4],
        .peak_bytes = integers[5],
        .record_loss = reals[0],
        .record_norm = reals[1],
        .best_measure = reals[2],
        .wall_seconds = reals[3],
        .train_seconds = reals[4],
    };
    *s = state;
}

locus_status lab_checkpoint_write(const lab_checkpoint *checkpoint, const lab_train_config *config,
                                  lab_array_source source, const char *path, locus_error *error) {
    size_t count = lab_model_parameter_count(checkpoint->model), elements = lab_model_elements(checkpoint->model);
    lab_array *arrays = calloc(count + EXTRAS, sizeof *arrays);
    char *json = lab_config_json(config);
    int64_t integers[INTEGERS];
    double reals[REALS];
    locus_status status = LOCUS_OK;
    if (arrays == NULL || json == NULL) {
        status = lab_fail_memory(error, "a checkpoint");
        goto end;
    }
    pack_state(checkpoint->state, integers, reals);
    model_arrays(checkpoint->model, lab_model_values(checkpoint->model), arrays);
    arrays[count++] = flat("optimizer.first", LAB_F32, elements, checkpoint->first);
    arrays[count++] = flat("optimizer.second", LAB_F32, elements, checkpoint->second);
    arrays[count++] = flat("state.integers", LAB_I64, INTEGERS, integers);
    arrays[count++] = flat("state.reals", LAB_F64, REALS, reals);
    if (checkpoint->state->best_step > 0)
        arrays[count++] = flat("best", LAB_F32, elements, checkpoint->best);
    const lab_metadata metadata[] = {{"format", CHECKPOINT_FORMAT}, {"config", json}};
    const lab_safetensors_content content = {arrays, count, metadata, 2, source};
    status = lab_safetensors_stream(path, &content, error);
end:
    free(arrays);
    cJSON_free(json);
    return status;
}

locus_status lab_best_write(const lab_checkpoint *checkpoint, const lab_train_config *config, const char *path,
                            locus_error *error) {
    size_t count = lab_model_parameter_count(checkpoint->model);
    lab_array *arrays = calloc(count + 1, sizeof *arrays);
    char *json = lab_config_json(config), step[32], value[40];
    const char *measure = config->task->class->develops_on_test ? "dev_error" : "dev_loss";
    locus_status status = LOCUS_OK;
    if (arrays == NULL || json == NULL) {
        status = lab_fail_memory(error, "a checkpoint");
        goto end;
    }
    snprintf(step, sizeof step, "%llu", (unsigned long long)checkpoint->state->best_step);
    snprintf(value, sizeof value, "%.17g", checkpoint->state->best_measure);
    model_arrays(checkpoint->model, checkpoint->best, arrays);
    const lab_metadata metadata[] = {{"format", MODEL_FORMAT}, {"config", json}, {"step", step}, {measure, value}};
    status = lab_safetensors_write(path, arrays, count, metadata, 4, error);
end:
    free(arrays);
    cJSON_free(json);
    return status;
}

/* ---- reading ---- */

static locus_status refuse(locus_error *error, const char *path, const char *what) {
    return lab_fail(error, LOCUS_ERROR_IO, "checkpoint",
                    "the checkpoint '%s' does not fit (%s): train again with --restart", path, what);
}

static const void *take_flat(const lab_safetensors *file, const char *name, lab_dtype dtype, size_t count) {
    const lab_array *array = lab_safetensors_find(file, name);
    return array != NULL && array->dtype == dtype && array->rank == 1 && lab_array_count(array) == count ? array->data
                                                                                                         : NULL;
}

typedef char flaw[600]; /* what is wrong with a file; "": nothing */

/* Whether the file's tensor can take the parameter's place. */
static bool check_tensor(const lab_parameter *parameter, const lab_array *array, flaw found) {
    char here[LAB_SHAPE_TEXT], there[LAB_SHAPE_TEXT];
    bool same = array != NULL && array->dtype == LAB_F32 && array->rank == parameter->rank;
    for (size_t axis = 0; same && axis < parameter->rank; axis++)
        same = array->shape[axis] == parameter->shape[axis];
    if (array == NULL) {
        snprintf(found, sizeof(flaw), "%s is not in it", parameter->name);
    } else if (!same) {
        lab_shape_text(parameter->rank, parameter->shape, here);
        lab_shape_text(array->rank, array->shape, there);
        snprintf(found, sizeof(flaw), "%s is %s%s there and %s in the model", parameter->name, there,
                 array->dtype == LAB_F32 ? "" : " of another type", here);
    } else if (!lab_array_finite(array)) {
        snprintf(found, sizeof(flaw), "%s has numbers that are not finite", parameter->name);
    }
    return found[0] == '\0';
}

static bool is_parameter(const lab_model *model, const char *name) {
    for (size_t i = 0; i < lab_model_parameter_count(model); i++)
        if (strcmp(lab_model_parameter(model, i)->name, name) == 0)
            return true;
    return false;
}

static bool is_extra(const char *name) {
    for (size_t i = 0; i < EXTRAS; i++)
        if (strcmp(extras[i], name) == 0)
            return true;
    return false;
}

/* Copies the model's tensors from the file, if these are what it has. */
static void take_model(lab_model *model, const lab_safetensors *file, flaw found) {
    found[0] = '\0';
    for (size_t i = 0; i < lab_model_parameter_count(model); i++) {
        const lab_parameter *parameter = lab_model_parameter(model, i);
        if (!check_tensor(parameter, lab_safetensors_find(file, parameter->name), found))
            return;
    }
    for (size_t i = 0; i < file->count; i++) {
        const char *name = file->arrays[i].name;
        if (!is_extra(name) && !is_parameter(model, name)) {
            snprintf(found, sizeof(flaw), "%.200s is not in the model", name);
            return;
        }
    }
    for (size_t i = 0; i < lab_model_parameter_count(model); i++) {
        const lab_parameter *parameter = lab_model_parameter(model, i);
        memcpy(parameter->value, lab_safetensors_find(file, parameter->name)->data, parameter->count * sizeof(float));
    }
}

/* Opens a file of the given format. */
static locus_status open_format(lab_safetensors *file, const char *path, const char *format, locus_error *error) {
    locus_status status = lab_safetensors_read(file, path, error);
    if (status != LOCUS_OK)
        return status;
    const char *found = lab_safetensors_metadata(file, "format");
    if (found == NULL || strcmp(found, format) != 0) {
        lab_safetensors_close(file);
        return refuse(error, path, "another format");
    }
    return LOCUS_OK;
}

/* NULL, or what is wrong with the file's configuration. */
static const char *other_config(const lab_train_config *config, const lab_safetensors *file) {
    const char *json = lab_safetensors_metadata(file, "config");
    lab_train_config found;
    const lab_run texts = {.task = (char *)(uintptr_t)config->task->name,
                           .encoding = (char *)(uintptr_t)config->encoding,
                           .budget = (char *)(uintptr_t)config->budget};
    if (json == NULL || lab_config_parse(&found, json, &texts, "the checkpoint", NULL) != LOCUS_OK)
        return "no configuration";
    const char *difference = lab_config_difference(config, &found);
    return difference != NULL ? difference : lab_config_same_texts(config, json) ? NULL : "task or encoding";
}

locus_status lab_checkpoint_read(const lab_checkpoint *checkpoint, const lab_train_config *config, const char *path,
                                 locus_error *error) {
    size_t elements = lab_model_elements(checkpoint->model);
    lab_safetensors file;
    locus_status status = open_format(&file, path, CHECKPOINT_FORMAT, error);
    if (status != LOCUS_OK)
        return status;
    const float *first = take_flat(&file, "optimizer.first", LAB_F32, elements);
    const float *second = take_flat(&file, "optimizer.second", LAB_F32, elements);
    const float *best = take_flat(&file, "best", LAB_F32, elements);
    const int64_t *integers = take_flat(&file, "state.integers", LAB_I64, INTEGERS);
    const double *reals = take_flat(&file, "state.reals", LAB_F64, REALS);
    const size_t losses = lab_json_losses();
    const char *bad = other_config(config, &file);
    if (lab_json_losses() != losses) {
        lab_safetensors_close(&file);
        return lab_fail_memory(error, "a checkpoint");
    }
    if (bad == NULL)
        bad = first == NULL || second == NULL ? "optimizer" : integers == NULL || reals == NULL ? "state" : NULL;
    if (bad == NULL && (integers[0] < 0 || integers[1] < 0 || integers[1] > integers[0] ||
                        (uint64_t)integers[0] > lab_config_steps(config) || (integers[1] > 0 && best == NULL)))
        bad = "state";
    flaw found = "";
    if (bad == NULL) {
        take_model(checkpoint->model, &file, found);
        bad = found[0] != '\0' ? found : NULL;
    }
    if (bad != NULL) {
        status = refuse(error, path, bad);
    } else {
        unpack_state(checkpoint->state, integers, reals);
        memcpy(checkpoint->first, first, elements * sizeof *first);
        memcpy(checkpoint->second, second, elements * sizeof *second);
        if (checkpoint->state->best_step > 0)
            memcpy(checkpoint->best, best, elements * sizeof *best);
    }
    lab_safetensors_close(&file);
    return status == LOCUS_OK ? lab_model_update(checkpoint->model, error) : status;
}

locus_status lab_best_expected(const lab_run *run, const char *path, locus_error *error) {
    return !run->imported || access(path, F_OK) == 0
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_IO, "run",
                          "the run '%s' was imported: it has scores and curves here, but no checkpoint; train it with "
                          "--restart to have one",
                          run->name);
}

locus_status lab_best_read(lab_model *model, const char *path, locus_error *error) {
    lab_safetensors file;
    locus_status status = open_format(&file, path, MODEL_FORMAT, error);
    if (status != LOCUS_OK)
        return status;
    flaw found;
    take_model(model, &file, found);
    lab_safetensors_close(&file);
    return found[0] != '\0' ? refuse(error, path, found) : lab_model_update(model, error);
}

locus_status lab_init_read(lab_model *model, const char *path, locus_error *error) {
    lab_safetensors file;
    locus_status status = lab_safetensors_read(&file, path, error);
    if (status != LOCUS_OK)
        return status;
    flaw found;
    take_model(model, &file, found);
    lab_safetensors_close(&file);
    return found[0] == '\0' ? lab_model_update(model, error)
                            : lab_fail(error, LOCUS_ERROR_ARGUMENT, "init-from",
                                       "--init-from: '%s' has the parameters of another model (%s)", path, found);
}
