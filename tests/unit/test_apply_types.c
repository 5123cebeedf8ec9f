/* SPDX-License-Identifier: MIT */
/* locus_apply and its backward with half types, and with fewer key and value heads than query heads.
 *
 * Half types: the result is that of float32 on the widened input, rounded once, to the last bit. Groups: query head
 * h = kv·G + g is turned as a plan with as many heads as kv_heads turns head kv of the tensor's heads g, G + g, …;
 * gradients of parameters are the sum over g. */
#include "../property/encoding_rig.h"

static const int64_t positions[] = {3, 0, -2, 17, 64, 65, 66, 67, 5, 1000, -64, 4};
enum { TOKENS = sizeof positions / sizeof positions[0] };

typedef struct type_case {
    const char *spec;
    locus_shape shape;
    locus_role first, last;
} type_case;

/* ---- views ---- */

static size_t heads_of(const rig *r, locus_role role) {
    const bool keys = role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
    return keys && r->shape.kv_heads ? r->shape.kv_heads : r->shape.heads;
}

/* Rows are `gap` elements further apart than they need be, heads `skip`. */
static locus_tensor view(const rig *r, locus_role role, void *data, locus_dtype dtype, int64_t gap, int64_t skip) {
    const bool value = role == LOCUS_ROLE_VALUE || role == LOCUS_ROLE_OUTPUT;
    const size_t value_dim = r->shape.value_dim ? r->shape.value_dim : r->shape.head_dim;
    if (role == LOCUS_ROLE_TOKEN || role == LOCUS_ROLE_ENCODED) {
        const int64_t shape[] = {TOKENS, (int64_t)r->shape.model_dim};
        locus_tensor tensor = locus_tensor_view(data, dtype, 2, shape);
        tensor.stride[0] += gap;
        return tensor;
    }
    const int64_t shape[] = {TOKENS, (int64_t)heads_of(r, role), (int64_t)(value ? value_dim : r->shape.head_dim)};
    locus_tensor tensor = locus_tensor_view(data, dtype, 3, shape);
    tensor.stride[1] += skip;
    tensor.stride[0] = shape[1] * tensor.stride[1] + gap;
    return tensor;
}

enum { MOST = 4096, SENTINEL = 0x5a5a };

static void run(const rig *r, locus_role role, locus_direction direction, const locus_tensor *x,
                const locus_tensor *y) {
    const locus_workspace workspace = rig_workspace(r, role, x->dtype);
    const locus_execution execution = locus_execution_in(workspace);
    rig_ok(locus_apply(r->plan, role, direction, x, y, &execution, error));
    rig_workspace_free(workspace);
}

static void run_backward(rig *r, locus_role role, const locus_tensor *x, const locus_tensor *gy,
                         const locus_tensor *gx) {
    const locus_workspace workspace = rig_workspace(r, role, gy->dtype);
    for (size_t i = 0; i < r->count; i++)
        memset(r->gradients[i].data, 0, rig_elements(&r->info[i]) * sizeof(double));
    const locus_apply_gradients gradients = {
        .x = x, .gy = gy, .gx = gx, .parameters = r->gradients, .parameter_count = r->count};
    const locus_execution execution = locus_execution_in(workspace);
    rig_ok(locus_apply_backward(r->plan, role, LOCUS_FORWARD, &gradients, &execution, error));
    rig_workspace_free(workspace);
}

/* ---- halves ---- */

static uint64_t random_state;

/* Values that the type has: any bits but those of infinity and NaN. */
static void fill_half(uint16_t *half, locus_dtype dtype) {
    const float scale = 0.7f;
    float wide[MOST];
    int64_t shape[] = {MOST};
    for (size_t i = 0; i < MOST; i++)
        wide[i] = scale * (float)rig_random(&random_state);
    const locus_tensor from = locus_tensor_view(wide, LOCUS_FLOAT32, 1, shape);
    const locus_tensor to = locus_tensor_view(half, dtype, 1, shape);
    rig_ok(locus_tensor_convert(&from, &to, error));
}

static void convert(const void *from, locus_dtype from_type, void *to, locus_dtype to_type) {
    const int64_t shape[] = {MOST};
    const locus_tensor a = locus_tensor_view((void *)(uintptr_t)from, from_type, 1, shape);
    const locus_tensor b = locus_tensor_view(to, to_type, 1, shape);
    rig_ok(locus_tensor_convert(&a, &b, error));
}

