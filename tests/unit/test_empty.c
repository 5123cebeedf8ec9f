/* SPDX-License-Identifier: MIT */
/* Nothing is a size like any other: batches of no sequences, sequences of no tokens, tensors without data, in every
 * call that takes tokens. Made for the undefined-behaviour sanitizer (no arithmetic on NULL, no copies of nothing from
 * nowhere) and for assertions. */
#include "kind_of.h"

#include <locus/locus.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HEADS = 4, KV_HEADS = 2, DIM = 8, WIDTH = 16, PARAMETERS = 8, TOKENS = 40 };

static const locus_dtype types[] = {LOCUS_FLOAT32, LOCUS_FLOAT64, LOCUS_FLOAT16, LOCUS_BFLOAT16};
static const char *const specs[] = {"none",
                                    "rope",
                                    "rope(learned=on) + alibi",
                                    "sinusoidal",
                                    "learned(size=8)",
                                    "relative(window=3, values=on)",
                                    "cope",
                                    "liere(group=seq, values=on)",
                                    "algebraic(group=seq, values=on)",
                                    "algebraic(group=tree:2, values=on)",
                                    "algebraic(group=tree:2, generator=angles)",
                                    "decay(rate=0.9, learned=on) + scores(sinks=on)",
                                    "string(group=grid:2)",
                                    "mixed(group=grid:2)"};

static const char *const kinds[] = {"softmax", "linear", "soft", "clustered"};

static void ok(locus_status status, const locus_error *error) {
    if (status != LOCUS_OK)
        fail_msg("status %d: %s", (int)status, error->message);
}

typedef struct scene {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *positions;
    locus_plan *plan;
    locus_shape shape;
    size_t parameter_count;
    locus_tensor values[PARAMETERS], gradients[PARAMETERS];
} scene;

static locus_positions *some_positions(const scene *s, const locus_packing *packing) {
    static const int64_t zeros[4 * TOKENS];
    static const size_t starts[TOKENS + 1];
    const locus_group *group = locus_binding_group(s->binding);
    locus_position_column columns[4] = {{0}};
    locus_positions *positions = NULL;
    locus_error error;
    bool words = false;
    for (size_t c = 0; group && c < locus_group_coordinates(group); c++) {
        const bool tree = locus_group_coordinate(group, c).kind == LOCUS_COORDINATE_TREE;
        columns[c] = (locus_position_column){.size = sizeof *columns, .starts = tree ? starts : NULL};
        words = words || tree;
    }
    if (words)
        ok(locus_positions_create_columns(&positions, group, packing, columns, &error), &error);
    else
        ok(locus_positions_create(&positions, group, packing, group ? zeros : NULL, &error), &error);
    return positions;
}

/* No sequences, or some of no tokens. */
static void scene_make(scene *s, const char *spec, size_t sequences) {
    static const size_t offsets[4] = {0, 0, 0, 0};
    const locus_packing packing = {sizeof packing, sequences, offsets, NULL};
    locus_error error;
    memset(s, 0, sizeof *s);
    s->shape = locus_shape_default();
    s->shape.heads = HEADS;
    s->shape.kv_heads = KV_HEADS;
    s->shape.head_dim = s->shape.value_dim = DIM;
    s->shape.model_dim = WIDTH;
    ok(locus_encoding_parse(spec, &s->encoding, &error), &error);
    ok(locus_encoding_parameter_count(s->encoding, &s->shape, &s->parameter_count, &error), &error);
    assert_in_range(s->parameter_count, 0, PARAMETERS);
    for (size_t i = 0; i < s->parameter_count; i++) {
        locus_parameter parameter = {.size = sizeof parameter};
        ok(locus_encoding_parameter(s->encoding, &s->shape, i, &parameter, &error), &error);
        s->values[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, parameter.rank, parameter.shape);
        s->gradients[i] = s->values[i];
        s->values[i].data = calloc(locus_tensor_count(&s->values[i]) + 1, sizeof(double));
        s->gradients[i].data = calloc(locus_tensor_count(&s->values[i]) + 1, sizeof(double));
        assert_true(s->values[i].data && s->gradients[i].data);
    }
    ok(locus_encoding_initialise(s->encoding, &s->shape, 3, s->values, s->parameter_count, &error), &error);
    ok(locus_binding_create(&s->binding, s->encoding, &s->shape, s->values, s->parameter_count, &error), &error);
    ok(locus_binding_update(&s->binding, s->values, s->parameter_count, &error), &error);
    s->positions = some_positions(s, &packing);
    assert_int_equal(locus_positions_tokens(s->positions), 0);
    ok(locus_plan_create(&s->plan, s->binding, s->positions, NULL, &error), &error);
}

