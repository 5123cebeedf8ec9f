/* SPDX-License-Identifier: MIT */
/* Bad arguments of attention: each is one clear error that names the culprit, and nothing is written. Views of one
 * fused buffer are no overlap. */
#include <locus/locus.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TOKENS = 6, HEADS = 2, DIM = 4, ROW = HEADS * DIM };

typedef struct call {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *positions;
    locus_plan *plan;
    locus_attention_options options;
    locus_tensor query, key, value, output, log_sum_exp, g_output, g_query, g_key, g_value, parameter;
    locus_attention_tensors tensors;
    locus_attention_gradients gradients;
    locus_workspace workspace;
    size_t allocated;
    float memory[9][TOKENS * ROW];
    double table[7 * DIM];
} call;

static void must(locus_status status) {
    assert_int_equal(status, LOCUS_OK);
}

static locus_tensor rows(float *data) {
    const int64_t shape[] = {TOKENS, HEADS, DIM};
    return locus_tensor_view(data, LOCUS_FLOAT32, 3, shape);
}

static void begin_plan(call *c) {
    const size_t offsets[] = {0, 4, TOKENS};
    const locus_packing packing = {sizeof packing, 2, offsets, NULL};
    locus_shape shape = {.heads = HEADS, .head_dim = DIM, .value_dim = DIM};
    const int64_t table_shape[] = {7, DIM};
    locus_tensor zero = locus_tensor_view(c->table, LOCUS_FLOAT64, 2, table_shape);
    must(locus_encoding_parse("relative(window=3)", &c->encoding, NULL));
    must(locus_binding_create(&c->binding, c->encoding, &shape, &zero, 1, NULL));
    must(locus_positions_create(&c->positions, NULL, &packing, NULL, NULL));
    must(locus_plan_create(&c->plan, c->binding, c->positions, NULL, NULL));
    c->parameter = zero;
}

static call *begin(void) {
    call *c = calloc(1, sizeof *c);
    assert_non_null(c);
    begin_plan(c);
    c->options = locus_attention_default();
    locus_tensor *const all[] = {&c->query,    &c->key,     &c->value, &c->output,
                                 &c->g_output, &c->g_query, &c->g_key, &c->g_value};
    for (size_t i = 0; i < 8; i++)
        *all[i] = rows(c->memory[i]);
    const int64_t shape[] = {TOKENS, HEADS};
    c->log_sum_exp = locus_tensor_view(c->memory[8], LOCUS_FLOAT32, 2, shape);
    c->tensors = (locus_attention_tensors){
        sizeof(locus_attention_tensors), &c->query, &c->key, &c->value, &c->output, &c->log_sum_exp};
    c->gradients = (locus_attention_gradients){.size = sizeof(locus_attention_gradients),
                                               .output = &c->g_output,
                                               .query = &c->g_query,
                                               .key = &c->g_key,
                                               .value = &c->g_value,
                                               .parameters = &c->parameter,
                                               .parameter_count = 1};
    c->allocated = 1 << 22;
    c->workspace = (locus_workspace){locus_allocate(c->allocated), c->allocated};
    assert_non_null(c->workspace.data);
    return c;
}

static void end(call *c) {
    locus_release(c->workspace.data, c->allocated);
    locus_plan_destroy(&c->plan);
    locus_positions_destroy(&c->positions);
    locus_binding_destroy(&c->binding);
    locus_encoding_destroy(&c->encoding);
    free(c);
}

static void one_line(const locus_error *error, locus_status status, const char *argument) {
    assert_int_equal(error->status, status);
    assert_string_equal(error->argument, argument);
    assert_true(strlen(error->message) > 15);
    assert_null(strchr(error->message, '\n'));
}

