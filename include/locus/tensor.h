/* SPDX-License-Identifier: MIT */
/* Strided views of memory that the caller owns. */
#ifndef LOCUS_TENSOR_H
#define LOCUS_TENSOR_H

#include <locus/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Arithmetic is float64 for float64 tensors, else float32: the half types (IEEE 754 binary16; bfloat16, the upper half
 * of a float32) are widened as they are read, and rounded to nearest, ties to even, as they are written. Softmax
 * attention multiplies numbers of bfloat16 as they are, and adds in float32, at the levels LOCUS_ISA_AVX512_BF16 and
 * LOCUS_ISA_AMX (cpu.h): vectors are rounded once they are turned, weights once they are made. */
typedef enum locus_dtype { LOCUS_FLOAT32 = 1, LOCUS_FLOAT64 = 2, LOCUS_FLOAT16 = 3, LOCUS_BFLOAT16 = 4 } locus_dtype;

/* Where memory is. The library works on the host's; it refuses others, rather than read what is no address here. */
typedef enum locus_device { LOCUS_DEVICE_HOST = 0 } locus_device;

#define LOCUS_MAX_RANK 4

/* Tensors of tokens come in two layouts, and every tensor of a call in the one it has:
 *
 *   packed   [tokens, heads, dim]               token t of the positions' buffer (positions.h) is row t
 *   apart    [sequences, heads, length, dim]    token i of sequence s is (s, :, i, :): what deep-learning frameworks
 *                                               and their caches hold, in any order of memory
 *
 * and likewise [tokens, model_dim] or [sequences, length, model_dim], [tokens, heads] or [sequences, heads, length].
 * `length` is at least the longest sequence's; what lies beyond a sequence's own length is neither read nor written.
 * Positions and what else is given by token (documents) are packed in either case, and results have the same bits. */

/* Element (i, j, …) stands at data + (i·stride[0] + j·stride[1] + …) elements. Strides may be any number except where a
 * function asks for more; the last dimension of every tensor of tokens must have stride 1. Inputs are never written. */
typedef struct locus_tensor {
    void *data;
    locus_dtype dtype;
    locus_device device;
    size_t rank; /* 0 … LOCUS_MAX_RANK */
    int64_t shape[LOCUS_MAX_RANK];
    int64_t stride[LOCUS_MAX_RANK]; /* in elements */
} locus_tensor;

/* A contiguous view in C order. `shape` holds `rank` numbers. */
LOCUS_API locus_tensor locus_tensor_view(void *data, locus_dtype dtype, size_t rank, const int64_t *shape);

/* Bytes of one element: 2, 4 or 8; 0 for an unknown type. */
LOCUS_API size_t locus_dtype_size(locus_dtype dtype);

/* Product of the shape. */
LOCUS_API size_t locus_tensor_count(const locus_tensor *tensor);

/* to = from, element by element, in any two element types; one shape, any strides. Widening is exact; narrowing rounds
 * once, to nearest, ties to even, also from float64 to a half type. The views must not overlap, but may be the same. */
LOCUS_API LOCUS_MUST_USE locus_status locus_tensor_convert(const locus_tensor *from, const locus_tensor *to,
                                                           locus_error *error);

#ifdef __cplusplus
}
#endif
#endif
