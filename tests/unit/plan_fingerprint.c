/* SPDX-License-Identifier: MIT */
/* See plan_fingerprint.h. Tensors come from a counter-based stream, so that every plan meets the same numbers. */
#include "plan_fingerprint.h"

#include "core/hash.h"
#include "property/encoding_rig.h"

enum { PARAMETERS = 32 };

typedef struct numbers {
    locus_tensor tensor;
    size_t bytes;
} numbers;

static numbers draw(locus_dtype dtype, size_t rank, const int64_t *shape, uint32_t stream) {
    const locus_random random = {.seed = 5, .purpose = LOCUS_RANDOM_USER, .step = stream};
    numbers made = {.tensor = locus_tensor_view(NULL, dtype, rank, shape)};
    const size_t count = locus_tensor_count(&made.tensor);
    made.bytes = count * locus_dtype_size(dtype) + 1;
    made.tensor.data = calloc(1, made.bytes);
    assert_non_null(made.tensor.data);
    for (size_t i = 0; i < count && stream > 0; i++) {
        const double value = 2 * locus_random_uniform(&random, i) - 1;
        if (dtype == LOCUS_FLOAT64)
            ((double *)made.tensor.data)[i] = value;
        else
            ((float *)made.tensor.data)[i] = (float)value;
    }
    return made;
}

static uint64_t consume(uint64_t hash, numbers *of) {
    hash = locus_hash_bytes(hash, of->tensor.data, of->bytes);
    free(of->tensor.data);
    return hash;
}

static numbers draw_heads(const plan_subject *s, locus_dtype dtype, locus_role role, uint32_t stream) {
    const bool token = role == LOCUS_ROLE_TOKEN || role == LOCUS_ROLE_ENCODED;
    const bool key = role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
    const bool value = role == LOCUS_ROLE_VALUE || role == LOCUS_ROLE_OUTPUT;
    const int64_t heads = (int64_t)(key && s->shape.kv_heads ? s->shape.kv_heads : s->shape.heads);
    const int64_t shape[] = {(int64_t)(key ? s->keys : s->tokens), token ? (int64_t)s->shape.model_dim : heads,
                             (int64_t)(value ? s->shape.value_dim : s->shape.head_dim)};
    return draw(dtype, token ? 2 : 3, shape, stream);
}

typedef struct gradients {
    size_t count;
    numbers own[PARAMETERS];
    locus_tensor tensors[PARAMETERS];
} gradients;

static void take_gradients(gradients *g, const plan_subject *s) {
    assert_int_equal(locus_encoding_parameter_count(s->encoding, &s->shape, &g->count, NULL), LOCUS_OK);
    assert_true(g->count <= PARAMETERS);
    for (size_t i = 0; i < g->count; i++) {
        locus_parameter info = {.size = sizeof info};
        assert_int_equal(locus_encoding_parameter(s->encoding, &s->shape, i, &info, NULL), LOCUS_OK);
        g->own[i] = draw(LOCUS_FLOAT64, info.rank, info.shape, 0);
        g->tensors[i] = g->own[i].tensor;
    }
}

static uint64_t drop_gradients(uint64_t hash, gradients *g) {
    for (size_t i = 0; i < g->count; i++)
        hash = consume(hash, &g->own[i]);
    return hash;
}

static locus_execution lend(size_t bytes) {
    const locus_workspace workspace = {locus_allocate(bytes + 1), bytes};
    assert_non_null(workspace.data);
    return locus_execution_in(workspace);
}

static void take_back(const locus_execution *execution) {
    locus_release(execution->workspace.data, execution->workspace.bytes + 1);
}