/* Runs `spoil`, then both passes: forward must fail unless the mistake is only backward's. */
static void refuse(void (*spoil)(call *), locus_status status, const char *argument, bool forward_too) {
    call *c = begin();
    locus_error error = {0};
    spoil(c);
    if (forward_too) {
        const locus_execution execution = locus_execution_in(c->workspace);
        assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, &error), status);
        one_line(&error, status, argument);
        assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, NULL), status);
    }
    memset(&error, 0, sizeof error);
    const locus_execution execution = locus_execution_in(c->workspace);
    assert_int_equal(locus_attention_backward(c->plan, &c->options, &c->tensors, &c->gradients, &execution, &error),
                     status);
    one_line(&error, status, argument);
    for (size_t i = 0; i < 9; i++)
        for (size_t j = 0; j < TOKENS * ROW; j++)
            assert_true(c->memory[i][j] == 0);
    end(c);
}

#define SPOIL(name, statement) \
    static void name(call *c) { \
        statement; \
    }
SPOIL(no_query, c->tensors.query = NULL)
SPOIL(no_data, c->key.data = NULL)
SPOIL(no_log_sum_exp, c->tensors.log_sum_exp = NULL)
SPOIL(no_gradient, c->gradients.output = NULL)
SPOIL(bad_sums_gradient, c->gradients.log_sum_exp = &c->g_output)
SPOIL(no_size, c->gradients.size = 0)
SPOIL(wrong_rank, c->value.rank = 2)
SPOIL(wrong_tokens, c->key.shape[0] = 5)
SPOIL(wrong_heads, c->query.shape[1] = 3)
SPOIL(wrong_dim, c->output.shape[2] = 5)
SPOIL(negative_shape, c->value.shape[0] = -6)
SPOIL(wrong_gradient_shape, c->g_key.shape[0] = 7)
SPOIL(other_dtype, c->value.dtype = LOCUS_FLOAT64)
SPOIL(unknown_dtype, c->key.dtype = (locus_dtype)9)
SPOIL(wide_stride, c->query.stride[2] = 2)
SPOIL(repeated_output, c->output.stride[0] = 0)
SPOIL(output_over_query, c->output.data = c->query.data)
SPOIL(output_across_key, c->output.data = c->memory[1] + 3)
SPOIL(gradient_over_gradient, c->g_query.data = c->g_value.data)
SPOIL(gradient_over_input, c->g_query.data = c->key.data)
SPOIL(bad_mask, c->options.mask = (locus_mask)3)
SPOIL(no_prefix, c->options.mask = LOCUS_MASK_PREFIX)
SPOIL(bad_scale, c->options.scale = NAN)
SPOIL(bad_dropout, c->options.dropout = 1)
SPOIL(negative_dropout, c->options.dropout = -0.1)
SPOIL(nan_dropout, c->options.dropout = NAN)
SPOIL(bad_dropout_on, c->options.dropout_on = (locus_dropout)7)
SPOIL(small_workspace, c->workspace.bytes = 64)
SPOIL(no_parameters, c->gradients.parameter_count = 0)
SPOIL(parameter_shape, c->parameter.shape[0] = 6)
SPOIL(parameter_dtype, c->parameter.dtype = (locus_dtype)0)
SPOIL(parameter_stride, c->parameter.stride[0] = 9)
SPOIL(parameter_rank, c->parameter.rank = 1)
SPOIL(parameter_data, c->parameter.data = NULL)

SPOIL(negative_cap, c->options.cap = -1)
SPOIL(nan_cap, c->options.cap = NAN)
SPOIL(keep_without_window, c->options.keep = 3)
SPOIL(bad_options_size, c->options.size = sizeof c->options - 1)
SPOIL(odd_log_sum_exp, c->log_sum_exp.dtype = LOCUS_FLOAT64)

static const int32_t documents[TOKENS] = {4, 4, 7, 7, 1, 1}, torn[TOKENS] = {4, 7, 7, 4, 1, 1};
SPOIL(one_side, c->options.query_documents = documents)
SPOIL(torn_document, (c->options.query_documents = documents, c->options.key_documents = torn))

