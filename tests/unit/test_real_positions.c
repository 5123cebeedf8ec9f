/* SPDX-License-Identifier: MIT */
/* Real-valued positions: what is kept and refused, what a plan makes of them, and angles against direct formulas. */
#include "../property/encoding_rig.h"

#include "algebra/positions_access.h"
#include "plan/placing.h"
#include "spec/levels.h"

enum { MOST = 512 };

static locus_positions *real_positions(const locus_group *group, const double *values, size_t count) {
    const size_t offsets[] = {0, count};
    locus_positions *positions = NULL;
    rig_ok(locus_positions_create_real(&positions, group, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL},
                                       values, error));
    return positions;
}

static locus_group *group_of(const char *text) {
    locus_group *group = NULL;
    rig_ok(locus_group_parse(text, &group, error));
    return group;
}

/* ---- what is kept ---- */

static void test_kept(void **state) {
    (void)state;
    const size_t offsets[] = {0, 3, 5}, lengths[] = {2, 2};
    const double values[] = {0.5, -0.25, NAN, 7, 0x1p40};
    locus_positions *p = NULL;
    rig_ok(locus_positions_create_real(&p, NULL, &(locus_packing){sizeof(locus_packing), 2, offsets, lengths}, values,
                                       error));
    const double *reals = locus_positions_reals(p, 0);
    const double want[] = {0.5, -0.25, 0, 7, 0x1p40};
    const int64_t floors[] = {0, -1, 0, 7, (int64_t)1 << 40};
    assert_non_null(reals);
    assert_memory_equal(reals, want, sizeof want);
    assert_memory_equal(locus_positions_values(p, 0), floors, sizeof floors);
    assert_int_equal(locus_positions_minimum(p, 0), -1);
    assert_true(locus_positions_maximum(p, 0) == (int64_t)1 << 40);
    assert_true(locus_positions_bytes(p) >= sizeof want + sizeof floors);
    locus_path *path = NULL;
    locus_error error = {0};
    assert_int_equal(locus_positions_path(p, 1, &path, &error), LOCUS_ERROR_UNSUPPORTED);
    assert_null(path);
    locus_positions_destroy(&p);
}

static void test_whole(void **state) {
    (void)state;
    const double values[] = {3, 4, -0.0};
    locus_positions *p = real_positions(NULL, values, 3);
    assert_null(locus_positions_reals(p, 0));
    assert_int_equal(locus_positions_values(p, 0)[1], 4);
    locus_path *path = NULL;
    rig_ok(locus_positions_path(p, 0, &path, error));
    locus_path_destroy(&path);
    locus_positions_destroy(&p);
}

/* All coordinates or none. */
static void test_grid(void **state) {
    (void)state;
    const double values[] = {1, 0.5, 2, 0.25, 3, -1.75};
    locus_group *group = group_of("grid:2");
    locus_positions *p = real_positions(group, values, 3);
    for (size_t c = 0; c < 2; c++)
        for (size_t t = 0; t < 3; t++)
            assert_true(locus_positions_reals(p, c)[t] == values[2 * t + c]);
    assert_int_equal(locus_positions_values(p, 1)[2], -2);
    locus_positions_destroy(&p);
    locus_group_destroy(&group);
}

static void expect_refusal(const char *group_text, double value, locus_status status, const char *part) {
    locus_group *group = group_text ? group_of(group_text) : NULL;
    const size_t offsets[] = {0, 2};
    const double values[] = {0.5, value, 0, 0};
    locus_positions *p = (locus_positions *)(uintptr_t)1;
    locus_error error = {0};
    assert_int_equal(locus_positions_create_real(&p, group, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL},
                                                 values, &error),
                     status);
    assert_null(p);
    if (!strstr(error.message, part))
        fail_msg("expected '%s' in: %s", part, error.message);
    locus_group_destroy(&group);
}

