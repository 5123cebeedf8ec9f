/* SPDX-License-Identifier: MIT */
/* Tensor views. A view is only a description: whether it suits a call is checked by that call. */
#include <locus/tensor.h>

size_t locus_dtype_size(locus_dtype dtype) {
    switch (dtype) {
    case LOCUS_FLOAT32:
        return sizeof(float);
    case LOCUS_FLOAT64:
        return sizeof(double);
    case LOCUS_FLOAT16:
    case LOCUS_BFLOAT16:
        return 2;
    }
    return 0;
}

/* A rank beyond LOCUS_MAX_RANK is kept as it is, so that the call that receives the view can refuse it. */
locus_tensor locus_tensor_view(void *data, locus_dtype dtype, size_t rank, const int64_t *shape) {
    locus_tensor tensor = {.data = data, .dtype = dtype, .rank = rank};
    size_t kept = rank < LOCUS_MAX_RANK ? rank : LOCUS_MAX_RANK;
    int64_t stride = 1;
    for (size_t i = kept; i-- > 0;) {
        tensor.shape[i] = shape[i];
        tensor.stride[i] = stride;
        stride = (int64_t)((uint64_t)stride * (uint64_t)shape[i]); /* wraps where no memory could hold the tensor */
    }
    return tensor;
}

/* SIZE_MAX if the product does not fit; 0 for an empty or nonsensical (negative) shape. */
size_t locus_tensor_count(const locus_tensor *tensor) {
    size_t count = 1;
    for (size_t i = 0; i < tensor->rank && i < LOCUS_MAX_RANK; i++) {
        if (tensor->shape[i] <= 0)
            return 0;
        size_t extent = (size_t)tensor->shape[i];
        count = count > SIZE_MAX / extent ? SIZE_MAX : count * extent;
    }
    return count;
}