static const size_t long_prefix[] = {5, 0};
SPOIL(prefix_past_the_keys, (c->options.mask = LOCUS_MASK_PREFIX, c->options.prefix = long_prefix))

static void test_bad_tensors(void **state) {
    (void)state;
    refuse(no_query, LOCUS_ERROR_ARGUMENT, "query", true);
    refuse(no_data, LOCUS_ERROR_ARGUMENT, "key", true);
    refuse(no_log_sum_exp, LOCUS_ERROR_ARGUMENT, "log_sum_exp", false);
    refuse(no_gradient, LOCUS_ERROR_ARGUMENT, "gradients.output", false);
    refuse(bad_sums_gradient, LOCUS_ERROR_SHAPE, "gradients.log_sum_exp", false);
    refuse(no_size, LOCUS_ERROR_ARGUMENT, "gradients", false);
    refuse(wrong_rank, LOCUS_ERROR_SHAPE, "value", true);
    refuse(wrong_tokens, LOCUS_ERROR_SHAPE, "key", true);
    refuse(wrong_heads, LOCUS_ERROR_SHAPE, "query", true);
    refuse(wrong_dim, LOCUS_ERROR_SHAPE, "output", true);
    refuse(negative_shape, LOCUS_ERROR_SHAPE, "value", true);
    refuse(wrong_gradient_shape, LOCUS_ERROR_SHAPE, "gradients.key", false);
    refuse(other_dtype, LOCUS_ERROR_DTYPE, "value", true);
    refuse(unknown_dtype, LOCUS_ERROR_DTYPE, "key", true);
    refuse(wide_stride, LOCUS_ERROR_SHAPE, "query", true);
}

static void test_overlaps(void **state) {
    (void)state;
    call *c = begin(); /* written tensors only: backward reads the output */
    locus_error error;
    repeated_output(c);
    const locus_execution execution = locus_execution_in(c->workspace);
    assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, &error), LOCUS_ERROR_SHAPE);
    one_line(&error, LOCUS_ERROR_SHAPE, "output");
    c->output = rows(c->memory[3]);
    output_over_query(c);
    assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, &error),
                     LOCUS_ERROR_ARGUMENT);
    one_line(&error, LOCUS_ERROR_ARGUMENT, "output");
    output_across_key(c);
    assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, &error),
                     LOCUS_ERROR_ARGUMENT);
    end(c);
    refuse(gradient_over_gradient, LOCUS_ERROR_ARGUMENT, "gradients.query", false);
    refuse(gradient_over_input, LOCUS_ERROR_ARGUMENT, "gradients.query", false);
}

static void test_bad_options(void **state) {
    (void)state;
    refuse(bad_mask, LOCUS_ERROR_ARGUMENT, "mask", true);
    refuse(no_prefix, LOCUS_ERROR_ARGUMENT, "prefix", true);
    refuse(prefix_past_the_keys, LOCUS_ERROR_ARGUMENT, "prefix", true);
    refuse(bad_scale, LOCUS_ERROR_ARGUMENT, "scale", true);
    refuse(bad_dropout, LOCUS_ERROR_ARGUMENT, "dropout", true);
    refuse(negative_dropout, LOCUS_ERROR_ARGUMENT, "dropout", true);
    refuse(nan_dropout, LOCUS_ERROR_ARGUMENT, "dropout", true);
    refuse(bad_dropout_on, LOCUS_ERROR_ARGUMENT, "dropout_on", true);
}

