/* SPDX-License-Identifier: MIT */
/* Weights of a BERT-style encoder, from model.safetensors. All tensors are found and measured before the first one is
 * copied; numbers may be float32 or float64 in memory (half types are widened as the file is read). */
#include "model/pretrained/pretrained.h"

#include "io/digest.h"
#include "io/fail.h"
#include "io/safetensors.h"
#include "model/architecture.h"
#include "model/pretrained/pretrained_names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PATH = 4096 };

static locus_status path_make(const char *folder, char path[MOST_PATH], locus_error *error) {
    if ((size_t)snprintf(path, MOST_PATH, "%s/model.safetensors", folder) < MOST_PATH)
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "pretrained", "the folder's path is too long");
}

/* ---- what is where ---- */

typedef struct loading {
    const lab_model *model;
    const char *path;
    lab_safetensors file;
    const lab_array **from; /* of each of the model's tensors; NULL: it keeps its own */
    bool prefixed;          /* names in the file begin with "bert." */
    locus_error *error;
} loading;

static const char prefix[] = "bert.";

static const lab_array *find_named(const loading *l, const char *name) {
    char whole[LAB_PRETRAINED_NAME + sizeof prefix];
    (void)snprintf(whole, sizeof whole, "%s%s", l->prefixed ? prefix : "", name);
    return lab_safetensors_find(&l->file, whole);
}

/* A LayerNorm's tensors have two names. */
static const lab_array *find(const loading *l, const char *name) {
    const lab_array *found = find_named(l, name);
    char old[LAB_PRETRAINED_NAME];
    return !found && lab_pretrained_old_name(name, old) ? find_named(l, old) : found;
}

static locus_status check_array(const loading *l, const lab_array *array, const lab_parameter *own) {
    char has[LAB_SHAPE_TEXT], needs[LAB_SHAPE_TEXT];
    if (array->rank != own->rank || memcmp(array->shape, own->shape, own->rank * sizeof *own->shape) != 0) {
        lab_shape_text(array->rank, array->shape, has);
        lab_shape_text(own->rank, own->shape, needs);
        return lab_fail_file(l->error, l->path, "has tensor '%s' of shape %s, and the model %s of shape %s",
                             array->name, has, own->name, needs);
    }
    if (array->dtype != LAB_F32 && array->dtype != LAB_F64)
        return lab_fail_file(l->error, l->path, "has tensor '%s' of whole numbers: weights are floating-point numbers",
                             array->name);
    if (!lab_array_finite(array))
        return lab_fail_file(l->error, l->path, "has tensor '%s' with numbers that are not finite", array->name);
    return LOCUS_OK;
}

/* A file without a pooler is as good: the model keeps the one that was drawn. */
static locus_status place_tensor(loading *l, size_t index) {
    const lab_parameter *own = lab_model_parameter(l->model, index);
    char name[LAB_PRETRAINED_NAME];
    if (!lab_pretrained_name(own->name, name))
        return LOCUS_OK;
    const lab_array *array = find(l, name);
    if (array == NULL && strncmp(own->name, "pooler.", 7) == 0)
        return LOCUS_OK;
    if (array == NULL)
        return lab_fail_file(l->error, l->path, "has no tensor '%s%s', which is the model's %s",
                             l->prefixed ? prefix : "", name, own->name);
    l->from[index] = array;
    return check_array(l, array, own);
}

/* Half a pooler is none. */
static locus_status check_pooler(const loading *l) {
    const bool weight = find(l, "pooler.dense.weight") != NULL, bias = find(l, "pooler.dense.bias") != NULL;
    if (weight == bias)
        return LOCUS_OK;
    return lab_fail_file(l->error, l->path, "has no tensor '%spooler.dense.%s', though the pooler's other one",
                         l->prefixed ? prefix : "", weight ? "bias" : "weight");
}

/* What the encoder has and the model has not: layers beyond its last, other kinds of positions. */
static locus_status check_leftovers(const loading *l) {
    const size_t count = lab_model_parameter_count(l->model), skipped = l->prefixed ? sizeof prefix - 1 : 0;
    for (size_t i = 0; i < l->file.count; ++i) {
        const lab_array *array = &l->file.arrays[i];
        bool used = strncmp(array->name, prefix, skipped) != 0 || !lab_pretrained_is_encoder(array->name + skipped);
        for (size_t t = 0; t < count && !used; ++t)
            used = l->from[t] == array;
        if (!used)
            return lab_fail_file(l->error, l->path, "has tensor '%s', which its config.json says nothing of",
                                 array->name);
    }
    return LOCUS_OK;
}

static locus_status place_tensors(loading *l) {
    l->prefixed = false;
    for (size_t i = 0; i < l->file.count && !l->prefixed; ++i)
        l->prefixed = strncmp(l->file.arrays[i].name, prefix, sizeof prefix - 1) == 0;
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < lab_model_parameter_count(l->model) && status == LOCUS_OK; ++i)
        status = place_tensor(l, i);
    if (status == LOCUS_OK)
        status = check_pooler(l);
    return status == LOCUS_OK ? check_leftovers(l) : status;
}

/* ---- copying ---- */

static void copy_tensors(const loading *l) {
    for (size_t i = 0; i < lab_model_parameter_count(l->model); ++i) {
        const lab_parameter *own = lab_model_parameter(l->model, i);
        const lab_array *array = l->from[i];
        if (array == NULL)
            continue;
        if (array->dtype == LAB_F32)
            memcpy(own->value, array->data, own->count * sizeof(float));
        for (size_t j = 0; array->dtype == LAB_F64 && j < own->count; ++j)
            own->value[j] = (float)((const double *)array->data)[j];
    }
}

locus_status lab_pretrained_load(lab_model *model, const char *folder, locus_error *error) {
    char path[MOST_PATH];
    loading l = {.model = model, .path = path, .error = error};
    const lab_architecture *class = lab_model_get_config(model)->architecture;
    if (!class->token_types)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "model",
                        "the model is %s: pretrained encoders are read into text classifiers", class->phrase);
    locus_status status = path_make(folder, path, error);
    if (status == LOCUS_OK)
        status = lab_safetensors_read(&l.file, path, error);
    if (status != LOCUS_OK)
        return status;
    l.from = calloc(lab_model_parameter_count(model), sizeof *l.from);
    status = l.from ? place_tensors(&l) : lab_fail_memory(error, "the list of tensors");
    if (status == LOCUS_OK)
        copy_tensors(&l);
    free(l.from);
    lab_safetensors_close(&l.file);
    return status == LOCUS_OK ? lab_model_update(model, error) : status;
}

/* ---- digest ---- */

locus_status lab_pretrained_digest(const char *folder, uint64_t *digest, locus_error *error) {
    char path[MOST_PATH];
    locus_status status = path_make(folder, path, error);
    if (status != LOCUS_OK)
        return status;
    lab_digest sum = lab_digest_begin(LAB_DIGEST_SHA256);
    status = lab_digest_add_file(&sum, path, error);
    if (status == LOCUS_OK)
        status = lab_digest_close_number(&sum, digest, error);
    lab_digest_discard(&sum);
    return status;
}
