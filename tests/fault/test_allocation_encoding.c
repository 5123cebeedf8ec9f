/* SPDX-License-Identifier: MIT */
/* Every allocation of parsing, initialising, binding, planning, describing plans by forms, updating and refreshing
 * refused in turn: the status is MEMORY, what was there before stays as it was, and every block is given back. */
#include "../property/algebra_rig.h"
#include "../unit/plan_fingerprint.h"
#include "refusing_ledger.h"

static ledger books;

typedef struct scene {
    const char *spec;
    locus_shape shape;
    locus_positions *queries, *keys;
    size_t count;
    locus_tensor values[RIG_TENSORS];
    uint64_t print; /* of the plan before the step; 0: not taken yet */
} scene;

static uint64_t print_of(const locus_plan *plan, const locus_encoding *encoding, const scene *s) {
    plan_subject subject = {encoding, s->shape, 7, 4};
    subject.shape.value_dim = s->shape.head_dim;
    books.refuse = 0;
    return plan_fingerprint(plan, &subject);
}

/* Other values of the parameters; what was before must serve whether or not the memory for them is there. */
static locus_status step(const scene *s, const locus_encoding *encoding, locus_binding **binding, locus_plan **plan,
                         locus_error *error) {
    const locus_binding *old_binding = *binding;
    const locus_plan *old_plan = *plan;
    double *first = s->count > 0 ? s->values[0].data : NULL;
    if (first)
        first[0] *= 1.01; /* else everything would be shared */
    locus_status status = locus_binding_update(binding, s->values, s->count, error);
    assert_true(status == LOCUS_OK || *binding == old_binding);
    if (status == LOCUS_OK)
        status = locus_plan_refresh(plan, *binding, NULL, error);
    assert_true(status == LOCUS_OK || *plan == old_plan);
    if (status != LOCUS_OK)
        assert_int_equal(print_of(*plan, encoding, s), s->print);
    return status;
}

static locus_status write_down(const locus_plan *plan, locus_error *error) {
    locus_plan_forms *forms = NULL;
    const locus_status status = locus_plan_forms_create(&forms, plan, NULL, error);
    assert_true((status == LOCUS_OK) == (forms != NULL));
    locus_plan_forms_destroy(&forms);
    return status;
}

/* The whole life of an encoding; returns the first failure, having given back everything. */
static locus_status live(scene *s, locus_error *error) {
    locus_encoding *encoding = NULL;
    locus_binding *binding = NULL;
    locus_plan *plan = NULL;
    locus_status status = locus_encoding_parse(s->spec, &encoding, error);
    if (status == LOCUS_OK)
        status = locus_encoding_initialise(encoding, &s->shape, 1, s->values, s->count, error);
    if (status == LOCUS_OK)
        status = locus_binding_create(&binding, encoding, &s->shape, s->values, s->count, error);
    if (status == LOCUS_OK)
        status = locus_plan_create(&plan, binding, s->queries, s->keys, error);
    assert_true((status == LOCUS_OK) == (plan != NULL));
    if (status == LOCUS_OK)
        status = write_down(plan, error);
    if (status == LOCUS_OK && s->print == 0)
        s->print = print_of(plan, encoding, s);
    else if (status == LOCUS_OK)
        status = step(s, encoding, &binding, &plan, error);
    locus_plan_destroy(&plan);
    locus_binding_destroy(&binding);
    locus_encoding_destroy(&encoding);
    return status;
}

static void test_all_fail(void **state) {
    (void)state;
    const locus_allocator allocator = {sizeof allocator, book_allocate, book_release, &books};
    const int64_t scattered[] = {3, 4, 900, 901, 2, 4, 5}, others[] = {0, 7, 9, 3};
    const char *const specs[] = {"sinusoidal + learned(size=1000)",
                                 "chebyshev(size=1000) + chebyshev(size=1000, site=output)",
                                 "relative(values=on, window=4) + alibi + decay(learned=on)",
                                 "rope(learned=on) + alibi(group=seq)",
                                 "rope(sections=1:1:1, order=interleaved, pairs=half, learned=on)",
                                 "roper(axes=3, scaling=dynamic, factor=2, original=64)",
                                 "rope(scaling=longrope, factor=2, original=64, short=1:1:1, long=1:2:3)",
                                 "rope(xpos=512, scaling=dynamic, factor=2, original=64) + decay",
                                 "algebraic(group=seq, decay=0.9, values=on)",
                                 "algebraic(init=random, heads=shared)",
                                 "algebraic(generator=fixed)",
                                 "algebraic(generator=angles, init=random)",
                                 "algebraic(init=identity) + decay",
                                 "algebraic(group=tree:2, generator=householder, values=on, decay=learned:0.9)",
                                 "algebraic(group=cycle:5*tree:2*seq)",
                                 "algebraic(group=grid:3, generator=cayley)",
                                 "algebraic(group=tree:3, generator=angles) + alibi(group=tree:3)",
                                 "mixed(decay=0.9) + alibi(group=grid:2)",
                                 "string(values=on)",
                                 "liere + decay(group=grid:2, learned=on)"};
    assert_int_equal(locus_allocator_set(&allocator, NULL), LOCUS_OK);
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        scene s = {.spec = specs[i], .shape = rig_shape(2, 6, 0, 8)};
        rig r;
        books.refuse = 0;
        rig_bind(&r, s.spec, s.shape, 1);
        s.count = r.count;
        memcpy(s.values, r.values, sizeof s.values);
        const locus_group *group = locus_encoding_group(r.encoding);
        const bool plain = locus_group_equal(group, NULL);
        uint64_t random = 11;
        s.queries =
            plain ? rig_positions(scattered, 7) : algebra_random_positions(group, (algebra_reach){900, 6}, 7, &random);
        s.keys =
            plain ? rig_positions(others, 4) : algebra_random_positions(group, (algebra_reach){900, 6}, 4, &random);
        const size_t blocks = books.blocks, bytes = books.bytes;
        bool done = false;
        rig_ok(live(&s, error)); /* takes the print */
        for (size_t refuse = 1; !done; refuse++) {
            locus_error error = {0};
            books.asked = 0;
            books.refuse = refuse;
            locus_status status = live(&s, &error);
            done = books.asked < refuse;
            if (!done)
                assert_refused(&books, status, &error);
            else if (status != LOCUS_OK)
                fail_msg("'%s': status %d, %s", specs[i], (int)status, error.message);
            if (books.blocks != blocks || books.bytes != bytes)
                fail_msg("'%s', allocation %zu: %zu blocks are left", specs[i], refuse, books.blocks - blocks);
            assert_true(refuse < 1000);
        }
        books.refuse = 0;
        locus_positions_destroy(&s.queries);
        locus_positions_destroy(&s.keys);
        rig_close(&r);
    }
    assert_int_equal(books.blocks, 0);
    assert_int_equal(books.bytes, 0);
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
}

