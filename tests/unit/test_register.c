/* SPDX-License-Identifier: MIT */
/* Encodings from outside: they are parsed, listed, bound, planned and cached like others; those of the library that are
 * written once more give the same bits; what is wrong with a description, a callback or a plugin is said in one line,
 * and nothing is registered. */
#include "registered_case.h"
#include "registered_plain.h"
#include "registered_scene.h"
#include "threads_only.h"
#include "unit/cache_case.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

/* ---- like any other ---- */

static void test_listed(void **state) {
    const size_t before = locus_encoding_registry_size();
    const locus_encoding_description description = plain("own-listed");
    const locus_encoding_info *info;
    (void)state;
    rig_ok(locus_encoding_register(&description, error));
    assert_int_equal(locus_encoding_registry_size(), before + 1);
    info = locus_encoding_registry_at(before);
    assert_string_equal(info->name, "own-listed");
    assert_string_equal(info->learned, "");
    assert_string_equal(info->source, "");
    assert_int_equal(info->sites, LOCUS_SITE_SCORE);
    assert_null(locus_encoding_registry_at(before + 1));
    for (size_t i = 0; i < before; i++)
        if (strcmp((info = locus_encoding_registry_at(i))->name, "own-kerple") == 0)
            break;
    assert_string_equal(info->learned, "a, b");
    assert_string_equal(info->source, "Chi et al. 2022");
}

static void test_parsed(void **state) {
    locus_encoding *a = NULL, *b = NULL;
    locus_error failure;
    char text[96];
    (void)state;
    assert_int_equal(locus_encoding_parse("rope + own-branches(group=tree:2)", &a, &failure), LOCUS_ERROR_SPEC);
    rig_ok(locus_encoding_parse("own-branches( most = 4 ) + alibi(group=tree:2)", &a, error));
    locus_encoding_text(a, text, sizeof text);
    assert_string_equal(text, "own-branches(most=4) + alibi(group=tree:2)");
    rig_ok(locus_encoding_parse(text, &b, error));
    assert_true(locus_encoding_equal(a, b));
    assert_true(locus_encoding_hash(a) == locus_encoding_hash(b));
    assert_int_equal(locus_encoding_sites(a), LOCUS_SITE_SCORE);
    assert_int_equal(locus_encoding_traits(a), LOCUS_TRAIT_LEARNS | LOCUS_TRAIT_CACHED | LOCUS_TRAIT_OWN);
    locus_encoding_destroy(&a);
    locus_encoding_destroy(&b);
    assert_int_equal(locus_encoding_parse("own-brunches", &a, &failure), LOCUS_ERROR_SPEC);
    assert_non_null(strstr(failure.message, "did you mean 'own-branches'?"));
    assert_int_equal(locus_encoding_parse("own-branches(most=10)", &a, &failure), LOCUS_ERROR_SPEC);
    assert_int_equal(failure.offset, 18);
    rig_ok(locus_encoding_parse("own-kerple", &a, error));
    assert_int_equal(locus_encoding_traits(a),
                     LOCUS_TRAIT_LEARNS | LOCUS_TRAIT_REALS | LOCUS_TRAIT_CACHED | LOCUS_TRAIT_OWN);
    locus_encoding_destroy(&a);
}

static void test_parameters(void **state) {
    rig r;
    (void)state;
    rig_bind(&r, "own-wave + own-kerple", rig_shape(4, 8, 0, 0), 1);
    assert_int_equal(r.count, 4);
    assert_string_equal(r.info[0].name, "0.w");
    assert_string_equal(r.info[3].name, "1.b");
    assert_int_equal(r.info[0].shape[0], 4);
    assert_int_equal(r.info[3].constraint, LOCUS_CONSTRAINT_POSITIVE);
    assert_true(fabs(((double *)r.values[0].data)[0] - 0.3) < 0.6);
    assert_true(((double *)r.values[1].data)[0] == 0.4);
    rig_close(&r);
    rig_bind(&r, "own-branches(most=5)", rig_shape(4, 8, 0, 0), 1);
    assert_int_equal(r.info[0].shape[0], 5);
    assert_true(((double *)r.values[0].data)[4] == 0.1 * 4);
    rig_close(&r);
}

/* ---- the same bits ---- */

static void expect_same(const scene *a, const scene *b, const char *what) {
    for (int i = SCENE_O; i < SCENE_TENSORS; i++)
        if (memcmp(a->data[i], b->data[i], scene_count(a, i) * sizeof(double)) != 0)
            fail_msg("%s: results %d differ", what, i);
}

static void compare_scenes(scene *a, scene *b, locus_dtype dtype, const char *what, double tolerance) {
    for (size_t p = 0; p < a->r.count; p++)
        memcpy(b->r.values[p].data, a->r.values[p].data, rig_elements(&a->r.info[p]) * sizeof(double));
    rig_update(&b->r);
    scene_run(a, dtype, true);
    scene_run(b, dtype, true);
    expect_same(a, b, what);
    for (size_t p = 0; p < a->r.count; p++)
        for (size_t i = 0; i < rig_elements(&a->r.info[p]); i++) {
            const double got = ((double *)a->r.gradients[p].data)[i], want = ((double *)b->r.gradients[p].data)[i];
            if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
                fail_msg("%s: gradient %zu of %s is %.17g, not %.17g", what, i, a->r.info[p].name, got, want);
        }
    scene_close(a);
    scene_close(b);
}

static void compare(const char *own, const char *other, const group_drawing *queries, const group_drawing *keys,
                    double tolerance) {
    for (int single = 0; single < 2; single++) {
        scene a, b;
        scene_open(&a, own, queries, keys);
        scene_open(&b, other, queries, keys);
        compare_scenes(&a, &b, single ? LOCUS_FLOAT32 : LOCUS_FLOAT64, own, tolerance);
    }
}

/* The same sums in another order. */
#define ORDER 1e-12

static void test_same_bits(void **state) {
    static const char *const groups[] = {"seq", "cycle:9", "grid:2", "tree:2", "seq*tree:2", "grid:2*cycle:5"};
    const size_t lengths[] = {40, 7, 7}, others[] = {33, 9, 9};
    (void)state;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (int way = 0; way < 6; way++) {
            /* near each other; far apart; sequences alike, each with its own keys or with others */
            const int64_t reach = way % 3 == 1 ? (int64_t)1 << 33 : 20;
            const bool alike = way % 3 == 2;
            const group_drawing queries = {groups[g], alike ? 2 : 3, alike ? lengths + 1 : lengths, reach, alike};
            const group_drawing keys = {groups[g], alike ? 2 : 3, others, reach, false};
            char own[64], other[64];
            (void)snprintf(own, sizeof own, "own-alibi(group=%s)", groups[g]);
            (void)snprintf(other, sizeof other, "alibi(group=%s)", groups[g]);
            compare(own, other, &queries, way < 3 ? NULL : &keys, 0);
            (void)snprintf(own, sizeof own, "own-kerple(group=%s)", groups[g]);
            (void)snprintf(other, sizeof other, "kerple(group=%s)", groups[g]);
            compare(own, other, &queries, way < 3 ? NULL : &keys, ORDER);
        }
}

