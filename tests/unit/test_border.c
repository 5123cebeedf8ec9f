/* SPDX-License-Identifier: MIT */
/* What crosses the library's border: structs of older and newer callers, and tensors of other devices. */
#include "property/encoding_rig.h"

enum { TOKENS = 4 };

/* A struct in a larger one of a later version. */
typedef union later {
    size_t size;
    locus_shape shape;
    locus_plan_options plan;
    locus_cache_options cache;
    locus_apply_gradients gradients;
    unsigned char bytes[512];
} later;

typedef struct border {
    const char *name; /* of the argument that errors name */
    size_t bytes;     /* of the struct in this version */
    bool zero;        /* a size of 0 will do */
    void (*fill)(later *given);
    locus_status (*call)(const later *given, locus_error *error);
} border;

static rig open_rig(void) {
    rig r;
    rig_open(&r, "rope", rig_shape(2, 4, 4, 8), NULL, TOKENS);
    return r;
}

static void fill_shape(later *given) {
    given->shape = (locus_shape){.size = sizeof(locus_shape), .heads = 2, .head_dim = 4};
}

static locus_status bind_shape(const later *given, locus_error *error) {
    rig r = open_rig();
    locus_binding *binding = NULL;
    const locus_status status = locus_binding_create(&binding, r.encoding, &given->shape, NULL, 0, error);
    locus_binding_destroy(&binding);
    rig_close(&r);
    return status;
}

static void fill_plan(later *given) {
    given->plan = locus_plan_options_default();
}

static locus_status make_plan(const later *given, locus_error *error) {
    rig r = open_rig();
    locus_plan *plan = NULL;
    const locus_status status = locus_plan_create_with(&plan, r.binding, r.queries, NULL, &given->plan, error);
    locus_plan_destroy(&plan);
    rig_close(&r);
    return status;
}

static void fill_cache(later *given) {
    given->cache = locus_cache_options_default();
    given->cache.capacity = 8;
}

static locus_status make_cache(const later *given, locus_error *error) {
    rig r = open_rig();
    locus_cache *cache = NULL;
    const locus_status status = locus_cache_create(&cache, r.binding, &given->cache, error);
    locus_cache_destroy(&cache);
    rig_close(&r);
    return status;
}

static void fill_gradients(later *given) {
    given->gradients = (locus_apply_gradients){.size = sizeof(locus_apply_gradients)};
}

static locus_status go_back(const later *given, locus_error *error) {
    rig r = open_rig();
    float x[TOKENS * 8] = {0};
    const locus_tensor tensor = rig_view(&r, LOCUS_ROLE_QUERY, x, LOCUS_FLOAT32, TOKENS);
    later own = *given;
    own.gradients.gy = own.gradients.gx = &tensor;
    const locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT32);
    const locus_execution execution = locus_execution_in(workspace);
    const locus_status status =
        locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &own.gradients, &execution, error);
    rig_workspace_free(workspace);
    rig_close(&r);
    return status;
}

static const border borders[] = {
    {"shape", sizeof(locus_shape), true, fill_shape, bind_shape},
    {"options", sizeof(locus_plan_options), false, fill_plan, make_plan},
    {"options", sizeof(locus_cache_options), false, fill_cache, make_cache},
    {"gradients", sizeof(locus_apply_gradients), true, fill_gradients, go_back},
};
enum { BORDERS = sizeof borders / sizeof *borders };

static void fill(const border *b, later *given) {
    memset(given, 0, sizeof *given);
    b->fill(given);
    assert_int_equal(given->size, b->bytes);
}

static void refuses(const border *b, const later *given, locus_status wanted, const char *part) {
    locus_error error = {0};
    assert_int_equal(b->call(given, &error), wanted);
    assert_string_equal(error.argument, b->name);
    assert_non_null(strstr(error.message, part));
}

static void structs_may_come_from_other_versions(void **state) {
    (void)state;
    for (size_t i = 0; i < BORDERS; i++) {
        const border *b = &borders[i];
        later given;
        fill(b, &given);
        assert_int_equal(b->call(&given, NULL), LOCUS_OK);
        given.size = sizeof given; /* a newer caller that uses nothing new */
        assert_int_equal(b->call(&given, NULL), LOCUS_OK);
        given.bytes[b->bytes + 3] = 1;
        refuses(b, &given, LOCUS_ERROR_UNSUPPORTED, "is of a newer version");
        fill(b, &given);
        given.size = b->bytes - 1;
        refuses(b, &given, LOCUS_ERROR_ARGUMENT, "set it to the size of the struct");
        given.size = (size_t)1 << 40;
        refuses(b, &given, LOCUS_ERROR_ARGUMENT, "set it to the size of the struct");
        given.size = 0;
        if (b->zero)
            assert_int_equal(b->call(&given, NULL), LOCUS_OK);
        else
            refuses(b, &given, LOCUS_ERROR_ARGUMENT, "set it to the size of the struct");
    }
}

/* ---- devices ---- */

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
    locus_attention_tensors tensors = {.query = &here, .key = &there, .value = &here, .output = &out};
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
        cmocka_unit_test(structs_may_come_from_other_versions),
        cmocka_unit_test(other_devices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
