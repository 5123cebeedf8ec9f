/* SPDX-License-Identifier: MIT */
/* Arrays as files hold them. */
#include "io/npy.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
