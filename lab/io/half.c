/* SPDX-License-Identifier: MIT */
/* See half.h. Block by block, so that no second copy of an array is held. */
#include "io/half.h"

enum { BLOCK = 16384 };

locus_status lab_half_read(lab_input *input, locus_dtype half, size_t count, float *values, locus_error *error) {
    uint16_t block[BLOCK];
    locus_status status = LOCUS_OK;
    for (size_t first = 0; first < count && status == LOCUS_OK; first += BLOCK) {
        const size_t left = count - first, length = left < BLOCK ? left : BLOCK;
        const int64_t shape[] = {(int64_t)length};
        const locus_tensor from = locus_tensor_view(block, half, 1, shape);
        const locus_tensor to = locus_tensor_view(values + first, LOCUS_FLOAT32, 1, shape);
        status = lab_input_read(input, block, length * LAB_HALF_SIZE, error);
        if (status == LOCUS_OK)
            status = locus_tensor_convert(&from, &to, error);
    }
    return status;
}
