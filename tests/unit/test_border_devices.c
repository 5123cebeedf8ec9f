/* SPDX-License-Identifier: MIT */
/* Tensors of other devices: every call that reads or writes one refuses it. */
#include "property/encoding_rig.h"

enum { TOKENS = 4 };

/* Addresses of another device are read by nobody: these are none. */
static locus_tensor elsewhere(const rig *r, locus_role role) {
    locus_tensor tensor = rig_view(r, role, (void *)(uintptr_t)64, LOCUS_FLOAT32, TOKENS);
    tensor.device = (locus_device)2;
    return tensor;
}

static void expect_refused(locus_status status, const locus_error *error, const char *name) {
    assert_int_equal(status, LOCUS_ERROR_UNSUPPORTED);
    assert_string_equal(error->argument, name);
    assert_non_null(strstr(error->message, "is on device 2: the library computes in the host's memory, device 0"));
}

static void other_devices_are_refused(void **state) {
    (void)state;
    rig r;
    rig_open(&r, "rope(learned=on)", rig_shape(2, 4, 4, 8), NULL, TOKENS);
    float x[TOKENS * 8] = {0}, y[TOKENS * 8] = {0};
    const locus_tensor there = elsewhere(&r, LOCUS_ROLE_QUERY);
    const locus_tensor here = rig_view(&r, LOCUS_ROLE_QUERY, x, LOCUS_FLOAT32, TOKENS);
    const locus_tensor out = rig_view(&r, LOCUS_ROLE_QUERY, y, LOCUS_FLOAT32, TOKENS);
    locus_error error = {0};
    expect_refused(locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &there, &out, NULL, &error), &error, "x");
    expect_refused(locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &here, &there, NULL, &error), &error, "y");
    expect_refused(locus_tensor_convert(&there, &out, &error), &error, "from");
    const locus_attention_options options = locus_attention_default();
    locus_attention_tensors tensors = {
        .size = sizeof tensors, .query = &here, .key = &there, .value = &here, .output = &out};
    expect_refused(locus_attention_forward(r.plan, &options, &tensors, NULL, &error), &error, "key");
    locus_tensor values = r.values[0];
    values.device = (locus_device)2;
    locus_binding *binding = NULL;
    expect_refused(locus_binding_create(&binding, r.encoding, &r.shape, &values, 1, &error), &error, "frequencies");
    assert_null(binding);
    locus_cache_options keeping = locus_cache_options_default();
    locus_cache *cache = NULL;
    keeping.capacity = 8;
    assert_int_equal(locus_cache_create(&cache, r.binding, &keeping, &error), LOCUS_OK);
    expect_refused(locus_cache_append(cache, r.queries, &there, &here, NULL, &error), &error, "key");
    assert_int_equal(locus_cache_length(cache, 0), 0);
    locus_cache_destroy(&cache);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_devices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
