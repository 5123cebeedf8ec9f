/* SPDX-License-Identifier: MIT */
/* Attention with half types: forward and backward give, to the last bit, what float32 gives on the widened inputs,
 * rounded once; log-sum-exp and parameters' gradients are float32's own; gaps between sequences stay as they are. Steps
 * of decoding, which read keys and values of half types where they lie, too. */
#include "../property/encoding_rig.h"

enum { QUERIES = 300, KEYS = 320, HEADS = 4, MOST = KEYS * HEADS * 8, TENSORS = 8 };
enum { QUERY, KEY, VALUE, OUTPUT, G_OUTPUT, G_QUERY, G_KEY, G_VALUE };

typedef struct half_case {
    rig r;
    locus_attention_options options;
    locus_dtype dtype;
    bool by_head; /* keys and values lie one head after the other, as in a cache */
    uint16_t half[TENSORS][MOST];
    float wide[TENSORS][MOST];
    float half_lse[QUERIES * HEADS], wide_lse[QUERIES * HEADS];
} half_case;

static half_case c;

static locus_tensor view(size_t which, bool half) {
    const bool keys = which == KEY || which == VALUE || which == G_KEY || which == G_VALUE;
    const bool value = which == VALUE || which == OUTPUT || which == G_OUTPUT || which == G_VALUE;
    const int64_t kv_heads = (int64_t)(c.r.shape.kv_heads ? c.r.shape.kv_heads : HEADS);
    const int64_t shape[] = {keys ? KEYS : QUERIES, keys ? kv_heads : HEADS,
                             (int64_t)(value && c.r.shape.value_dim ? c.r.shape.value_dim : c.r.shape.head_dim)};
    locus_tensor tensor = half ? locus_tensor_view(c.half[which], c.dtype, 3, shape)
                               : locus_tensor_view(c.wide[which], LOCUS_FLOAT32, 3, shape);
    assert_true(locus_tensor_count(&tensor) <= MOST);
    if (c.by_head && (which == KEY || which == VALUE)) {
        tensor.stride[0] = tensor.shape[2];
        tensor.stride[1] = KEYS * tensor.shape[2];
    }
    return tensor;
}

static void convert(const void *from, locus_dtype from_type, void *to, locus_dtype to_type) {
    const int64_t shape[] = {MOST};
    const locus_tensor a = locus_tensor_view((void *)(uintptr_t)from, from_type, 1, shape);
    const locus_tensor b = locus_tensor_view(to, to_type, 1, shape);
    rig_ok(locus_tensor_convert(&a, &b, error));
}

/* The same numbers in both. */
static void fill(void) {
    uint64_t random = 17;
    for (size_t i = 0; i < TENSORS; i++) {
        for (size_t j = 0; j < MOST; j++)
            c.wide[i][j] = (float)rig_random(&random);
        convert(c.wide[i], LOCUS_FLOAT32, c.half[i], c.dtype);
        convert(c.half[i], c.dtype, c.wide[i], LOCUS_FLOAT32);
    }
    for (size_t i = 0; i < QUERIES * HEADS; i++)
        c.half_lse[i] = c.wide_lse[i] = -7;
}

static void run(bool half, locus_pass pass) {
    locus_tensor t[TENSORS];
    for (size_t i = 0; i < TENSORS; i++)
        t[i] = view(i, half);
    const int64_t rows[] = {QUERIES, HEADS};
    const locus_tensor lse = locus_tensor_view(half ? c.half_lse : c.wide_lse, LOCUS_FLOAT32, 2, rows);
    const locus_attention_tensors tensors = {sizeof tensors, &t[QUERY], &t[KEY], &t[VALUE], &t[OUTPUT], &lse};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &t[G_OUTPUT],
                                                 .query = &t[G_QUERY],
                                                 .key = &t[G_KEY],
                                                 .value = &t[G_VALUE],
                                                 .parameters = c.r.gradients,
                                                 .parameter_count = c.r.count};
    locus_workspace workspace = {NULL, locus_attention_workspace(c.r.plan, &c.options, t[QUERY].dtype, pass, NULL)};
    workspace.data = locus_allocate(workspace.bytes + 1);
    assert_non_null(workspace.data);
    const locus_execution execution = locus_execution_in(workspace);
    if (pass == LOCUS_PASS_FORWARD)
        rig_ok(locus_attention_forward(c.r.plan, &c.options, &tensors, &execution, error));
    else
        rig_ok(locus_attention_backward(c.r.plan, &c.options, &tensors, &gradients, &execution, error));
    locus_release(workspace.data, workspace.bytes + 1);
}

