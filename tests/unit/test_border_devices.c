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

/* Each tensor of a struct of `count` places in turn; `call` makes the call. */
typedef locus_status (*border_call)(const rig *r, locus_error *error);

static void expect_each(const rig *r, const locus_tensor **places[], const char *const names[], size_t count,
                        const locus_tensor *there, border_call call) {
    for (size_t i = 0; i < count; i++) {
        const locus_tensor *kept = *places[i];
        locus_error error = {0};
        *places[i] = there;
        expect_refused(call(r, &error), &error, names[i]);
        *places[i] = kept;
    }
}

static locus_attention_options chosen;
static locus_attention_tensors given;
static locus_attention_gradients gradients;
static locus_attention_weights_call weights;
static locus_apply_gradients applied;

static locus_status backward(const rig *r, locus_error *error) {
    return locus_attention_backward(r->plan, &chosen, &given, &gradients, NULL, error);
}

static locus_status forward(const rig *r, locus_error *error) {
    return locus_attention_forward(r->plan, &chosen, &given, NULL, error);
}

static locus_status weigh(const rig *r, locus_error *error) {
    return locus_attention_weights(r->plan, &chosen, &weights, NULL, error);
}

static locus_status apply_backward(const rig *r, locus_error *error) {
    const size_t bytes = locus_apply_workspace(r->plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT32, NULL);
    const locus_execution execution = locus_execution_in((locus_workspace){locus_allocate(bytes), bytes});
    const locus_status status =
        locus_apply_backward(r->plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &applied, &execution, error);
    locus_release(execution.workspace.data, bytes);
    return status;
}

static void every_tensor_of_a_struct_is_looked_at(void **state) {
    rig r;
    float data[TOKENS * 8] = {0}, others[TOKENS * 8] = {0};
    const int64_t by_head[] = {TOKENS, 2}, by_pair[] = {2, TOKENS, TOKENS};
    (void)state;
    rig_open(&r, "rope(learned=on)", rig_shape(2, 4, 4, 8), NULL, TOKENS);
    const locus_tensor there = elsewhere(&r, LOCUS_ROLE_QUERY);
    const locus_tensor here = rig_view(&r, LOCUS_ROLE_QUERY, data, LOCUS_FLOAT32, TOKENS);
    const locus_tensor out = rig_view(&r, LOCUS_ROLE_QUERY, others, LOCUS_FLOAT32, TOKENS);
    const locus_tensor sums = locus_tensor_view(others, LOCUS_FLOAT32, 2, by_head);
    const locus_tensor pairs = locus_tensor_view(others, LOCUS_FLOAT32, 3, by_pair);
    locus_tensor far_sums = sums, far_pairs = pairs, far_values = r.values[0];
    far_sums.device = far_pairs.device = far_values.device = (locus_device)2;
    chosen = locus_attention_default();
    given = (locus_attention_tensors){sizeof given, &here, &here, &here, &out, &sums};
    gradients = (locus_attention_gradients){
        .size = sizeof gradients, .output = &here, .query = &out, .key = &out, .value = &out, .log_sum_exp = &sums};
    weights = (locus_attention_weights_call){.size = sizeof weights, .query = &here, .key = &here, .weights = &pairs};
    applied = (locus_apply_gradients){sizeof applied, &here, &here, &out, NULL, 0};
    expect_each(&r, (const locus_tensor **[]){&given.query, &given.key, &given.value, &given.output},
                (const char *[]){"query", "key", "value", "output"}, 4, &there, forward);
    expect_each(&r, (const locus_tensor **[]){&given.log_sum_exp}, (const char *[]){"log_sum_exp"}, 1, &far_sums,
                forward);
    expect_each(
        &r,
        (const locus_tensor **[]){&given.query, &given.output, &gradients.output, &gradients.query, &gradients.key,
                                  &gradients.value},
        (const char *[]){"query", "output", "gradients.output", "gradients.query", "gradients.key", "gradients.value"},
        6, &there, backward);
    expect_each(&r, (const locus_tensor **[]){&given.log_sum_exp, &gradients.log_sum_exp},
                (const char *[]){"log_sum_exp", "gradients.log_sum_exp"}, 2, &far_sums, backward);
    gradients.query = gradients.key = gradients.value = NULL;
    gradients.parameters = &far_values;
    gradients.parameter_count = 1;
    locus_error failure = {0};
    expect_refused(backward(&r, &failure), &failure, "frequencies");
    expect_each(&r, (const locus_tensor **[]){&weights.query, &weights.key}, (const char *[]){"query", "key"}, 2,
                &there, weigh);
    expect_each(&r, (const locus_tensor **[]){&weights.weights}, (const char *[]){"weights"}, 1, &far_pairs, weigh);
    applied.parameters = r.gradients; /* else x is not read */
    applied.parameter_count = 1;
    expect_each(&r, (const locus_tensor **[]){&applied.x, &applied.gy, &applied.gx}, (const char *[]){"x", "gy", "gx"},
                3, &there, apply_backward);
    applied.parameters = &far_values;
    expect_refused(apply_backward(&r, &failure), &failure, "frequencies");
    expect_refused(locus_encoding_initialise(r.encoding, &r.shape, 1, &far_values, 1, &failure), &failure,
                   "frequencies");
    expect_refused(locus_binding_update(&r.binding, &far_values, 1, &failure), &failure, "frequencies");
    locus_path *path = NULL;
    rig_ok(locus_positions_path(r.queries, 1, &path, error));
    expect_refused(locus_keys_shift(r.binding, path, NULL, LOCUS_ROLE_KEY, &there, &failure), &failure, "keys");
    locus_path_destroy(&path);
    locus_cache_options keeping = locus_cache_options_default();
    locus_cache *cache = NULL;
    keeping.capacity = TOKENS;
    rig_ok(locus_cache_create(&cache, r.binding, &keeping, error));
    rig_ok(locus_cache_append(cache, r.queries, &here, &here, NULL, error));
    expect_refused(locus_cache_attend(cache, NULL, &there, &out, NULL, &failure), &failure, "query");
    expect_refused(locus_cache_attend(cache, NULL, &here, &there, NULL, &failure), &failure, "output");
    locus_cache_destroy(&cache);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_devices_are_refused),
        cmocka_unit_test(every_tensor_of_a_struct_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
