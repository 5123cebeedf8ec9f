/* SPDX-License-Identifier: MIT */
/* Structs that cross the library's border, from callers of older and newer versions: each begins with its size, each
 * is refused in one line where the size makes no sense or a field is set that the library does not know, and what the
 * library fills in ends where the caller's ends. lint.headers says that none is missing here. */
#include "property/encoding_rig.h"

#include <stdio.h>

enum { TOKENS = 4, HEADS = 2, DIM = 4, NUMBERS = TOKENS * HEADS * DIM };

/* A struct in a larger one of a later version. */
typedef union later {
    size_t size;
    locus_shape shape;
    locus_plan_options plan;
    locus_plan_forms_options forms;
    locus_cache_options cache;
    locus_cache_fragment fragment;
    locus_apply_gradients apply_gradients;
    locus_attention_options attention;
    locus_attention_tensors tensors;
    locus_attention_gradients gradients;
    locus_attention_weights_call weights;
    locus_packing packing;
    locus_position_column column;
    locus_execution execution;
    locus_executor executor;
    locus_allocator allocator;
    locus_encoding_description description;
    locus_extension_parameter extension_parameter;
    locus_parameter parameter;
    locus_fold_shape fold;
    locus_workspace_limits limits;
    unsigned char bytes[512];
} later;

/* What the calls need beside the struct. */
static rig r;
static float data[6][NUMBERS], sums[TOKENS * HEADS];
static locus_tensor tensors[6], sums_view;
enum { Q, K, V, O, GO, DQ };

static locus_workspace workspace(size_t bytes) {
    static char room[1 << 20] __attribute__((aligned(LOCUS_ALIGNMENT)));
    assert_true(bytes <= sizeof room);
    return (locus_workspace){room, sizeof room};
}

static locus_attention_tensors all_tensors(void) {
    return (locus_attention_tensors){
        sizeof(locus_attention_tensors), &tensors[Q], &tensors[K], &tensors[V], &tensors[O], &sums_view};
}

/* ---- positions ---- */

static const size_t offsets[] = {0, TOKENS};
static const int64_t values[TOKENS];

static void fill_packing(later *given) {
    given->packing = (locus_packing){sizeof(locus_packing), 1, offsets, NULL};
}

static locus_status make_positions(const later *given, locus_error *error) {
    locus_positions *positions = NULL;
    const locus_status status = locus_positions_create(&positions, NULL, &given->packing, NULL, error);
    locus_positions_destroy(&positions);
    return status;
}

static void fill_column(later *given) {
    given->column = (locus_position_column){.size = sizeof(locus_position_column), .values = values};
}

/* Two of them: elements are as long as the first one says. */
static locus_status make_columns(const later *given, locus_error *error) {
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_group *group = NULL;
    locus_positions *positions = NULL;
    later columns[2];
    const size_t size = given->size <= sizeof columns[0] ? given->size : 0;
    memcpy(columns, given, sizeof columns[0]);
    memcpy((char *)columns + size, given, sizeof columns[0]);
    assert_int_equal(locus_group_parse("grid:2", &group, NULL), LOCUS_OK);
    const locus_status status = locus_positions_create_columns(&positions, group, &packing, &columns[0].column, error);
    locus_positions_destroy(&positions);
    locus_group_destroy(&group);
    return status;
}

/* ---- bindings, plans, forms ---- */

static void fill_shape(later *given) {
    given->shape = (locus_shape){.size = sizeof(locus_shape), .heads = HEADS, .head_dim = DIM};
}

static locus_status bind_shape(const later *given, locus_error *error) {
    locus_binding *binding = NULL;
    const locus_status status = locus_binding_create(&binding, r.encoding, &given->shape, r.values, r.count, error);
    locus_binding_destroy(&binding);
    return status;
}

static void fill_plan(later *given) {
    given->plan = locus_plan_options_default();
}

static locus_status make_plan(const later *given, locus_error *error) {
    locus_plan *plan = NULL;
    const locus_status status = locus_plan_create_with(&plan, r.binding, r.queries, NULL, &given->plan, error);
    locus_plan_destroy(&plan);
    return status;
}

static void fill_forms(later *given) {
    given->forms = locus_plan_forms_options_default();
}

static locus_status make_forms(const later *given, locus_error *error) {
    locus_plan_forms *forms = NULL;
    const locus_status status = locus_plan_forms_create(&forms, r.plan, &given->forms, error);
    locus_plan_forms_destroy(&forms);
    return status;
}

/* ---- calls ---- */

static void fill_execution(later *given) {
    given->execution = locus_execution_in(workspace(0));
}