static void test_refused(void **state) {
    (void)state;
    expect_refusal(NULL, NAN, LOCUS_ERROR_POSITION, "token 1");
    expect_refusal(NULL, INFINITY, LOCUS_ERROR_POSITION, "token 1");
    expect_refusal(NULL, -INFINITY, LOCUS_ERROR_POSITION, "-2^40 to 2^40");
    expect_refusal(NULL, 0x1.0000000001p40, LOCUS_ERROR_POSITION, "token 1");
    expect_refusal("grid:2", 1e300, LOCUS_ERROR_POSITION, "token 0");
    expect_refusal("cycle:7", 0.5, LOCUS_ERROR_ARGUMENT, "cycle:7");
    expect_refusal("tree:2", 0.5, LOCUS_ERROR_ARGUMENT, "tree:2");
    const size_t offsets[] = {0, 2}, falling[] = {2, 1};
    locus_positions *p = NULL;
    const double values[] = {0.5, 0.5};
    locus_error error = {0};
    assert_int_equal(
        locus_positions_create_real(&p, NULL, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL}, NULL, &error),
        LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_positions_create_real(&p, NULL, &(locus_packing){sizeof(locus_packing), 1, falling, NULL},
                                                 values, &error),
                     LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_positions_create_real(NULL, NULL, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL},
                                                 values, &error),
                     LOCUS_ERROR_ARGUMENT);
}

/* Tables are for whole steps, reflections too: of queries, of keys, and of both. */
static void test_class_refuses(void **state) {
    (void)state;
    static const char *const specs[] = {"learned(size=8)", "relative", "algebraic(generator=householder)"};
    static const char *const messages[] = {
        "'learned' needs whole positions: these are real numbers",
        "'relative' needs whole positions: these are real numbers",
        "the generator of head 0 reflects, which needs whole positions: these are real numbers"};
    const double values[] = {0.5, 1};
    const int64_t whole[] = {3, 4};
    for (size_t i = 0; i < 3; i++)
        for (int sides = 0; sides < 4; sides++) { /* keys where queries stand, real queries, real keys, both */
            rig r;
            rig_bind(&r, specs[i], (locus_shape){.heads = 2, .head_dim = 5, .model_dim = 8}, 7);
            locus_positions *queries = sides == 2 ? rig_positions(whole, 2) : real_positions(NULL, values, 2);
            locus_positions *keys = sides == 0   ? NULL
                                    : sides == 1 ? rig_positions(whole, 2)
                                                 : real_positions(NULL, values, 2);
            locus_error error = {0};
            assert_int_equal(locus_plan_create(&r.plan, r.binding, queries, keys, &error), LOCUS_ERROR_POSITION);
            assert_null(r.plan);
            assert_string_equal(error.message, messages[i]);
            locus_positions_destroy(&queries);
            locus_positions_destroy(&keys);
            rig_close(&r);
        }
}

/* ---- placement ---- */

static void test_placement(void **state) {
    (void)state;
    const double query_values[] = {0.5, 64, 70, 0.5, -3.25}, key_values[] = {10, 70, 128};
    locus_positions *queries = real_positions(NULL, query_values, 5), *keys = real_positions(NULL, key_values, 3);
    assert_null(locus_positions_reals(keys, 0));
    locus_places places;
    locus_owned memory = {0};
    rig_ok(locus_places_create(&places, queries, keys, &memory, error));
    const locus_placement *p = NULL;
    rig_ok(locus_levels_get(&places, &p, &memory, error));
    const double want[] = {-3.25, 0, 0.5, 64, 128}; /* 10 = 0 + 10, 70 = 64 + 6 */
    assert_int_equal(p->coarse_count, 5);
    assert_memory_equal(p->coarse_reals, want, sizeof want);
    for (size_t t = 0; t < 5; t++)
        assert_true(p->coarse_reals[p->query.coarse[t]] + p->query.fine[t] == query_values[t]);
    for (size_t t = 0; t < 3; t++) {
        assert_true(p->coarse_reals[p->key.coarse[t]] + p->key.fine[t] == key_values[t]);
        assert_true(locus_token_position(&p->key, t) == key_values[t]);
    }
    assert_false(p->query.consecutive || p->key.consecutive);
    for (size_t t = 0; t < 5; t++)
        assert_int_equal(p->query.ahead[t], 1);
    assert_true(p->reach == 128 && p->highest == 128);
    assert_int_equal(p->nearest_apart, -60);  /* 10 − 70 */
    assert_int_equal(p->farthest_apart, 132); /* 128 + 3.25, outwards */
    locus_owned_release(&memory);
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
}

