/* SPDX-License-Identifier: MIT */
/* NumPy .npy files, versions 1.0 to 3.0, little-endian, C order, float32, float64, int32, int64; float16 is read as
 * float32. */
#ifndef LAB_NPY_H
#define LAB_NPY_H

#include "io/array.h"

/* Allocates array->data (release with lab_array_free). IO with a clear line for Fortran order, other types, cut
 * files. */
locus_status lab_npy_read(lab_array *array, const char *path, locus_error *error);
locus_status lab_npy_write(const lab_array *array, const char *path, locus_error *error);

#endif
