/* SPDX-License-Identifier: MIT */
/* Values of an encoding's parameters in a .safetensors file, under their own names or as checkpoints call them:
 * "position." before the name. */
#ifndef LAB_PARAMETER_FILE_H
#define LAB_PARAMETER_FILE_H

#include "io/safetensors.h"
#include <locus/encoding.h>

/* Fills `values`, contiguous float64, of the `count` parameters that `infos` describes. IO, naming `path` and the
 * tensor: one is missing, or of another shape, holds integers, or a number that is not finite. */
locus_status lab_parameters_take(const lab_safetensors *file, const char *path, const locus_parameter *infos,
                                 const locus_tensor *values, size_t count, locus_error *error);

/* The model dimension of a table in the file ("table", "0.table", …), or 0. */
size_t lab_table_dim(const lab_safetensors *file);

#endif
