/* SPDX-License-Identifier: MIT */
/* The list of cases, tensors and workspaces with guards behind them, and each call by its number. */
#include "unit/kinds_hands.h"

#include "kind_of.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD = 1 << 16, HEADS = 4, DIM = 8 };

/* ---- cases ---- */

static const size_t lengths[] = {150, 9, 64}, steps[] = {1, 3, 1}, caches[] = {700, 90, 40};

static const struct {
    const char *spec, *kind;
    locus_mask mask;
    bool decodes;
} subjects[HANDS_SUBJECTS] = {{"rope(learned=on) + alibi", "softmax", LOCUS_MASK_CAUSAL, false},
                              {"rope", "softmax", LOCUS_MASK_CAUSAL, true},
                              {"liere(group=seq, values=on)", "softmax", LOCUS_MASK_FULL, false},
                              {"algebraic(group=tree:2, values=on)", "softmax", LOCUS_MASK_FULL, false},
                              {"cope", "softmax", LOCUS_MASK_CAUSAL, false},
                              {"algebraic(group=seq, values=on)", "linear", LOCUS_MASK_CAUSAL, false},
                              {"algebraic(group=tree:2, values=on)", "linear", LOCUS_MASK_CAUSAL, false},
                              {"rope(learned=on)", "soft(landmarks=8)", LOCUS_MASK_FULL, false},
                              {"rope(learned=on)", "clustered(clusters=5)", LOCUS_MASK_FULL, false}};

void hands_subject(size_t index, kinds_case *test) {
    *test = (kinds_case){.spec = subjects[index].spec, .heads = HEADS, .kv_heads = 2, .head_dim = DIM, .sequences = 3};
    test->query_lengths = subjects[index].decodes ? steps : lengths;
    test->key_lengths = subjects[index].decodes ? caches : NULL;
    test->options = locus_attention_default();
    test->options.kind = kind_of(subjects[index].kind);
    test->options.mask = subjects[index].mask;
}

/* ---- hands ---- */

static locus_workspace guarded(size_t bytes) {
    locus_workspace workspace = {locus_allocate(bytes + GUARD), bytes};
    assert_non_null(workspace.data);
    memset((char *)workspace.data + bytes, 0x5a, GUARD);
    return workspace;
}

static locus_tensor tensor_of(const hands *h, hands_tensor i) {
    const kinds_world *w = &h->world;
    const locus_shape *shape = &w->shape;
    const bool keys = i == HANDS_K || i == HANDS_V || i == HANDS_DK || i == HANDS_DV;
    const bool values = i == HANDS_V || i == HANDS_O || i == HANDS_GO || i == HANDS_DV;
    const int64_t sizes[] = {(int64_t)(keys ? w->N : w->T), (int64_t)(keys ? shape->kv_heads : shape->heads),
                             (int64_t)(values ? shape->value_dim : shape->head_dim)};
    const bool half = h->dtype == LOCUS_BFLOAT16, sums = i == HANDS_LSE;
    locus_tensor tensor = locus_tensor_view(NULL, sums && half ? LOCUS_FLOAT32 : h->dtype, sums ? 2 : 3, sizes);
    const size_t count = locus_tensor_count(&tensor);
    tensor.data = calloc(count + 1, sizeof(double));
    assert_non_null(tensor.data);
    for (size_t j = 0; i <= HANDS_GO && j < count; j++) {
        const float value = (float)((j * 7 + (size_t)i) % 13) / 16;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (half)
            ((uint16_t *)tensor.data)[j] = (uint16_t)(bits >> 16);
        else
            ((float *)tensor.data)[j] = value;
    }
    return tensor;
}

static size_t bytes_of(const hands *h, hands_call call, const locus_execution *like) {
    const kinds_world *w = &h->world;
    if (call == HANDS_APPLY || call == HANDS_APPLY_BACKWARD)
        return locus_apply_workspace(w->plan, LOCUS_ROLE_QUERY, h->dtype, like);
    return locus_attention_workspace(w->plan, &w->test->options, h->dtype,
                                     call == HANDS_FORWARD ? LOCUS_PASS_FORWARD : LOCUS_PASS_BACKWARD, like);
}

