/* SPDX-License-Identifier: MIT */
/* See bound.h. */
#include "bound/bound.h"

#include "io/fail.h"
#include "io/folder.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *lab_spec_of(const locus_encoding *encoding) {
    const size_t size = locus_encoding_text(encoding, NULL, 0) + 1;
    char *text = malloc(size);
    if (text)
        locus_encoding_text(encoding, text, size);
    return text;
}

locus_status lab_bound_parse(lab_bound *bound, const char *spec, locus_error *error) {
    *bound = (lab_bound){0};
    locus_status status = locus_encoding_parse(spec, &bound->encoding, error);
    char *text = status == LOCUS_OK ? lab_spec_of(bound->encoding) : NULL;
    if (status == LOCUS_OK && !text)
        status = lab_fail_memory(error, "a spec");
    bound->keys_only = text && strstr(text, "side=key") != NULL;
    free(text);
    return status;
}

void lab_bound_close(lab_bound *bound) {
    for (size_t i = 0; bound->values && i < bound->count; i++)
        free(bound->values[i].data);
    free(bound->values);
    free(bound->infos);
    locus_binding_destroy(&bound->binding);
    locus_encoding_destroy(&bound->encoding);
    *bound = (lab_bound){0};
}

static locus_status list_one(lab_bound *bound, size_t index, locus_error *error) {
    locus_parameter *info = &bound->infos[index];
    locus_tensor *values = &bound->values[index];
    info->size = sizeof *info;
    locus_status status = locus_encoding_parameter(bound->encoding, &bound->shape, index, info, error);
    if (status != LOCUS_OK)
        return status;
    *values = locus_tensor_view(NULL, LOCUS_FLOAT64, info->rank, info->shape);
    values->data = calloc(locus_tensor_count(values) + 1, sizeof(double));
    return values->data ? LOCUS_OK : lab_fail_memory(error, "the encoding's parameters");
}

locus_status lab_bound_list(lab_bound *bound, locus_error *error) {
    size_t count = 0;
    locus_status status = locus_encoding_parameter_count(bound->encoding, &bound->shape, &count, error);
    if (status != LOCUS_OK)
        return status;
    bound->infos = calloc(count + 1, sizeof *bound->infos);
    bound->values = calloc(count + 1, sizeof *bound->values);
    if (!bound->infos || !bound->values)
        return lab_fail_memory(error, "the encoding's parameters");
    bound->count = count;
    for (size_t i = 0; i < count && status == LOCUS_OK; i++)
        status = list_one(bound, i, error);
    return status;
}

locus_status lab_bound_draw(lab_bound *bound, uint64_t seed, locus_error *error) {
    return locus_encoding_initialise(bound->encoding, &bound->shape, seed, bound->values, bound->count, error);
}

locus_status lab_bound_bind(lab_bound *bound, locus_error *error) {
    locus_binding_destroy(&bound->binding);
    return locus_binding_create(&bound->binding, bound->encoding, &bound->shape, bound->values, bound->count, error);
}

const char *lab_parameter_base(const char *name, size_t *term) {
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    const bool prefixed = end != name && *end == '.';
    *term = prefixed ? number : 0;
    return prefixed ? end + 1 : name;
}

const locus_tensor *lab_bound_values(const lab_bound *bound, size_t term, const char *base) {
    for (size_t i = 0; i < bound->count; i++) {
        size_t own;
        const char *name = lab_parameter_base(bound->infos[i].name, &own);
        if (own == term && strcmp(name, base) == 0)
            return &bound->values[i];
    }
    return NULL;
}

/* ---- values from a file ---- */

/* By its own name or as checkpoints call it: "position." before the name. */
static const lab_array *find(const lab_safetensors *file, const char *name) {
    char checkpoint[96];
    snprintf(checkpoint, sizeof checkpoint, "position.%s", name);
    const lab_array *array = lab_safetensors_find(file, name);
    return array ? array : lab_safetensors_find(file, checkpoint);
}

