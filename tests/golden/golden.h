/* SPDX-License-Identifier: MIT */
/* Reads the golden files of tests/golden/, which the PyTorch scripts tools/golden_*.py make: case i has texts "i.spec"
 * and tensors "i.x". The folder is found through LOCUS_SOURCE, or from the current folder. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include "io/safetensors.h"
#include <locus/locus.h>
#include <stdbool.h>

typedef struct golden_file {
    lab_safetensors file;
    size_t count;
} golden_file;

/* Fails the test if the file is not there: a golden test that reads nothing has not passed. */
void golden_open(golden_file *golden, const char *name);
void golden_close(golden_file *golden);
const char *golden_text(const golden_file *golden, size_t index, const char *key);
const lab_array *golden_array(const golden_file *golden, size_t index, const char *key);

/* A contiguous tensor of `dtype` with the array's values (F32 or F64), or zeros of its shape. Free its data. */
locus_tensor golden_tensor(const lab_array *array, locus_dtype dtype);
locus_tensor golden_zeros(const lab_array *array, locus_dtype dtype);

/* Fails unless |got − want| ≤ tolerance·(1 + |want|) everywhere; `what` and the case are named. */
void golden_compare(const golden_file *golden, size_t index, const char *key, const locus_tensor *got,
                    double tolerance);

/* The encoding's parameters for a case: values from "i.parameter.NAME", in double so that angles at large positions are
 * PyTorch's, and zeros of `dtype` for the gradients. */
typedef struct golden_parameters {
    size_t count;
    char names[8][160];
    locus_tensor values[8], gradients[8];
} golden_parameters;
void golden_parameters_read(golden_parameters *parameters, const golden_file *golden, size_t index,
                            const locus_encoding *encoding, const locus_shape *shape, locus_dtype dtype);
void golden_parameters_compare(const golden_parameters *parameters, const golden_file *golden, size_t index,
                               double tolerance);
void golden_parameters_free(golden_parameters *parameters);

/* Positions from integer arrays; offsets NULL: one sequence. */
locus_positions *golden_positions(const lab_array *values, const lab_array *offsets);

#define golden_ok(call) \
    do { \
        locus_error golden_error = {0}; \
        locus_error *error = &golden_error; \
        if ((call) != LOCUS_OK) \
            fail_msg("%s: %s", #call, golden_error.message); \
    } while (0)

#endif
