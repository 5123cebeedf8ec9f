/* SPDX-License-Identifier: MIT */
/* See parameter_file.h. */
#include "bound/parameter_file.h"

#include "io/fail.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const lab_array *find(const lab_safetensors *file, const char *name) {
    char checkpoint[96];
    snprintf(checkpoint, sizeof checkpoint, "position.%s", name);
    const lab_array *array = lab_safetensors_find(file, name);
    return array ? array : lab_safetensors_find(file, checkpoint);
}

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

locus_status lab_parameters_take(const lab_safetensors *file, const char *path, const locus_parameter *infos,
                                 const locus_tensor *values, size_t count, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < count && status == LOCUS_OK; i++)
        status = take(file, path, &infos[i], values[i].data, error);
    return status;
}

size_t lab_table_dim(const lab_safetensors *file) {
    static const char name[] = "table";
    for (size_t i = 0; i < file->count; i++) {
        const lab_array *array = &file->arrays[i];
        const size_t length = strlen(array->name), tail = sizeof name - 1;
        const bool named = length >= tail && !strcmp(array->name + length - tail, name) &&
                           (length == tail || array->name[length - tail - 1] == '.');
        if (named && array->rank == 2)
            return (size_t)array->shape[1];
    }
    return 0;
}