/* On a plane on which there are 2^64 differences, a number that looks like none. */
static void test_differences_without_number(void **state) {
    const int64_t far = ((int64_t)1 << 32) - 1, values[2][4] = {{0, 0, 0, 0}, {0, 0, far, far}};
    static const size_t offsets[] = {0, 2};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    (void)state;
    locus_group *grid = NULL;
    rig_ok(locus_group_parse("grid:2", &grid, error));
    scene scenes[2];
    for (size_t i = 0; i < 2; i++) {
        locus_positions *queries = NULL, *keys = NULL;
        rig_ok(locus_positions_create(&queries, grid, &packing, values[0], error));
        rig_ok(locus_positions_create(&keys, grid, &packing, values[1], error));
        scene_stand(&scenes[i], i ? "kerple(group=grid:2)" : "own-kerple(group=grid:2)", queries, keys);
    }
    compare_scenes(&scenes[0], &scenes[1], LOCUS_FLOAT64, "2^64 differences", ORDER);
    locus_group_destroy(&grid);
}

/* Where every pair has a cell of its own, limits say as much as the plan takes, but for one cell; a plan's workspace
 * keeps them below. */
static void test_bounded(void **state) {
    static const size_t lengths[] = {3, 7}, others[] = {2, 9};
    const group_drawing queries = {"seq", 2, lengths, (int64_t)1 << 33, false},
                        keys = {"seq", 2, others, (int64_t)1 << 33, false};
    (void)state;
    scene s;
    scene_open(&s, "own-kerple", &queries, &keys);
    locus_workspace_limits limits = {.size = sizeof limits,
                                     .shape = &s.r.shape,
                                     .threads = 1,
                                     .dtype = LOCUS_FLOAT64,
                                     .sequences = 2,
                                     .queries = s.tokens[0],
                                     .keys = s.tokens[1],
                                     .longest_queries = 7,
                                     .longest_keys = 9};
    size_t bound[3], alone;
    locus_encoding *none;
    rig_ok(locus_attention_workspace_bound(s.r.encoding, &limits, &s.options, LOCUS_PASS_BACKWARD, &bound[0], error));
    limits.plan_workspace = 640;
    rig_ok(locus_attention_workspace_bound(s.r.encoding, &limits, &s.options, LOCUS_PASS_BACKWARD, &bound[1], error));
    rig_ok(locus_encoding_parse("none", &none, error));
    rig_ok(locus_attention_workspace_bound(none, &limits, &s.options, LOCUS_PASS_BACKWARD, &alone, error));
    locus_execution one_thread = locus_execution_in((locus_workspace){NULL, 0});
    one_thread.threads = 1;
    bound[2] = locus_attention_workspace(s.r.plan, &s.options, LOCUS_FLOAT64, LOCUS_PASS_BACKWARD, &one_thread);
    assert_in_range(bound[0], bound[2], bound[2] + bound[2] / 20);
    assert_in_range(bound[1], alone + 1, bound[2] - 1);
    locus_encoding_destroy(&none);
    scene_close(&s);
}

/* An angle is the product of two doubles here, rounded once; the library's own carries it further. */
static void compare_turns(const char *own, const char *other, const group_drawing *queries, double single_tolerance) {
    for (int single = 0; single < 2; single++) {
        scene a, b;
        scene_open(&a, own, queries, NULL);
        scene_open(&b, other, queries, NULL);
        scene_run(&a, single ? LOCUS_FLOAT32 : LOCUS_FLOAT64, true);
        scene_run(&b, single ? LOCUS_FLOAT32 : LOCUS_FLOAT64, true);
        for (int i = SCENE_O; i < SCENE_TENSORS; i++)
            for (size_t j = 0; j < scene_count(&a, i); j++)
                if (!(fabs(a.data[i][j] - b.data[i][j]) <=
                      (single ? single_tolerance : 2e-14) * (1 + fabs(b.data[i][j]))))
                    fail_msg("%s: %.17g is not %.17g", own, a.data[i][j], b.data[i][j]);
        scene_close(&a);
        scene_close(&b);
    }
}

static void test_same_turns(void **state) {
    const size_t lengths[] = {40, 7, 9};
    const group_drawing near = {"seq", 3, lengths, 60, false}, once = {"seq", 1, lengths, 1, false};
    (void)state;
    compare_turns("own-rope", "rope", &near, 3e-7);
    compare_turns("own-rope(base=50)", "rope(base=50)", &near, 3e-7);
    compare_turns("own-rope + own-alibi", "rope + alibi", &once, 3e-7);
    compare_turns("own-roper", "roper(pairs=half)", &near, 3e-7);
    /* Products with matrices round otherwise than turns of pairs do. */
    compare_turns("own-dense", "roper", &near, 2e-6);
    compare_turns("own-dense + alibi", "roper + alibi", &once, 2e-6);
}

/* Half an ulp of float32 apart at most, where an angle falls between two of them. */
static void test_turn_bits(void **state) {
    enum { TOKENS = 300 };
    int64_t positions[TOKENS];
    uint64_t noise = 3;
    rig a, b;
    (void)state;
    for (size_t i = 0; i < TOKENS; i++)
        positions[i] = (int64_t)(i * 7 % 1000);
    rig_open(&a, "own-rope", rig_shape(2, 16, 0, 0), positions, TOKENS);
    rig_open(&b, "rope", rig_shape(2, 16, 0, 0), positions, TOKENS);
    double *x = rig_normal(TOKENS * 32, &noise);
    float *narrow = rig_narrow(x, TOKENS * 32), *y = calloc(TOKENS * 32, sizeof *y),
          *z = calloc(TOKENS * 32, sizeof *z);
    assert_true(y && z);
    rig_apply(&a, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, TOKENS, narrow, y);
    rig_apply(&b, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, TOKENS, narrow, z);
    size_t apart = 0;
    for (size_t i = 0; i < TOKENS * 32; i++) {
        apart += y[i] != z[i];
        assert_true(fabs((double)y[i] - (double)z[i]) <= 3e-7);
    }
    assert_in_range(apart, 0, TOKENS * 32 / 1000);
    free(x), free(narrow), free(y), free(z);
    rig_close(&a);
    rig_close(&b);
}