/* ---- encodings ---- */

static void open_real(rig *r, const char *spec, locus_shape shape, const double *values, size_t count) {
    rig_bind(r, spec, shape, 7);
    rig_place(r, real_positions(locus_binding_group(r->binding), values, count), NULL);
}

/* Whole numbers among real ones get the bits that they get among whole ones. */
static void check_bits(const char *spec, locus_shape shape, locus_role role, locus_dtype dtype) {
    enum { COUNT = 9 };
    const int64_t whole[COUNT] = {0, 1, -5, 63, 64, 65, 1000, 123456789, 7};
    double values[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        values[i] = (double)whole[i];
    values[COUNT - 1] = 7.5; /* makes them real */
    static unsigned char x[MOST * 8], y[MOST * 8], z[MOST * 8];
    uint64_t random = 3;
    for (size_t i = 0; i < MOST; i++)
        if (dtype == LOCUS_FLOAT64)
            ((double *)(void *)x)[i] = rig_random(&random);
        else
            ((float *)(void *)x)[i] = (float)rig_random(&random);
    rig a, b;
    rig_open(&a, spec, shape, whole, COUNT);
    open_real(&b, spec, shape, values, COUNT);
    rig_apply(&a, role, LOCUS_FORWARD, dtype, COUNT, x, y);
    rig_apply(&b, role, LOCUS_FORWARD, dtype, COUNT, x, z);
    const locus_tensor view = rig_view(&a, role, y, dtype, COUNT);
    const size_t row = (size_t)view.stride[0] * locus_dtype_size(dtype);
    assert_true(row * COUNT <= sizeof y);
    assert_memory_equal(y, z, row * (COUNT - 1));
    assert_memory_not_equal(y + row * (COUNT - 1), z + row * (COUNT - 1), row);
    rig_close(&a);
    rig_close(&b);
}

static void test_bits(void **state) {
    (void)state;
    const locus_dtype types[] = {LOCUS_FLOAT32, LOCUS_FLOAT64};
    for (size_t i = 0; i < 2; i++) {
        check_bits("rope", rig_shape(2, 8, 0, 0), LOCUS_ROLE_QUERY, types[i]);
        check_bits("rope(pairs=half, base=500)", rig_shape(3, 6, 0, 0), LOCUS_ROLE_KEY, types[i]);
        check_bits("sinusoidal", rig_shape(0, 0, 0, 10), LOCUS_ROLE_TOKEN, types[i]);
    }
}

/* Rotations of the unit vector (1, 0) by p·θ, θ = base^(−2i/D), base 10⁴, D = 4: to the last bits of float64. Cosines
 * and sines of far positions were computed by mpmath 1.3.0 with 60 digits, of the doubles p and θ_1 = 0.01. */
static const struct far_angle {
    double position, cosine_0, sine_0, cosine_1, sine_1;
} far_angles[] = {
    {0x1.0000000000000p-1, 0.8775825618903728, 0.479425538604203, 0.9999875000260416, 0.004999979166692708},
    {0x1.0000000000800p+39, 0.44293978630958836, -0.8965513625576709, -0.0738835669855665, -0.9972668742766347},
    {-0x1.0000000000800p+39, 0.44293978630958836, 0.8965513625576709, -0.0738835669855665, 0.9972668742766347},
    {0x1.fffff00000000p+19, 0.9867166399134658, -0.1624508310778367, 0.6361658646459036, -0.771552326585391},
    {0x1.0000000000000p+40, -0.914004071991557, -0.40570501153282873, -0.9883332602852559, 0.15230681735863497},
    {0x1.81cd6c8b43958p+13, 0.7101193587160628, -0.7040813137533816, -0.5940867190962762, -0.8044010008655026},
    {0x1.12e0be826d695p-30, 1.0, 1e-09, 1.0, 1.0000000000000001e-11},
    {-0x1.8000000000000p-1, 0.7316888688738209, -0.6816387600233341, 0.9999718751318357, -0.007499929687697754},
};

static void test_angles(void **state) {
    (void)state;
    enum { COUNT = sizeof far_angles / sizeof far_angles[0] };
    double positions[COUNT], x[COUNT * 4], y[COUNT * 4];
    for (size_t i = 0; i < COUNT; i++) {
        positions[i] = far_angles[i].position;
        x[4 * i] = x[4 * i + 2] = 1;
        x[4 * i + 1] = x[4 * i + 3] = 0;
    }
    rig r;
    open_real(&r, "rope", rig_shape(1, 4, 0, 0), positions, COUNT);
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, x, y);
    for (size_t i = 0; i < COUNT; i++) {
        const double want[] = {far_angles[i].cosine_0, far_angles[i].sine_0, far_angles[i].cosine_1,
                               far_angles[i].sine_1};
        for (size_t j = 0; j < 4; j++)
            if (fabs(y[4 * i + j] - want[j]) > 4e-16)
                fail_msg("position %.17g, element %zu: %.17g, expected %.17g", positions[i], j, y[4 * i + j], want[j]);
    }
    rig_close(&r);
}