static void scene_free(scene *s) {
    locus_plan_destroy(&s->plan);
    locus_positions_destroy(&s->positions);
    locus_binding_destroy(&s->binding);
    locus_encoding_destroy(&s->encoding);
    for (size_t i = 0; i < s->parameter_count; i++) {
        for (size_t j = 0; j < locus_tensor_count(&s->gradients[i]); j++)
            assert_true(((const double *)s->gradients[i].data)[j] == 0);
        free(s->values[i].data);
        free(s->gradients[i].data);
    }
}

static locus_tensor nothing(locus_dtype dtype, size_t rank, int64_t heads, int64_t dim) {
    const int64_t shape[] = {0, heads, dim};
    return locus_tensor_view(NULL, dtype, rank, shape);
}

static locus_workspace lent(size_t bytes) {
    locus_workspace workspace = {bytes > 0 ? locus_allocate(bytes) : NULL, bytes};
    assert_true(bytes == 0 || workspace.data);
    return workspace;
}

/* ---- tests ---- */

static void apply_all(scene *s, locus_dtype dtype) {
    locus_error error;
    for (locus_role role = LOCUS_ROLE_TOKEN; role <= LOCUS_ROLE_ENCODED; role++) {
        const bool tokens = role == LOCUS_ROLE_TOKEN || role == LOCUS_ROLE_ENCODED;
        const bool keys = role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
        const locus_tensor x = tokens ? nothing(dtype, 2, WIDTH, 0) : nothing(dtype, 3, keys ? KV_HEADS : HEADS, DIM);
        const locus_tensor y = x;
        locus_workspace workspace = lent(locus_apply_workspace(s->plan, role, dtype, NULL));
        const locus_apply_gradients gradients = {
            .x = &x, .gy = &x, .gx = &y, .parameters = s->gradients, .parameter_count = s->parameter_count};
        const locus_apply_gradients inputs = {.gy = &x, .gx = &y};
        for (locus_direction to = LOCUS_FORWARD; to <= LOCUS_INVERSE; to++) {
            const locus_execution execution = locus_execution_in(workspace);
            ok(locus_apply(s->plan, role, to, &x, &y, &execution, &error), &error);
            ok(locus_apply_backward(s->plan, role, to, &gradients, &execution, &error), &error);
            ok(locus_apply_backward(s->plan, role, to, &inputs, &execution, &error), &error);
        }
        locus_release(workspace.data, workspace.bytes);
    }
}

static void apply_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (size_t sequences = 0; sequences <= 3; sequences += 3)
            for (size_t d = 0; d < 4; d++) {
                scene s;
                scene_make(&s, specs[i], sequences);
                apply_all(&s, types[d]);
                scene_free(&s);
            }
}

/* Returns whether the kind takes the plan. */
static bool attend(scene *s, locus_dtype dtype, const locus_attention_options *options) {
    const locus_dtype sums = dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32;
    const locus_tensor q = nothing(dtype, 3, HEADS, DIM), k = nothing(dtype, 3, KV_HEADS, DIM), v = k, o = q;
    const locus_tensor total = nothing(sums, 2, HEADS, 0), go = q, dq = q, dk = k, dv = k;
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, &o, &total};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &go,
                                                 .query = &dq,
                                                 .key = &dk,
                                                 .value = &dv,
                                                 .parameters = s->gradients,
                                                 .parameter_count = s->parameter_count};
    locus_error error;
    locus_workspace forward = lent(locus_attention_workspace(s->plan, options, dtype, LOCUS_PASS_FORWARD, NULL));
    locus_workspace backward = lent(locus_attention_workspace(s->plan, options, dtype, LOCUS_PASS_BACKWARD, NULL));
    const locus_execution execution = locus_execution_in(forward), back = locus_execution_in(backward);
    const locus_status status = locus_attention_forward(s->plan, options, &tensors, &execution, &error);
    if (status != LOCUS_ERROR_UNSUPPORTED) {
        ok(status, &error);
        ok(locus_attention_backward(s->plan, options, &tensors, &gradients, &back, &error), &error);
    }
    locus_release(forward.data, forward.bytes);
    locus_release(backward.data, backward.bytes);
    return status == LOCUS_OK;
}

