/* SPDX-License-Identifier: MIT */
/* What every tensor that a caller hands in must be, whatever its shape has to be. `name` is the argument to blame. */
#ifndef LOCUS_TENSOR_CHECK_H
#define LOCUS_TENSOR_CHECK_H

#include <locus/tensor.h>
#include <stdbool.h>

/* There, of an element type that the library knows, and in the host's memory: tensors of other devices are refused
 * before anything reads their addresses. */
LOCUS_MUST_USE locus_status locus_tensor_check(const locus_tensor *tensor, const char *name, locus_error *error);

/* There are data where there are elements, and what is written does not repeat its elements. */
LOCUS_MUST_USE locus_status locus_tensor_check_data(const locus_tensor *tensor, bool written, const char *name,
                                                    locus_error *error);

#endif