/* p = 0.5: half of what a step turns, and the sinusoid at half a position. */
static void test_half_step(void **state) {
    (void)state;
    const double values[] = {0.5, 1, 1.5, 2.75};
    double x[4 * 6], y[4 * 6];
    memset(x, 0, sizeof x);
    rig r;
    open_real(&r, "sinusoidal", rig_shape(0, 0, 0, 6), values, 4);
    rig_apply(&r, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, LOCUS_FLOAT64, 4, x, y);
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < 3; i++) {
            const double angle = values[t] * pow(10000, -2 * (double)i / 6);
            assert_true(fabs(y[6 * t + 2 * i] - sin(angle)) < 1e-15);
            assert_true(fabs(y[6 * t + 2 * i + 1] - cos(angle)) < 1e-15);
        }
    rig_close(&r);
}

/* Whole keys, real queries: scores depend on the distance alone. */
static void test_mixed_sides(void **state) {
    (void)state;
    enum { COUNT = 3, DIM = 6 };
    const double query_values[COUNT] = {0.5, 10.25, -3.5};
    const int64_t key_values[COUNT] = {0, 9, 4};
    double q[COUNT * DIM], k[COUNT * DIM], turned[2][COUNT * DIM];
    uint64_t random = 12;
    for (size_t i = 0; i < COUNT * DIM; i++)
        q[i] = rig_random(&random), k[i] = rig_random(&random);
    rig r;
    rig_bind(&r, "rope", rig_shape(1, DIM, 0, 0), 7);
    rig_place(&r, real_positions(NULL, query_values, COUNT), rig_positions(key_values, COUNT));
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, q, turned[0]);
    rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, k, turned[1]);
    for (size_t m = 0; m < COUNT; m++)
        for (size_t n = 0; n < COUNT; n++) {
            double got = 0, want = 0;
            for (size_t i = 0; i < DIM; i += 2) {
                const double angle = ((double)key_values[n] - query_values[m]) * pow(10000, -(double)i / DIM);
                const double *a = q + m * DIM + i, *b = k + n * DIM + i;
                want += cos(angle) * (a[0] * b[0] + a[1] * b[1]) + sin(angle) * (a[1] * b[0] - a[0] * b[1]);
                got += turned[0][m * DIM + i] * turned[1][n * DIM + i] +
                       turned[0][m * DIM + i + 1] * turned[1][n * DIM + i + 1];
            }
            assert_true(fabs(got - want) < 1e-13);
        }
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept),          cmocka_unit_test(test_whole),
                                       cmocka_unit_test(test_grid),          cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_class_refuses), cmocka_unit_test(test_placement),
                                       cmocka_unit_test(test_bits),          cmocka_unit_test(test_angles),
                                       cmocka_unit_test(test_half_step),     cmocka_unit_test(test_mixed_sides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
