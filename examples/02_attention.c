/* SPDX-License-Identifier: MIT */
/* Example 2: causal attention of a packed batch, forward and backward, with a learned encoding: one generator for each
 * head and a decay of the scores with distance. The gradient of the generators comes out with the others. */
#include <locus/locus.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKENS = 48, HEADS = 2, HEAD_DIM = 16, NUMBERS = TOKENS * HEADS * HEAD_DIM };

/* Everything that has to be freed, in one place. */
typedef struct example {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *positions;
    locus_plan *plan;
    float generators[HEADS * HEAD_DIM * HEAD_DIM], generator_gradients[HEADS * HEAD_DIM * HEAD_DIM];
    float query[NUMBERS], key[NUMBERS], value[NUMBERS], output[NUMBERS], log_sum_exp[TOKENS * HEADS];
    float output_gradient[NUMBERS], query_gradient[NUMBERS], key_gradient[NUMBERS], value_gradient[NUMBERS];
} example;

static locus_tensor tokens_of(float *data) {
    const int64_t extents[] = {TOKENS, HEADS, HEAD_DIM};
    return locus_tensor_view(data, LOCUS_FLOAT32, 3, extents);
}

static locus_tensor generators_of(float *data) {
    const int64_t extents[] = {HEADS, 1, HEAD_DIM, HEAD_DIM};
    return locus_tensor_view(data, LOCUS_FLOAT32, 4, extents);
}

static locus_status prepare(example *e, locus_error *error) {
    locus_shape shape = locus_shape_default();
    shape.heads = HEADS;
    shape.head_dim = HEAD_DIM;
    const size_t offsets[] = {0, 30, TOKENS};
    const locus_packing packing = {sizeof packing, 2, offsets, NULL};
    const locus_tensor generators = generators_of(e->generators);
    locus_status status = locus_encoding_parse("algebraic(group=seq, decay=0.98)", &e->encoding, error);
    if (status == LOCUS_OK)
        status = locus_encoding_initialise(e->encoding, &shape, 0, &generators, 1, error);
    if (status == LOCUS_OK)
        status = locus_binding_create(&e->binding, e->encoding, &shape, &generators, 1, error);
    if (status == LOCUS_OK)
        status = locus_positions_create(&e->positions, NULL, &packing, NULL, error);
    if (status == LOCUS_OK)
        status = locus_plan_create(&e->plan, e->binding, e->positions, NULL, error);
    return status;
}

static locus_status attend(example *e, locus_error *error) {
    locus_attention_options options = locus_attention_default();
    options.mask = LOCUS_MASK_CAUSAL;
    const locus_tensor query = tokens_of(e->query), key = tokens_of(e->key), value = tokens_of(e->value);
    const locus_tensor output = tokens_of(e->output), output_gradient = tokens_of(e->output_gradient);
    const locus_tensor query_gradient = tokens_of(e->query_gradient), key_gradient = tokens_of(e->key_gradient);
    const locus_tensor value_gradient = tokens_of(e->value_gradient),
                       generators = generators_of(e->generator_gradients);
    const int64_t rows[] = {TOKENS, HEADS};
    const locus_tensor log_sum_exp = locus_tensor_view(e->log_sum_exp, LOCUS_FLOAT32, 2, rows);
    const locus_attention_tensors tensors = {sizeof tensors, &query, &key, &value, &output, &log_sum_exp};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &output_gradient,
                                                 .query = &query_gradient,
                                                 .key = &key_gradient,
                                                 .value = &value_gradient,
                                                 .parameters = &generators,
                                                 .parameter_count = 1};

    locus_workspace workspace = {
        NULL, locus_attention_workspace(e->plan, &options, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD, NULL)};
    size_t forward = locus_attention_workspace(e->plan, &options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL);
    workspace.bytes = workspace.bytes > forward ? workspace.bytes : forward;
    workspace.data = locus_allocate(workspace.bytes);
    if (workspace.data == NULL)
        return LOCUS_ERROR_MEMORY;
    const locus_execution execution = locus_execution_in(workspace);
    locus_status status = locus_attention_forward(e->plan, &options, &tensors, &execution, error);
    if (status == LOCUS_OK)
        status = locus_attention_backward(e->plan, &options, &tensors, &gradients, &execution, error);
    locus_release(workspace.data, workspace.bytes);
    return status;
}

static double norm_of(const float *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

int main(void) {
    locus_error error = {0};
    example *e = calloc(1, sizeof *e);
    if (e == NULL)
        return 1;
    const locus_random random = {1, LOCUS_RANDOM_USER, 0};
    for (size_t i = 0; i < NUMBERS; i++) {
        e->query[i] = (float)locus_random_normal(&random, 4 * i);
        e->key[i] = (float)locus_random_normal(&random, 4 * i + 1);
        e->value[i] = (float)locus_random_normal(&random, 4 * i + 2);
        e->output_gradient[i] = (float)locus_random_normal(&random, 4 * i + 3);
    }
    locus_status status = prepare(e, &error);
    if (status == LOCUS_OK)
        status = attend(e, &error);
    if (status != LOCUS_OK) {
        (void)fprintf(stderr, "%s\n", error.message);
    } else {
        (void)printf("|output| = %.4f  |dq| = %.4f  |dk| = %.4f  |dv| = %.4f  |dA| = %.4f\n",
                     norm_of(e->output, NUMBERS), norm_of(e->query_gradient, NUMBERS),
                     norm_of(e->key_gradient, NUMBERS), norm_of(e->value_gradient, NUMBERS),
                     norm_of(e->generator_gradients, sizeof e->generator_gradients / sizeof(float)));
    }
    locus_plan_destroy(&e->plan);
    locus_positions_destroy(&e->positions);
    locus_binding_destroy(&e->binding);
    locus_encoding_destroy(&e->encoding);
    free(e);
    return status == LOCUS_OK ? 0 : 1;
}
