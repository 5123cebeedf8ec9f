/* SPDX-License-Identifier: MIT */
/* Whatever is destroyed first, what is left works: patterns, encodings, bindings, positions, plans and caches retain
 * what they need. Under the address sanitizer this looks for what dangles and what leaks. */
#include "plan_fingerprint.h"
#include "property/algebra_rig.h"
#include "sanitized.h"

enum { TOKENS = 7, KEYS = 5 };

typedef enum thing { ENCODING, BINDING, QUERIES, OTHERS, PLAN, CACHE, GROUP, THINGS } thing;

/* One of each, and what they gave when all were there. */
typedef struct family {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *queries, *keys;
    locus_plan *plan;
    locus_cache *cache;
    locus_group *group;
    plan_subject subject;
    uint64_t print;
    char spec[128], name[64];
} family;

static const char *const specs[] = {"rope(learned=on)",
                                    "algebraic(group=tree:2, decay=learned:0.9)",
                                    "algebraic(group=cycle:5*tree:2)",
                                    "string(values=on)",
                                    "liere",
                                    "fire",
                                    "cope",
                                    "kerple + rope(scaling=dynamic, factor=2, original=4)",
                                    "t5(group=grid:2) + decay(group=grid:2, learned=on)",
                                    "relative(values=on, window=3) + scores(sinks=on)",
                                    "learned(size=64) + chebyshev + temperature",
                                    "shiv-quirk(depth=2)",
                                    "none"};

static locus_positions *positions_on(const locus_group *group, size_t count, uint64_t *state) {
    return locus_group_equal(group, NULL) ? rig_positions(NULL, count)
                                          : algebra_random_positions(group, (algebra_reach){9, 0}, count, state);
}

/* Appends once and attends. */
static uint64_t attend(locus_cache *cache, const family *f) {
    float k[KEYS * 2 * 8], v[KEYS * 2 * 8], q[KEYS * 2 * 8], o[KEYS * 2 * 8] = {0};
    uint64_t random = 3;
    for (size_t i = 0; i < sizeof k / sizeof *k; i++) {
        k[i] = (float)rig_random(&random);
        v[i] = (float)rig_random(&random);
        q[i] = (float)rig_random(&random);
    }
    const int64_t shape[] = {KEYS, 2, 8};
    const locus_tensor key = locus_tensor_view(k, LOCUS_FLOAT32, 3, shape);
    const locus_tensor value = locus_tensor_view(v, LOCUS_FLOAT32, 3, shape);
    const locus_tensor query = locus_tensor_view(q, LOCUS_FLOAT32, 3, shape);
    const locus_tensor output = locus_tensor_view(o, LOCUS_FLOAT32, 3, shape);
    uint64_t state = 9;
    locus_positions *positions = positions_on(f->group, KEYS, &state);
    rig_ok(locus_cache_append(cache, positions, &key, &value, NULL, error));
    rig_ok(locus_cache_attend(cache, NULL, &query, &output, NULL, error));
    rig_ok(locus_cache_truncate(cache, 0, 0, error));
    locus_positions_destroy(&positions);
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof o / sizeof *o; i++)
        hash = hash * 31 + (uint64_t)(int64_t)(o[i] * 1e6f);
    return hash;
}

static void open_family(family *f, const char *spec, bool others, bool deeply) {
    rig r;
    uint64_t state = 1;
    memset(f, 0, sizeof *f);
    rig_bind(&r, spec, rig_shape(2, 8, 8, 16), 3);
    f->encoding = locus_encoding_retain(r.encoding);
    f->binding = locus_binding_retain(r.binding);
    f->group = locus_group_retain(locus_encoding_group(r.encoding));
    rig_close(&r);
    f->queries = positions_on(f->group, TOKENS, &state);
    f->keys = others ? positions_on(f->group, KEYS, &state) : locus_positions_retain(f->queries);
    rig_ok(locus_plan_create(&f->plan, f->binding, f->queries, f->keys, error));
    f->subject = (plan_subject){f->encoding, rig_shape(2, 8, 8, 16), TOKENS, others ? KEYS : TOKENS};
    f->print = deeply ? plan_fingerprint(f->plan, &f->subject) : 0;
    locus_cache_options options = locus_cache_options_default();
    options.capacity = 2 * KEYS;
    (void)(locus_cache_create(&f->cache, f->binding, &options, NULL) == LOCUS_OK);
    (void)locus_encoding_text(f->encoding, f->spec, sizeof f->spec);
    (void)locus_group_text(f->group, f->name, sizeof f->name);
}