static void attend_to_nothing(void **state) {
    static const size_t prefix[3] = {0, 0, 0};
    size_t done[4] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (size_t sequences = 0; sequences <= 3; sequences += 3) {
            scene s;
            scene_make(&s, specs[i], sequences);
            for (size_t d = 0; d < 4; d++)
                for (int kind = 0; kind < 4; kind++)
                    for (int mask = 0; mask < 3; mask++) {
                        locus_attention_options options = locus_attention_default();
                        options.kind = kind_of(kinds[kind]);
                        options.mask = (locus_mask)mask;
                        options.prefix = mask == LOCUS_MASK_PREFIX ? prefix : NULL;
                        done[kind] += attend(&s, types[d], &options);
                        options.dropout = 0.5;
                        done[kind] += attend(&s, types[d], &options);
                    }
            scene_free(&s);
        }
    for (int kind = 0; kind < 4; kind++)
        assert_true(done[kind] >= 16);
}

/* Queries without keys give zeros, keys without queries have no gradient. */
static void attend_on_one_side(scene *s, bool keys, const locus_attention_kind *kind, locus_mask mask) {
    static const size_t offsets[2][3] = {{0, 0, 0}, {0, TOKENS, TOKENS}}, prefix[2] = {0, 0};
    const locus_packing none = {sizeof none, 2, offsets[0], NULL}, some = {sizeof some, 2, offsets[1], NULL};
    locus_positions *queries = some_positions(s, keys ? &none : &some), *kept = some_positions(s, keys ? &some : &none);
    float *data[4];
    locus_error error;
    locus_plan_destroy(&s->plan);
    ok(locus_plan_create(&s->plan, s->binding, queries, kept, &error), &error);
    const int64_t full[] = {TOKENS, keys ? KV_HEADS : HEADS, DIM};
    locus_tensor there[4];
    for (int i = 0; i < 4; i++) {
        there[i] = locus_tensor_view(NULL, LOCUS_FLOAT32, 3, full);
        there[i].data = data[i] = malloc(locus_tensor_count(&there[i]) * sizeof(float));
        assert_non_null(data[i]);
        for (size_t j = 0; j < locus_tensor_count(&there[i]); j++)
            data[i][j] = 1;
    }
    float sums[TOKENS * HEADS];
    char name[80];
    locus_tensor total = nothing(LOCUS_FLOAT32, 2, HEADS, 0);
    total.shape[0] = keys ? 0 : TOKENS;
    total.data = keys ? NULL : sums;
    const locus_tensor q = nothing(LOCUS_FLOAT32, 3, HEADS, DIM), k = nothing(LOCUS_FLOAT32, 3, KV_HEADS, DIM);
    const locus_attention_tensors tensors = {sizeof tensors,        keys ? &q : &there[0], keys ? &there[0] : &k,
                                             keys ? &there[1] : &k, keys ? &q : &there[2], &total};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = keys ? &q : &there[1],
                                                 .query = keys ? &q : &there[3],
                                                 .key = keys ? &there[2] : &k,
                                                 .value = keys ? &there[3] : &k,
                                                 .parameters = s->gradients,
                                                 .parameter_count = s->parameter_count};
    locus_attention_options options = locus_attention_default();
    options.kind = kind;
    options.mask = mask;
    options.prefix = mask == LOCUS_MASK_PREFIX ? prefix : NULL;
    locus_workspace forward =
        lent(locus_attention_workspace(s->plan, &options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL));
    locus_workspace backward =
        lent(locus_attention_workspace(s->plan, &options, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD, NULL));
    const locus_execution execution = locus_execution_in(forward), back = locus_execution_in(backward);
    const locus_status status = locus_attention_forward(s->plan, &options, &tensors, &execution, &error);
    if (status != LOCUS_ERROR_UNSUPPORTED) {
        ok(status, &error);
        for (size_t j = 0; !keys && j < TOKENS * HEADS * DIM; j++)
            assert_true(data[2][j] == 0);
        ok(locus_attention_backward(s->plan, &options, &tensors, &gradients, &back, &error), &error);
        for (size_t j = 0; j < (size_t)(TOKENS * DIM) * (keys ? KV_HEADS : HEADS); j++)
            if (data[3][j] != 0 || (keys && data[2][j] != 0))
                fail_msg("%zu parameters, %s, %s, mask %d, keys %d: gradient %zu is %g, %g", s->parameter_count,
                         (locus_encoding_text(s->encoding, name, sizeof name), name),
                         locus_attention_kind_entry(kind)->name, (int)mask, keys, j, (double)data[2][j],
                         (double)data[3][j]);
    }
    locus_release(forward.data, forward.bytes);
    locus_release(backward.data, backward.bytes);
    for (int i = 0; i < 4; i++)
        free(data[i]);
    locus_positions_destroy(&queries);
    locus_positions_destroy(&kept);
}