static void check_forward(const rig *r, locus_role role, locus_direction direction, locus_dtype dtype, int64_t gap) {
    static uint16_t x[MOST], y[MOST], want[MOST];
    static float wide[MOST];
    fill_half(x, dtype);
    memcpy(y, x, sizeof y);
    convert(x, dtype, wide, LOCUS_FLOAT32);
    const locus_tensor wide_x = view(r, role, wide, LOCUS_FLOAT32, gap, gap), wide_y = wide_x;
    run(r, role, direction, &wide_x, &wide_y);
    convert(wide, LOCUS_FLOAT32, want, dtype);
    const locus_tensor half_x = view(r, role, x, dtype, gap, gap), half_y = view(r, role, y, dtype, gap, gap);
    run(r, role, direction, &half_x, &half_y);
    assert_memory_equal(y, want, sizeof y); /* gaps between rows and heads included */
    run(r, role, direction, &half_x, &half_x);
    assert_memory_equal(x, want, sizeof x);
}

static void check_backward(rig *r, locus_role role, locus_dtype dtype) {
    static uint16_t x[MOST], gy[MOST], want[MOST];
    static float wide_x[MOST], wide_g[MOST];
    double kept[RIG_TENSORS][256];
    fill_half(x, dtype);
    fill_half(gy, dtype);
    convert(x, dtype, wide_x, LOCUS_FLOAT32);
    convert(gy, dtype, wide_g, LOCUS_FLOAT32);
    const locus_tensor xs = view(r, role, wide_x, LOCUS_FLOAT32, 2, 3), gs = view(r, role, wide_g, LOCUS_FLOAT32, 2, 3);
    run_backward(r, role, &xs, &gs, &gs);
    convert(wide_g, LOCUS_FLOAT32, want, dtype);
    for (size_t i = 0; i < r->count; i++) {
        assert_true(rig_elements(&r->info[i]) <= 256);
        memcpy(kept[i], r->gradients[i].data, rig_elements(&r->info[i]) * sizeof(double));
    }
    const locus_tensor xh = view(r, role, x, dtype, 2, 3), gh = view(r, role, gy, dtype, 2, 3);
    run_backward(r, role, &xh, &gh, &gh);
    assert_memory_equal(gy, want, sizeof gy);
    for (size_t i = 0; i < r->count;
         i++) { /* the same floats, cut into other calls: sums in double may differ in order */
        const double *got = r->gradients[i].data;
        for (size_t j = 0; j < rig_elements(&r->info[i]); j++)
            if (fabs(got[j] - kept[i][j]) > 1e-4 * (1 + fabs(kept[i][j])))
                fail_msg("%s[%zu]: %.9g with half types, %.9g in float32", r->info[i].name, j, got[j], kept[i][j]);
    }
}

static const type_case cases[] = {
    {"rope", {.heads = 4, .head_dim = 6, .value_dim = 5}, LOCUS_ROLE_QUERY, LOCUS_ROLE_OUTPUT},
    {"rope(learned=on)", {.heads = 4, .head_dim = 6, .kv_heads = 2}, LOCUS_ROLE_QUERY, LOCUS_ROLE_KEY},
    {"roper", {.heads = 6, .head_dim = 6, .kv_heads = 3}, LOCUS_ROLE_QUERY, LOCUS_ROLE_OUTPUT},
    {"algebraic(values=on)", {.heads = 4, .head_dim = 4, .kv_heads = 1}, LOCUS_ROLE_QUERY, LOCUS_ROLE_OUTPUT},
    {"none", {.heads = 2, .head_dim = 5, .model_dim = 7}, LOCUS_ROLE_TOKEN, LOCUS_ROLE_OUTPUT},
    {"sinusoidal", {.model_dim = 34}, LOCUS_ROLE_TOKEN, LOCUS_ROLE_TOKEN},
};