static void test_bad_caps_windows_and_documents(void **state) {
    (void)state;
    refuse(negative_cap, LOCUS_ERROR_ARGUMENT, "cap", true);
    refuse(nan_cap, LOCUS_ERROR_ARGUMENT, "cap", true);
    refuse(keep_without_window, LOCUS_ERROR_ARGUMENT, "keep", true);
    refuse(bad_options_size, LOCUS_ERROR_ARGUMENT, "options", true);
    refuse(odd_log_sum_exp, LOCUS_ERROR_DTYPE, "log_sum_exp", true);
    refuse(one_side, LOCUS_ERROR_ARGUMENT, "key_documents", true);
    refuse(torn_document, LOCUS_ERROR_ARGUMENT, "key_documents", true);
    call *c = begin(); /* the culprit is named */
    locus_error error;
    torn_document(c);
    const locus_execution execution = locus_execution_in(c->workspace);
    assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, &error),
                     LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "document 4"));
    assert_non_null(strstr(error.message, "token 3"));
    end(c);
}

/* Half types: log_sum_exp is float32 beside them, and everything else of the one type. */
static void test_half_types(void **state) {
    (void)state;
    call *c = begin();
    locus_error error;
    locus_tensor *const all[] = {&c->query, &c->key, &c->value, &c->output};
    for (size_t i = 0; i < 4; i++)
        all[i]->dtype = LOCUS_BFLOAT16;
    const locus_execution execution = locus_execution_in(c->workspace);
    must(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, &error));
    c->log_sum_exp.dtype = LOCUS_BFLOAT16;
    assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, &error), LOCUS_ERROR_DTYPE);
    one_line(&error, LOCUS_ERROR_DTYPE, "log_sum_exp");
    c->log_sum_exp.dtype = LOCUS_FLOAT32;
    c->value.dtype = LOCUS_FLOAT16;
    assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, &error), LOCUS_ERROR_DTYPE);
    one_line(&error, LOCUS_ERROR_DTYPE, "value");
    end(c);
}

/* Content terms need queries as they are; without them a plan's operators may have acted. */
static void test_turned_content_terms(void **state) {
    static const char *const specs[] = {"relative(window=3) + rope", "relative(window=3)", "rope"};
    const size_t offsets[] = {0, 4, TOKENS};
    const locus_packing packing = {sizeof packing, 2, offsets, NULL};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        call *c = begin();
        locus_plan_destroy(&c->plan);
        locus_binding_destroy(&c->binding);
        locus_encoding_destroy(&c->encoding);
        locus_positions_destroy(&c->positions);
        locus_shape shape = {.heads = HEADS, .head_dim = DIM, .value_dim = DIM};
        locus_error error;
        must(locus_encoding_parse(specs[i], &c->encoding, NULL));
        must(locus_binding_create(&c->binding, c->encoding, &shape, i < 2 ? &c->parameter : NULL, i < 2, NULL));
        must(locus_positions_create(&c->positions, NULL, &packing, NULL, NULL));
        must(locus_plan_create(&c->plan, c->binding, c->positions, NULL, NULL));
        c->options.turned = true;
        const locus_execution execution = locus_execution_in(c->workspace);
        const locus_status status = locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, &error);
        assert_int_equal(status, i == 0 ? LOCUS_ERROR_ARGUMENT : LOCUS_OK);
        if (i == 0)
            one_line(&error, LOCUS_ERROR_ARGUMENT, "turned");
        end(c);
    }
}

/* xPos: factors grow with the distance of later keys. */
static void test_encodings_that_need_the_past(void **state) {
    const size_t offsets[] = {0, 4, TOKENS};
    const locus_packing packing = {sizeof packing, 2, offsets, NULL};
    const locus_shape shape = {.heads = HEADS, .head_dim = DIM, .value_dim = DIM};
    locus_error error;
    (void)state;
    call *c = begin();
    locus_plan_destroy(&c->plan);
    locus_binding_destroy(&c->binding);
    locus_encoding_destroy(&c->encoding);
    locus_positions_destroy(&c->positions);
    must(locus_encoding_parse("rope(xpos=512)", &c->encoding, NULL));
    must(locus_binding_create(&c->binding, c->encoding, &shape, NULL, 0, NULL));
    must(locus_positions_create(&c->positions, NULL, &packing, NULL, NULL));
    must(locus_plan_create(&c->plan, c->binding, c->positions, NULL, NULL));
    const locus_execution execution = locus_execution_in(c->workspace);
    assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, &error),
                     LOCUS_ERROR_UNSUPPORTED);
    one_line(&error, LOCUS_ERROR_UNSUPPORTED, "mask");
    c->options.mask = LOCUS_MASK_CAUSAL;
    must(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, &error));
    end(c);
}