/* Values of one parameter, all of them finite. */
static locus_status take(const lab_safetensors *file, const char *path, const locus_parameter *info, double *values,
                         locus_error *error) {
    char found[LAB_SHAPE_TEXT], wanted[LAB_SHAPE_TEXT];
    const lab_array *array = find(file, info->name);
    lab_shape_text(info->rank, info->shape, wanted);
    if (!array) {
        return lab_fail(error, LOCUS_ERROR_IO, NULL, "%s: has no tensor '%s', which the encoding needs (%s)", path,
                        info->name, wanted);
    }
    if (array->dtype != LAB_F32 && array->dtype != LAB_F64) {
        return lab_fail(error, LOCUS_ERROR_IO, NULL,
                        "%s: tensor '%s' holds integers; floating-point numbers are needed", path, info->name);
    }
    if (array->rank != info->rank || memcmp(array->shape, info->shape, info->rank * sizeof *info->shape) != 0) {
        lab_shape_text(array->rank, array->shape, found);
        return lab_fail(error, LOCUS_ERROR_IO, NULL, "%s: tensor '%s' has shape %s, the encoding needs %s", path,
                        info->name, found, wanted);
    }
    for (size_t i = 0; i < lab_array_count(array); i++) {
        values[i] = lab_array_at(array, i);
        if (!isfinite(values[i])) {
            return lab_fail(error, LOCUS_ERROR_IO, NULL,
                            "%s: tensor '%s' has an element that is not finite (number %zu)", path, info->name, i);
        }
    }
    return LOCUS_OK;
}

static locus_status take_all(const lab_safetensors *file, const char *path, lab_bound *bound, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < bound->count && status == LOCUS_OK; i++)
        status = take(file, path, &bound->infos[i], bound->values[i].data, error);
    return status;
}

/* The model dimension of a table in the file ("table", "0.table", …), or 0. */
static size_t table_dim(const lab_safetensors *file) {
    for (size_t i = 0; i < file->count; i++) {
        const lab_array *array = &file->arrays[i];
        if (array->rank == 2 && (strcmp(array->name, "table") == 0 || lab_name_ends(array->name, ".table")))
            return (size_t)array->shape[1];
    }
    return 0;
}

/* ---- all in one ---- */

#define MODEL_DIM_MOST 65536

/* Even dimensions, which every encoding takes. */
static void complete_shape(locus_shape *shape, const lab_safetensors *file) {
    shape->heads = shape->heads ? shape->heads : 1;
    shape->head_dim = shape->head_dim ? shape->head_dim : 2;
    if (shape->model_dim == 0) {
        const size_t width = shape->heads * shape->head_dim, table = table_dim(file);
        shape->model_dim = table ? table : width < MODEL_DIM_MOST ? width + width % 2 : MODEL_DIM_MOST;
    }
}

locus_status lab_bound_open(lab_bound *bound, const locus_shape *shape, const char *path, uint64_t seed,
                            locus_error *error) {
    lab_safetensors file = {0};
    locus_status status = path ? lab_safetensors_read(&file, path, error) : LOCUS_OK;
    bound->shape = *shape;
    complete_shape(&bound->shape, &file);
    if (status == LOCUS_OK)
        status = lab_bound_list(bound, error);
    if (status == LOCUS_OK)
        status = path ? take_all(&file, path, bound, error) : lab_bound_draw(bound, seed, error);
    if (status == LOCUS_OK)
        status = lab_bound_bind(bound, error);
    lab_safetensors_close(&file);
    return status;
}

/* ---- calls ---- */

locus_status lab_bound_plan(const lab_bound *bound, const locus_positions *queries, const locus_positions *keys,
                            const locus_execution *how, locus_plan **plan, locus_error *error) {
    locus_execution execution = how ? *how : locus_execution_default();
    locus_plan_options options = locus_plan_options_default();
    execution.workspace = (locus_workspace){NULL, 0};
    options.length = bound->length;
    options.execution = &execution;
    return locus_plan_create_with(plan, bound->binding, queries, keys, &options, error);
}

