/* SPDX-License-Identifier: MIT */
/* Equality and hashes of positions, encodings and bindings, by which callers keep plans; parameters and their gradients
 * in every element type. */
#include "property/algebra_rig.h"

/* ---- encodings ---- */

static locus_encoding *parsed(const char *spec) {
    locus_encoding *encoding = NULL;
    rig_ok(locus_encoding_parse(spec, &encoding, error));
    return encoding;
}

static void compare_encodings(const char *a, const char *b, bool equal) {
    locus_encoding *left = parsed(a), *right = parsed(b);
    if (!locus_encoding_equal(left, right) == equal || !locus_encoding_equal(right, left) == equal)
        fail_msg("'%s' and '%s'", a, b);
    if ((locus_encoding_hash(left) == locus_encoding_hash(right)) != equal)
        fail_msg("hashes of '%s' and '%s'", a, b);
    locus_encoding_destroy(&left);
    locus_encoding_destroy(&right);
}

static void encodings(void **state) {
    (void)state;
    compare_encodings("rope", "rope(base=1e4, pairs=interleaved)", true);
    compare_encodings("rope", "rope(base=9999)", false);
    compare_encodings("rope", "rope(learned=off)", true);
    compare_encodings("rope", "rope(learned=on)", false);
    compare_encodings("rope", "roper", false);
    compare_encodings("rope(scaling=yarn, factor=4, original=64)",
                      "rope(scaling=yarn, factor=4, original=64, attention=1)", false);
    compare_encodings("algebraic(group=seq*seq)", "algebraic(group=grid:2)", true);
    compare_encodings("algebraic(group=seq)", "algebraic", true);
    compare_encodings("algebraic(group=cycle:5)", "algebraic(group=cycle:6)", false);
    compare_encodings("rope + alibi", "alibi + rope", false);
    compare_encodings("rope + alibi", "rope", false);
    compare_encodings("rope(axes=2, sections=2:2)", "rope(axes=2, sections=3:1)", false);
    compare_encodings("rope(axes=2, sections=2:2)", "rope(sections=2:2, axes=2)", true);
    compare_encodings("decay(rate=0.9)", "decay(rate=0.90)", true);
    locus_encoding *one = parsed("none");
    assert_true(locus_encoding_equal(one, one));
    assert_false(locus_encoding_equal(one, NULL));
    assert_true(locus_encoding_equal(NULL, NULL));
    locus_encoding_destroy(&one);
}

/* ---- positions ---- */

static void compare_positions(const locus_positions *a, const locus_positions *b, bool equal) {
    assert_int_equal(!!locus_positions_equal(a, b), equal);
    assert_int_equal(!!locus_positions_equal(b, a), equal);
    assert_int_equal(locus_positions_hash(a) == locus_positions_hash(b), equal);
}

static locus_positions *packed(const char *group, size_t sequences, const size_t *offsets, const size_t *lengths,
                               const int64_t *values) {
    locus_group *own = algebra_group(group);
    const locus_packing packing = {sizeof packing, sequences, offsets, lengths};
    locus_positions *positions = NULL;
    rig_ok(locus_positions_create(&positions, own, &packing, values, error));
    locus_group_destroy(&own);
    return positions;
}

static void positions(void **state) {
    (void)state;
    const int64_t counted[] = {0, 1, 2, 3, 4, 5}, gapped[] = {0, 1, 99, 3, 4, 77}, other[] = {0, 1, 2, 3, 4, 6},
                  first[] = {0, 1, 2, 3, 5, 5};
    const size_t one[] = {0, 6}, two[] = {0, 3, 6}, five[] = {0, 5}, lengths[] = {2, 2}, each[] = {0, 1, 2};
    struct {
        locus_positions *own;
        int class; /* equal ones have equal numbers */
    } all[] = {{packed("seq", 1, one, NULL, NULL), 0},
               {packed("seq", 1, one, NULL, counted), 0},
               {packed("seq", 1, one, NULL, other), 1},
               {packed("seq", 2, two, NULL, counted), 2},
               {packed("seq", 2, two, NULL, first), 17},
               {packed("seq", 2, two, lengths, counted), 3},
               {packed("seq", 2, two, lengths, gapped), 3},
               {packed("seq", 1, five, NULL, counted), 4},
               {packed("cycle:9", 1, one, NULL, counted), 5},
               {packed("cycle:8", 1, one, NULL, counted), 6},
               {packed("cycle:9", 1, one, NULL, NULL), 5},
               {packed("seq*seq", 1, (size_t[]){0, 3}, NULL, counted), 7},
               {packed("grid:2", 1, (size_t[]){0, 3}, NULL, counted), 7},
               {packed("grid:2", 1, (size_t[]){0, 3}, NULL, other), 12},
               {packed("grid:2", 1, (size_t[]){0, 3}, NULL, first), 13},
               {packed("grid:3", 1, (size_t[]){0, 2}, NULL, counted), 14},
               {packed("grid:3", 1, (size_t[]){0, 2}, NULL, first), 15},
               {packed("grid:3", 1, (size_t[]){0, 2}, NULL, other), 16},
               {packed("seq", 2, each, NULL, counted), 8},
               {packed("seq", 2, each, NULL, counted + 1), 9},
               {packed("seq", 2, each, (size_t[]){1, 0}, counted), 10},
               {packed("seq", 2, each, (size_t[]){1, 0}, gapped), 10},
               {packed("seq", 2, each, (size_t[]){1, 0}, counted + 1), 11}};
    const size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            compare_positions(all[i].own, all[j].own, all[i].class == all[j].class);
    for (size_t i = 0; i < count; i++)
        locus_positions_destroy(&all[i].own);
    assert_false(locus_positions_equal(NULL, all[0].own = rig_positions(NULL, 0)));
    locus_positions_destroy(&all[0].own);
}