static void test_bad_workspace_and_parameters(void **state) {
    (void)state;
    refuse(small_workspace, LOCUS_ERROR_MEMORY, "workspace", true);
    refuse(no_parameters, LOCUS_ERROR_SHAPE, "parameters", false);
    refuse(parameter_shape, LOCUS_ERROR_SHAPE, "key_table", false);
    refuse(parameter_dtype, LOCUS_ERROR_DTYPE, "key_table", false);
    refuse(parameter_stride, LOCUS_ERROR_SHAPE, "key_table", false);
    refuse(parameter_rank, LOCUS_ERROR_SHAPE, "key_table", false);
    refuse(parameter_data, LOCUS_ERROR_ARGUMENT, "key_table", false);
    call *c = begin();
    locus_error error;
    locus_workspace odd = {(char *)c->workspace.data + 8, c->workspace.bytes - 8};
    const locus_execution execution = locus_execution_in(odd);
    assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, &error),
                     LOCUS_ERROR_ARGUMENT);
    one_line(&error, LOCUS_ERROR_ARGUMENT, "workspace");
    assert_int_equal(locus_threads_set(1), LOCUS_OK); /* with more, a call would take fewer of them */
    size_t exact = locus_attention_workspace(c->plan, &c->options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL);
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
    const locus_execution just = locus_execution_in((locus_workspace){c->workspace.data, exact}),
                          less = locus_execution_in((locus_workspace){c->workspace.data, exact - 1});
    assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &less, NULL), LOCUS_ERROR_MEMORY);
    assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &just, NULL), LOCUS_OK);
    end(c);
}

static void test_null_handles(void **state) {
    (void)state;
    call *c = begin();
    locus_error error;
    const locus_execution execution = locus_execution_in(c->workspace);
    assert_int_equal(locus_attention_forward(NULL, &c->options, &c->tensors, &execution, &error), LOCUS_ERROR_ARGUMENT);
    one_line(&error, LOCUS_ERROR_ARGUMENT, "plan");
    assert_int_equal(locus_attention_forward(c->plan, NULL, &c->tensors, &execution, &error), LOCUS_ERROR_ARGUMENT);
    one_line(&error, LOCUS_ERROR_ARGUMENT, "options");
    assert_int_equal(locus_attention_forward(c->plan, &c->options, NULL, &execution, &error), LOCUS_ERROR_ARGUMENT);
    one_line(&error, LOCUS_ERROR_ARGUMENT, "tensors");
    assert_int_equal(locus_attention_backward(c->plan, &c->options, &c->tensors, NULL, &execution, &error),
                     LOCUS_ERROR_ARGUMENT);
    one_line(&error, LOCUS_ERROR_ARGUMENT, "gradients");
    assert_int_equal(locus_attention_workspace(NULL, &c->options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL), 0);
    assert_int_equal(locus_attention_workspace(c->plan, NULL, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL), 0);
    assert_int_equal(locus_attention_workspace(c->plan, &c->options, (locus_dtype)5, LOCUS_PASS_FORWARD, NULL), 0);
    end(c);
}

