/* SPDX-License-Identifier: MIT */
/* Arrays as files hold them. */
#include "io/array.h"

#include "io/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file formats are little-endian, and so must the machine be"
#endif

size_t lab_dtype_size(lab_dtype dtype) {
    switch (dtype) {
    case LAB_F32:
    case LAB_I32:
        return 4;
    case LAB_F64:
    case LAB_I64:
        return 8;
    }
    return 0;
}

/* SIZE_MAX if the product does not fit: no file is that large. An empty dimension makes the array empty, whatever the
 * others. */
size_t lab_array_count(const lab_array *array) {
    size_t count = 1;
    for (size_t i = 0; i < array->rank; i++)
        if (array->shape[i] <= 0)
            return 0;
    for (size_t i = 0; i < array->rank; i++) {
        size_t extent = (size_t)array->shape[i];
        count = count > SIZE_MAX / extent ? SIZE_MAX : count * extent;
    }
    return count;
}

bool lab_array_finite(const lab_array *array) {
    const size_t count = lab_array_count(array);
    bool finite = true;
    if (array->dtype == LAB_F32) {
        const float *values = array->data;
        for (size_t i = 0; i < count; i++)
            finite &= isfinite(values[i]) != 0;
    } else if (array->dtype == LAB_F64) {
        const double *values = array->data;
        for (size_t i = 0; i < count; i++)
            finite &= isfinite(values[i]) != 0;
    }
    return finite;
}

void lab_shape_text(size_t rank, const int64_t *shape, char text[LAB_SHAPE_TEXT]) {
    size_t used = (size_t)snprintf(text, LAB_SHAPE_TEXT, "[");
    for (size_t axis = 0; axis < rank && used < LAB_SHAPE_TEXT; axis++)
        used += (size_t)snprintf(text + used, LAB_SHAPE_TEXT - used, "%s%lld", axis == 0 ? "" : ", ",
                                 (long long)shape[axis]);
    if (used < LAB_SHAPE_TEXT)
        (void)snprintf(text + used, LAB_SHAPE_TEXT - used, "]");
}

void lab_array_free(lab_array *array) {
    free(array->data);
    *array = (lab_array){0};
}

locus_status lab_array_create(lab_array *array, lab_dtype dtype, size_t rank, const int64_t *shape,
                              locus_error *error) {
    *array = (lab_array){.dtype = dtype, .rank = rank};
    memcpy(array->shape, shape, rank * sizeof *shape);
    double bytes = (double)lab_dtype_size(dtype);
    for (size_t i = 0; i < rank; i++)
        bytes *= (double)shape[i];
    if (bytes < 0x1p46)
        array->data = calloc(lab_array_count(array) + 1, lab_dtype_size(dtype));
    if (array->data)
        return LOCUS_OK;
    char text[LAB_SHAPE_TEXT];
    lab_shape_text(rank, shape, text);
    return lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory: an array of shape %s takes %.4g MiB", text,
                    bytes / 0x1p20);
}

double lab_array_at(const lab_array *array, size_t index) {
    return array->dtype == LAB_F32 ? (double)((const float *)array->data)[index] : ((const double *)array->data)[index];
}

void lab_array_set(lab_array *array, size_t index, double value) {
    if (array->dtype == LAB_F32)
        ((float *)array->data)[index] = (float)value;
    else
        ((double *)array->data)[index] = value;
}

int64_t lab_array_integer(const lab_array *array, size_t index) {
    return array->dtype == LAB_I32 ? ((const int32_t *)array->data)[index] : ((const int64_t *)array->data)[index];
}

locus_status lab_array_widen(lab_array *array, locus_error *error) {
    if (array->dtype == LAB_F64)
        return LOCUS_OK;
    lab_array wide;
    locus_status status = lab_array_create(&wide, LAB_F64, array->rank, array->shape, error);
    if (status == LOCUS_OK) {
        for (size_t i = 0; i < lab_array_count(array); i++)
            ((double *)wide.data)[i] = lab_array_at(array, i);
        memcpy(wide.name, array->name, sizeof wide.name);
        lab_array_free(array);
        *array = wide;
    }
    return status;
}

locus_tensor lab_array_tensor(const lab_array *array) {
    return locus_tensor_view(array->data, array->dtype == LAB_F32 ? LOCUS_FLOAT32 : LOCUS_FLOAT64, array->rank,
                             array->shape);
}