/* A cache gives what a plan over everything gives. */
static void test_cached(void **state) {
    static const char *const specs[] = {"own-alibi(group=grid:2)",
                                        "own-kerple",
                                        "own-kerple(group=cycle:70) + decay(group=cycle:70)",
                                        "own-rope + own-kerple",
                                        "own-turn",
                                        "own-turn(group=tree:2)",
                                        "own-dense + own-alibi",
                                        "own-wave",
                                        "own-branches",
                                        "alibi + own-wave + decay",
                                        "own-kerple(group=seq*tree:2) + own-alibi(group=seq*tree:2)",
                                        "own-shear"};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        cache_case c = {.spec = specs[i], .dtype = LOCUS_FLOAT32, .sequences = 2, .lengths = {150, 9}, .start = 3};
        cache_case_open(&c);
        const cache_part all = cache_case_all(&c);
        cache_part part = {.first = {0}};
        locus_plan *plan = cache_case_plan(&c, &all);
        locus_attention_options options = locus_attention_default();
        options.mask = LOCUS_MASK_CAUSAL;
        locus_tensor q = cache_case_rows(&c, &all, 'q', c.dtype), k = cache_case_rows(&c, &all, 'k', c.dtype);
        locus_tensor v = cache_case_rows(&c, &all, 'v', c.dtype);
        locus_tensor whole = cache_case_zeros(c.tokens, c.shape.heads, c.shape.value_dim, c.dtype);
        const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, &whole, NULL};
        const locus_workspace workspace =
            rig_lend(locus_attention_workspace(plan, &options, c.dtype, LOCUS_PASS_FORWARD, NULL));
        const locus_execution execution = locus_execution_in(workspace);
        rig_ok(locus_attention_forward(plan, &options, &tensors, &execution, error));
        rig_workspace_free(workspace);
        for (size_t at = 0; cache_case_next(&c, &part, &at);) {
            locus_tensor o = cache_case_zeros(part.offsets[c.sequences], c.shape.heads, c.shape.value_dim, c.dtype);
            cache_case_append(&c, &part);
            cache_case_attend(&c, &part, &options, &o);
            for (size_t s = 0; s < c.sequences; s++)
                for (size_t t = 0; t < part.count[s]; t++)
                    for (size_t h = 0; h < c.shape.heads; h++)
                        for (size_t j = 0; j < c.shape.value_dim; j++) {
                            const double got = cache_case_number(&o, part.offsets[s] + t, h, j);
                            const double want = cache_case_number(&whole, c.offsets[s] + part.first[s] + t, h, j);
                            if (!(fabs(got - want) <= 2e-6))
                                fail_msg("%s: %.9g in the cache, %.9g in the plan", specs[i], got, want);
                        }
            cache_case_free(&o);
        }
        locus_tensor *const made[] = {&q, &k, &v, &whole};
        for (size_t t = 0; t < 4; t++)
            cache_case_free(made[t]);
        locus_plan_destroy(&plan);
        cache_case_close(&c);
    }
}

static locus_status append_at(cache_case *c, const int64_t position, locus_error *failure) {
    const size_t offsets[] = {0, 1};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_positions *positions = NULL;
    locus_tensor row = cache_case_zeros(1, c->kv_heads, 8, c->dtype);
    rig_ok(locus_positions_create(&positions, NULL, &packing, &position, error));
    const locus_status status = locus_cache_append(c->cache, positions, &row, &row, NULL, failure);
    locus_positions_destroy(&positions);
    cache_case_free(&row);
    return status;
}

/* A cache's plan follows positions by a table of differences: where there would be too many it is refused, and what is
 * refused leaves no trace. */
static void test_cached_far(void **state) {
    locus_error error;
    (void)state;
    cache_case far = {.spec = "own-kerple", .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {9}};
    cache_case_open(&far);
    assert_int_equal(append_at(&far, 2000000000, &error), LOCUS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "positions so far from each other"));
    assert_int_equal(append_at(&far, 7, &error), LOCUS_OK);
    assert_int_equal(append_at(&far, 9, &error), LOCUS_OK);
    assert_int_equal(locus_cache_length(far.cache, 0), 2);
    cache_case_close(&far);
    cache_case turned = {.spec = "rope(xpos=512) + own-kerple", .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {9}};
    cache_case_open(&turned);
    assert_int_equal(append_at(&turned, 100000000, &error), LOCUS_ERROR_POSITION);
    assert_int_equal(append_at(&turned, 5, &error), LOCUS_OK);
    cache_case_close(&turned);
}

/* Sizes that an option says: from 1 on, all elements at most 2³². */
static void test_extents(void **state) {
    static const locus_option_info n = {"n", "integer from 0", "1", "how many", LOCUS_OPTION_INTEGER, 0, 1e12, false};
    static const locus_extension_parameter w = {
        sizeof w, "w", 3, {LOCUS_EXTENT_OPTION(0), 2, LOCUS_EXTENT_PAIRS}, 0, 0, LOCUS_CONSTRAINT_NONE};
    static const struct {
        const char *spec;
        int64_t n; /* 0: refused */
        int dimension;
    } cases[] = {{"own-sized(n=0)", 0, 0},
                 {"own-sized", 1, 0},
                 {"own-sized(n=715827882)", 715827882, 0},
                 {"own-sized(n=715827883)", 0, 2},
                 {"own-sized(n=2147483649)", 0, 1},
                 {"own-sized(n=4294967297)", 0, 0}};
    const locus_shape shape = rig_shape(2, 6, 0, 0);
    locus_encoding_description sized = plain("own-sized");
    (void)state;
    sized.options = &n;
    sized.option_count = 1;
    sized.parameters = &w;
    sized.parameter_count = 1;
    sized.gradient = nothing;
    rig_ok(locus_encoding_register(&sized, error));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        locus_parameter info = {.size = sizeof info};
        locus_encoding *encoding = NULL;
        locus_error failure = {.offset = -1};
        char says[80];
        rig_ok(locus_encoding_parse(cases[i].spec, &encoding, error));
        const locus_status status = locus_encoding_parameter(encoding, &shape, 0, &info, &failure);
        if (cases[i].n > 0) {
            assert_int_equal(status, LOCUS_OK);
            assert_true(info.rank == 3 && info.shape[0] == cases[i].n && info.shape[1] == 2 && info.shape[2] == 3);
        } else {
            assert_int_equal(status, LOCUS_ERROR_SHAPE);
            (void)snprintf(says, sizeof says, "'w' of 'own-sized' cannot have its dimension %d:", cases[i].dimension);
            assert_non_null(strstr(failure.message, says));
        }
        locus_encoding_destroy(&encoding);
    }
}