static void test_half(void **state) {
    (void)state;
    const locus_dtype types[] = {LOCUS_FLOAT16, LOCUS_BFLOAT16};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r;
        rig_open(&r, cases[i].spec, cases[i].shape, positions, TOKENS);
        for (locus_role role = cases[i].first; role <= cases[i].last; role++)
            for (size_t type = 0; type < 2; type++) {
                check_forward(&r, role, LOCUS_FORWARD, types[type], 0);
                check_forward(&r, role, LOCUS_INVERSE, types[type], 0);
                check_forward(&r, role, LOCUS_FORWARD, types[type], 3);
                check_backward(&r, role, types[type]);
            }
        rig_close(&r);
    }
}

/* A learned embedding twice at the same position: gradients see gy as it is, and no more. */
static void test_half_embedding_gradient(void **state) {
    (void)state;
    const int64_t rows[TOKENS] = {0, 1, 3, 3, 3, 2, 15, 0, 1, 1, 7, 9};
    rig r;
    rig_open(&r, "learned(size=16) + sinusoidal", rig_shape(0, 0, 0, 6), rows, TOKENS);
    check_forward(&r, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, LOCUS_BFLOAT16, 1);
    check_backward(&r, LOCUS_ROLE_TOKEN, LOCUS_FLOAT16);
    check_backward(&r, LOCUS_ROLE_TOKEN, LOCUS_BFLOAT16);
    rig_close(&r);
}