static locus_status apply(const later *given, locus_error *error) {
    return locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &tensors[Q], &tensors[O], &given->execution, error);
}

static void run_all(void *state, size_t count, locus_task *task, void *context) {
    (void)state;
    for (size_t i = 0; i < count; i++)
        task(context, i, 0);
}

static void fill_executor(later *given) {
    given->executor = (locus_executor){sizeof(locus_executor), run_all, 1, NULL};
}

static locus_status set_executor(const later *given, locus_error *error) {
    const locus_status status = locus_executor_set(&given->executor, error);
    assert_int_equal(locus_executor_set(NULL, NULL), LOCUS_OK);
    return status;
}

static locus_status apply_on_executor(const later *given, locus_error *error) {
    locus_execution execution = locus_execution_in(workspace(0));
    execution.executor = &given->executor;
    return locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &tensors[Q], &tensors[O], &execution, error);
}

static void fill_apply_gradients(later *given) {
    given->apply_gradients =
        (locus_apply_gradients){.size = sizeof(locus_apply_gradients), .gy = &tensors[GO], .gx = &tensors[DQ]};
}

static locus_status apply_backward(const later *given, locus_error *error) {
    const locus_execution execution = locus_execution_in(workspace(0));
    return locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &given->apply_gradients, &execution, error);
}

static void fill_attention(later *given) {
    given->attention = locus_attention_default();
}

static locus_status attend(const later *given, locus_error *error) {
    const locus_attention_tensors all = all_tensors();
    const locus_execution execution = locus_execution_in(workspace(0));
    return locus_attention_forward(r.plan, &given->attention, &all, &execution, error);
}

static void fill_tensors(later *given) {
    given->tensors = all_tensors();
}

static locus_status attend_tensors(const later *given, locus_error *error) {
    const locus_attention_options options = locus_attention_default();
    const locus_attention_gradients gradients = {.size = sizeof gradients, .output = &tensors[GO]};
    const locus_execution execution = locus_execution_in(workspace(0));
    const locus_status status = locus_attention_forward(r.plan, &options, &given->tensors, &execution, error);
    assert_int_equal(locus_attention_backward(r.plan, &options, &given->tensors, &gradients, &execution, error),
                     status);
    return status;
}

static void fill_gradients(later *given) {
    given->gradients = (locus_attention_gradients){
        .size = sizeof(locus_attention_gradients), .output = &tensors[GO], .query = &tensors[DQ]};
}

static locus_status attend_backward(const later *given, locus_error *error) {
    const locus_attention_options options = locus_attention_default();
    const locus_attention_tensors all = all_tensors();
    const locus_execution execution = locus_execution_in(workspace(0));
    return locus_attention_backward(r.plan, &options, &all, &given->gradients, &execution, error);
}

static void fill_weights(later *given) {
    static float weights[HEADS * TOKENS * TOKENS];
    static locus_tensor view;
    const int64_t shape[] = {HEADS, TOKENS, TOKENS};
    view = locus_tensor_view(weights, LOCUS_FLOAT32, 3, shape);
    given->weights = (locus_attention_weights_call){
        .size = sizeof(locus_attention_weights_call), .query = &tensors[Q], .key = &tensors[K], .weights = &view};
}

static locus_status weigh(const later *given, locus_error *error) {
    const locus_attention_options options = locus_attention_default();
    const locus_execution execution = locus_execution_in(workspace(0));
    return locus_attention_weights(r.plan, &options, &given->weights, &execution, error);
}

static void fill_limits(later *given) {
    given->limits = (locus_workspace_limits){
        .size = sizeof(locus_workspace_limits), .shape = &r.shape, .dtype = LOCUS_FLOAT32, .queries = TOKENS};
}

static locus_status bound_apply(const later *given, locus_error *error) {
    size_t bytes;
    return locus_apply_workspace_bound(r.encoding, &given->limits, LOCUS_ROLE_QUERY, &bytes, error);
}

/* ---- caches ---- */

static locus_cache *some_cache(void) {
    locus_cache_options options = locus_cache_options_default();
    locus_cache *cache = NULL;
    options.capacity = 8;
    rig_ok(locus_cache_create(&cache, r.binding, &options, error));
    return cache;
}

static void fill_cache(later *given) {
    given->cache = locus_cache_options_default();
    given->cache.capacity = 8;
}

static locus_status make_cache(const later *given, locus_error *error) {
    locus_cache *cache = NULL;
    const locus_status status = locus_cache_create(&cache, r.binding, &given->cache, error);
    locus_cache_destroy(&cache);
    return status;
}

static void fill_fragment(later *given) {
    given->fragment = (locus_cache_fragment){.size = sizeof(locus_cache_fragment)};
}