/* A refreshed plan does what a new one does, to the bit. */
static void test_refreshed(void **state) {
    static const char *const specs[] = {"own-kerple + own-turn", "own-wave + own-spin"};
    const size_t lengths[] = {20, 9};
    const group_drawing drawing = {"seq", 2, lengths, 30, false};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        scene a, b;
        scene_open(&a, specs[i], &drawing, NULL);
        scene_open(&b, specs[i], &drawing, NULL);
        for (size_t p = 0; p < a.r.count; p++)
            for (size_t j = 0; j < rig_elements(&a.r.info[p]); j++)
                ((double *)a.r.values[p].data)[j] *= 1.25, ((double *)b.r.values[p].data)[j] *= 1.25;
        rig_update(&a.r);
        rig_ok(locus_binding_update(&b.r.binding, b.r.values, b.r.count, error));
        rig_ok(locus_plan_refresh(&b.r.plan, b.r.binding, NULL, error));
        scene_run(&a, LOCUS_FLOAT32, true);
        scene_run(&b, LOCUS_FLOAT32, true);
        expect_same(&a, &b, specs[i]);
        for (size_t p = 0; p < a.r.count; p++)
            assert_memory_equal(a.r.gradients[p].data, b.r.gradients[p].data,
                                rig_elements(&a.r.info[p]) * sizeof(double));
        scene_close(&a);
        scene_close(&b);
    }
}

/* The same bits whatever the number of threads. */
static void test_any_number_of_threads(void **state) {
    static const char *const specs[] = {"own-wave + own-kerple + own-turn", "own-spin + own-wave"};
    const size_t lengths[] = {150, 90, 7};
    const group_drawing drawing = {"seq", 3, lengths, 100, false};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        scene a, b;
        rig_ok(locus_threads_set(1));
        scene_open(&a, specs[i], &drawing, NULL);
        scene_run(&a, LOCUS_FLOAT32, true);
        rig_ok(locus_threads_set(3));
        scene_open(&b, specs[i], &drawing, NULL);
        scene_run(&b, LOCUS_FLOAT32, true);
        expect_same(&a, &b, specs[i]);
        for (size_t p = 0; p < a.r.count; p++)
            assert_memory_equal(a.r.gradients[p].data, b.r.gradients[p].data,
                                rig_elements(&a.r.info[p]) * sizeof(double));
        scene_close(&a);
        scene_close(&b);
    }
    rig_ok(locus_threads_set(0));
}

/* A callback during which the call is cancelled is the last one. */
static int32_t stop;
static size_t stop_calls;

static locus_status stopping(const locus_extension_batch *batch, double *values, locus_error *error) {
    stop_calls++;
    locus_flag_raise(&stop);
    return constant(batch, values, error);
}

static void test_cancelled(void **state) {
    locus_encoding_description description = plain("own-stopping");
    locus_plan_options options = locus_plan_options_default();
    locus_execution execution = locus_execution_default();
    locus_error failure;
    rig r;
    (void)state;
    description.values = stopping;
    rig_ok(locus_encoding_register(&description, error));
    rig_bind(&r, "own-stopping", rig_shape(4, 8, 0, 0), 1);
    r.queries = rig_positions(NULL, 50);
    execution.cancelled = locus_flag_raised;
    execution.context = &stop;
    options.execution = &execution;
    assert_int_equal(locus_plan_create_with(&r.plan, r.binding, r.queries, NULL, &options, &failure),
                     LOCUS_ERROR_INTERRUPTED);
    assert_null(r.plan);
    assert_int_equal(stop_calls, 1);
    rig_close(&r);
}

/* ---- calls inside of a callback ---- */

static struct {
    rig r; /* what the callback calls */
    size_t loops, bytes, after, threads;
    bool raises;
    int32_t stop;
    locus_status status;
} within;

enum { WITHIN_TOKENS = 300, WITHIN_WORKERS = 5 };

static void run_backwards(void *state, size_t count, locus_task *task, void *context) {
    (*(size_t *)state)++;
    for (size_t i = count; i-- > 0;)
        task(context, i, i % WITHIN_WORKERS);
}

static locus_status call_within(const locus_extension_batch *batch, double *values, locus_error *error) {
    const locus_attention_options options = locus_attention_default();
    const size_t before = within.loops;
    locus_execution few = locus_execution_default();
    few.threads = 2;
    within.bytes = locus_attention_workspace(within.r.plan, &options, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD, NULL);
    within.threads = locus_attention_workspace(within.r.plan, &options, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD, &few);
    if (within.raises)
        locus_flag_raise(&within.stop);
    locus_plan *plan = NULL;
    within.status = locus_plan_create(&plan, within.r.binding, within.r.queries, NULL, NULL);
    locus_plan_destroy(&plan);
    float *x = calloc((size_t)WITHIN_TOKENS * 8, sizeof *x);
    assert_non_null(x);
    if (!within.raises)
        rig_apply(&within.r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, WITHIN_TOKENS, x, x);
    free(x);
    within.after = locus_attention_workspace(within.r.plan, &options, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD, NULL);
    within.loops -= before;
    return constant(batch, values, error);
}

/* They take the outer call's executor and workers, and end with it. */
static void test_calls_within(void **state) {
    locus_encoding_description description = plain("own-within");
    const locus_executor executor = {sizeof executor, run_backwards, WITHIN_WORKERS, &within.loops};
    const locus_attention_options attention = locus_attention_default();
    locus_plan_options options = locus_plan_options_default();
    locus_execution execution = locus_execution_default();
    size_t wanted[2];
    rig r;
    (void)state;
    description.values = call_within;
    description.flags = LOCUS_EXTENSION_HEADS_ALIKE;
    rig_ok(locus_encoding_register(&description, error));
    rig_open(&within.r, "algebraic", rig_shape(2, 4, 0, 0), NULL, WITHIN_TOKENS);
    rig_bind(&r, "own-within", rig_shape(2, 4, 0, 0), 1);
    r.queries = rig_positions(NULL, 9);
    execution.executor = &executor;
    execution.cancelled = locus_flag_raised;
    execution.context = &within.stop;
    options.execution = &execution;
    for (size_t i = 0; i < 2; i++) {
        execution.threads = i * 2;
        wanted[i] =
            locus_attention_workspace(within.r.plan, &attention, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD, &execution);
    }
    execution.threads = 0;
    rig_ok(locus_plan_create_with(&r.plan, r.binding, r.queries, NULL, &options, error));
    assert_int_equal(within.status, LOCUS_OK);
    assert_int_equal(within.bytes, wanted[0]);
    assert_int_equal(within.after, wanted[0]);
    assert_int_equal(within.threads, wanted[1]);
    assert_true(wanted[0] > wanted[1] && within.loops > 0);
    locus_plan_destroy(&r.plan);
    within.raises = true;
    assert_int_equal(locus_plan_create_with(&r.plan, r.binding, r.queries, NULL, &options, NULL),
                     LOCUS_ERROR_INTERRUPTED);
    assert_int_equal(within.status, LOCUS_ERROR_INTERRUPTED);
    rig_close(&r);
    rig_close(&within.r);
}

/* ---- what is refused ---- */