static void real_positions(void **state) {
    (void)state;
    const double halves[] = {0.5, 1, 2}, whole[] = {3, 1, 2}, others[] = {0.5, 1, 2.25};
    const int64_t integers[] = {3, 1, 2};
    const size_t offsets[] = {0, 3};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_positions *a = NULL, *b = NULL, *c = NULL, *d = rig_positions(integers, 3), *e = NULL;
    rig_ok(locus_positions_create_real(&a, NULL, &packing, halves, error));
    rig_ok(locus_positions_create_real(&b, NULL, &packing, others, error));
    rig_ok(locus_positions_create_real(&c, NULL, &packing, whole, error));
    rig_ok(locus_positions_create_real(&e, NULL, &packing, halves, error));
    compare_positions(a, a, true);
    compare_positions(a, e, true);
    compare_positions(a, b, false);
    compare_positions(c, d, true);
    compare_positions(a, d, false);
    locus_positions_destroy(&a);
    locus_positions_destroy(&b);
    locus_positions_destroy(&c);
    locus_positions_destroy(&d);
    locus_positions_destroy(&e);
}

/* The same words, met in another order, spelled with detours, or named by nodes. */
static void words(void **state) {
    (void)state;
    const int64_t plain[] = {1, 1, 2, 2, 2, 1}, detours[] = {2, -2, 1, 1, 2, 2, 2, 1, -1, 1},
                  other[] = {1, 1, 2, 2, 2, 2};
    const size_t plain_starts[] = {0, 1, 3, 6}, detour_starts[] = {0, 3, 5, 10}, offsets[] = {0, 3};
    const size_t parents[] = {0, 0, 1, 0, 3, 3, 5};
    const int64_t branches[] = {0, 1, 2, 2, 1, 2, 1}, nodes[] = {1, 2, 6};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    const locus_position_column columns[] = {
        {.size = sizeof(locus_position_column), .branches = plain, .starts = plain_starts},
        {.size = sizeof(locus_position_column), .branches = detours, .starts = detour_starts},
        {.size = sizeof(locus_position_column),
         .values = nodes,
         .branches = branches,
         .parents = parents,
         .node_count = 7},
        {.size = sizeof(locus_position_column), .branches = other, .starts = plain_starts}};
    locus_group *tree = algebra_group("tree:2");
    locus_positions *all[4] = {NULL};
    for (size_t i = 0; i < 4; i++)
        rig_ok(locus_positions_create_columns(&all[i], tree, &packing, &columns[i], error));
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++)
            compare_positions(all[i], all[j], i == j || (i < 3 && j < 3));
    for (size_t i = 0; i < 4; i++)
        locus_positions_destroy(&all[i]);
    locus_group_destroy(&tree);
}

/* ---- bindings ---- */

static void bindings(void **state) {
    (void)state;
    rig a, b, c, d;
    rig_bind(&a, "algebraic(decay=learned:0.9)", rig_shape(2, 8, 0, 0), 3);
    rig_bind(&b, "algebraic(group=seq, decay=learned:0.9)", rig_shape(2, 8, 8, 0), 3);
    rig_bind(&c, "algebraic(decay=learned:0.9)", rig_shape(2, 8, 0, 0), 4);
    rig_bind(&d, "algebraic(decay=learned:0.9)", rig_shape(2, 8, 4, 0), 3);
    assert_true(locus_binding_equal(a.binding, b.binding));
    assert_int_equal(locus_binding_hash(a.binding), locus_binding_hash(b.binding));
    assert_false(locus_binding_equal(a.binding, c.binding));
    assert_int_not_equal(locus_binding_hash(a.binding), locus_binding_hash(c.binding));
    assert_false(locus_binding_equal(a.binding, d.binding));
    assert_int_not_equal(locus_binding_hash(a.binding), locus_binding_hash(d.binding));
    assert_false(locus_binding_equal(a.binding, NULL));
    assert_true(locus_binding_equal(NULL, NULL));
    locus_binding *updated = locus_binding_retain(a.binding);
    rig_ok(locus_binding_update(&updated, c.values, c.count, error));
    assert_ptr_not_equal(updated, a.binding);
    assert_true(locus_binding_equal(updated, c.binding));
    assert_true(locus_binding_equal(a.binding, b.binding)); /* what was retained stays */
    rig_ok(locus_binding_update(&updated, a.values, a.count, error));
    assert_true(locus_binding_equal(updated, a.binding));
    locus_binding_destroy(&updated);
    rig_close(&a), rig_close(&b), rig_close(&c), rig_close(&d);
}