/* An execution in a workspace that lives for one call; end it in either case. */
static locus_status begin_call(locus_execution *execution, const locus_execution *how, size_t bytes,
                               locus_error *error) {
    *execution = how ? *how : locus_execution_default();
    execution->workspace = (locus_workspace){bytes ? locus_allocate(bytes) : NULL, bytes};
    if (!bytes || execution->workspace.data)
        return LOCUS_OK;
    execution->workspace.bytes = 0;
    return lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory for a workspace of %zu bytes", bytes);
}

static locus_status end_call(const locus_execution *execution, locus_status status) {
    locus_release(execution->workspace.data, execution->workspace.bytes);
    return status;
}

locus_status lab_apply(const locus_plan *plan, locus_role role, locus_direction direction, const locus_tensor *x,
                       const locus_execution *how, locus_error *error) {
    locus_execution execution;
    locus_status status = begin_call(&execution, how, locus_apply_workspace(plan, role, x->dtype, NULL), error);
    if (status == LOCUS_OK)
        status = locus_apply(plan, role, direction, x, x, &execution, error);
    return end_call(&execution, status);
}

locus_status lab_attend(const locus_plan *plan, const locus_attention_options *options,
                        const locus_attention_tensors *tensors, const locus_execution *how, locus_error *error) {
    const size_t bytes = locus_attention_workspace(plan, options, tensors->query->dtype, LOCUS_PASS_FORWARD, NULL);
    locus_execution execution;
    locus_status status = begin_call(&execution, how, bytes, error);
    if (status == LOCUS_OK)
        status = locus_attention_forward(plan, options, tensors, &execution, error);
    return end_call(&execution, status);
}

locus_status lab_plan_backward(const locus_plan *plan, const locus_attention_options *options,
                               const locus_attention_tensors *tensors, const locus_attention_gradients *gradients,
                               const locus_execution *how, locus_error *error) {
    const size_t bytes = locus_attention_workspace(plan, options, tensors->query->dtype, LOCUS_PASS_BACKWARD, NULL);
    locus_execution execution;
    locus_status status = begin_call(&execution, how, bytes, error);
    if (status == LOCUS_OK)
        status = locus_attention_backward(plan, options, tensors, gradients, &execution, error);
    return end_call(&execution, status);
}

locus_status lab_plan_weights(const locus_plan *plan, const locus_attention_options *options,
                              const locus_attention_weights_call *call, const locus_execution *how,
                              locus_error *error) {
    const size_t bytes = locus_attention_weights_workspace(plan, options, call->query->dtype, NULL);
    locus_execution execution;
    locus_status status = begin_call(&execution, how, bytes, error);
    if (status == LOCUS_OK)
        status = locus_attention_weights(plan, options, call, &execution, error);
    return end_call(&execution, status);
}

locus_status lab_bound_gradients(const lab_bound *bound, locus_tensor **gradients, locus_error *error) {
    locus_tensor *made = calloc(bound->count + 1, sizeof *made);
    bool good = made != NULL;
    for (size_t i = 0; good && i < bound->count; i++) {
        made[i] = bound->values[i];
        made[i].data = calloc(locus_tensor_count(&made[i]) + 1, sizeof(double));
        good = made[i].data != NULL;
    }
    *gradients = made;
    return good ? LOCUS_OK : lab_fail_memory(error, "the parameters' gradients");
}

void lab_bound_gradients_free(const lab_bound *bound, locus_tensor **gradients) {
    for (size_t i = 0; *gradients && i < bound->count; i++)
        free((*gradients)[i].data);
    free(*gradients);
    *gradients = NULL;
}

locus_status lab_attend_pairs(const locus_plan *plan, double scale, const locus_attention_tensors *tensors,
                              locus_error *error) {
    locus_attention_options options = locus_attention_default();
    options.scale = scale;
    options.mask = LOCUS_MASK_CAUSAL; /* one query, one key: it hides nothing, and some encodings need it */
    return lab_attend(plan, &options, tensors, NULL, error);
}
