/* SPDX-License-Identifier: MIT */
/* See golden.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"

void golden_open(golden_file *golden, const char *name) {
    const char *source = getenv("LOCUS_SOURCE");
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/tests/golden/%s.safetensors", source ? source : ".", name);
    golden_ok(lab_safetensors_read(&golden->file, path, error));
    const char *count = lab_safetensors_metadata(&golden->file, "count");
    assert_non_null(count);
    golden->count = (size_t)strtoull(count, NULL, 10);
    assert_true(golden->count > 0);
}

void golden_close(golden_file *golden) {
    lab_safetensors_close(&golden->file);
}

const char *golden_text(const golden_file *golden, size_t index, const char *key) {
    char name[160];
    (void)snprintf(name, sizeof name, "%zu.%s", index, key);
    const char *text = lab_safetensors_metadata(&golden->file, name);
    if (text == NULL)
        fail_msg("the golden file has no text %s", name);
    return text;
}

const lab_array *golden_array(const golden_file *golden, size_t index, const char *key) {
    char name[160];
    (void)snprintf(name, sizeof name, "%zu.%s", index, key);
    const lab_array *array = lab_safetensors_find(&golden->file, name);
    if (array == NULL)
        fail_msg("the golden file has no array %s", name);
    return array;
}

static double value_at(const void *data, size_t index, bool wide) {
    return wide ? ((const double *)data)[index] : (double)((const float *)data)[index];
}

locus_tensor golden_zeros(const lab_array *array, locus_dtype dtype) {
    assert_true(array->rank <= LOCUS_MAX_RANK);
    void *data = calloc(lab_array_count(array) + 1, locus_dtype_size(dtype));
    assert_non_null(data);
    return locus_tensor_view(data, dtype, array->rank, array->shape);
}

locus_tensor golden_tensor(const lab_array *array, locus_dtype dtype) {
    assert_true(array->dtype == LAB_F32 || array->dtype == LAB_F64);
    locus_tensor tensor = golden_zeros(array, dtype);
    for (size_t i = 0; i < lab_array_count(array); i++) {
        double value = value_at(array->data, i, array->dtype == LAB_F64);
        if (dtype == LOCUS_FLOAT64)
            ((double *)tensor.data)[i] = value;
        else
            ((float *)tensor.data)[i] = (float)value;
    }
    return tensor;
}

void golden_compare(const golden_file *golden, size_t index, const char *key, const locus_tensor *got,
                    double tolerance) {
    const lab_array *want = golden_array(golden, index, key);
    assert_int_equal(lab_array_count(want), locus_tensor_count(got));
    for (size_t i = 0; i < lab_array_count(want); i++) {
        double a = value_at(got->data, i, got->dtype == LOCUS_FLOAT64);
        double b = value_at(want->data, i, want->dtype == LAB_F64);
        if (!(fabs(a - b) <= tolerance * (1 + fabs(b)))) {
            fail_msg("case %zu (%s), %s[%zu]: got %.17g, PyTorch has %.17g", index, golden_text(golden, index, "spec"),
                     key, i, a, b);
        }
    }
}

void golden_parameters_read(golden_parameters *parameters, const golden_file *golden, size_t index,
                            const locus_encoding *encoding, const locus_shape *shape, locus_dtype dtype) {
    golden_ok(locus_encoding_parameter_count(encoding, shape, &parameters->count, error));
    assert_true(parameters->count <= 8);
    for (size_t i = 0; i < parameters->count; i++) {
        locus_parameter info = {.size = sizeof info};
        golden_ok(locus_encoding_parameter(encoding, shape, i, &info, error));
        (void)snprintf(parameters->names[i], sizeof parameters->names[i], "%s", info.name);
        char key[128];
        (void)snprintf(key, sizeof key, "parameter.%s", info.name);
        const lab_array *array = golden_array(golden, index, key);
        locus_tensor stored = golden_tensor(array, LOCUS_FLOAT64), zeros = golden_zeros(array, dtype);
        parameters->values[i] = locus_tensor_view(stored.data, LOCUS_FLOAT64, info.rank, info.shape);
        parameters->gradients[i] = locus_tensor_view(zeros.data, dtype, info.rank, info.shape);
        assert_int_equal(locus_tensor_count(&parameters->values[i]), lab_array_count(array));
    }
}

void golden_parameters_compare(const golden_parameters *parameters, const golden_file *golden, size_t index,
                               double tolerance) {
    for (size_t i = 0; i < parameters->count; i++) {
        char key[192];
        (void)snprintf(key, sizeof key, "gradient.%s", parameters->names[i]);
        golden_compare(golden, index, key, &parameters->gradients[i], tolerance);
    }
}

void golden_parameters_free(golden_parameters *parameters) {
    for (size_t i = 0; i < parameters->count; i++) {
        free(parameters->values[i].data);
        free(parameters->gradients[i].data);
    }
}

locus_positions *golden_positions(const lab_array *values, const lab_array *offsets) {
    assert_int_equal(values->dtype, LAB_I64);
    size_t whole[2] = {0, lab_array_count(values)};
    size_t *bounds = whole, sequences = 1;
    if (offsets != NULL) {
        sequences = lab_array_count(offsets) - 1;
        bounds = malloc((sequences + 1) * sizeof *bounds);
        assert_non_null(bounds);
        for (size_t i = 0; i <= sequences; i++)
            bounds[i] = (size_t)((const int64_t *)offsets->data)[i];
    }
    locus_packing packing = {sizeof packing, sequences, bounds, NULL};
    locus_positions *positions = NULL;
    golden_ok(locus_positions_create(&positions, NULL, &packing, values->data, error));
    if (offsets != NULL)
        free(bounds);
    return positions;
}