/* ---- element types ---- */

static void *converted(const locus_tensor *from, locus_dtype dtype, locus_tensor *to) {
    *to = locus_tensor_view(NULL, dtype, from->rank, from->shape);
    to->data = calloc(locus_tensor_count(from) + 1, locus_dtype_size(dtype));
    rig_ok(locus_tensor_convert(from, to, error));
    return to->data;
}

static const locus_dtype dtypes[] = {LOCUS_FLOAT32, LOCUS_FLOAT64, LOCUS_FLOAT16, LOCUS_BFLOAT16};

static void parameters_of_every_type(void **state) {
    (void)state;
    static const char *const specs[] = {"algebraic(decay=learned:0.9)", "learned(size=20) + fire", "kerple + cope"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (size_t d = 0; d < 4; d++) {
            rig r;
            locus_tensor drawn[RIG_TENSORS], given[RIG_TENSORS], wide[RIG_TENSORS];
            locus_binding *of_type = NULL, *of_doubles = NULL;
            rig_bind(&r, specs[s], rig_shape(2, 8, 8, 16), 3);
            for (size_t i = 0; i < r.count; i++) {
                void *data = converted(&r.values[i], dtypes[d], &given[i]);
                (void)converted(&given[i], LOCUS_FLOAT64, &wide[i]);
                drawn[i] = given[i];
                drawn[i].data = calloc(locus_tensor_count(&given[i]) + 1, locus_dtype_size(dtypes[d]));
                assert_true(data && drawn[i].data);
            }
            rig_ok(locus_encoding_initialise(r.encoding, &r.shape, 3, drawn, r.count, error));
            rig_ok(locus_binding_create(&of_type, r.encoding, &r.shape, given, r.count, error));
            rig_ok(locus_binding_create(&of_doubles, r.encoding, &r.shape, wide, r.count, error));
            assert_true(locus_binding_equal(of_type, of_doubles));
            assert_int_equal(locus_binding_equal(of_type, r.binding), dtypes[d] == LOCUS_FLOAT64);
            for (size_t i = 0; i < r.count; i++) {
                assert_memory_equal(drawn[i].data, given[i].data,
                                    locus_tensor_count(&given[i]) * locus_dtype_size(dtypes[d]));
                free(drawn[i].data), free(given[i].data), free(wide[i].data);
            }
            locus_binding_destroy(&of_type);
            locus_binding_destroy(&of_doubles);
            rig_close(&r);
        }
}

/* A sum is added in double and rounded once: where a head has parameters of its own, the gradient is the rounded
 * one. */
static void gradients_of_every_type(void **state) {
    (void)state;
    enum { TOKENS = 9, DIM = 8, ROW = 2 * DIM };
    for (size_t d = 0; d < 4; d++) {
        rig r;
        double x[TOKENS * ROW], g[TOKENS * ROW], y[TOKENS * ROW];
        uint64_t random = 5;
        rig_open(&r, "algebraic", rig_shape(2, DIM, DIM, 0), NULL, TOKENS);
        for (size_t i = 0; i < TOKENS * ROW; i++) {
            x[i] = rig_random(&random);
            g[i] = rig_random(&random);
        }
        const locus_tensor xt = rig_view(&r, LOCUS_ROLE_QUERY, x, LOCUS_FLOAT64, TOKENS);
        const locus_tensor gt = rig_view(&r, LOCUS_ROLE_QUERY, g, LOCUS_FLOAT64, TOKENS);
        const locus_tensor yt = rig_view(&r, LOCUS_ROLE_QUERY, y, LOCUS_FLOAT64, TOKENS);
        const locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT64);
        const locus_execution execution = locus_execution_in(workspace);
        locus_tensor own, rounded;
        void *data = converted(&r.gradients[0], dtypes[d], &own);
        const locus_apply_gradients
            in_double = {.x = &xt, .gy = &gt, .gx = &yt, .parameters = r.gradients, .parameter_count = 1},
            in_type = {.x = &xt, .gy = &gt, .gx = &yt, .parameters = &own, .parameter_count = 1};
        rig_ok(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &in_double, &execution, error));
        rig_ok(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &in_type, &execution, error));
        void *expected = converted(&r.gradients[0], dtypes[d], &rounded);
        assert_memory_equal(data, expected, locus_tensor_count(&own) * locus_dtype_size(dtypes[d]));
        free(data), free(expected);
        rig_workspace_free(workspace);
        rig_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodings),
        cmocka_unit_test(positions),
        cmocka_unit_test(real_positions),
        cmocka_unit_test(words),
        cmocka_unit_test(bindings),
        cmocka_unit_test(parameters_of_every_type),
        cmocka_unit_test(gradients_of_every_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