static void check_same(size_t which) {
    static uint16_t rounded[MOST];
    convert(c.wide[which], LOCUS_FLOAT32, rounded, c.dtype);
    for (size_t j = 0; j < MOST; j++)
        if (rounded[j] != c.half[which][j])
            fail_msg("tensor %zu, element %zu: %04x, expected %04x", which, j, c.half[which][j], rounded[j]);
}

static void place(void) {
    const size_t query_offsets[] = {2, 200, QUERIES}, query_lengths[] = {190, 90};
    const size_t key_offsets[] = {0, 210, KEYS}, key_lengths[] = {200, 90};
    locus_positions *queries = NULL, *keys = NULL;
    rig_ok(locus_positions_create(
        &queries, NULL, &(locus_packing){sizeof(locus_packing), 2, query_offsets, query_lengths}, NULL, error));
    rig_ok(locus_positions_create(&keys, NULL, &(locus_packing){sizeof(locus_packing), 2, key_offsets, key_lengths},
                                  NULL, error));
    rig_place(&c.r, queries, keys);
}

static void check(const char *spec, locus_shape shape, locus_dtype dtype, locus_mask mask) {
    double kept[RIG_TENSORS][64];
    c.dtype = dtype;
    c.options = locus_attention_default();
    c.options.mask = mask;
    rig_bind(&c.r, spec, shape, 7);
    place();
    fill();
    run(false, LOCUS_PASS_FORWARD);
    run(true, LOCUS_PASS_FORWARD);
    check_same(OUTPUT);
    assert_memory_equal(c.half_lse, c.wide_lse, sizeof c.wide_lse);
    convert(c.half[OUTPUT], dtype, c.wide[OUTPUT], LOCUS_FLOAT32); /* what a backward of half types is given */
    run(false, LOCUS_PASS_BACKWARD);
    for (size_t i = 0; i < c.r.count; i++) {
        assert_true(rig_elements(&c.r.info[i]) <= 64);
        memcpy(kept[i], c.r.gradients[i].data, rig_elements(&c.r.info[i]) * sizeof(double));
        memset(c.r.gradients[i].data, 0, rig_elements(&c.r.info[i]) * sizeof(double));
    }
    run(true, LOCUS_PASS_BACKWARD);
    for (size_t which = G_QUERY; which < TENSORS; which++)
        check_same(which);
    for (size_t i = 0; i < c.r.count; i++)
        assert_memory_equal(kept[i], c.r.gradients[i].data, rig_elements(&c.r.info[i]) * sizeof(double));
    rig_close(&c.r);
}

static void test_half(void **state) {
    (void)state;
    const locus_dtype types[] = {LOCUS_FLOAT16, LOCUS_BFLOAT16};
    for (size_t i = 0; i < 2; i++) {
        check("rope", (locus_shape){.heads = HEADS, .head_dim = 8, .value_dim = 6}, types[i], LOCUS_MASK_CAUSAL);
        check("none", (locus_shape){.heads = HEADS, .head_dim = 5}, types[i], LOCUS_MASK_FULL);
        check("rope(learned=on) + alibi", (locus_shape){.heads = HEADS, .head_dim = 4}, types[i], LOCUS_MASK_FULL);
        check("algebraic(values=on)", (locus_shape){.heads = HEADS, .head_dim = 4}, types[i], LOCUS_MASK_CAUSAL);
    }
}

static void test_half_groups(void **state) {
    (void)state;
    check("rope", (locus_shape){.heads = HEADS, .head_dim = 8, .kv_heads = 2}, LOCUS_BFLOAT16, LOCUS_MASK_CAUSAL);
    check("rope(learned=on)", (locus_shape){.heads = HEADS, .head_dim = 8, .value_dim = 3, .kv_heads = 1},
          LOCUS_FLOAT16, LOCUS_MASK_FULL);
}

