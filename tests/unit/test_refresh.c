/* SPDX-License-Identifier: MIT */
/* locus_plan_refresh: bit for bit the plan that would be made anew, for every encoding of the registry, with learned
 * options, on every group that it takes, keys apart or shared, real positions, gaps; the old plan keeps its values. */
#include "plan_fingerprint.h"
#include "property/algebra_rig.h"
#include "property/group_positions.h"
#include "sanitized.h"
#include "threads_only.h"

#include <pthread.h>

enum { HEADS = 2, DIM = 12, MODEL = 24 };

static const char *const groups[] = {"seq", "cycle:7", "grid:2", "tree:2", "seq*tree:2", "cycle:5*tree:3*seq"};
enum { GROUPS = sizeof groups / sizeof *groups };

/* One for each thing that may be learned or that is placed in its own way; %s is the group. */
static const char *const specs[] = {"algebraic(group=%s, decay=learned:0.9, values=on)",
                                    "algebraic(group=%s, generator=angles)",
                                    "algebraic(group=%s, generator=cayley, heads=shared)",
                                    "algebraic(group=%s, generator=householder, init=random)",
                                    "algebraic(group=%s, generator=fixed, decay=learned:0.9)",
                                    "mixed(group=%s, decay=learned:0.9)",
                                    "string(group=%s, values=on)",
                                    "liere(group=%s, decay=learned:0.9)",
                                    "liere(group=%s, heads=shared)",
                                    "alibi(group=%s)",
                                    "decay(group=%s)",
                                    "decay(group=%s, learned=on)",
                                    "t5(group=%s)",
                                    "kerple(group=%s)",
                                    "kerple(group=%s) + decay(group=%s, learned=on) + alibi(group=%s)",
                                    "sinusoidal",
                                    "learned(size=64)",
                                    "chebyshev(size=64)",
                                    "chebyshev(size=64, site=output) + learned(size=64)",
                                    "rope",
                                    "rope(learned=on)",
                                    "rope(learned=on, axes=2)",
                                    "rope(sections=3:2:1, order=interleaved, pairs=half, learned=on)",
                                    "rope(xpos=512, scaling=dynamic, factor=2, original=4)",
                                    "rope(scaling=longrope, factor=2, original=4, short=1:1:1:1:1:1, long=1:2:3:4:5:6)",
                                    "roper(learned=on)",
                                    "roper(axes=3)",
                                    "relative(window=3, values=on)",
                                    "t5(direction=causal)",
                                    "fire",
                                    "fire + rope",
                                    "cope",
                                    "temperature + rope(learned=on)",
                                    "scores(sinks=on) + algebraic",
                                    "shiv-quirk(k=2, depth=3)",
                                    "shiv-quirk(k=2, depth=3) + kerple(group=tree:2)",
                                    "none"};
enum { SPECS = sizeof specs / sizeof *specs };

typedef enum manner { SELF, APART, REAL, MANNERS } manner;

/* ---- positions ---- */

/* Two sequences and gaps. What takes no negative numbers, or no steps back, gets none. */
static locus_positions *draw_positions(const locus_group *group, const char *spec, bool keys, uint64_t *state) {
    static const size_t lengths[2][2] = {{9, 5}, {4, 8}};
    char text[64];
    (void)locus_group_text(group, text, sizeof text);
    if (strstr(spec, "learned(size") || strstr(spec, "chebyshev")) {
        const int64_t values[] = {3, 4, 5, 60, 0, 7, 7, 8, 9, 11, 3, 4, 0, 1};
        const size_t offsets[] = {0, 6, 14}, counts[] = {5, 8};
        const locus_packing packing = {sizeof packing, 2, offsets, counts};
        locus_positions *positions = NULL;
        rig_ok(locus_positions_create(&positions, NULL, &packing, values, error));
        return positions;
    }
    if (strstr(spec, "shiv-quirk")) {
        const int64_t branches[] = {1, 1, 2, 1, 2, 2, 2, 1, 1, 2};
        const size_t starts[] = {0, 0, 1, 3, 6, 8, 10}, offsets[] = {0, 4, 6};
        const locus_packing packing = {sizeof packing, 2, offsets, NULL};
        const locus_position_column column = {.size = sizeof column, .branches = branches, .starts = starts};
        locus_positions *positions = NULL;
        rig_ok(locus_positions_create_columns(&positions, group, &packing, &column, error));
        return positions;
    }
    const group_drawing drawing = {text, 2, lengths[keys], 90, false};
    return group_positions(&drawing, state);
}

