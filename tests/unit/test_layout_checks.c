/* SPDX-License-Identifier: MIT */
/* Tensors whose sequences stand apart: views of one fused projection go through without copies, shapes that do not fit
 * are refused in one line that says which, and what overlaps is told from what only interleaves. */
#include "core/overlap.h"
#include "spec/row_check.h"

#include <locus/locus.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <stdio.h>
#include <cmocka.h>

enum { SEQUENCES = 3, LENGTH = 5, HEADS = 2, DIM = 4, TOKENS = 10, FUSED = 3 * HEADS * DIM };

typedef struct world {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *positions;
    locus_plan *plan;
    locus_workspace workspace;
    float fused[SEQUENCES * LENGTH * FUSED], output[SEQUENCES * LENGTH * HEADS * DIM];
    float packed[4][TOKENS * HEADS * DIM];
} world;

static const size_t offsets[] = {0, 5, 7, 10};

static void begin(world *w, const char *spec) {
    const locus_packing packing = {sizeof packing, SEQUENCES, offsets, NULL};
    const locus_shape shape = {.heads = HEADS, .head_dim = DIM, .model_dim = DIM};
    memset(w, 0, sizeof *w);
    assert_int_equal(locus_encoding_parse(spec, &w->encoding, NULL), LOCUS_OK);
    assert_int_equal(locus_binding_create(&w->binding, w->encoding, &shape, NULL, 0, NULL), LOCUS_OK);
    assert_int_equal(locus_positions_create(&w->positions, NULL, &packing, NULL, NULL), LOCUS_OK);
    assert_int_equal(locus_plan_create(&w->plan, w->binding, w->positions, NULL, NULL), LOCUS_OK);
    w->workspace.bytes = (size_t)1 << 21;
    w->workspace.data = locus_allocate(w->workspace.bytes);
    assert_non_null(w->workspace.data);
    for (size_t i = 0; i < sizeof w->fused / sizeof *w->fused; i++)
        w->fused[i] = sinf((float)i);
}

static void end(world *w) {
    locus_release(w->workspace.data, w->workspace.bytes);
    locus_plan_destroy(&w->plan);
    locus_positions_destroy(&w->positions);
    locus_binding_destroy(&w->binding);
    locus_encoding_destroy(&w->encoding);
}

/* Part 0 … 2 of [sequences, length, 3, heads, dim], transposed to [sequences, heads, length, dim]. */
static locus_tensor part(world *w, size_t index) {
    return (locus_tensor){.data = w->fused + index * HEADS * DIM,
                          .dtype = LOCUS_FLOAT32,
                          .rank = 4,
                          .shape = {SEQUENCES, HEADS, LENGTH, DIM},
                          .stride = {(int64_t)LENGTH * FUSED, DIM, FUSED, 1}};
}

static locus_tensor apart(float *data) {
    static const int64_t shape[] = {SEQUENCES, HEADS, LENGTH, DIM};
    return locus_tensor_view(data, LOCUS_FLOAT32, 4, shape);
}

static locus_tensor rows(float *data) {
    static const int64_t shape[] = {TOKENS, HEADS, DIM};
    return locus_tensor_view(data, LOCUS_FLOAT32, 3, shape);
}

static float *element(const locus_tensor *tensor, size_t s, size_t h, size_t i, size_t d) {
    const int64_t *stride = tensor->stride;
    return (float *)tensor->data +
           ((int64_t)s * stride[0] + (int64_t)h * stride[1] + (int64_t)i * stride[2] + (int64_t)d);
}

/* A packed copy of what an apart one holds. */
static locus_tensor pack(const locus_tensor *from, float *data) {
    const locus_tensor to = rows(data);
    for (size_t s = 0; s < SEQUENCES; s++)
        for (size_t t = offsets[s]; t < offsets[s + 1]; t++)
            for (size_t h = 0; h < HEADS; h++)
                memcpy(data + (t * HEADS + h) * DIM, element(from, s, h, t - offsets[s], 0), DIM * sizeof *data);
    return to;
}