static locus_status insert(const later *given, locus_error *error) {
    locus_cache *cache = some_cache();
    later own = *given;
    own.fragment.source = cache;
    const locus_status status = locus_cache_insert(cache, 0, &own.fragment, NULL, error);
    locus_cache_destroy(&cache);
    return status;
}

/* ---- the process's ---- */

static void *take(void *state, size_t bytes, size_t alignment) {
    (void)state;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void give(void *state, void *block, size_t bytes) {
    (void)state, (void)bytes;
    free(block);
}

static void fill_allocator(later *given) {
    given->allocator = (locus_allocator){sizeof(locus_allocator), take, give, NULL};
}

static locus_status set_allocator(const later *given, locus_error *error) {
    const locus_status status = locus_allocator_set(&given->allocator, error);
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
    return status;
}

static locus_status ones(const locus_extension_batch *batch, double *numbers, locus_error *error) {
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        numbers[i] = 1;
    return LOCUS_OK;
}

static locus_status no_gradient(const locus_extension_batch *batch, const double *upstream, double *const *gradients,
                                locus_error *error) {
    (void)batch, (void)upstream, (void)gradients, (void)error;
    return LOCUS_OK;
}

/* Each time of another name: what is registered stays. */
static const char *fresh_name(void) {
    static char names[32][16];
    static int count;
    assert_true(count < 32);
    (void)snprintf(names[count], sizeof names[count], "border-%c%c", 'a' + count / 26, 'a' + count % 26);
    return names[count++];
}

static void fill_description(later *given) {
    given->description = (locus_encoding_description){.size = sizeof(locus_encoding_description),
                                                      .summary = "a bias of 1",
                                                      .kind = LOCUS_EXTENSION_BIAS,
                                                      .values = ones};
}

static locus_status describe(const later *given, locus_error *error) {
    later own = *given;
    own.description.name = fresh_name();
    return locus_encoding_register(&own.description, error);
}

static void fill_extension_parameter(later *given) {
    given->extension_parameter =
        (locus_extension_parameter){sizeof(locus_extension_parameter), "w", 1, {1}, 0, 0, LOCUS_CONSTRAINT_NONE};
}

static locus_status describe_parameter(const later *given, locus_error *error) {
    const locus_encoding_description own = {.size = sizeof own,
                                            .name = fresh_name(),
                                            .summary = "a bias of 1",
                                            .kind = LOCUS_EXTENSION_BIAS,
                                            .values = ones,
                                            .gradient = no_gradient,
                                            .parameter_count = 1,
                                            .parameters = &given->extension_parameter};
    return locus_encoding_register(&own, error);
}

/* ---- what callers fill in ---- */

typedef struct border {
    const char *name; /* of the argument that errors name */
    size_t bytes;     /* of the struct in this version */
    bool zero;        /* a size of 0 will do */
    void (*fill)(later *given);
    locus_status (*call)(const later *given, locus_error *error);
} border;

static const border borders[] = {
    {"packing", sizeof(locus_packing), false, fill_packing, make_positions},
    {"columns", sizeof(locus_position_column), false, fill_column, make_columns},
    {"shape", sizeof(locus_shape), true, fill_shape, bind_shape},
    {"options", sizeof(locus_plan_options), false, fill_plan, make_plan},
    {"options", sizeof(locus_plan_forms_options), false, fill_forms, make_forms},
    {"execution", sizeof(locus_execution), false, fill_execution, apply},
    {"executor", sizeof(locus_executor), false, fill_executor, set_executor},
    {"execution.executor", sizeof(locus_executor), false, fill_executor, apply_on_executor},
    {"gradients", sizeof(locus_apply_gradients), true, fill_apply_gradients, apply_backward},
    {"options", sizeof(locus_attention_options), false, fill_attention, attend},
    {"tensors", sizeof(locus_attention_tensors), false, fill_tensors, attend_tensors},
    {"gradients", sizeof(locus_attention_gradients), false, fill_gradients, attend_backward},
    {"call", sizeof(locus_attention_weights_call), false, fill_weights, weigh},
    {"limits", sizeof(locus_workspace_limits), false, fill_limits, bound_apply},
    {"options", sizeof(locus_cache_options), false, fill_cache, make_cache},
    {"fragment", sizeof(locus_cache_fragment), false, fill_fragment, insert},
    {"allocator", sizeof(locus_allocator), false, fill_allocator, set_allocator},
    {"description", sizeof(locus_encoding_description), false, fill_description, describe},
    {"parameters", sizeof(locus_extension_parameter), false, fill_extension_parameter, describe_parameter},
};
enum { BORDERS = sizeof borders / sizeof *borders };

static void fill(const border *b, later *given) {
    memset(given, 0, sizeof *given);
    b->fill(given);
    assert_int_equal(given->size, b->bytes);
}

static void takes(const border *b, const later *given) {
    locus_error error = {0};
    if (b->call(given, &error) != LOCUS_OK)
        fail_msg("%s of %zu bytes: %s", b->name, given->size, error.message);
}

static void refuses(const border *b, const later *given, locus_status wanted, const char *part) {
    locus_error error = {0};
    assert_int_equal(b->call(given, &error), wanted);
    assert_string_equal(error.argument, b->name);
    assert_non_null(strstr(error.message, part));
    assert_null(strchr(error.message, '\n'));
}

static void structs_may_come_from_other_versions(void **state) {
    (void)state;
    for (size_t i = 0; i < BORDERS; i++) {
        const border *b = &borders[i];
        later given;
        fill(b, &given);
        takes(b, &given);
        given.size = sizeof given; /* a newer caller that uses nothing new */
        takes(b, &given);
        given.bytes[b->bytes + 3] = 1;
        refuses(b, &given, LOCUS_ERROR_UNSUPPORTED, "is of a newer version");
        fill(b, &given);
        given.size = b->bytes - 1;
        refuses(b, &given, LOCUS_ERROR_ARGUMENT, "set it to the size of the struct");
        given.size = (size_t)1 << 40;
        refuses(b, &given, LOCUS_ERROR_ARGUMENT, "set it to the size of the struct");
        given.size = 0;
        if (b->zero)
            takes(b, &given);
        else
            refuses(b, &given, LOCUS_ERROR_ARGUMENT, "set it to the size of the struct");
    }
}

/* ---- what the library fills in ---- */

static locus_status ask_parameter(later *given, locus_error *error) {
    return locus_encoding_parameter(r.encoding, &r.shape, 0, &given->parameter, error);
}

static locus_status ask_fold(later *given, locus_error *error) {
    return locus_fold_measure(r.binding, &given->fold, error);
}

static void results_end_where_the_caller_s_struct_ends(void **state) {
    static const struct {
        const char *name;
        size_t bytes;
        locus_status (*ask)(later *given, locus_error *error);
    } results[] = {{"parameter", sizeof(locus_parameter), ask_parameter},
                   {"shape", sizeof(locus_fold_shape), ask_fold}};
    (void)state;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        const size_t bytes = results[i].bytes;
        const size_t bad[] = {0, bytes - 1, (size_t)1 << 40};
        locus_error error = {0};
        later given, newer;
        memset(&given, 0xa5, sizeof given);
        given.size = bytes;
        assert_int_equal(results[i].ask(&given, &error), LOCUS_OK);
        assert_int_equal(given.size, bytes);
        for (size_t at = bytes; at < sizeof given; at++)
            assert_int_equal(given.bytes[at], 0xa5);
        memset(&newer, 0xa5, sizeof newer);
        newer.size = bytes + 8; /* the library knows nothing of the last field: 0 */
        assert_int_equal(results[i].ask(&newer, &error), LOCUS_OK);
        assert_memory_equal(newer.bytes + sizeof newer.size, given.bytes + sizeof given.size,
                            bytes - sizeof given.size);
        for (size_t at = bytes; at < sizeof newer; at++)
            assert_int_equal(newer.bytes[at], at < bytes + 8 ? 0 : 0xa5);
        for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
            memset(&given, 0xa5, sizeof given);
            given.size = bad[b];
            assert_int_equal(results[i].ask(&given, &error), LOCUS_ERROR_ARGUMENT);
            assert_string_equal(error.argument, results[i].name);
            assert_non_null(strstr(error.message, "set it to the size of the struct"));
            for (size_t at = sizeof given.size; at < sizeof given; at++)
                assert_int_equal(given.bytes[at], 0xa5);
        }
    }
}

/* ---- all ---- */

static int open_all(void **state) {
    (void)state;
    rig_open(&r, "rope(learned=on)", rig_shape(HEADS, DIM, DIM, HEADS * DIM), NULL, TOKENS);
    for (int i = 0; i < 6; i++)
        tensors[i] = rig_view(&r, LOCUS_ROLE_QUERY, data[i], LOCUS_FLOAT32, TOKENS);
    const int64_t shape[] = {TOKENS, HEADS};
    sums_view = locus_tensor_view(sums, LOCUS_FLOAT32, 2, shape);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    rig_close(&r);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_may_come_from_other_versions),
        cmocka_unit_test(results_end_where_the_caller_s_struct_ends),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