static void refuse(const locus_encoding_description *description, const char *says) {
    const size_t before = locus_encoding_registry_size();
    locus_error error = {.offset = -1};
    const locus_status status = locus_encoding_register(description, &error);
    if (status != LOCUS_ERROR_ARGUMENT && status != LOCUS_ERROR_UNSUPPORTED && status != LOCUS_ERROR_SPEC)
        fail_msg("status %d instead of '%s'", (int)status, says);
    if (!strstr(error.message, says) || strchr(error.message, '\n'))
        fail_msg("'%s' instead of '%s'", error.message, says);
    assert_int_equal(locus_encoding_registry_size(), before);
}

#define REFUSE(says, ...) \
    do { \
        locus_encoding_description d = plain("own-refused"); \
        __VA_ARGS__; \
        refuse(&d, says); \
    } while (0)

static void test_refused(void **state) {
    static const char *const names[] = {"",      "Own",   "1own", "own_x",
                                        "own.x", "own (", "-own", "a23456789012345678901234567890bc"};
    locus_extension_parameter w = {sizeof w, "w", 1, {1}, 0, 0, LOCUS_CONSTRAINT_NONE};
    locus_option_info o = {"o", "integer", "1", "an option", LOCUS_OPTION_INTEGER, 0, 9, false};
    locus_option_info two[2] = {o, o};
    (void)state;
    refuse(NULL, "description is NULL");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        REFUSE("needs a name of 1 to 31 small letters", d.name = names[i]);
    REFUSE("needs a name", d.name = NULL);
    REFUSE("there is an encoding 'rope' already", d.name = "rope");
    REFUSE("there is an encoding 'own-alibi' already", d.name = "own-alibi");
    REFUSE("size", d.size = 8);
    REFUSE("summary of 'own-refused' must be one line", d.summary = NULL);
    REFUSE("summary of 'own-refused' must be one line", d.summary = "two\nlines");
    REFUSE("source of 'own-refused' must be one line", d.source = "\xff");
    REFUSE("no callback for its values", d.values = NULL);
    REFUSE("is of kind 0", d.kind = 0);
    REFUSE("is of kind 9", d.kind = (locus_extension_kind)9);
    REFUSE("flags of 'own-refused' have bits", d.flags = 64);
    REFUSE("laws of 'own-refused' have bits", d.laws = 64);
    REFUSE("acts on values by matrices", d.kind = LOCUS_EXTENSION_MATRICES, d.flags = LOCUS_EXTENSION_VALUES);
    REFUSE("flags of 'own-refused' have bits", d.kind = LOCUS_EXTENSION_MATRICES, d.flags = LOCUS_EXTENSION_HALF_PAIRS);
    REFUSE("traits of 'own-refused' have bits", d.traits = LOCUS_TRAIT_CACHED);
    REFUSE("the group of 'own-refused':", d.group = "sec");
    REFUSE("no callback for their gradient", d.parameters = &w, d.parameter_count = 1);
    REFUSE("says it has 1 parameters", d.parameter_count = 1, d.gradient = nothing);
    REFUSE("says it has 40 options", d.option_count = 40, d.options = &o);
#define WITH(change) \
    d.gradient = nothing, d.parameters = &w, d.parameter_count = 1, \
    w = (locus_extension_parameter){sizeof w, "w", 1, {1}, 0, 0, LOCUS_CONSTRAINT_NONE}, change
    REFUSE("parameter 0 of 'own-refused' needs a name", WITH(w.name = "a b"));
    REFUSE("'w' of 'own-refused' has no shape", WITH(w.rank = 0));
    REFUSE("'w' of 'own-refused' has no shape", WITH(w.shape[0] = 0));
    REFUSE("'w' of 'own-refused' has no shape", WITH(w.shape[0] = LOCUS_EXTENT_OPTION(0)));
    REFUSE("'w' of 'own-refused' begins with 0", WITH(w.constraint = LOCUS_CONSTRAINT_POSITIVE));
    REFUSE("'w' of 'own-refused' begins with nan", WITH(w.initial = NAN));
    REFUSE("size", WITH(w.size = 1));
#define OPTION(change) d.options = &o, d.option_count = 1, o = two[1], change
    REFUSE("option 0 of 'own-refused' needs a name", OPTION(o.name = "an option"));
    REFUSE("option 'o' of 'own-refused' is of kind 5", OPTION(o.kind = LOCUS_OPTION_ROTATE));
    REFUSE("needs values and meaning", OPTION(o.meaning = NULL));
    REFUSE("has no number from 3 to 2", OPTION((o.minimum = 3, o.maximum = 2)));
    REFUSE("the default of option 'o'", OPTION(o.initial = "half"));
    REFUSE("has two options 'o'", d.options = two, d.option_count = 2);
    REFUSE("more than once which group", OPTION((o.kind = LOCUS_OPTION_GROUP, o.initial = "seq", d.group = "tree:2")));
}

static void test_newer_struct(void **state) {
    struct {
        locus_encoding_description known;
        size_t unknown;
    } newer = {plain("own-newer"), 7};
    locus_error failure;
    (void)state;
    newer.known.size = sizeof newer;
    assert_int_equal(locus_encoding_register(&newer.known, &failure), LOCUS_ERROR_UNSUPPORTED);
    newer.unknown = 0;
    rig_ok(locus_encoding_register(&newer.known, error));
}

/* ---- callbacks that fail ---- */

enum { NOTHING_WRITTEN, SAYS_WHY, SAYS_NOTHING, NO_STATUS, GRADIENT_FAILS, GRADIENT_NAN, WAYS };
static int way;

static locus_status bad_values(const locus_extension_batch *batch, double *values, locus_error *error) {
    for (size_t i = 0; i < batch->count && way != NOTHING_WRITTEN; i++)
        values[i] = 0.5;
    if (way == SAYS_WHY)
        (void)snprintf(error->message, sizeof error->message, "the moon\nis full");
    return way == SAYS_WHY       ? LOCUS_ERROR_POSITION
           : way == SAYS_NOTHING ? LOCUS_ERROR_IO
           : way == NO_STATUS    ? (locus_status)77
                                 : LOCUS_OK;
}

static locus_status bad_gradient(const locus_extension_batch *batch, const double *upstream, double *const *gradients,
                                 locus_error *error) {
    (void)batch, (void)upstream;
    gradients[0][0] = way == GRADIENT_NAN ? NAN : 1;
    (void)snprintf(error->message, sizeof error->message, "no slope");
    return way == GRADIENT_FAILS ? LOCUS_ERROR_NUMERIC : LOCUS_OK;
}