static void assert_packed_alike(const locus_tensor *from, const float *packed) {
    float own[TOKENS * HEADS * DIM];
    (void)pack(from, own);
    assert_memory_equal(own, packed, sizeof own);
}

/* ---- without copies ---- */

static void test_attention_takes_a_fused_projection_as_it_lies(void **state) {
    (void)state;
    world w;
    begin(&w, "rope");
    locus_tensor q = part(&w, 0), k = part(&w, 1), v = part(&w, 2), o = apart(w.output);
    const locus_tensor pq = pack(&q, w.packed[0]), pk = pack(&k, w.packed[1]), pv = pack(&v, w.packed[2]);
    const locus_tensor po = rows(w.packed[3]);
    const locus_attention_tensors fused = {.size = sizeof fused, .query = &q, .key = &k, .value = &v, .output = &o};
    const locus_attention_tensors packed = {
        .size = sizeof packed, .query = &pq, .key = &pk, .value = &pv, .output = &po};
    locus_attention_options options = locus_attention_default();
    options.mask = LOCUS_MASK_CAUSAL;
    const locus_execution execution = locus_execution_in(w.workspace);
    assert_int_equal(locus_attention_forward(w.plan, &options, &fused, &execution, NULL), LOCUS_OK);
    assert_int_equal(locus_attention_forward(w.plan, &options, &packed, &execution, NULL), LOCUS_OK);
    assert_packed_alike(&o, w.packed[3]);
    end(&w);
}

/* Gradients of the three parts, side by side as the parts are. */
static void test_gradients_go_into_a_fused_projection(void **state) {
    (void)state;
    world w;
    begin(&w, "rope");
    static float gradients[sizeof w.fused / sizeof *w.fused], go[SEQUENCES * LENGTH * HEADS * DIM], lse[TOKENS * HEADS];
    const int64_t numbers[] = {TOKENS, HEADS};
    locus_tensor q = part(&w, 0), k = part(&w, 1), v = part(&w, 2), o = apart(w.output), g = apart(go);
    locus_tensor dq = q, dk = k, dv = v, sums = locus_tensor_view(lse, LOCUS_FLOAT32, 2, numbers);
    dq.data = gradients, dk.data = gradients + HEADS * DIM, dv.data = gradients + (size_t)2 * HEADS * DIM;
    for (size_t i = 0; i < sizeof go / sizeof *go; i++)
        go[i] = cosf((float)i);
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, &o, &sums};
    const locus_attention_gradients all = {.size = sizeof all, .output = &g, .query = &dq, .key = &dk, .value = &dv};
    const locus_attention_options options = locus_attention_default();
    const locus_execution execution = locus_execution_in(w.workspace);
    assert_int_equal(locus_attention_forward(w.plan, &options, &tensors, &execution, NULL), LOCUS_OK);
    assert_int_equal(locus_attention_backward(w.plan, &options, &tensors, &all, &execution, NULL), LOCUS_OK);
    const locus_tensor pq = pack(&q, w.packed[0]), pk = pack(&k, w.packed[1]), pv = pack(&v, w.packed[2]);
    float po[TOKENS * HEADS * DIM], pg[TOKENS * HEADS * DIM];
    const locus_tensor outputs = pack(&o, po), given = pack(&g, pg);
    locus_tensor results[3];
    float own[3][TOKENS * HEADS * DIM];
    for (size_t i = 0; i < 3; i++)
        results[i] = rows(own[i]);
    const locus_attention_tensors packed = {sizeof packed, &pq, &pk, &pv, &outputs, &sums};
    const locus_attention_gradients same = {
        .size = sizeof same, .output = &given, .query = &results[0], .key = &results[1], .value = &results[2]};
    assert_int_equal(locus_attention_backward(w.plan, &options, &packed, &same, &execution, NULL), LOCUS_OK);
    assert_packed_alike(&dq, own[0]);
    assert_packed_alike(&dk, own[1]);
    assert_packed_alike(&dv, own[2]);
    end(&w);
}