static void destroy(family *f, thing which) {
    switch (which) {
    case ENCODING:
        locus_encoding_destroy(&f->encoding);
        break;
    case BINDING:
        locus_binding_destroy(&f->binding);
        break;
    case QUERIES:
        locus_positions_destroy(&f->queries);
        break;
    case OTHERS:
        locus_positions_destroy(&f->keys);
        break;
    case PLAN:
        locus_plan_destroy(&f->plan);
        break;
    case CACHE:
        locus_cache_destroy(&f->cache);
        break;
    case GROUP:
        locus_group_destroy(&f->group);
        break;
    case THINGS:
        break;
    }
}

/* The fingerprint asks the encoding for its parameters: it is taken from a text where there is none. */
static uint64_t print_of(const locus_plan *plan, const family *f) {
    plan_subject subject = f->subject;
    locus_encoding *parsed = NULL;
    if (!f->encoding)
        rig_ok(locus_encoding_parse(f->spec, &parsed, error));
    subject.encoding = f->encoding ? f->encoding : parsed;
    const uint64_t print = plan_fingerprint(plan, &subject);
    locus_encoding_destroy(&parsed);
    return print;
}

static void use_what_is_left(const family *f, bool deeply) {
    char text[128];
    if (f->encoding) {
        (void)locus_encoding_text(f->encoding, text, sizeof text);
        assert_string_equal(text, f->spec);
    }
    if (f->group) {
        (void)locus_group_text(f->group, text, sizeof text);
        assert_string_equal(text, f->name);
    }
    if (f->binding) {
        locus_binding *twin = locus_binding_retain(f->binding);
        assert_true(locus_binding_equal(twin, f->binding));
        assert_int_equal(locus_binding_hash(twin), locus_binding_hash(f->binding));
        locus_binding_destroy(&twin);
    }
    if (f->binding && f->queries && deeply) {
        locus_plan *plan = NULL;
        rig_ok(locus_plan_create(&plan, f->binding, f->queries, f->keys ? f->keys : f->queries, error));
        locus_plan_destroy(&plan);
    }
    for (size_t t = 0; f->queries && t < TOKENS; t++) {
        locus_path *path = NULL;
        rig_ok(locus_positions_path(f->queries, t, &path, error));
        (void)locus_path_text(path, text, sizeof text);
        locus_path_destroy(&path);
    }
    if (f->plan && deeply)
        assert_int_equal(print_of(f->plan, f), f->print);
    if (f->plan)
        assert_true(locus_plan_bytes(f->plan) > 0);
}

/* The number-th of all orders (Lehmer's code). */
static void order_of(size_t number, thing *order) {
    thing left[THINGS];
    for (size_t i = 0; i < THINGS; i++)
        left[i] = (thing)i;
    for (size_t i = 0; i < THINGS; i++) {
        const size_t at = number % (THINGS - i);
        number /= THINGS - i;
        order[i] = left[at];
        memmove(left + at, left + at + 1, (THINGS - i - at - 1) * sizeof *left);
    }
}

/* Every order with one of the specs; every sixteenth, under a sanitizer every fiftieth, computes with
 * what is left. */
static void destroyed_in_any_order(void **state) {
    (void)state;
    enum { ORDERS = 5040, COMPUTES = SANITIZED(50, 16) }; /* 7! */
    const size_t count = sizeof specs / sizeof *specs;
    for (size_t i = 0; i < ORDERS; i++) {
        family f;
        thing order[THINGS];
        const bool deeply = i % COMPUTES == 0;
        uint64_t kept = 0;
        order_of(i, order);
        open_family(&f, specs[(i + i / COMPUTES) % count], i % 3 == 1, deeply);
        if (f.cache && deeply)
            kept = attend(f.cache, &f);
        for (size_t t = 0; t < THINGS; t++) {
            destroy(&f, order[t]);
            use_what_is_left(&f, deeply);
            if (f.cache && f.group && deeply)
                assert_int_equal(attend(f.cache, &f), kept);
        }
    }
}

/* ---- a cache's plan ---- */

