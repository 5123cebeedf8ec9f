/* SPDX-License-Identifier: MIT */
/* See tensor_check.h. */
#include "core/tensor_check.h"

#include "core/error.h"

locus_status locus_tensor_check(const locus_tensor *tensor, const char *name, locus_error *error) {
    if (!tensor)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, name, "%s is NULL; this call needs it", name);
    if (locus_dtype_size(tensor->dtype) == 0)
        return locus_fail(error, LOCUS_ERROR_DTYPE, name,
                          "%s is of unknown element type %d; use float32, float64, float16 or bfloat16", name,
                          (int)tensor->dtype);
    if (tensor->device != LOCUS_DEVICE_HOST)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, name,
                          "%s is on device %d: the library computes in the host's memory, device 0", name,
                          (int)tensor->device);
    return LOCUS_OK;
}

locus_status locus_tensor_check_data(const locus_tensor *tensor, bool written, const char *name, locus_error *error) {
    if (!tensor->data && locus_tensor_count(tensor) > 0)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, name, "%s has no data; its data pointer is NULL", name);
    for (size_t i = 0; written && i < tensor->rank; i++)
        if (tensor->shape[i] > 1 && tensor->stride[i] == 0 && locus_tensor_count(tensor) > 0)
            return locus_fail(error, LOCUS_ERROR_SHAPE, name,
                              "stride %zu of %s is 0; a tensor that is written must not repeat its elements", i, name);
    return LOCUS_OK;
}