/* Keys turned in their place, then into the values' place: neither touches the other parts. */
static void test_apply_works_in_place_and_beside(void **state) {
    (void)state;
    world w;
    begin(&w, "rope");
    locus_tensor k = part(&w, 1), v = part(&w, 2), q = part(&w, 0);
    float before[TOKENS * HEADS * DIM];
    const locus_tensor x = pack(&k, w.packed[0]), y = rows(w.packed[1]);
    const locus_execution execution = locus_execution_in(w.workspace);
    (void)pack(&q, before);
    assert_int_equal(locus_apply(w.plan, LOCUS_ROLE_KEY, LOCUS_FORWARD, &x, &y, &execution, NULL), LOCUS_OK);
    assert_int_equal(locus_apply(w.plan, LOCUS_ROLE_KEY, LOCUS_FORWARD, &k, &v, &execution, NULL), LOCUS_OK);
    assert_packed_alike(&v, w.packed[1]);
    assert_int_equal(locus_apply(w.plan, LOCUS_ROLE_KEY, LOCUS_FORWARD, &k, &k, &execution, NULL), LOCUS_OK);
    assert_packed_alike(&k, w.packed[1]);
    assert_packed_alike(&q, before);
    end(&w);
}

/* ---- what does not fit ---- */

typedef void change(locus_tensor *tensor);

static void too_short(locus_tensor *tensor) {
    tensor->shape[2] = LENGTH - 1;
}

static void negative(locus_tensor *tensor) {
    tensor->shape[2] = -1;
}

static void too_many(locus_tensor *tensor) {
    tensor->shape[0]++;
}

static void other_heads(locus_tensor *tensor) {
    tensor->shape[1]--;
}

static void other_dim(locus_tensor *tensor) {
    tensor->shape[3]++;
}

static void too_deep(locus_tensor *tensor) {
    tensor->rank = 5;
}

static void too_flat(locus_tensor *tensor) {
    tensor->rank = 2;
}

static void spread(locus_tensor *tensor) {
    tensor->stride[3] = 2;
}

static void repeated(locus_tensor *tensor) {
    tensor->stride[0] = 0;
}

static void nowhere(locus_tensor *tensor) {
    tensor->data = NULL;
}

static const struct {
    change *make;
    locus_status status;
    const char *says; /* %s: the argument's name */
} wrongs[] = {
    {too_short, LOCUS_ERROR_SHAPE, "%s has size 4 in dimension 2: expected at least 5, the longest sequence"},
    {negative, LOCUS_ERROR_SHAPE, "%s has size -1 in dimension 2: expected at least 5, the longest sequence"},
    {too_many, LOCUS_ERROR_SHAPE, "%s has size 4 in dimension 0: expected 3, the sequences"},
    {other_heads, LOCUS_ERROR_SHAPE, "%s has size 1 in dimension 1: expected 2"},
    {other_dim, LOCUS_ERROR_SHAPE, "%s has size 5 in dimension 3: expected 4"},
    {too_deep, LOCUS_ERROR_SHAPE, "%s has rank 5: expected [tokens, heads, dim] or [sequences, heads, length, dim]"},
    {too_flat, LOCUS_ERROR_SHAPE, "%s has rank 2: expected [tokens, heads, dim] or [sequences, heads, length, dim]"},
    {spread, LOCUS_ERROR_SHAPE, "%s must have stride 1 in its last dimension, not 2"},
    {repeated, LOCUS_ERROR_SHAPE, "stride 0 of %s is 0; a tensor that is written must not repeat its elements"},
    {nowhere, LOCUS_ERROR_ARGUMENT, "%s has no data; its data pointer is NULL"},
};

static void assert_says(const locus_error *error, const char *says, const char *argument) {
    char expected[sizeof error->message];
    const char *at = strstr(says, "%s");
    (void)snprintf(expected, sizeof expected, "%.*s%s%s", (int)(at - says), says, argument, at + 2);
    assert_string_equal(error->message, expected);
    assert_string_equal(error->argument, argument);
}