static void a_caches_plan_outlives_the_cache(void **state) {
    (void)state;
    family f;
    open_family(&f, "rope(learned=on) + learned(size=64)", false, false);
    float x[2 * 2 * 8] = {1, 2, 3, 4, 5}, v[2 * 2 * 8] = {0}, before[2 * 2 * 8], after[2 * 2 * 8];
    const int64_t shape[] = {2, 2, 8};
    const locus_tensor key = locus_tensor_view(x, LOCUS_FLOAT32, 3, shape);
    const locus_tensor value = locus_tensor_view(v, LOCUS_FLOAT32, 3, shape);
    locus_positions *positions = rig_positions(NULL, 2);
    assert_non_null(f.cache);
    assert_null(locus_cache_plan(f.cache));
    rig_ok(locus_cache_append(f.cache, positions, &key, &value, NULL, error));
    locus_plan *plan = locus_plan_retain(locus_cache_plan(f.cache));
    assert_non_null(plan);
    locus_error failure = {0};
    assert_int_equal(locus_plan_refresh(&plan, f.binding, NULL, &failure), LOCUS_ERROR_ARGUMENT);
    locus_workspace workspace = {NULL, locus_apply_workspace(plan, LOCUS_ROLE_KEY, LOCUS_FLOAT32, NULL)};
    workspace.data = locus_allocate(workspace.bytes + 1);
    const locus_execution execution = locus_execution_in(workspace);
    for (int i = 0; i < 2; i++) {
        const locus_tensor y = locus_tensor_view(i ? after : before, LOCUS_FLOAT32, 3, shape);
        rig_ok(locus_apply(plan, LOCUS_ROLE_KEY, LOCUS_FORWARD, &key, &y, &execution, error));
        locus_cache_destroy(&f.cache);
        locus_binding_destroy(&f.binding);
        locus_encoding_destroy(&f.encoding);
    }
    assert_memory_equal(before, after, sizeof before);
    locus_plan_destroy(&plan);
    assert_null(plan);
    locus_release(workspace.data, workspace.bytes + 1);
    locus_positions_destroy(&positions);
    for (size_t t = 0; t < THINGS; t++)
        destroy(&f, (thing)t);
}

static void retaining_counts(void **state) {
    (void)state;
    family f;
    open_family(&f, specs[0], true, true);
    locus_cache *cache = locus_cache_retain(f.cache);
    locus_plan *plan = locus_plan_retain(f.plan);
    locus_positions *queries = locus_positions_retain(f.queries);
    assert_ptr_equal(cache, f.cache);
    assert_ptr_equal(plan, f.plan);
    assert_ptr_equal(queries, f.queries);
    for (size_t t = PLAN; t < THINGS; t++)
        destroy(&f, (thing)t);
    destroy(&f, QUERIES);
    assert_int_equal(print_of(plan, &f), f.print);
    assert_int_equal(locus_cache_length(cache, 0), 0);
    assert_int_equal(locus_positions_tokens(queries), TOKENS);
    locus_cache_destroy(&cache);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&queries);
    for (size_t t = 0; t < PLAN; t++)
        destroy(&f, (thing)t);
    assert_null(locus_encoding_retain(NULL));
    assert_null(locus_binding_retain(NULL));
    assert_null(locus_positions_retain(NULL));
    assert_null(locus_plan_retain(NULL));
    assert_null(locus_cache_retain(NULL));
    locus_group *sequence = locus_group_retain(NULL);
    assert_true(locus_group_equal(sequence, NULL));
    locus_group_destroy(&sequence);
}

static void patterns_are_counted(void **state) {
    char text[64];
    locus_pattern *first = NULL;
    (void)state;
    rig_ok(locus_pattern_parse("2*rope / alibi(scaled=on)", &first, error));
    locus_pattern *second = locus_pattern_retain(first);
    locus_encoding *encoding = locus_encoding_retain(locus_pattern_encoding(first, 1));
    assert_ptr_equal(first, second);
    locus_pattern_destroy(&first);
    assert_null(first);
    assert_int_equal(locus_pattern_size(second), 2);
    assert_ptr_equal(locus_pattern_encoding(second, locus_pattern_layer(second, 2)), encoding);
    locus_pattern_destroy(&second);
    (void)locus_encoding_text(encoding, text, sizeof text);
    assert_string_equal(text, "alibi(scaled=on)");
    locus_encoding_destroy(&encoding);
    assert_null(locus_pattern_retain(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(destroyed_in_any_order),
        cmocka_unit_test(a_caches_plan_outlives_the_cache),
        cmocka_unit_test(retaining_counts),
        cmocka_unit_test(patterns_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