/* Each role adds what its own terms place, and nothing of the other's. */
static void test_encoded(void **state) {
    (void)state;
    rig r, tokens, encoded;
    const locus_shape shape = rig_shape(0, 0, 0, 8);
    const int64_t rows[TOKENS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    rig_open(&r, "sinusoidal + chebyshev(site=output)", shape, rows, TOKENS);
    rig_open(&tokens, "sinusoidal", shape, rows, TOKENS);
    rig_open(&encoded, "chebyshev(site=output)", shape, rows, TOKENS);
    for (locus_role role = LOCUS_ROLE_TOKEN; role <= LOCUS_ROLE_ENCODED; role += 5) {
        static double x[MOST], got[MOST], want[MOST];
        for (size_t i = 0; i < MOST; i++)
            x[i] = rig_random(&random_state), got[i] = want[i] = 0;
        const locus_tensor from = view(&r, role, x, LOCUS_FLOAT64, 0, 0), to = view(&r, role, got, LOCUS_FLOAT64, 0, 0);
        const locus_tensor alone = view(&r, role, want, LOCUS_FLOAT64, 0, 0);
        run(&r, role, LOCUS_FORWARD, &from, &to);
        run(role == LOCUS_ROLE_TOKEN ? &tokens : &encoded, role, LOCUS_FORWARD, &from, &alone);
        assert_memory_equal(got, want, sizeof got);
        assert_memory_not_equal(got, x, TOKENS * 8 * sizeof(double));
        check_forward(&r, role, LOCUS_FORWARD, LOCUS_FLOAT16, 3);
        check_forward(&r, role, LOCUS_INVERSE, LOCUS_BFLOAT16, 0);
        check_backward(&r, role, LOCUS_FLOAT16);
    }
    rig_close(&r);
    rig_close(&tokens);
    rig_close(&encoded);
}

/* ---- operators on whole tensors ---- */

static void tree_positions(rig *r) {
    const size_t offsets[] = {0, TOKENS};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    const locus_group *group = locus_binding_group(r->binding);
    locus_path *paths[TOKENS];
    static const char *const words[TOKENS] = {"0",   "1",     "2",   "1+2",   "2+1", "1+1+2",
                                              "2+2", "1+2+1", "1+1", "2+1+1", "0",   "2+2+2+1"};
    for (size_t t = 0; t < TOKENS; t++)
        rig_ok(locus_path_parse(group, words[t], &paths[t], error));
    locus_positions *made = NULL;
    rig_ok(locus_positions_create_paths(&made, group, &packing, (const locus_path *const *)paths, error));
    for (size_t t = 0; t < TOKENS; t++)
        locus_path_destroy(&paths[t]);
    rig_place(r, made, NULL);
}

static void open_whole(rig *r, const char *spec, locus_shape shape) {
    rig_bind(r, spec, shape, 7);
    const locus_group *group = locus_binding_group(r->binding);
    if (group && locus_group_coordinate(group, 0).kind == LOCUS_COORDINATE_TREE) {
        tree_positions(r);
        return;
    }
    int64_t values[2 * TOKENS];
    for (size_t i = 0; i < 2 * TOKENS; i++)
        values[i] = positions[i % TOKENS] % 5 + (int64_t)i / 7;
    const size_t offsets[] = {0, TOKENS};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    locus_positions *made = NULL;
    rig_ok(locus_positions_create(&made, group, &packing, values, error));
    rig_place(r, made, NULL);
}

/* Terms that stand before have parameters before: gradients of an operator are the same, in a place behind theirs. */
static void test_terms_before(void **state) {
    static const struct {
        const char *alone, *behind;
        size_t before;
    } sums[] = {
        {"algebraic(group=tree:2)", "kerple(group=tree:2) + algebraic(group=tree:2)", 2},
        {"liere(group=grid:2)", "kerple(group=grid:2) + decay(group=grid:2, learned=on) + liere(group=grid:2)", 3},
        {"rope(learned=on)", "kerple + rope(learned=on)", 2},
        {"algebraic(decay=learned:0.9)", "decay(learned=on) + kerple + algebraic(decay=learned:0.9)", 3},
        {"string(group=seq)", "kerple + string(group=seq)", 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        rig alone, behind;
        double x[MOST], gy[MOST], gx[2][MOST];
        open_whole(&alone, sums[i].alone, rig_shape(2, 6, 0, 0));
        open_whole(&behind, sums[i].behind, rig_shape(2, 6, 0, 0));
        assert_int_equal(behind.count, sums[i].before + alone.count);
        for (size_t p = 0; p < alone.count; p++)
            memcpy(behind.values[sums[i].before + p].data, alone.values[p].data,
                   rig_elements(&alone.info[p]) * sizeof(double));
        rig_update(&behind);
        for (size_t e = 0; e < TOKENS * 12; e++) {
            x[e] = rig_random(&random_state);
            gy[e] = rig_random(&random_state);
        }
        rig *const both[] = {&alone, &behind};
        for (size_t n = 0; n < 2; n++) {
            const locus_tensor in = view(both[n], LOCUS_ROLE_QUERY, x, LOCUS_FLOAT64, 0, 0),
                               up = view(both[n], LOCUS_ROLE_QUERY, gy, LOCUS_FLOAT64, 0, 0),
                               down = view(both[n], LOCUS_ROLE_QUERY, gx[n], LOCUS_FLOAT64, 0, 0);
            run_backward(both[n], LOCUS_ROLE_QUERY, &in, &up, &down);
        }
        assert_memory_equal(gx[0], gx[1], TOKENS * 12 * sizeof(double));
        for (size_t p = 0; p < behind.count; p++) {
            const double *got = behind.gradients[p].data;
            const double *want = p < sums[i].before ? NULL : alone.gradients[p - sums[i].before].data;
            for (size_t e = 0; e < rig_elements(&behind.info[p]); e++)
                assert_true(got[e] == (want ? want[e] : 0));
        }
        rig_close(&alone);
        rig_close(&behind);
    }
}

static const char *const whole_specs[] = {"algebraic(group=tree:2)", "liere(group=grid:2)"};

static void test_half_whole(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rig r;
        open_whole(&r, whole_specs[i], (locus_shape){.heads = 4, .head_dim = 4, .kv_heads = 2});
        for (locus_role role = LOCUS_ROLE_QUERY; role <= LOCUS_ROLE_KEY; role++) {
            check_forward(&r, role, LOCUS_FORWARD, LOCUS_FLOAT16, 0);
            check_forward(&r, role, LOCUS_INVERSE, LOCUS_BFLOAT16, 2);
            check_backward(&r, role, LOCUS_FLOAT16);
        }
        rig_close(&r);
    }
}

/* ---- groups of query heads ---- */

/* The heads g, G + g, … of a tensor [tokens, heads, dim]. */
static locus_tensor group_of(const locus_tensor *tensor, size_t groups, size_t g) {
    locus_tensor group = *tensor;
    group.data = (char *)tensor->data + g * (size_t)tensor->stride[1] * locus_dtype_size(tensor->dtype);
    group.shape[1] /= (int64_t)groups;
    group.stride[1] *= (int64_t)groups;
    return group;
}

static void check_groups(rig *many, rig *few, locus_role role) {
    static double x[MOST], gy[MOST], got[MOST], want[MOST], got_g[MOST], want_g[MOST];
    double sum[RIG_TENSORS][1024] = {{0}};
    const size_t groups = many->shape.heads / many->shape.kv_heads;
    for (size_t i = 0; i < MOST; i++)
        x[i] = rig_random(&random_state), gy[i] = rig_random(&random_state);
    const locus_tensor xs = view(many, role, x, LOCUS_FLOAT64, 1, 0), gs = view(many, role, gy, LOCUS_FLOAT64, 1, 0);
    const locus_tensor ys = view(many, role, got, LOCUS_FLOAT64, 1, 0),
                       os = view(many, role, want, LOCUS_FLOAT64, 1, 0);
    const locus_tensor ds = view(many, role, got_g, LOCUS_FLOAT64, 1, 0),
                       es = view(many, role, want_g, LOCUS_FLOAT64, 1, 0);
    run(many, role, LOCUS_FORWARD, &xs, &ys);
    run_backward(many, role, &xs, &gs, &ds);
    for (size_t g = 0; g < groups; g++) {
        const locus_tensor part = group_of(&xs, groups, g), to = group_of(&os, groups, g);
        const locus_tensor part_g = group_of(&gs, groups, g), to_g = group_of(&es, groups, g);
        run(few, role, LOCUS_FORWARD, &part, &to);
        run_backward(few, role, &part, &part_g, &to_g);
        for (size_t i = 0; i < few->count; i++)
            for (size_t j = 0; j < rig_elements(&few->info[i]); j++)
                sum[i][j] += ((const double *)few->gradients[i].data)[j];
    }
    assert_memory_equal(got, want, sizeof got);
    assert_memory_equal(got_g, want_g, sizeof got_g);
    for (size_t i = 0; i < few->count; i++)
        for (size_t j = 0; j < rig_elements(&few->info[i]); j++) {
            const double gradient = ((const double *)many->gradients[i].data)[j];
            if (fabs(gradient - sum[i][j]) > 1e-9 * (1 + fabs(sum[i][j])))
                fail_msg("%s[%zu]: %.12g, summed over groups %.12g", few->info[i].name, j, gradient, sum[i][j]);
        }
}

static void test_groups(void **state) {
    (void)state;
    const char *const specs[] = {"rope",
                                 "rope(learned=on)",
                                 "roper(learned=on)",
                                 "algebraic(values=on)",
                                 "algebraic(heads=shared)",
                                 "algebraic(generator=angles)",
                                 "algebraic(group=tree:2)",
                                 "algebraic(group=tree:2, values=on)",
                                 "liere(group=grid:2)"};
    const locus_shape shapes[] = {{.heads = 6, .head_dim = 4, .kv_heads = 2},
                                  {.heads = 7, .head_dim = 4, .kv_heads = 1}};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        for (size_t s = 0; s < 2; s++) {
            locus_shape own = shapes[s];
            own.heads = own.kv_heads;
            rig many, few;
            open_whole(&many, specs[i], shapes[s]);
            open_whole(&few, specs[i], own);
            assert_int_equal(many.count, few.count);
            check_groups(&many, &few, LOCUS_ROLE_QUERY);
            check_groups(&many, &few, LOCUS_ROLE_OUTPUT);
            rig_close(&many);
            rig_close(&few);
        }
}

/* Other calls' numbers, as large as roles are, where the next call's stand. */
static __attribute__((noinline)) void write_over_the_stack(int number) {
    volatile int rest[4096];
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        rest[i] = number;
}

/* What acts on one side alone wants room there, whatever was called before. */
static void test_room_of_one_side(void **state) {
    static const char *const specs[] = {"algebraic(group=tree:2, side=query)", "algebraic(group=tree:2, side=key)"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rig r;
        open_whole(&r, specs[i], (locus_shape){.heads = 4, .head_dim = 4, .kv_heads = 2});
        for (locus_role role = LOCUS_ROLE_QUERY; role <= LOCUS_ROLE_KEY; role++) {
            const size_t room = locus_apply_workspace(r.plan, role, LOCUS_FLOAT64, NULL);
            assert_int_equal(room > 0, role == (i == 0 ? LOCUS_ROLE_QUERY : LOCUS_ROLE_KEY));
            for (int number = 0; number <= LOCUS_ROLE_ENCODED; number++) {
                write_over_the_stack(number);
                assert_int_equal(locus_apply_workspace(r.plan, role, LOCUS_FLOAT64, NULL), room);
            }
        }
        rig_close(&r);
    }
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
    (void)state;
    static uint16_t data[MOST];
    static float wide[MOST];
    rig r;
    rig_open(&r, "rope", (locus_shape){.heads = 4, .head_dim = 6, .kv_heads = 2}, positions, TOKENS);
    const locus_tensor x = view(&r, LOCUS_ROLE_QUERY, data, LOCUS_FLOAT16, 0, 0);
    locus_tensor y = view(&r, LOCUS_ROLE_QUERY, data, LOCUS_BFLOAT16, 0, 0);
    const locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT16);
    locus_error error;
    y.data = wide;
    const locus_execution execution = locus_execution_in(workspace);
    assert_int_equal(locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &x, &y, &execution, &error),
                     LOCUS_ERROR_DTYPE);
    y.dtype = LOCUS_FLOAT32;
    assert_int_equal(locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &x, &y, &execution, &error),
                     LOCUS_ERROR_DTYPE);
    y = x;
    y.data = wide;
    assert_int_equal(locus_apply(r.plan, LOCUS_ROLE_KEY, LOCUS_FORWARD, &x, &y, &execution, &error), LOCUS_ERROR_SHAPE);
    y.dtype = (locus_dtype)9;
    assert_int_equal(locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &x, &y, &execution, &error),
                     LOCUS_ERROR_DTYPE);
    assert_int_equal(locus_apply_workspace(r.plan, LOCUS_ROLE_QUERY, (locus_dtype)9, NULL), 0);
    y.dtype = LOCUS_FLOAT16;
    assert_int_equal(locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &x, &y, NULL, &error), LOCUS_ERROR_MEMORY);
    assert_int_equal(locus_apply(r.plan, (locus_role)7, LOCUS_FORWARD, &x, &y, NULL, &error), LOCUS_ERROR_ARGUMENT);
    rig_workspace_free(workspace);
    rig_close(&r);
}