static void test_what_does_not_fit_is_one_clear_line(void **state) {
    (void)state;
    world w;
    begin(&w, "rope");
    const locus_attention_options options = locus_attention_default();
    const locus_execution execution = locus_execution_in(w.workspace);
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        locus_tensor q = part(&w, 0), k = part(&w, 1), v = part(&w, 2), o = apart(w.output);
        const locus_attention_tensors tensors = {
            .size = sizeof tensors, .query = &q, .key = &k, .value = &v, .output = &o};
        locus_error error;
        wrongs[i].make(&o);
        assert_int_equal(locus_attention_forward(w.plan, &options, &tensors, &execution, &error), wrongs[i].status);
        assert_says(&error, wrongs[i].says, "output");
        assert_int_equal(locus_apply(w.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &q, &o, &execution, &error),
                         wrongs[i].status);
        assert_says(&error, wrongs[i].says, "y");
    }
    end(&w);
}

/* ---- packed rows, nearly all of which are found right at once ---- */

static void fewer_tokens(locus_tensor *tensor) {
    tensor->shape[0]--;
}

static void negative_tokens(locus_tensor *tensor) {
    tensor->shape[0] = -tensor->shape[0];
}

static void more_heads(locus_tensor *tensor) {
    tensor->shape[1]++;
}

static void negative_heads(locus_tensor *tensor) {
    tensor->shape[1] = -tensor->shape[1];
}

static void less_wide(locus_tensor *tensor) {
    tensor->shape[2]--;
}

static void negative_width(locus_tensor *tensor) {
    tensor->shape[2] = -tensor->shape[2];
}

static void repeated_heads(locus_tensor *tensor) {
    tensor->stride[1] = 0;
}

static void repeated_elements(locus_tensor *tensor) {
    tensor->stride[2] = 0;
}

static void apart_in_rows(locus_tensor *tensor) {
    tensor->stride[2] = 2;
}

static void no_type(locus_tensor *tensor) {
    tensor->dtype = (locus_dtype)99;
}

static void elsewhere(locus_tensor *tensor) {
    tensor->device = (locus_device)3;
}

static const struct {
    change *make;
    locus_status status;
    const char *says;
} packed_wrongs[] = {
    {fewer_tokens, LOCUS_ERROR_SHAPE, "%s has size 9 in dimension 0: expected 10, the tokens"},
    {negative_tokens, LOCUS_ERROR_SHAPE, "%s has size -10 in dimension 0: expected 10, the tokens"},
    {more_heads, LOCUS_ERROR_SHAPE, "%s has size 3 in dimension 1: expected 2"},
    {negative_heads, LOCUS_ERROR_SHAPE, "%s has size -2 in dimension 1: expected 2"},
    {less_wide, LOCUS_ERROR_SHAPE, "%s has size 3 in dimension 2: expected 4"},
    {negative_width, LOCUS_ERROR_SHAPE, "%s has size -4 in dimension 2: expected 4"},
    {repeated, LOCUS_ERROR_SHAPE, "stride 0 of %s is 0; a tensor that is written must not repeat its elements"},
    {repeated_heads, LOCUS_ERROR_SHAPE, "stride 1 of %s is 0; a tensor that is written must not repeat its elements"},
    {repeated_elements, LOCUS_ERROR_SHAPE,
     "stride 2 of %s is 0; a tensor that is written must not repeat its elements"},
    {apart_in_rows, LOCUS_ERROR_SHAPE, "%s must have stride 1 in its last dimension, not 2"},
    {too_flat, LOCUS_ERROR_SHAPE, "%s has rank 2: expected [tokens, heads, dim] or [sequences, heads, length, dim]"},
    {nowhere, LOCUS_ERROR_ARGUMENT, "%s has no data; its data pointer is NULL"},
    {no_type, LOCUS_ERROR_DTYPE, "%s is of unknown element type 99; use float32, float64, float16 or bfloat16"},
    {elsewhere, LOCUS_ERROR_UNSUPPORTED, "%s is on device 3: the library computes in the host's memory, device 0"},
};

