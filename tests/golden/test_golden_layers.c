/* SPDX-License-Identifier: MIT */
/* Attention layers of published architectures (tools/golden_layers.py): given the same weights and input, the library's
 * attention with the architecture's spec gives the transformers package's output. Projections are plain loops in
 * double; its rotary tables are float32, so that is what agreement can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"

typedef struct layer {
    size_t heads, kv_heads, tokens;
    locus_shape shape;
    locus_tensor query, key, value, output;
} layer;

static double at(const lab_array *array, size_t index) {
    return array->dtype == LAB_F64 ? ((const double *)array->data)[index] : (double)((const float *)array->data)[index];
}

/* rows [tokens, in] → weight·row + bias, as [tokens, heads, out / heads]. */
static locus_tensor project(const golden_file *golden, size_t index, const char *name, const locus_tensor *rows,
                            size_t heads) {
    char key[64];
    (void)snprintf(key, sizeof key, "%s.weight", name);
    const lab_array *weight = golden_array(golden, index, key);
    (void)snprintf(key, sizeof key, "%s.bias", name);
    const lab_array *bias = golden_array(golden, index, key);
    const size_t tokens = (size_t)rows->shape[0], out = (size_t)weight->shape[0], in = (size_t)weight->shape[1];
    assert_int_equal(locus_tensor_count(rows), tokens * in);
    double *y = calloc(tokens * out, sizeof *y);
    assert_non_null(y);
    for (size_t t = 0; t < tokens; t++)
        for (size_t o = 0; o < out; o++) {
            y[t * out + o] = at(bias, o);
            for (size_t i = 0; i < in; i++)
                y[t * out + o] += at(weight, o * in + i) * ((const double *)rows->data)[t * in + i];
        }
    return locus_tensor_view(y, LOCUS_FLOAT64, 3, (int64_t[]){(int64_t)tokens, (int64_t)heads, (int64_t)(out / heads)});
}

static void narrow(locus_tensor *tensor) {
    const size_t count = locus_tensor_count(tensor);
    float *single = malloc(count * sizeof *single);
    assert_non_null(single);
    for (size_t i = 0; i < count; i++)
        single[i] = (float)((const double *)tensor->data)[i];
    free(tensor->data);
    tensor->data = single;
    tensor->dtype = LOCUS_FLOAT32;
}

static void widen(locus_tensor *tensor) {
    const size_t count = locus_tensor_count(tensor);
    double *wide = malloc(count * sizeof *wide);
    assert_non_null(wide);
    for (size_t i = 0; i < count; i++)
        wide[i] = (double)((const float *)tensor->data)[i];
    free(tensor->data);
    tensor->data = wide;
    tensor->dtype = LOCUS_FLOAT64;
}

static locus_plan *plan_of(const golden_file *golden, size_t index, const layer *own, locus_binding **binding,
                           golden_parameters *parameters) {
    locus_encoding *encoding = NULL;
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    const lab_array *given = golden_array(golden, index, "positions");
    const size_t offsets[2] = {0, own->tokens};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    golden_ok(locus_encoding_parse(golden_text(golden, index, "spec"), &encoding, error));
    golden_parameters_read(parameters, golden, index, encoding, &own->shape, LOCUS_FLOAT64);
    golden_ok(locus_binding_create(binding, encoding, &own->shape, parameters->values, parameters->count, error));
    golden_ok(locus_positions_create(&positions, locus_encoding_group(encoding), &packing, given->data, error));
    golden_ok(locus_plan_create(&plan, *binding, positions, NULL, error));
    locus_positions_destroy(&positions);
    locus_encoding_destroy(&encoding);
    return plan;
}

static void attend(const golden_file *golden, size_t index, const layer *own, locus_dtype dtype) {
    locus_binding *binding = NULL;
    golden_parameters parameters;
    locus_plan *plan = plan_of(golden, index, own, &binding, &parameters);
    locus_attention_options options = locus_attention_default();
    options.mask = strcmp(golden_text(golden, index, "mask"), "causal") == 0 ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
    const size_t bytes = locus_attention_workspace(plan, &options, dtype, LOCUS_PASS_FORWARD, NULL);
    locus_workspace workspace = {locus_allocate(bytes), bytes};
    const locus_attention_tensors tensors = {sizeof tensors, &own->query, &own->key, &own->value, &own->output, NULL};
    assert_non_null(workspace.data);
    const locus_execution execution = locus_execution_in(workspace);
    golden_ok(locus_attention_forward(plan, &options, &tensors, &execution, error));
    locus_release(workspace.data, bytes);
    golden_parameters_free(&parameters);
    locus_plan_destroy(&plan);
    locus_binding_destroy(&binding);
}

static void check_layer(const golden_file *golden, size_t index, locus_dtype dtype, double tolerance) {
    layer own = {.heads = strtoull(golden_text(golden, index, "heads"), NULL, 10),
                 .kv_heads = strtoull(golden_text(golden, index, "kv_heads"), NULL, 10)};
    locus_tensor x = golden_tensor(golden_array(golden, index, "x"), LOCUS_FLOAT64);
    own.tokens = (size_t)x.shape[0];
    own.query = project(golden, index, "query", &x, own.heads);
    own.key = project(golden, index, "key", &x, own.kv_heads);
    own.value = project(golden, index, "value", &x, own.kv_heads);
    own.shape = (locus_shape){.heads = own.heads,
                              .head_dim = (size_t)own.query.shape[2],
                              .value_dim = (size_t)own.value.shape[2],
                              .kv_heads = own.kv_heads};
    own.output = locus_tensor_view(calloc(own.tokens * own.heads * own.shape.value_dim, sizeof(double)), dtype, 3,
                                   own.query.shape);
    own.output.shape[2] = (int64_t)own.shape.value_dim;
    if (dtype == LOCUS_FLOAT32) {
        narrow(&own.query);
        narrow(&own.key);
        narrow(&own.value);
    }
    attend(golden, index, &own, dtype);
    if (dtype == LOCUS_FLOAT32)
        widen(&own.output);
    locus_tensor rows = locus_tensor_view(own.output.data, LOCUS_FLOAT64, 2,
                                          (int64_t[]){(int64_t)own.tokens, (int64_t)(own.heads * own.shape.value_dim)});
    locus_tensor y = project(golden, index, "output", &rows, 1);
    golden_compare(golden, index, "y", &y, tolerance);
    void *blocks[] = {x.data, own.query.data, own.key.data, own.value.data, own.output.data, y.data};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
}

static void test_layers(void **state) {
    golden_file golden;
    (void)state;
    golden_open(&golden, "layers");
    for (size_t i = 0; i < golden.count; i++) {
        check_layer(&golden, i, LOCUS_FLOAT32, 1e-5);
        check_layer(&golden, i, LOCUS_FLOAT64, 2e-6);
    }
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