static void attend_with_one_side_empty(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (int keys = 0; keys < 2; keys++)
            for (int kind = 0; kind < 4; kind++)
                for (int mask = 0; mask < 3; mask++) {
                    scene s;
                    if (strncmp(specs[i], "learned(", 8) == 0) /* positions end at 8 */
                        continue;
                    scene_make(&s, specs[i], 2);
                    attend_on_one_side(&s, keys != 0, kind_of(kinds[kind]), (locus_mask)mask);
                    scene_free(&s);
                }
}

/* A cache that keeps nothing, gets nothing, and gives nothing away. */
static void keep_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (size_t d = 0; d < 4; d++) {
            scene s;
            locus_cache *cache = NULL, *other = NULL;
            locus_cache_options options = locus_cache_options_default();
            locus_error error;
            scene_make(&s, specs[i], 3);
            options.sequences = 3;
            options.capacity = 4;
            options.dtype = types[d];
            const locus_status status = locus_cache_create(&cache, s.binding, &options, &error);
            if (status == LOCUS_ERROR_UNSUPPORTED) {
                scene_free(&s);
                continue;
            }
            ok(status, &error);
            ok(locus_cache_create(&other, s.binding, &options, &error), &error);
            const locus_tensor q = nothing(types[d], 3, HEADS, DIM), k = nothing(types[d], 3, KV_HEADS, DIM), o = q;
            locus_attention_options attention = locus_attention_default();
            attention.mask = LOCUS_MASK_CAUSAL;
            ok(locus_cache_append(cache, s.positions, &k, &k, NULL, &error), &error);
            ok(locus_cache_attend(cache, &attention, &q, &o, NULL, &error), &error);
            ok(locus_cache_queries(cache, s.positions, NULL, &error), &error);
            ok(locus_cache_attend(cache, &attention, &q, &o, NULL, &error), &error);
            ok(locus_cache_truncate(cache, 0, 0, &error), &error);
            ok(locus_cache_evict(cache, 1, 0, 0, NULL, NULL, &error), &error);
            const locus_cache_fragment fragment = {sizeof fragment, other, 2, 0, 0, NULL};
            ok(locus_cache_insert(cache, 0, &fragment, NULL, &error), &error);
            for (size_t n = 0; n < 3; n++) {
                assert_int_equal(locus_cache_length(cache, n), 0);
                const locus_tensor keys = locus_cache_keys(cache, n), values = locus_cache_values(cache, n);
                assert_int_equal(locus_tensor_count(&keys) + locus_tensor_count(&values), 0);
            }
            locus_cache_destroy(&other);
            locus_cache_destroy(&cache);
            scene_free(&s);
        }
}

static void small_words(void **state) {
    static const size_t offsets[1] = {0};
    const locus_packing packing = {sizeof packing, 0, offsets, NULL};
    locus_group *tree = NULL;
    locus_path *path = NULL;
    locus_positions *positions = NULL;
    locus_error error;
    int64_t length = 1;
    (void)state;
    ok(locus_group_parse("tree:2", &tree, &error), &error);
    ok(locus_path_parse(tree, "0", &path, &error), &error);
    ok(locus_path_length(path, &length, &error), &error);
    assert_int_equal(length, 0);
    locus_path *twice = NULL, *back = NULL;
    ok(locus_path_compose(path, path, &twice, &error), &error);
    ok(locus_path_inverse(path, &back, &error), &error);
    assert_true(locus_path_equal(path, twice) && locus_path_equal(path, back));
    locus_path_destroy(&twice);
    locus_path_destroy(&back);
    ok(locus_positions_create_paths(&positions, tree, &packing, NULL, &error), &error);
    assert_int_equal(locus_positions_tokens(positions), 0);
    locus_positions_destroy(&positions);
    ok(locus_positions_create_real(&positions, NULL, &packing, NULL, &error), &error);
    locus_positions_destroy(&positions);
    locus_path_destroy(&path);
    locus_group_destroy(&tree);
    const locus_tensor from = nothing(LOCUS_FLOAT32, 3, HEADS, DIM), to = nothing(LOCUS_BFLOAT16, 3, HEADS, DIM);
    ok(locus_tensor_convert(&from, &to, &error), &error);
    locus_random_blocks(&(locus_random){1, 2, 3}, 0, 0, NULL);
    locus_parallel_for(0, NULL, NULL);
    locus_parallel_for_at_most(3, 0, NULL, NULL);
}