static void test_failing_callbacks(void **state) {
    static const locus_extension_parameter w = {sizeof w, "w", 1, {1}, 0, 0, LOCUS_CONSTRAINT_NONE};
    static const struct {
        locus_status status;
        const char *says;
    } wanted[WAYS] = {
        {LOCUS_ERROR_NUMERIC, "'own-bad' says nan for the query at 3 and the key at 0 in head 0"},
        {LOCUS_ERROR_POSITION, "the callback of 'own-bad' failed: the moon?is full"},
        {LOCUS_ERROR_IO, "the callback of 'own-bad' failed: "},
        {LOCUS_ERROR_NUMERIC, "the callback of 'own-bad' failed with status 77, which is no locus_status"},
        {LOCUS_ERROR_NUMERIC, "the gradient of 'own-bad' failed: no slope"},
        {LOCUS_ERROR_NUMERIC, "the gradient of 'own-bad' in head 0 is not finite"}};
    const size_t length = 4;
    const group_drawing drawing = {"seq", 1, &length, 3, false};
    locus_encoding_description description = plain("own-bad");
    (void)state;
    description.values = bad_values;
    description.gradient = bad_gradient;
    description.parameters = &w;
    description.parameter_count = 1;
    way = GRADIENT_FAILS;
    rig_ok(locus_encoding_register(&description, error));
    for (way = 0; way < WAYS; way++) {
        const bool backward = way >= GRADIENT_FAILS;
        locus_error error = {.offset = -1};
        locus_status status;
        if (backward) {
            scene s;
            scene_open(&s, "own-bad", &drawing, NULL);
            status = scene_try(&s, LOCUS_FLOAT32, true, &error);
            scene_close(&s);
        } else {
            rig r;
            rig_bind(&r, "own-bad", rig_shape(2, 4, 0, 0), 1);
            r.queries = rig_positions(NULL, 4);
            status = locus_plan_create(&r.plan, r.binding, r.queries, NULL, &error);
            assert_null(r.plan);
            rig_close(&r);
        }
        assert_int_equal(status, wanted[way].status);
        assert_int_equal(error.status, wanted[way].status);
        if (!strstr(error.message, wanted[way].says))
            fail_msg("'%s' instead of '%s'", error.message, wanted[way].says);
    }
}

static size_t numbers_each;

static locus_status ones(const locus_extension_batch *batch, double *values, locus_error *error) {
    (void)error;
    for (size_t i = 0; i < batch->count * numbers_each; i++)
        values[i] = 1;
    return LOCUS_OK;
}

/* One number of all that are asked for, of one head. */
typedef struct spoilt {
    size_t head, number;
    double value;
} spoilt;

static locus_status spoil_one(const locus_extension_batch *batch, double *values, locus_error *error) {
    const spoilt *own = batch->context;
    (void)error;
    for (size_t i = 0; i < batch->count * (batch->key.values ? 1 : batch->head_dim / 2); i++)
        values[i] = batch->head == own->head && i == own->number ? own->value : 0.5;
    return LOCUS_OK;
}

/* Of queries and keys at 3 … 6 pairs by difference are −3, −2, …: a query at 3 from 0 on, a key at 3 before. Angles
 * have two numbers for each position. On a plane (3, 4), (5, 6), … are asked for as they come. */
static void test_spoilt_numbers_are_named(void **state) {
    static spoilt chosen;
    static const int64_t values[] = {3, 4, 5, 6, -7, 8, 9, 10};
    static const char *const names[] = {"own-spoilt", "own-spoilt-turn", "own-spoilt-plane", "own-spoilt-plane-turn"};
    static const size_t offsets[] = {0, 4};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    const struct {
        const char *spec;
        spoilt what;
        const char *says;
    } cases[] = {
        {"own-spoilt",
         {1, 5, NAN},
         "'own-spoilt' says nan for the query at 3 and the key at 5 in head 1: it must be a finite float32"},
        {"own-spoilt",
         {0, 1, INFINITY},
         "'own-spoilt' says inf for the query at 5 and the key at 3 in head 0: it must be a finite float32"},
        {"own-spoilt-turn",
         {1, 5, -0x1p128},
         "'own-spoilt-turn' says -340282366920938463463374607431768211456.000000 at position 5 in head 1: it must be a "
         "finite float32"},
        {"own-spoilt-plane",
         {1, 6, NAN},
         "'own-spoilt-plane' says nan for the query at 5,6 and the key at -7,8 in head 1: it must be a finite float32"},
        {"own-spoilt-plane-turn",
         {0, 4, NAN},
         "'own-spoilt-plane-turn' says nan at position -7,8 in head 0: it must be a finite float32"},
    };
    (void)state;
    for (int i = 0; i < 4; i++) {
        locus_encoding_description own = plain(names[i]);
        own.values = spoil_one;
        own.context = &chosen;
        own.kind = i % 2 ? LOCUS_EXTENSION_ANGLES : LOCUS_EXTENSION_BIAS;
        own.group = i < 2 ? own.group : "grid:2";
        own.laws = i < 2 ? own.laws : 0;
        rig_ok(locus_encoding_register(&own, error));
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        locus_error failure = {0};
        rig r;
        rig_bind(&r, cases[i].spec, rig_shape(2, 4, 0, 0), 7);
        rig_ok(locus_positions_create(&r.queries, locus_binding_group(r.binding), &packing, values, error));
        chosen = cases[i].what;
        assert_int_equal(locus_plan_create(&r.plan, r.binding, r.queries, NULL, &failure), LOCUS_ERROR_NUMERIC);
        assert_string_equal(failure.message, cases[i].says);
        assert_string_equal(failure.argument, cases[i].spec);
        rig_close(&r);
    }
}

/* The same in attention that turns its inputs before its loops. */
static void expect_kinds_to_fail(const char *spec, size_t numbers) {
    static const char *const kinds[] = {"linear", "soft(landmarks=2)", "clustered(clusters=2)"};
    const size_t length = 3;
    const group_drawing drawing = {"seq", 1, &length, 3, false};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        locus_attention_kind *kind = NULL;
        locus_error error = {.offset = -1};
        scene s;
        assert_int_equal(locus_attention_kind_parse(kinds[i], &kind, NULL), LOCUS_OK);
        numbers_each = numbers;
        scene_open(&s, spec, &drawing, NULL);
        s.options.kind = kind;
        assert_int_equal(scene_try(&s, LOCUS_FLOAT32, true, &error), LOCUS_ERROR_NUMERIC);
        assert_non_null(strstr(error.message, "failed: no slope"));
        scene_close(&s);
        locus_attention_kind_destroy(&kind);
    }
}