static void test_packed_rows_that_do_not_fit_are_one_clear_line(void **state) {
    (void)state;
    world w;
    begin(&w, "rope");
    const locus_attention_options options = locus_attention_default();
    const locus_execution execution = locus_execution_in(w.workspace);
    for (size_t i = 0; i < sizeof packed_wrongs / sizeof *packed_wrongs; i++) {
        const locus_tensor q = rows(w.packed[0]), k = rows(w.packed[1]), v = rows(w.packed[2]);
        locus_tensor o = rows(w.packed[3]);
        const locus_attention_tensors tensors = {
            .size = sizeof tensors, .query = &q, .key = &k, .value = &v, .output = &o};
        locus_error error;
        packed_wrongs[i].make(&o);
        assert_int_equal(locus_attention_forward(w.plan, &options, &tensors, &execution, &error),
                         packed_wrongs[i].status);
        assert_says(&error, packed_wrongs[i].says, "output");
        assert_int_equal(locus_apply(w.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &q, &o, &execution, &error),
                         packed_wrongs[i].status);
        assert_says(&error, packed_wrongs[i].says, "y");
    }
    end(&w);
}

/* Numbers of two heads, and of one, whose stride nobody asks. */
static void test_numbers_lie_side_by_side(void **state) {
    (void)state;
    float data[4 * TOKENS];
    for (int64_t heads = 1; heads <= 3; heads++)
        for (int64_t by = 1; by <= 2; by++) {
            const locus_tensor tensor = {.data = data,
                                         .dtype = LOCUS_FLOAT32,
                                         .rank = 2,
                                         .shape = {TOKENS / 2, heads},
                                         .stride = {2 * heads, by}};
            const locus_rows_wanted wanted = {.name = "x",
                                              .tensor = &tensor,
                                              .kind = LOCUS_ROWS_NUMBERS,
                                              .written = true,
                                              .tokens = TOKENS / 2,
                                              .heads = (size_t)heads};
            locus_error error = {0};
            const bool fits = heads == 1 || by == 1;
            assert_int_equal(locus_rows_check(&wanted, &error), fits ? LOCUS_OK : LOCUS_ERROR_SHAPE);
            assert_string_equal(error.message, fits ? "" : "x must have stride 1 in its last dimension, not 2");
        }
}

/* What is read may repeat its heads or tokens, as a view of one row does. */
static void test_what_is_read_may_repeat_itself(void **state) {
    (void)state;
    world w;
    begin(&w, "rope");
    const locus_execution execution = locus_execution_in(w.workspace);
    for (size_t repeats = 0; repeats < 3; repeats++) {
        locus_tensor x = rows(w.fused), y = rows(w.packed[1]), whole = rows(w.packed[2]), own = rows(w.packed[3]);
        for (size_t i = 0; i < 2; i++)
            x.stride[i] = repeats == i || repeats == 2 ? 0 : x.stride[i];
        for (size_t t = 0; t < TOKENS; t++)
            for (size_t h = 0; h < HEADS; h++)
                memcpy(w.packed[2] + (t * HEADS + h) * DIM,
                       w.fused + (int64_t)t * x.stride[0] + (int64_t)h * x.stride[1], DIM * sizeof(float));
        assert_int_equal(locus_apply(w.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &x, &y, &execution, NULL), LOCUS_OK);
        assert_int_equal(locus_apply(w.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &whole, &own, &execution, NULL),
                         LOCUS_OK);
        assert_memory_equal(w.packed[1], w.packed[3], sizeof w.packed[1]);
    }
    end(&w);
}