static void test_patterns_fail(void **state) {
    (void)state;
    const locus_allocator allocator = {sizeof allocator, book_allocate, book_release, &books};
    assert_int_equal(locus_allocator_set(&allocator, NULL), LOCUS_OK);
    bool done = false;
    for (size_t refuse = 1; !done; refuse++) {
        locus_pattern *pattern = NULL;
        locus_error error = {0};
        books = (ledger){.refuse = refuse};
        locus_status status =
            locus_pattern_parse("2*algebraic(group=seq) / none / algebraic / shiv-quirk", &pattern, &error);
        done = books.asked < refuse;
        assert_int_equal(status, done ? LOCUS_ERROR_SPEC : LOCUS_ERROR_MEMORY); /* the last cannot stand there */
        assert_null(pattern);
        assert_int_equal(books.blocks, 0);
        books = (ledger){.refuse = refuse};
        status = locus_pattern_parse("2*algebraic(group=seq) / none / rope + decay", &pattern, &error);
        done = done && books.asked < refuse;
        assert_true(status == LOCUS_ERROR_MEMORY || (status == LOCUS_OK && books.asked < refuse));
        locus_pattern_destroy(&pattern);
        assert_int_equal(books.blocks, 0);
        assert_true(refuse < 1000);
    }
    books.refuse = 0;
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
}

/* Execution asks for no memory at all. */
static void test_execution_allocates_nothing(void **state) {
    (void)state;
    const locus_allocator allocator = {sizeof allocator, book_allocate, book_release, &books};
    const char *const specs[] = {"algebraic(values=on)",
                                 "rope(learned=on)",
                                 "rope(axes=2, pairs=half, scaling=yarn, factor=2, original=64)",
                                 "rope(sections=2:1:1, order=interleaved, learned=on)",
                                 "rope(xpos=512)",
                                 "algebraic(generator=angles)",
                                 "algebraic(group=tree:2)",
                                 "algebraic(group=cycle:5*tree:2, generator=householder)",
                                 "string",
                                 "liere",
                                 "learned + sinusoidal"};
    const size_t count = sizeof specs / sizeof specs[0];
    assert_int_equal(locus_allocator_set(&allocator, NULL), LOCUS_OK);
    for (size_t i = 0; i < count; i++) {
        rig r;
        float x[50 * 16] = {0}, g[50 * 16] = {0};
        locus_role role = i + 1 < count ? LOCUS_ROLE_QUERY : LOCUS_ROLE_TOKEN;
        uint64_t random = 12;
        rig_bind(&r, specs[i], rig_shape(2, 8, 0, 16), 7);
        const locus_group *group = locus_encoding_group(r.encoding);
        rig_place(&r,
                  locus_group_equal(group, NULL) ? rig_positions(NULL, 50)
                                                 : algebra_random_positions(group, (algebra_reach){99, 6}, 50, &random),
                  NULL);
        locus_tensor xt = rig_view(&r, role, x, LOCUS_FLOAT32, 50), gt = rig_view(&r, role, g, LOCUS_FLOAT32, 50);
        locus_workspace workspace = rig_workspace(&r, role, LOCUS_FLOAT32);
        locus_apply_gradients gradients = {
            .x = &xt, .gy = &gt, .gx = &gt, .parameters = r.gradients, .parameter_count = r.count};
        books.asked = 0;
        const locus_execution execution = locus_execution_in(workspace);
        rig_ok(locus_apply(r.plan, role, LOCUS_FORWARD, &xt, &xt, &execution, error));
        rig_ok(locus_apply_backward(r.plan, role, LOCUS_FORWARD, &gradients, &execution, error));
        assert_int_equal(books.asked, 0);
        rig_workspace_free(workspace);
        rig_close(&r);
    }
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_fail), cmocka_unit_test(test_patterns_fail),
                                       cmocka_unit_test(test_execution_allocates_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