/* The gradient of an operator that fails, through locus_apply_backward. */
static void test_failing_apply(void **state) {
    static const locus_extension_parameter w = {sizeof w, "w", 1, {1}, 0, 0, LOCUS_CONSTRAINT_NONE};
    static const locus_extension_kind kinds[] = {LOCUS_EXTENSION_ANGLES, LOCUS_EXTENSION_MATRICES};
    static const char *const names[] = {"own-bad-turn", "own-bad-matrix"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        locus_encoding_description description = plain(names[i]);
        numbers_each = i == 0 ? 2 : 16;
        description.kind = kinds[i];
        description.values = ones;
        description.gradient = bad_gradient;
        description.parameters = &w;
        description.parameter_count = 1;
        rig_ok(locus_encoding_register(&description, error));
        rig r;
        double numbers[4 * 2 * 4] = {1, 2, 3}, others[4 * 2 * 4] = {4, 5, 6};
        rig_open(&r, names[i], rig_shape(2, 4, 0, 0), NULL, 4);
        const locus_tensor x = rig_view(&r, LOCUS_ROLE_QUERY, numbers, LOCUS_FLOAT64, 4);
        const locus_tensor g = rig_view(&r, LOCUS_ROLE_QUERY, others, LOCUS_FLOAT64, 4);
        locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT64);
        const locus_apply_gradients gradients = {
            .x = &x, .gy = &g, .gx = &g, .parameters = r.gradients, .parameter_count = r.count};
        const locus_execution execution = locus_execution_in(workspace);
        locus_error error = {.offset = -1};
        way = GRADIENT_FAILS;
        assert_int_equal(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &gradients, &execution, &error),
                         LOCUS_ERROR_NUMERIC);
        assert_non_null(strstr(error.message, "failed: no slope"));
        assert_true(((double *)r.gradients[0].data)[0] == 0);
        rig_workspace_free(workspace);
        rig_close(&r);
        expect_kinds_to_fail(names[i], i == 0 ? SCENE_DIM / 2 : SCENE_DIM * SCENE_DIM);
    }
}

/* Tokens of no sequence have positions that nobody looks at. */
static void test_only_gaps(void **state) {
    static const char *const specs[] = {"own-wave", "own-kerple", "own-alibi"};
    const size_t lengths[] = {0, 0};
    const group_drawing drawing = {"seq", 2, lengths, 3, false};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        scene s;
        scene_open(&s, specs[i], &drawing, NULL);
        scene_run(&s, LOCUS_FLOAT32, true);
        scene_close(&s);
    }
}

/* Tables that no workspace could hold are not begun. */
static void test_too_many_pairs(void **state) {
    locus_plan_options options = locus_plan_options_default();
    locus_error error;
    rig r;
    (void)state;
    options.workspace = 1 << 20;
    rig_bind(&r, "own-wave", rig_shape(2, 4, 0, 0), 1);
    r.queries = rig_positions(NULL, 3000);
    assert_int_equal(locus_plan_create_with(&r.plan, r.binding, r.queries, NULL, &options, &error),
                     LOCUS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "the scores of 'own-wave' at these positions are too many"));
    rig_close(&r);
    rig_bind(&r, "own-dense", rig_shape(2, 64, 0, 0), 1);
    r.queries = rig_positions(NULL, 3000);
    assert_int_equal(locus_plan_create_with(&r.plan, r.binding, r.queries, NULL, &options, &error),
                     LOCUS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "the matrices of 'own-dense' at 3000 positions are too many"));
    rig_close(&r);
    /* A matrix at each of five positions has room, or lacks a byte of it. */
    rig_bind(&r, "own-dense", rig_shape(2, 4, 0, 0), 1);
    r.queries = rig_positions(NULL, 5);
    options.workspace = 5 * 4 * 4 * sizeof(double) - 1;
    assert_int_equal(locus_plan_create_with(&r.plan, r.binding, r.queries, NULL, &options, &error),
                     LOCUS_ERROR_UNSUPPORTED);
    assert_string_equal(error.message,
                        "the matrices of 'own-dense' at 5 positions are too many for the plan's workspace "
                        "of 639 bytes: give more, or plan fewer tokens at a time");
    options.workspace++;
    assert_int_equal(locus_plan_create_with(&r.plan, r.binding, r.queries, NULL, &options, &error), LOCUS_OK);
    rig_close(&r);
}

/* ---- what is as long, and as much, as it may be ---- */

enum { MOST_OPTIONS = 32, MOST_PARAMETERS = 16, MOST_TEXT = 200, MOST_NAME = 31, MOST_OPTION_NAME = 15 };

typedef struct fullest {
    char name[MOST_NAME + 2], text[MOST_TEXT + 2], option_names[MOST_OPTIONS + 1][MOST_OPTION_NAME + 2];
    char parameter_names[MOST_PARAMETERS + 1][MOST_NAME + 2];
    locus_option_info options[MOST_OPTIONS + 1];
    locus_extension_parameter parameters[MOST_PARAMETERS + 1];
    locus_encoding_description description;
} fullest;

static void fill_fullest(fullest *own) {
    memset(own, 0, sizeof *own);
    memset(own->name, 'n', MOST_NAME);
    memset(own->text, 't', MOST_TEXT);
    for (size_t i = 0; i <= MOST_OPTIONS; i++) {
        (void)snprintf(own->option_names[i], sizeof own->option_names[i], "abcdefghijklm%02zu", i);
        own->options[i] =
            (locus_option_info){own->option_names[i], own->text, "1", own->text, LOCUS_OPTION_INTEGER, 1, 1, false};
    }
    for (size_t i = 0; i <= MOST_PARAMETERS; i++) {
        (void)snprintf(own->parameter_names[i], sizeof own->parameter_names[i], "abcdefghijklmnopqrstuvwxyz012%02zu",
                       i);
        own->parameters[i] = (locus_extension_parameter){
            sizeof *own->parameters, own->parameter_names[i], LOCUS_MAX_RANK, {0}, -1, 0, LOCUS_CONSTRAINT_NONZERO};
        for (size_t r = 0; r < LOCUS_MAX_RANK; r++)
            own->parameters[i].shape[r] = r % 2 ? 1 : LOCUS_EXTENT_OPTION(MOST_OPTIONS - 1);
    }
    own->description = plain(own->name);
    own->description.summary = own->description.source = own->text;
    own->description.options = own->options;
    own->description.option_count = MOST_OPTIONS;
    own->description.parameters = own->parameters;
    own->description.parameter_count = MOST_PARAMETERS;
    own->description.gradient = nothing;
}