/* A length that no memory has is none of the library's business: only sequences are looked at. */
static void test_lengths_beyond_memory_are_not_looked_at(void **state) {
    (void)state;
    world w;
    begin(&w, "rope");
    locus_tensor q = part(&w, 0), k = part(&w, 1), v = part(&w, 2), o = apart(w.output);
    const locus_attention_tensors tensors = {.size = sizeof tensors, .query = &q, .key = &k, .value = &v, .output = &o};
    const locus_attention_options options = locus_attention_default();
    const locus_execution execution = locus_execution_in(w.workspace);
    q.shape[2] = o.shape[2] = INT64_MAX;
    assert_int_equal(locus_attention_forward(w.plan, &options, &tensors, &execution, NULL), LOCUS_OK);
    assert_int_equal(locus_apply(w.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &q, &o, &execution, NULL), LOCUS_OK);
    o.stride[0] = INT64_MAX / 2; /* such a view reaches over all memory */
    assert_int_equal(locus_apply(w.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &q, &o, &execution, NULL),
                     LOCUS_ERROR_ARGUMENT);
    end(&w);
}

static void test_vectors_and_sums_of_other_lengths_are_refused(void **state) {
    (void)state;
    world w;
    begin(&w, "sinusoidal");
    const int64_t vectors[] = {SEQUENCES, LENGTH, DIM}, numbers[] = {SEQUENCES, HEADS, LENGTH};
    locus_tensor x = locus_tensor_view(w.fused, LOCUS_FLOAT32, 3, vectors);
    locus_tensor y = locus_tensor_view(w.output, LOCUS_FLOAT32, 3, vectors);
    locus_tensor lse = locus_tensor_view(w.packed[0], LOCUS_FLOAT32, 3, numbers);
    const locus_execution execution = locus_execution_in(w.workspace);
    locus_error error;
    assert_int_equal(locus_apply(w.plan, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, &x, &y, &execution, NULL), LOCUS_OK);
    y.shape[1]--;
    assert_int_equal(locus_apply(w.plan, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, &x, &y, &execution, &error),
                     LOCUS_ERROR_SHAPE);
    assert_string_equal(error.message, "y has size 4 in dimension 1: expected at least 5, the longest sequence");
    y.rank = 4;
    assert_int_equal(locus_apply(w.plan, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, &x, &y, &execution, &error),
                     LOCUS_ERROR_SHAPE);
    assert_string_equal(error.message, "y has rank 4: expected [tokens, model_dim] or [sequences, length, model_dim]");
    locus_tensor q = part(&w, 0), k = part(&w, 1), v = part(&w, 2), o = apart(w.output);
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, &o, &lse};
    const locus_attention_options options = locus_attention_default();
    assert_int_equal(locus_attention_forward(w.plan, &options, &tensors, &execution, NULL), LOCUS_OK);
    lse.shape[2]--;
    assert_int_equal(locus_attention_forward(w.plan, &options, &tensors, &execution, &error), LOCUS_ERROR_SHAPE);
    assert_string_equal(error.message,
                        "log_sum_exp has size 4 in dimension 2: expected at least 5, the longest sequence");
    end(&w);
}

/* ---- overlaps ---- */

static locus_tensor view(float *data, size_t rank, const int64_t *shape, const int64_t *stride) {
    locus_tensor tensor = {.data = data, .dtype = LOCUS_FLOAT32, .rank = rank};
    memcpy(tensor.shape, shape, rank * sizeof *shape);
    memcpy(tensor.stride, stride, rank * sizeof *stride);
    return tensor;
}

/* Whether two views share an element, by marking each one's in bytes. */
static bool share(const locus_tensor *a, const locus_tensor *b, const float *base, size_t count) {
    unsigned char *marks = calloc(count, 1);
    bool shared = false;
    assert_non_null(marks);
    for (int which = 0; which < 2; which++) {
        const locus_tensor *t = which ? b : a;
        for (size_t i = 0, all = locus_tensor_count(t); i < all; i++) {
            ptrdiff_t at = (const float *)t->data - base;
            size_t left = i;
            for (size_t d = t->rank; d-- > 0; left /= (size_t)t->shape[d])
                at += (ptrdiff_t)(left % (size_t)t->shape[d]) * (ptrdiff_t)t->stride[d];
            assert_in_range(at, 0, count - 1);
            shared = shared || (which && marks[at] == 1);
            if (!which)
                marks[at] = 1;
        }
    }
    free(marks);
    return shared;
}