/* ---- steps of decoding ---- */

/* A step of three queries against keys in two parts; tiles; one query; keys alone. */
static void place_steps(void) {
    const size_t query_offsets[] = {1, 5, 20, 21, QUERIES}, query_lengths[] = {3, 12, 1, 0};
    const size_t key_offsets[] = {0, 264, 282, 318, KEYS}, key_lengths[] = {262, 16, 34, 2};
    locus_positions *queries = NULL, *keys = NULL;
    rig_ok(locus_positions_create(
        &queries, NULL, &(locus_packing){sizeof(locus_packing), 4, query_offsets, query_lengths}, NULL, error));
    rig_ok(locus_positions_create(&keys, NULL, &(locus_packing){sizeof(locus_packing), 4, key_offsets, key_lengths},
                                  NULL, error));
    rig_place(&c.r, queries, keys);
}

static void check_steps(const char *spec, locus_shape shape, locus_attention_options options) {
    const locus_dtype types[] = {LOCUS_FLOAT16, LOCUS_BFLOAT16};
    for (size_t i = 0; i < 2; i++)
        for (int by_head = 0; by_head < 2; by_head++) {
            c.dtype = types[i];
            c.by_head = by_head != 0;
            c.options = options;
            rig_bind(&c.r, spec, shape, 7);
            place_steps();
            fill();
            run(false, LOCUS_PASS_FORWARD);
            run(true, LOCUS_PASS_FORWARD);
            check_same(OUTPUT);
            assert_memory_equal(c.half_lse, c.wide_lse, sizeof c.wide_lse);
            rig_close(&c.r);
        }
    c.by_head = false;
}

static void test_half_steps(void **state) {
    const locus_shape plain = {.heads = HEADS, .head_dim = 8}, uneven = {.heads = HEADS, .head_dim = 7, .value_dim = 5};
    const locus_shape grouped = {.heads = HEADS, .head_dim = 8, .value_dim = 6, .kv_heads = 2};
    const locus_shape shared = {.heads = HEADS, .head_dim = 8, .kv_heads = 1};
    locus_attention_options causal = locus_attention_default(), window, dropped;
    (void)state;
    causal.mask = LOCUS_MASK_CAUSAL;
    window = dropped = causal;
    window.window = 40;
    window.keep = 5;
    window.cap = 3;
    dropped.dropout = 0.25;
    check_steps("none", plain, causal);
    check_steps("none", uneven, locus_attention_default());
    check_steps("rope", grouped, window);
    check_steps("algebraic(values=on) + alibi", shared, causal);
    check_steps("rope + decay(rate=0.9) + scores(sinks=on)", grouped, dropped);
    check_steps("relative(window=4)", plain, causal);
    check_steps("liere(group=seq, values=on)", plain, causal); /* acts on whole tensors: keys are widened before */
}

/* Keys and values are never widened as a whole. */
static void test_half_steps_take_little_memory(void **state) {
    enum { LONG = 1 << 16 };
    const locus_attention_options options = locus_attention_default();
    static int64_t last[] = {LONG - 1};
    (void)state;
    rig_bind(&c.r, "rope", (locus_shape){.heads = HEADS, .head_dim = 64}, 7);
    rig_place(&c.r, rig_positions(last, 1), rig_positions(NULL, LONG));
    const size_t keys = (size_t)LONG * HEADS * 64 * sizeof(float);
    const size_t wide = locus_attention_workspace(c.r.plan, &options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL);
    const size_t half = locus_attention_workspace(c.r.plan, &options, LOCUS_BFLOAT16, LOCUS_PASS_FORWARD, NULL);
    assert_true(wide > 0 && half < wide + keys / 8);
    rig_close(&c.r);
}

int main(void) {
    /* Products of bfloat16 round, and have a test of their own: test_attention_bfloat16.c. */
    locus_cpu_mask_set(~(unsigned)(LOCUS_ISA_AVX512_BF16 | LOCUS_ISA_AMX));
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_half), cmocka_unit_test(test_half_groups),
                                       cmocka_unit_test(test_half_steps),
                                       cmocka_unit_test(test_half_steps_take_little_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