static uint64_t hash_apply(uint64_t hash, const locus_plan *plan, const plan_subject *s, locus_role role,
                           locus_dtype dtype) {
    const locus_execution execution = lend(locus_apply_workspace(plan, role, dtype, NULL));
    gradients g;
    take_gradients(&g, s);
    for (int direction = LOCUS_FORWARD; direction <= LOCUS_INVERSE; direction++) {
        numbers x = draw_heads(s, dtype, role, 1), y = draw_heads(s, dtype, role, 0);
        rig_ok(locus_apply(plan, role, (locus_direction)direction, &x.tensor, &y.tensor, &execution, error));
        hash = consume(hash, &y);
        free(x.tensor.data);
    }
    numbers x = draw_heads(s, dtype, role, 1), gy = draw_heads(s, dtype, role, 2), gx = draw_heads(s, dtype, role, 0);
    const locus_apply_gradients back = {.x = &x.tensor,
                                        .gy = &gy.tensor,
                                        .gx = &gx.tensor,
                                        .parameters = g.count ? g.tensors : NULL,
                                        .parameter_count = g.count};
    rig_ok(locus_apply_backward(plan, role, LOCUS_FORWARD, &back, &execution, error));
    take_back(&execution);
    hash = consume(consume(consume(hash, &x), &gy), &gx);
    return drop_gradients(hash, &g);
}

static uint64_t hash_attention(uint64_t hash, const locus_plan *plan, const plan_subject *s, locus_dtype dtype) {
    locus_attention_options options = locus_attention_default();
    numbers q = draw_heads(s, dtype, LOCUS_ROLE_QUERY, 3), k = draw_heads(s, dtype, LOCUS_ROLE_KEY, 4);
    numbers v = draw_heads(s, dtype, LOCUS_ROLE_VALUE, 5), o = draw_heads(s, dtype, LOCUS_ROLE_OUTPUT, 0);
    numbers go = draw_heads(s, dtype, LOCUS_ROLE_OUTPUT, 6), dq = draw_heads(s, dtype, LOCUS_ROLE_QUERY, 0);
    numbers dk = draw_heads(s, dtype, LOCUS_ROLE_KEY, 0), dv = draw_heads(s, dtype, LOCUS_ROLE_VALUE, 0);
    numbers sums = draw(dtype, 2, (int64_t[]){(int64_t)s->tokens, (int64_t)s->shape.heads}, 0);
    gradients g;
    take_gradients(&g, s);
    const locus_attention_tensors tensors = {sizeof tensors, &q.tensor, &k.tensor, &v.tensor, &o.tensor, &sums.tensor};
    const locus_attention_gradients back = {.size = sizeof(locus_attention_gradients),
                                            .output = &go.tensor,
                                            .query = &dq.tensor,
                                            .key = &dk.tensor,
                                            .value = &dv.tensor,
                                            .parameters = g.count ? g.tensors : NULL,
                                            .parameter_count = g.count};
    locus_execution execution = lend(locus_attention_workspace(plan, &options, dtype, LOCUS_PASS_BACKWARD, NULL) +
                                     locus_attention_workspace(plan, &options, dtype, LOCUS_PASS_FORWARD, NULL));
    if (locus_attention_forward(plan, &options, &tensors, &execution, NULL) == LOCUS_ERROR_UNSUPPORTED) {
        take_back(&execution);
        options.mask = LOCUS_MASK_CAUSAL;
        execution = lend(locus_attention_workspace(plan, &options, dtype, LOCUS_PASS_BACKWARD, NULL) +
                         locus_attention_workspace(plan, &options, dtype, LOCUS_PASS_FORWARD, NULL));
        rig_ok(locus_attention_forward(plan, &options, &tensors, &execution, error));
    }
    rig_ok(locus_attention_backward(plan, &options, &tensors, &back, &execution, error));
    take_back(&execution);
    numbers *const all[] = {&q, &k, &v, &o, &go, &dq, &dk, &dv, &sums};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hash = consume(hash, all[i]);
    return drop_gradients(hash, &g);
}

uint64_t plan_fingerprint(const locus_plan *plan, const plan_subject *subject) {
    uint64_t hash = 0;
    for (int dtype = LOCUS_FLOAT32; dtype <= LOCUS_FLOAT64; dtype++) {
        for (int role = LOCUS_ROLE_TOKEN; role <= LOCUS_ROLE_ENCODED; role++)
            hash = hash_apply(hash, plan, subject, (locus_role)role, (locus_dtype)dtype);
        hash = hash_attention(hash, plan, subject, (locus_dtype)dtype);
    }
    return hash;
}
