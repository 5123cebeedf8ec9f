/* SPDX-License-Identifier: MIT */
/* The onnx package's reference Attention (tools/golden_onnx.py): grouped heads, scales, soft caps, causal masks,
 * keys and values of different dimensions, a bias. The reference rounds scale and cap to float32 on the way, so
 * float64 agrees to 1e-7. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"

/* Tokens 0, 1, 2, … */
static locus_positions *counted(size_t tokens) {
    locus_positions *positions = NULL;
    const size_t offsets[2] = {0, tokens};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    golden_ok(locus_positions_create(&positions, NULL, &packing, NULL, error));
    return positions;
}

static locus_plan *plan_of(const golden_file *golden, size_t index, const locus_tensor *inputs,
                           locus_binding **binding) {
    locus_encoding *encoding = NULL;
    locus_plan *plan = NULL;
    const locus_shape shape = {.heads = (size_t)inputs[0].shape[1],
                               .head_dim = (size_t)inputs[0].shape[2],
                               .value_dim = (size_t)inputs[2].shape[2],
                               .kv_heads = (size_t)inputs[1].shape[1]};
    locus_positions *queries = counted((size_t)inputs[0].shape[0]), *keys = counted((size_t)inputs[1].shape[0]);
    golden_ok(locus_encoding_parse(golden_text(golden, index, "spec"), &encoding, error));
    golden_ok(locus_binding_create(binding, encoding, &shape, NULL, 0, error));
    golden_ok(locus_plan_create(&plan, *binding, queries, keys, error));
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
    locus_encoding_destroy(&encoding);
    return plan;
}

static void check_case(const golden_file *golden, size_t index, locus_dtype dtype, double tolerance) {
    static const char *const names[] = {"query", "key", "value"};
    locus_tensor inputs[3], output = golden_zeros(golden_array(golden, index, "output"), dtype);
    locus_binding *binding = NULL;
    for (size_t i = 0; i < 3; i++)
        inputs[i] = golden_tensor(golden_array(golden, index, names[i]), dtype);
    locus_plan *plan = plan_of(golden, index, inputs, &binding);
    locus_attention_options options = locus_attention_default();
    options.mask = strcmp(golden_text(golden, index, "mask"), "causal") == 0 ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
    options.scale = strtod(golden_text(golden, index, "scale"), NULL);
    options.cap = strtod(golden_text(golden, index, "cap"), NULL);
    const size_t bytes = locus_attention_workspace(plan, &options, dtype, LOCUS_PASS_FORWARD, NULL);
    const locus_workspace workspace = {locus_allocate(bytes), bytes};
    const locus_attention_tensors tensors = {sizeof tensors, &inputs[0], &inputs[1], &inputs[2], &output, NULL};
    assert_non_null(workspace.data);
    const locus_execution execution = locus_execution_in(workspace);
    golden_ok(locus_attention_forward(plan, &options, &tensors, &execution, error));
    golden_compare(golden, index, "output", &output, tolerance);
    locus_release(workspace.data, bytes);
    locus_plan_destroy(&plan);
    locus_binding_destroy(&binding);
    for (size_t i = 0; i < 3; i++)
        free(inputs[i].data);
    free(output.data);
}

static void test_attention(void **state) {
    golden_file golden;
    (void)state;
    golden_open(&golden, "onnx");
    for (size_t i = 0; i < golden.count; i++) {
        check_case(&golden, i, LOCUS_FLOAT32, 2e-6);
        check_case(&golden, i, LOCUS_FLOAT64, 1e-7);
    }
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_attention)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