static uint64_t draw(uint64_t *state, uint64_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

static locus_tensor draw_view(uint64_t *state, float *base, size_t count) {
    locus_tensor tensor;
    ptrdiff_t low, high;
    do {
        tensor = (locus_tensor){.dtype = LOCUS_FLOAT32, .rank = 1 + (size_t)draw(state, 4)};
        low = high = 0;
        for (size_t d = 0; d < tensor.rank; d++) {
            tensor.shape[d] = 1 + (int64_t)draw(state, 5);
            tensor.stride[d] = (int64_t)draw(state, 60) - 8;
            const ptrdiff_t reach = (ptrdiff_t)((tensor.shape[d] - 1) * tensor.stride[d]);
            *(reach < 0 ? &low : &high) += reach;
        }
    } while ((size_t)(high - low) + 1 > count);
    tensor.data = base - low + draw(state, count - (size_t)(high - low));
    return tensor;
}

static void test_overlaps_are_told_element_by_element(void **state) {
    (void)state;
    static float base[700];
    uint64_t random = 7;
    size_t apart_count = 0, together = 0;
    for (size_t i = 0; i < 20000; i++) {
        const locus_tensor a = draw_view(&random, base, 700), b = draw_view(&random, base, 700);
        const bool shared = share(&a, &b, base, 700);
        assert_int_equal(locus_tensors_overlap(&a, &b), shared);
        apart_count += !shared;
        together += shared;
    }
    assert_true(apart_count > 1000 && together > 1000);
}

static void test_layouts_of_one_buffer_overlap_where_they_share(void **state) {
    (void)state;
    static float base[SEQUENCES * LENGTH * FUSED];
    const int64_t spread[] = {SEQUENCES, HEADS, LENGTH, DIM}, strides[] = {(int64_t)LENGTH * FUSED, DIM, FUSED, 1};
    const int64_t packed[] = {SEQUENCES * LENGTH, HEADS, DIM}, packed_strides[] = {FUSED, DIM, 1};
    const locus_tensor q = view(base, 4, spread, strides), k = view(base + HEADS * DIM, 4, spread, strides);
    const locus_tensor rows_of_k = view(base + HEADS * DIM, 3, packed, packed_strides);
    assert_false(locus_tensors_overlap(&q, &k));
    assert_true(locus_tensors_overlap(&q, &q));
    assert_false(locus_tensors_overlap(&q, &rows_of_k));
    assert_true(locus_tensors_overlap(&k, &rows_of_k));
    locus_tensor off = k;
    off.data = base + HEADS * DIM - 1;
    assert_true(locus_tensors_overlap(&q, &off));
    const int64_t huge[] = {INT64_MAX, INT64_MAX, INT64_MAX, 4};
    const locus_tensor all = view(base, 4, huge, huge);
    assert_true(locus_tensors_overlap(&q, &all));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_takes_a_fused_projection_as_it_lies),
        cmocka_unit_test(test_gradients_go_into_a_fused_projection),
        cmocka_unit_test(test_apply_works_in_place_and_beside),
        cmocka_unit_test(test_what_does_not_fit_is_one_clear_line),
        cmocka_unit_test(test_packed_rows_that_do_not_fit_are_one_clear_line),
        cmocka_unit_test(test_numbers_lie_side_by_side),
        cmocka_unit_test(test_what_is_read_may_repeat_itself),
        cmocka_unit_test(test_lengths_beyond_memory_are_not_looked_at),
        cmocka_unit_test(test_vectors_and_sums_of_other_lengths_are_refused),
        cmocka_unit_test(test_overlaps_are_told_element_by_element),
        cmocka_unit_test(test_layouts_of_one_buffer_overlap_where_they_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