/* q, k, v and o by turns in one buffer: by token as [tokens, 4, heads, dim], by head as [tokens, heads, 4, dim]. */
static void test_fused_views_are_no_overlap(void **state) {
    static float fused[TOKENS * 4 * ROW];
    (void)state;
    for (int by_head = 0; by_head < 2; by_head++) {
        call *c = begin();
        locus_tensor *const parts[] = {&c->query, &c->key, &c->value, &c->output};
        for (size_t i = 0; i < 4; i++) {
            parts[i]->data = fused + i * (by_head ? DIM : ROW);
            parts[i]->stride[0] = 4 * ROW;
            parts[i]->stride[1] = by_head ? 4 * DIM : DIM;
        }
        const locus_execution execution = locus_execution_in(c->workspace);
        must(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, NULL));
        c->output.data = fused + 3 * (by_head ? DIM : ROW) - 1; /* one element into the values */
        assert_int_equal(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, NULL),
                         LOCUS_ERROR_ARGUMENT);
        end(c);
    }
}

/* Every parameter of the encoding, not only tables and sinks: `reduce` of an operator trusts the tensor's size. */
static void test_gradients_of_an_operator(void **state) {
    static const size_t offsets[] = {0, TOKENS};
    static const locus_shape shape = {.heads = HEADS, .head_dim = DIM, .value_dim = DIM};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_parameter info = {.size = sizeof info};
    locus_error error;
    double room[64] = {0};
    (void)state;
    call *c = begin();
    locus_plan_destroy(&c->plan);
    locus_binding_destroy(&c->binding);
    locus_encoding_destroy(&c->encoding);
    locus_positions_destroy(&c->positions);
    must(locus_encoding_parse("rope(learned=on)", &c->encoding, NULL));
    must(locus_encoding_parameter(c->encoding, &shape, 0, &info, NULL));
    locus_tensor angles = locus_tensor_view(room, LOCUS_FLOAT64, info.rank, info.shape);
    assert_true(locus_tensor_count(&angles) <= 64);
    must(locus_binding_create(&c->binding, c->encoding, &shape, &angles, 1, NULL));
    must(locus_positions_create(&c->positions, NULL, &packing, NULL, NULL));
    must(locus_plan_create(&c->plan, c->binding, c->positions, NULL, NULL));
    c->parameter = angles;
    for (size_t i = 0; i < info.rank; i++) {
        c->parameter.shape[i] = angles.shape[i] + 1;
        const locus_execution execution = locus_execution_in(c->workspace);
        assert_int_equal(locus_attention_backward(c->plan, &c->options, &c->tensors, &c->gradients, &execution, &error),
                         LOCUS_ERROR_SHAPE);
        one_line(&error, LOCUS_ERROR_SHAPE, info.name);
        c->parameter.shape[i] = angles.shape[i];
    }
    c->parameter.dtype = (locus_dtype)(LOCUS_BFLOAT16 + 1);
    const locus_execution execution = locus_execution_in(c->workspace);
    assert_int_equal(locus_attention_backward(c->plan, &c->options, &c->tensors, &c->gradients, &execution, &error),
                     LOCUS_ERROR_DTYPE);
    one_line(&error, LOCUS_ERROR_DTYPE, info.name);
    end(c);
}

static void test_parameters_and_log_sum_exp_are_optional(void **state) {
    (void)state;
    call *c = begin();
    c->tensors.log_sum_exp = NULL;
    const locus_execution execution = locus_execution_in(c->workspace);
    must(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, NULL));
    c->tensors.log_sum_exp = &c->log_sum_exp;
    must(locus_attention_forward(c->plan, &c->options, &c->tensors, &execution, NULL));
    c->gradients.parameters = NULL;
    c->gradients.parameter_count = 0;
    must(locus_attention_backward(c->plan, &c->options, &c->tensors, &c->gradients, &execution, NULL));
    end(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_tensors),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_bad_caps_windows_and_documents),
        cmocka_unit_test(test_half_types),
        cmocka_unit_test(test_turned_content_terms),
        cmocka_unit_test(test_encodings_that_need_the_past),
        cmocka_unit_test(test_bad_workspace_and_parameters),
        cmocka_unit_test(test_null_handles),
        cmocka_unit_test(test_fused_views_are_no_overlap),
        cmocka_unit_test(test_gradients_of_an_operator),
        cmocka_unit_test(test_parameters_and_log_sum_exp_are_optional),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