/* ---- locus_tensor_convert ---- */

/* Of one type, next to each other: as they are, also onto themselves. */
static void check_copies(const locus_tensor *doubles, const locus_tensor *halves) {
    static const double odd[] = {NAN, -0.0, 0x1p-1074, 1e308}, numbers[] = {1, 2, 3, 4};
    float narrow[] = {1, 2, 3, 4};
    const int64_t shape[] = {4};
    float floats[4], float_copies[4] = {0};
    double copies[16] = {0};
    uint16_t half_copies[16] = {0};
    for (size_t i = 0; i < 4; i++)
        floats[i] = (float)odd[3 - i];
    const locus_tensor pairs[][2] = {
        {*doubles, locus_tensor_view(copies, LOCUS_FLOAT64, 2, doubles->shape)},
        {*halves, locus_tensor_view(half_copies, LOCUS_FLOAT16, 2, halves->shape)},
        {locus_tensor_view(floats, LOCUS_FLOAT32, 1, shape), locus_tensor_view(float_copies, LOCUS_FLOAT32, 1, shape)},
        {locus_tensor_view((void *)(uintptr_t)odd, LOCUS_FLOAT64, 1, shape),
         locus_tensor_view(copies, LOCUS_FLOAT64, 1, shape)}};
    /* Every second number, into a row. */
    const int64_t half[] = {2};
    for (int wide = 0; wide < 2; wide++)
        for (int into = 0; into < 2; into++) {
            float narrow_row[2] = {0};
            double wide_row[2] = {0};
            locus_tensor every = locus_tensor_view(wide ? (void *)(uintptr_t)numbers : narrow,
                                                   wide ? LOCUS_FLOAT64 : LOCUS_FLOAT32, 1, half);
            const locus_tensor row =
                locus_tensor_view(into ? (void *)wide_row : narrow_row, into ? LOCUS_FLOAT64 : LOCUS_FLOAT32, 1, half);
            every.stride[0] = 2;
            rig_ok(locus_tensor_convert(&every, &row, error));
            for (size_t i = 0; i < 2; i++)
                assert_true((into ? wide_row[i] : (double)narrow_row[i]) == numbers[2 * i]);
        }
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const locus_tensor *from = &pairs[i][0], *to = &pairs[i][1];
        const size_t bytes = locus_tensor_count(from) * locus_dtype_size(from->dtype);
        rig_ok(locus_tensor_convert(from, to, error));
        assert_memory_equal(to->data, from->data, bytes);
        rig_ok(locus_tensor_convert(to, to, error));
        assert_memory_equal(to->data, from->data, bytes);
    }
}