void hands_take(hands *h, const kinds_case *test, locus_dtype dtype, const locus_execution *like) {
    kinds_make(&h->world, test);
    h->dtype = dtype;
    for (int i = 0; i < HANDS_TENSORS; i++)
        h->tensors[i] = tensor_of(h, (hands_tensor)i);
    for (size_t i = 0; i < h->world.parameter_count; i++) {
        h->gradients[i] = h->world.values[i];
        h->gradients[i].data = calloc(locus_tensor_count(&h->gradients[i]) + 1, sizeof(double));
        assert_non_null(h->gradients[i].data);
    }
    for (int call = 0; call < HANDS_CALLS; call++)
        h->workspaces[call] = guarded(bytes_of(h, (hands_call)call, like));
}

void hands_drop(hands *h) {
    for (int call = 0; call < HANDS_CALLS; call++) {
        const locus_workspace *workspace = &h->workspaces[call];
        const char *behind = (const char *)workspace->data + workspace->bytes;
        assert_int_equal(*behind, 0x5a);
        assert_memory_equal(behind, behind + 1, GUARD - 1); /* each byte is the one before it */
        locus_release(workspace->data, workspace->bytes + GUARD);
    }
    for (int i = 0; i < HANDS_TENSORS; i++)
        free(h->tensors[i].data);
    for (size_t i = 0; i < h->world.parameter_count; i++)
        free(h->gradients[i].data);
    kinds_free(&h->world);
}

/* ---- calls ---- */

locus_status hands_run(hands *h, hands_call call, const locus_execution *like, locus_error *error) {
    locus_tensor *t = h->tensors;
    const size_t count = h->world.parameter_count;
    const locus_plan *plan = h->world.plan;
    const locus_attention_options *options = &h->world.test->options;
    const locus_attention_tensors tensors = {sizeof tensors, &t[HANDS_Q], &t[HANDS_K],
                                             &t[HANDS_V],    &t[HANDS_O], &t[HANDS_LSE]};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &t[HANDS_GO],
                                                 .query = &t[HANDS_DQ],
                                                 .key = &t[HANDS_DK],
                                                 .value = &t[HANDS_DV],
                                                 .parameters = h->gradients,
                                                 .parameter_count = count};
    /* gy has a query's shape: any numbers do. */
    const locus_apply_gradients around = {
        .x = &t[HANDS_Q], .gy = &t[HANDS_Q], .gx = &t[HANDS_DQ], .parameters = h->gradients, .parameter_count = count};
    locus_execution execution = like ? *like : locus_execution_default();
    execution.workspace = h->workspaces[call];
    for (size_t i = 0; call == HANDS_APPLY_BACKWARD && i < count; i++)
        memset(h->gradients[i].data, 0, locus_tensor_count(&h->gradients[i]) * sizeof(double));
    switch (call) {
    case HANDS_APPLY:
        return locus_apply(plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &t[HANDS_Q], &t[HANDS_DQ], &execution, error);
    case HANDS_APPLY_BACKWARD:
        return locus_apply_backward(plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &around, &execution, error);
    case HANDS_FORWARD:
        return locus_attention_forward(plan, options, &tensors, &execution, error);
    case HANDS_BACKWARD:
        return locus_attention_backward(plan, options, &tensors, &gradients, &execution, error);
    case HANDS_CALLS:
        break;
    }
    return LOCUS_ERROR_ARGUMENT;
}

int hands_work(hands *h, const locus_execution *like) {
    int failed = 0;
    for (int call = 0; call < HANDS_CALLS; call++)
        failed += hands_run(h, (hands_call)call, like, NULL) != LOCUS_OK;
    return failed;
}

void hands_same(const hands *a, const hands *b) {
    for (int i = HANDS_O; i < HANDS_TENSORS; i++)
        assert_memory_equal(a->tensors[i].data, b->tensors[i].data,
                            locus_tensor_count(&a->tensors[i]) * locus_dtype_size(a->tensors[i].dtype));
    for (size_t i = 0; i < a->world.parameter_count; i++)
        assert_memory_equal(a->gradients[i].data, b->gradients[i].data,
                            locus_tensor_count(&a->gradients[i]) * sizeof(double));
}
