/* SPDX-License-Identifier: MIT */
/* Element types that files may have and arrays in memory do not: half types, widened as they are read. */
#ifndef LAB_HALF_H
#define LAB_HALF_H

#include "io/file.h"

#include <locus/tensor.h>

/* Bytes of one element in the file. */
#define LAB_HALF_SIZE 2

/* Reads `count` numbers of a half type as floats. */
locus_status lab_half_read(lab_input *input, locus_dtype half, size_t count, float *values, locus_error *error);

#endif