/* ---- memory ---- */

/* In place is the same view; what overlaps otherwise is refused, and views of one fused buffer are told apart. */
static void partial_overlap_is_refused(void **state) {
    enum { ROWS = 6, ROW = HEADS * DIM };
    static const size_t offsets[2] = {0, ROWS};
    static float memory[4 * ROWS * ROW];
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    const int64_t shape[] = {ROWS, HEADS, DIM};
    scene s;
    locus_error error;
    (void)state;
    scene_make(&s, "rope(learned=on)", 0);
    locus_plan_destroy(&s.plan);
    locus_positions *positions = some_positions(&s, &packing);
    ok(locus_plan_create(&s.plan, s.binding, positions, NULL, &error), &error);
    locus_workspace workspace = lent(locus_apply_workspace(s.plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT32, NULL));
    locus_tensor x = locus_tensor_view(memory, LOCUS_FLOAT32, 3, shape), y = x;
    const struct {
        size_t at;
        int64_t row; /* stride of tokens */
        bool good;
    } cases[] = {{0, ROW, true},          {1, ROW, false},           {ROW, ROW, false},        {DIM, ROW, false},
                 {ROWS * ROW, ROW, true}, {0, 3 * ROW, true},        {ROW, 3 * ROW, true},     {2 * ROW, 3 * ROW, true},
                 {1, 3 * ROW, false},     {ROW - 1, 3 * ROW, false}, {3 * ROW, 3 * ROW, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        y.data = memory + cases[i].at;
        x.stride[0] = y.stride[0] = cases[i].row;
        const locus_apply_gradients gradients = {.gy = &x, .gx = &y};
        const locus_status wanted = cases[i].good ? LOCUS_OK : LOCUS_ERROR_ARGUMENT;
        const locus_execution execution = locus_execution_in(workspace);
        assert_int_equal(locus_apply(s.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &x, &y, &execution, &error), wanted);
        assert_true(cases[i].good || strstr(error.message, "y overlaps x"));
        assert_int_equal(locus_apply_backward(s.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &gradients, &execution, &error),
                         wanted);
        assert_true(cases[i].good || strstr(error.message, "gx overlaps gy"));
    }
    x.stride[0] = y.stride[0] = ROW;
    y.data = memory + ROWS * ROW;
    const locus_tensor late = {.data = memory + ROWS * ROW + DIM,
                               .dtype = LOCUS_FLOAT32,
                               .rank = 3,
                               .shape = {ROWS, HEADS, DIM},
                               .stride = {ROW, DIM, 1}};
    const locus_apply_gradients gradients = {
        .x = &late, .gy = &x, .gx = &y, .parameters = s.gradients, .parameter_count = s.parameter_count};
    const locus_execution execution = locus_execution_in(workspace);
    assert_int_equal(locus_apply_backward(s.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &gradients, &execution, &error),
                     LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "gx overlaps x"));
    locus_release(workspace.data, workspace.bytes);
    locus_positions_destroy(&positions);
    scene_free(&s);
}

static size_t given;

static void *give_little(void *state, size_t bytes, size_t alignment) {
    (void)state;
    if (bytes > (size_t)1 << 27)
        return NULL;
    given += bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void take_back(void *state, void *block, size_t bytes) {
    (void)state;
    (void)bytes;
    free(block);
}

/* A cache that no memory could hold is refused before gigabytes are made for it. */
static void a_huge_cache_fails_early(void **state) {
    const locus_allocator little = {sizeof little, give_little, take_back, NULL};
    locus_cache_options options = locus_cache_options_default();
    locus_cache *cache = NULL;
    scene s;
    (void)state;
    options.sequences = 4;
    options.capacity = (size_t)1 << 20; /* 256 MiB of keys; what grows with tokens takes less than the limit */
    assert_int_equal(locus_allocator_set(&little, NULL), LOCUS_OK);
    scene_make(&s, "rope", 0);
    given = 0;
    assert_int_equal(locus_cache_create(&cache, s.binding, &options, NULL), LOCUS_ERROR_MEMORY);
    assert_null(cache);
    assert_true(given < 65536);
    scene_free(&s);
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(apply_nothing),
        cmocka_unit_test(attend_to_nothing),
        cmocka_unit_test(attend_with_one_side_empty),
        cmocka_unit_test(keep_nothing),
        cmocka_unit_test(small_words),
        cmocka_unit_test(partial_overlap_is_refused),
        cmocka_unit_test(a_huge_cache_fails_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