static void test_convert(void **state) {
    (void)state;
    const double values[] = {0,
                             -0.0,
                             1,
                             -2.5,
                             65504,
                             65519.999,
                             65520,
                             1e300,
                             -INFINITY,
                             0x1p-24,
                             0x1p-25,
                             0x1.8p-24,
                             0x1.004p0 + 0x1p-40,
                             0x1.002p0,
                             0x1.002p0 + 0x1p-50,
                             0x1.002p0 - 0x1p-50};
    enum { COUNT = sizeof values / sizeof values[0] };
    /* the last three round down to even, up and down: by way of float32 they would all be ties */
    const double want[COUNT] = {0,         -0.0,    1, -2.5,    65504,     65504, INFINITY,  INFINITY,
                                -INFINITY, 0x1p-24, 0, 0x1p-23, 0x1.004p0, 0x1p0, 0x1.004p0, 0x1p0};
    const int64_t shape[] = {2, COUNT / 2};
    uint16_t half[COUNT] = {0}, turned[COUNT] = {0};
    double back[COUNT];
    const locus_tensor from = locus_tensor_view((void *)(uintptr_t)values, LOCUS_FLOAT64, 2, shape);
    const locus_tensor middle = locus_tensor_view(half, LOCUS_FLOAT16, 2, shape);
    const locus_tensor to = locus_tensor_view(back, LOCUS_FLOAT64, 2, shape);
    rig_ok(locus_tensor_convert(&from, &middle, error));
    rig_ok(locus_tensor_convert(&middle, &to, error));
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(back[i] == want[i]);
        assert_int_equal(signbit(back[i]) != 0, signbit(want[i]) != 0);
    }
    locus_tensor columns = middle; /* stored column by column */
    columns.data = turned, columns.stride[0] = 1, columns.stride[1] = 2;
    rig_ok(locus_tensor_convert(&middle, &columns, error));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(turned[i % (COUNT / 2) * 2 + i / (COUNT / 2)], half[i]);
    check_copies(&from, &middle);
    /* a stride that is never stepped */
    const int64_t tall[] = {COUNT, 1};
    locus_tensor one = locus_tensor_view(half, LOCUS_FLOAT16, 2, tall),
                 other = locus_tensor_view(back, LOCUS_FLOAT64, 2, tall);
    one.stride[1] = INT64_MAX, other.stride[1] = INT64_MIN;
    rig_ok(locus_tensor_convert(&one, &other, error));
    for (size_t i = 0; i < COUNT; i++)
        assert_true(back[i] == want[i]);
    locus_error error;
    locus_tensor wrong = to;
    wrong.shape[1]--;
    assert_int_equal(locus_tensor_convert(&from, &wrong, &error), LOCUS_ERROR_SHAPE);
    wrong = to, wrong.dtype = (locus_dtype)0;
    assert_int_equal(locus_tensor_convert(&from, &wrong, &error), LOCUS_ERROR_DTYPE);
    wrong = to, wrong.rank = LOCUS_MAX_RANK + 1;
    assert_int_equal(locus_tensor_convert(&wrong, &wrong, &error), LOCUS_ERROR_SHAPE);
    assert_int_equal(locus_tensor_convert(NULL, &to, &error), LOCUS_ERROR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_half),
                                       cmocka_unit_test(test_half_embedding_gradient),
                                       cmocka_unit_test(test_encoded),
                                       cmocka_unit_test(test_half_whole),
                                       cmocka_unit_test(test_terms_before),
                                       cmocka_unit_test(test_groups),
                                       cmocka_unit_test(test_room_of_one_side),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_convert)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