static void test_fullest(void **state) {
    static fullest own;
    char learned[MOST_PARAMETERS * (MOST_NAME + 2) + 1] = "";
    static const char *const says[] = {
        "an encoding needs a name of 1 to 31",
        "needs a name of 1 to 15 letters",
        "needs a name of 1 to 31 letters",
        "summary of 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn' must be one line of 1 to 200 bytes",
        "source of 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn' must be one line of 1 to 200 bytes",
        "needs values and meaning of one line each",
        "needs values and meaning of one line each",
        "says it has 33 options: give 0 to 32 of them",
        "says it has 17 parameters: give 0 to 16 of them"};
    (void)state;
    for (size_t i = 0; i < MOST_PARAMETERS; i++)
        (void)snprintf(learned + strlen(learned), sizeof learned - strlen(learned),
                       "%sabcdefghijklmnopqrstuvwxyz012%02zu", i ? ", " : "", i);
    for (int more = 0; more < 9; more++) { /* one too many of each */
        char longer[MOST_TEXT + 2] = "";
        memset(longer, 'l', MOST_TEXT + 1);
        fill_fullest(&own);
        own.name[MOST_NAME] = more == 0 ? 'n' : '\0';
        own.option_names[3][MOST_OPTION_NAME] = more == 1 ? 'o' : '\0';
        own.parameter_names[1][MOST_NAME] = more == 2 ? 'p' : '\0';
        own.description.summary = more == 3 ? longer : own.text;
        own.description.source = more == 4 ? longer : own.text;
        own.options[2].meaning = more == 5 ? longer : own.text;
        own.options[2].values = more == 6 ? longer : own.text;
        own.description.option_count += more == 7;
        own.description.parameter_count += more == 8;
        refuse(&own.description, says[more]);
    }
    fill_fullest(&own);
    own.parameters[0].rank = LOCUS_MAX_RANK + 1;
    refuse(&own.description, "give 1 to 4 sizes");
    own.parameters[0].rank = 0;
    refuse(&own.description, "give 1 to 4 sizes");
    fill_fullest(&own);
    own.parameters[1].shape[0] = LOCUS_EXTENT_OPTION(MOST_OPTIONS);
    refuse(&own.description, "has no shape");
    own.parameters[1].shape[0] = 0;
    refuse(&own.description, "has no shape");
    fill_fullest(&own);
    own.options[4].minimum = 1.5;
    refuse(&own.description, "has no number from 1.5 to 1");
    fill_fullest(&own);
    rig_ok(locus_encoding_register(&own.description, error));
    const locus_encoding_info *info = locus_encoding_registry_at(locus_encoding_registry_size() - 1);
    assert_string_equal(info->name, own.name);
    assert_string_equal(info->summary, own.text);
    assert_string_equal(info->source, own.text);
    assert_string_equal(info->learned, learned);
    assert_int_equal(info->option_count, MOST_OPTIONS);
    for (size_t i = 0; i < MOST_OPTIONS; i++) {
        assert_string_equal(info->options[i].name, own.option_names[i]);
        assert_string_equal(info->options[i].values, own.text);
        assert_string_equal(info->options[i].meaning, own.text);
        assert_string_equal(info->options[i].initial, "1");
        assert_true(info->options[i].name != own.option_names[i]); /* a copy */
    }
}

/* ---- plugins ---- */

static void test_plugins(void **state) {
    const locus_encoding_description a = plain("own-plugged-a"), b = plain("own-plugged-b"), taken = plain("alibi");
    const locus_encoding_description *const both[] = {&a, &b}, *const twice[] = {&a, &a}, *const bad[] = {&a, &taken};
    const size_t before = locus_encoding_registry_size();
    const locus_plugin old = {LOCUS_ABI_VERSION - 1, 2, both}, empty = {LOCUS_ABI_VERSION, 0, NULL};
    const locus_plugin repeats = {LOCUS_ABI_VERSION, 2, twice}, takes = {LOCUS_ABI_VERSION, 2, bad};
    const locus_plugin good = {LOCUS_ABI_VERSION, 2, both};
    locus_error failure;
    (void)state;
    assert_int_equal(locus_plugin_register(NULL, &failure), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_plugin_register(&old, &failure), LOCUS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(failure.message, "built for binary interface 1 of locus, this is 2"));
    const locus_plugin none[] = {
        empty, {LOCUS_ABI_VERSION, 0, both}, {LOCUS_ABI_VERSION, -1, both}, {LOCUS_ABI_VERSION, 2, NULL}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(locus_plugin_register(&none[i], &failure), LOCUS_ERROR_ARGUMENT);
        assert_string_equal(failure.message, "the plugin has no encodings");
    }
    assert_int_equal(locus_plugin_register(&repeats, &failure), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_plugin_register(&takes, &failure), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_encoding_registry_size(), before);
    rig_ok(locus_plugin_register(&good, error));
    assert_int_equal(locus_encoding_registry_size(), before + 2);
}

/* ---- threads: some register, all parse; a name belongs to one ---- */

enum { HANDS = 4, NAMES = 40 };
static atomic_int won;

static void *hand(void *context) {
    const int number = *(const int *)context;
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        locus_encoding *encoding = NULL;
        locus_error error;
        (void)snprintf(name, sizeof name, "own-thread-%d", (i + number) % NAMES);
        const locus_encoding_description description = plain(name);
        atomic_fetch_add(&won, locus_encoding_register(&description, &error) == LOCUS_OK);
        if (locus_encoding_parse(name, &encoding, &error) != LOCUS_OK)
            atomic_store(&won, -1000000);
        locus_encoding_destroy(&encoding);
    }
    return NULL;
}

static void test_threads(void **state) {
    pthread_t threads[HANDS];
    int numbers[HANDS];
    const size_t before = locus_encoding_registry_size();
    (void)state;
    for (int i = 0; i < HANDS; i++) {
        numbers[i] = i * NAMES / HANDS;
        assert_int_equal(pthread_create(&threads[i], NULL, hand, &numbers[i]), 0);
    }
    for (int i = 0; i < HANDS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&won), NAMES);
    assert_int_equal(locus_encoding_registry_size(), before + NAMES);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_listed),
                                       cmocka_unit_test(test_parsed),
                                       cmocka_unit_test(test_parameters),
                                       cmocka_unit_test(test_same_bits),
                                       cmocka_unit_test(test_differences_without_number),
                                       cmocka_unit_test(test_bounded),
                                       cmocka_unit_test(test_same_turns),
                                       cmocka_unit_test(test_turn_bits),
                                       cmocka_unit_test(test_cached),
                                       cmocka_unit_test(test_extents),
                                       cmocka_unit_test(test_refreshed),
                                       cmocka_unit_test(test_any_number_of_threads),
                                       cmocka_unit_test(test_cancelled),
                                       cmocka_unit_test(test_calls_within),
                                       cmocka_unit_test(test_failing_apply),
                                       cmocka_unit_test(test_only_gaps),
                                       cmocka_unit_test(test_cached_far),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_newer_struct),
                                       cmocka_unit_test(test_failing_callbacks),
                                       cmocka_unit_test(test_spoilt_numbers_are_named),
                                       cmocka_unit_test(test_too_many_pairs),
                                       cmocka_unit_test(test_fullest),
                                       cmocka_unit_test(test_plugins),
                                       cmocka_unit_test(test_threads)};
    threads_only("test_*threads");
    locus_error error;
    if (own_register(&error) != LOCUS_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
