/* SPDX-License-Identifier: MIT */
/* Arrays as files hold them. */
#include "io/npy.h"
#include "io/safetensors.h"

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

void lab_array_free(lab_array *array) {
    free(array->data);
    *array = (lab_array){0};
}