static locus_positions *draw_reals(const locus_group *group, uint64_t *state) {
    static const size_t offsets[] = {0, 6, 13}, lengths[] = {5, 7};
    const locus_packing packing = {sizeof packing, 2, offsets, lengths};
    const size_t count = 13 * locus_group_coordinates(group);
    double values[13 * 4];
    locus_positions *positions = NULL;
    assert_true(count <= sizeof values / sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = i % 3 == 0 ? (double)(int64_t)(i % 11) : 40 * rig_random(state);
    rig_ok(locus_positions_create_real(&positions, group, &packing, values, error));
    return positions;
}

/* ---- one encoding ---- */

/* Other values that every class takes: small changes, and what must be above 0 stays there. */
static void disturb(rig *r, uint64_t *state) {
    for (size_t p = 0; p < r->count; p++)
        for (size_t i = 0; i < rig_elements(&r->info[p]); i++) {
            double *value = &((double *)r->values[p].data)[i];
            *value = *value != 0 ? *value * (1 + 0.05 * rig_random(state)) : rig_random(state);
        }
}

static bool of_axes(const locus_group *group) {
    for (size_t c = 0; c < locus_group_coordinates(group); c++)
        if (locus_group_coordinate(group, c).kind != LOCUS_COORDINATE_AXIS)
            return false;
    return true;
}

static bool takes(const char *spec) {
    locus_encoding *encoding = NULL;
    const bool parsed = locus_encoding_parse(spec, &encoding, NULL) == LOCUS_OK;
    locus_encoding_destroy(&encoding);
    return parsed;
}

static void check(const char *spec, manner how) {
    rig r;
    uint64_t state = 21;
    locus_plan *kept = NULL, *fresh = NULL;
    rig_bind(&r, spec,
             (locus_shape){.heads = HEADS, .head_dim = DIM, .value_dim = DIM, .model_dim = MODEL, .kv_heads = 1}, 3);
    const locus_group *group = locus_encoding_group(r.encoding);
    if (how == REAL && !of_axes(group)) {
        rig_close(&r);
        return;
    }
    r.queries = how == REAL ? draw_reals(group, &state) : draw_positions(group, spec, false, &state);
    r.keys = how == APART ? draw_positions(group, spec, true, &state) : NULL;
    if (how == REAL && locus_plan_create(&r.plan, r.binding, r.queries, NULL, NULL) != LOCUS_OK) {
        rig_close(&r); /* refuses real positions, which other tests look at */
        return;
    }
    locus_plan_destroy(&r.plan);
    rig_place(&r, r.queries, r.keys);
    const plan_subject subject = {r.encoding, r.shape, locus_positions_tokens(r.queries),
                                  locus_positions_tokens(r.keys ? r.keys : r.queries)};
    const uint64_t before = plan_fingerprint(r.plan, &subject);
    kept = locus_plan_retain(r.plan);
    for (int round = 0; round < SANITIZED(1, 3); round++) {
        disturb(&r, &state);
        rig_ok(locus_binding_update(&r.binding, r.values, r.count, error));
        rig_ok(locus_plan_refresh(&r.plan, r.binding, NULL, error));
        rig_ok(locus_plan_create(&fresh, r.binding, r.queries, r.keys, error));
        const uint64_t now = plan_fingerprint(r.plan, &subject);
        if (now != plan_fingerprint(fresh, &subject))
            fail_msg("'%s', manner %d: the refreshed plan is not the fresh one", spec, (int)how);
        if (r.count > 0 && now == before)
            fail_msg("'%s', manner %d: nothing has changed", spec, (int)how);
        if (plan_fingerprint(kept, &subject) != before)
            fail_msg("'%s', manner %d: the old plan has changed", spec, (int)how);
        locus_plan_destroy(&fresh);
    }
    locus_plan_destroy(&kept);
    rig_close(&r);
}

static void check_everywhere(const char *pattern) {
    for (size_t g = 0; g < (strstr(pattern, "%s") ? GROUPS : 1); g++) {
        char spec[256];
        const char *group = groups[g];
        (void)snprintf(spec, sizeof spec, "%s", pattern);
        for (char *at = strstr(spec, "%s"); at; at = strstr(spec, "%s")) {
            char rest[256];
            (void)snprintf(rest, sizeof rest, "%s", at + 2);
            (void)snprintf(at, sizeof spec - (size_t)(at - spec), "%s%s", group, rest);
        }
        for (int how = SELF; how < MANNERS && takes(spec); how++)
            check(spec, (manner)how);
    }
}

static void equals_a_fresh_plan(void **state) {
    (void)state;
    for (size_t i = 0; i < SPECS; i++)
        check_everywhere(specs[i]);
}

static void every_class_is_here(void **state) {
    (void)state;
    for (size_t c = 0; c < locus_encoding_registry_size(); c++) {
        const char *name = locus_encoding_registry_at(c)->name;
        bool found = false;
        for (size_t i = 0; i < SPECS && !found; i++)
            for (const char *at = specs[i]; at && !found; at = strstr(at, " + ")) {
                at += at != specs[i] ? 3 : 0;
                const size_t length = strlen(name);
                found =
                    strncmp(at, name, length) == 0 && (at[length] == '\0' || at[length] == '(' || at[length] == ' ');
            }
        if (!found)
            fail_msg("'%s' is not among the specs of this test: add it", name);
    }
}

/* ---- what is refused ---- */

static void other_bindings_are_refused(void **state) {
    (void)state;
    rig r, other;
    locus_error error = {0};
    rig_open(&r, "algebraic", rig_shape(2, 8, 0, 0), NULL, 9);
    locus_plan *plan = r.plan;
    const struct {
        const char *spec;
        locus_shape shape;
    } others[] = {{"algebraic(heads=shared)", rig_shape(2, 8, 0, 0)},
                  {"algebraic", rig_shape(4, 8, 0, 0)},
                  {"algebraic", rig_shape(2, 8, 4, 0)},
                  {"algebraic + decay", rig_shape(2, 8, 0, 0)},
                  {"rope", rig_shape(2, 8, 0, 0)}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        rig_bind(&other, others[i].spec, others[i].shape, 1);
        assert_int_equal(locus_plan_refresh(&r.plan, other.binding, NULL, &error), LOCUS_ERROR_ARGUMENT);
        assert_string_equal(error.argument, "binding");
        assert_ptr_equal(r.plan, plan);
        rig_close(&other);
    }
    assert_int_equal(locus_plan_refresh(NULL, r.binding, NULL, NULL), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_plan_refresh(&r.plan, NULL, NULL, NULL), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_plan_refresh(&(locus_plan *){NULL}, r.binding, NULL, NULL), LOCUS_ERROR_ARGUMENT);
    /* the same encoding, written and parsed by itself, bound by itself */
    rig_bind(&other, "algebraic(group=seq, heads=own)", rig_shape(2, 8, 8, 0), 2);
    assert_int_equal(locus_plan_refresh(&r.plan, other.binding, NULL, &error), LOCUS_OK);
    rig_close(&other);
    rig_close(&r);
}

/* A generator that reflects refuses real positions, an infinite exponent of liere any. */
static void a_failure_leaves_the_plan(void **state) {
    (void)state;
    rig r;
    uint64_t random = 2;
    locus_error failure = {0};
    rig_bind(&r, "liere(group=seq)", rig_shape(2, 8, 8, 16), 3);
    rig_place(&r, rig_positions(NULL, 9), NULL);
    const plan_subject subject = {r.encoding, r.shape, 9, 9};
    const uint64_t before = plan_fingerprint(r.plan, &subject);
    const locus_plan *plan = r.plan;
    for (size_t i = 0; i < rig_elements(&r.info[0]); i++)
        ((double *)r.values[0].data)[i] = 1e300 * rig_random(&random);
    rig_ok(locus_binding_update(&r.binding, r.values, r.count, error));
    assert_int_equal(locus_plan_refresh(&r.plan, r.binding, NULL, &failure), LOCUS_ERROR_NUMERIC);
    assert_ptr_equal(r.plan, plan);
    assert_int_equal(plan_fingerprint(r.plan, &subject), before);
    rig_close(&r);
}

/* ---- threads ---- */

typedef struct reader {
    const locus_plan *plan;
    const plan_subject *subject;
    uint64_t expected;
    int wrong;
} reader;

static void *read_on(void *argument) {
    reader *own = argument;
    for (int i = 0; i < 20; i++)
        own->wrong += plan_fingerprint(own->plan, own->subject) != own->expected;
    return NULL;
}

typedef struct writer {
    rig *r;
    const plan_subject *subject;
    uint64_t last;
    int failed;
} writer;

static void *refresh_on(void *argument) {
    writer *own = argument;
    locus_plan *plan = locus_plan_retain(own->r->plan);
    locus_binding *binding = locus_binding_retain(own->r->binding);
    double *values = own->r->values[0].data;
    for (int i = 0; i < 20; i++) {
        double *changed = malloc(rig_elements(&own->r->info[0]) * sizeof *changed);
        locus_tensor tensors[RIG_TENSORS];
        memcpy(tensors, own->r->values, sizeof tensors);
        for (size_t k = 0; changed && k < rig_elements(&own->r->info[0]); k++)
            changed[k] = values[k] * (1 + 0.01 * i);
        tensors[0].data = changed;
        own->failed += locus_binding_update(&binding, tensors, own->r->count, NULL) != LOCUS_OK;
        own->failed += locus_plan_refresh(&plan, binding, NULL, NULL) != LOCUS_OK;
        free(changed);
    }
    own->last = plan_fingerprint(plan, own->subject);
    locus_plan_destroy(&plan);
    locus_binding_destroy(&binding);
    return NULL;
}

static void others_execute_meanwhile(void **state) {
    (void)state;
    static const char *const some[] = {
        "algebraic(decay=learned:0.9)", "algebraic(group=tree:2)", "fire + rope(axes=1)",
        "kerple + rope(learned=on)",    "liere(group=seq)",        "t5 + learned(size=64)"};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        rig r;
        pthread_t threads[4];
        uint64_t random = 8;
        rig_bind(&r, some[i], rig_shape(2, 8, 8, 16), 3);
        const locus_group *group = locus_encoding_group(r.encoding);
        rig_place(&r,
                  locus_group_equal(group, NULL) ? rig_positions(NULL, 12)
                                                 : algebra_random_positions(group, (algebra_reach){9, 4}, 12, &random),
                  NULL);
        const plan_subject subject = {r.encoding, r.shape, 12, 12};
        const uint64_t expected = plan_fingerprint(r.plan, &subject);
        reader readers[2];
        writer writers[2];
        for (size_t t = 0; t < 2; t++) {
            readers[t] = (reader){r.plan, &subject, expected, 0};
            writers[t] = (writer){&r, &subject, 0, 0};
            assert_int_equal(pthread_create(&threads[t], NULL, read_on, &readers[t]), 0);
            assert_int_equal(pthread_create(&threads[2 + t], NULL, refresh_on, &writers[t]), 0);
        }
        for (size_t t = 0; t < 4; t++)
            assert_int_equal(pthread_join(threads[t], NULL), 0);
        for (size_t t = 0; t < 2; t++) {
            assert_int_equal(readers[t].wrong, 0);
            assert_int_equal(writers[t].failed, 0);
        }
        assert_int_equal(writers[0].last, writers[1].last);
        rig_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_is_here),        cmocka_unit_test(equals_a_fresh_plan),
        cmocka_unit_test(other_bindings_are_refused), cmocka_unit_test(a_failure_leaves_the_plan),
        cmocka_unit_test(others_execute_meanwhile),
    };
    threads_only("others_execute_meanwhile");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
