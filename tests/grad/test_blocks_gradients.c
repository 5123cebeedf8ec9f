/* SPDX-License-Identifier: MIT */
/* Gradients of what acts in blocks: every kind of generator on sequences, cycles, grids and products of these, cut
 * evenly and by split; mixed and string. And generators whose angles are near, for every kind. */
#include "gradient_case.h"

#include <stdio.h>

enum { TOKENS = 9, AXES = 3 };

/* [tokens, axes]: rows of a grid, repeats, and jumps; on a cycle they are reduced. */
static const int64_t places[TOKENS][AXES] = {{0, 0, 0}, {0, 1, -2},  {0, 2, 5},   {0, 3, 5}, {-7, 4, 5},
                                             {1, 4, 5}, {40, -3, 1}, {-3, 64, 0}, {2, 2, 2}};
#define REACH 64.0

static locus_positions *positions_of(const locus_group *group) {
    const size_t axes = locus_group_coordinates(group), offsets[] = {0, TOKENS};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    int64_t values[TOKENS * AXES];
    locus_positions *positions = NULL;
    assert_true(axes <= AXES);
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t a = 0; a < axes; a++)
            values[t * axes + a] = places[t][(a + 1) % AXES];
    rig_ok(locus_positions_create(&positions, group, &packing, values, error));
    return positions;
}

static void check_spec(const char *spec, locus_shape shape, locus_role first, locus_role last, double tolerance) {
    for (locus_role role = first; role <= last; role++) {
        gradient_case c = {.role = role, .tokens = TOKENS, .reach = REACH};
        rig_bind(&c.r, spec, shape, 7);
        rig_place(&c.r, positions_of(locus_encoding_group(c.r.encoding)), NULL);
        check_case(&c, tolerance);
        rig_close(&c.r);
    }
}

static const char *const generators[] = {"skew", "cayley", "householder", "angles", "fixed"};
#define GENERATORS (sizeof generators / sizeof generators[0])

static void check_generators(const char *format, locus_shape shape, locus_role last) {
    for (size_t i = 0; i < GENERATORS; i++) {
        char spec[160];
        (void)snprintf(spec, sizeof spec, format, generators[i]);
        check_spec(spec, shape, LOCUS_ROLE_QUERY, last, 4e-8);
    }
}

static void test_sequences(void **state) {
    (void)state;
    check_generators("algebraic(generator=%s, values=on)", rig_shape(2, 4, 0, 0), LOCUS_ROLE_OUTPUT);
    check_generators("algebraic(generator=%s, init=random, heads=shared)", rig_shape(2, 6, 0, 0), LOCUS_ROLE_QUERY);
    check_generators("algebraic(generator=%s, init=identity, side=key)", rig_shape(1, 4, 0, 0), LOCUS_ROLE_KEY);
    for (size_t dim = 1; dim < 8; dim += 2) { /* reflections of determinant −1 */
        check_spec("algebraic(generator=householder)", rig_shape(2, dim, 0, 0), LOCUS_ROLE_QUERY, LOCUS_ROLE_QUERY,
                   4e-8);
        check_spec("algebraic(generator=cayley, init=random)", rig_shape(1, dim, 0, 0), LOCUS_ROLE_QUERY,
                   LOCUS_ROLE_QUERY, 4e-8);
    }
}

static void test_cycles(void **state) {
    (void)state;
    check_generators("algebraic(group=cycle:6, generator=%s, values=on)", rig_shape(2, 4, 0, 0), LOCUS_ROLE_OUTPUT);
    check_generators("algebraic(group=cycle:5, generator=%s, init=identity, heads=shared)", rig_shape(2, 6, 0, 0),
                     LOCUS_ROLE_QUERY);
    check_generators("algebraic(group=cycle:1000, generator=%s, init=random, side=query)", rig_shape(1, 4, 0, 0),
                     LOCUS_ROLE_QUERY);
}

static void test_grids(void **state) {
    (void)state;
    check_generators("algebraic(group=grid:2, generator=%s, values=on)", rig_shape(2, 8, 0, 0), LOCUS_ROLE_OUTPUT);
    check_generators("algebraic(group=grid:3, generator=%s, heads=shared)", rig_shape(2, 12, 0, 0), LOCUS_ROLE_QUERY);
    check_generators("algebraic(group=seq*cycle:7, generator=%s, init=random)", rig_shape(2, 8, 0, 0), LOCUS_ROLE_KEY);
}

static void test_splits(void **state) {
    (void)state;
    check_generators("algebraic(group=seq*cycle:4*seq, generator=%s, split=2:4:2, values=on)", rig_shape(2, 8, 0, 0),
                     LOCUS_ROLE_OUTPUT);
    check_generators("algebraic(group=cycle:4*grid:2, generator=%s, split=6:2:4)", rig_shape(1, 12, 0, 0),
                     LOCUS_ROLE_QUERY);
    check_spec("algebraic(group=grid:2, split=5:3)", rig_shape(2, 8, 0, 0), LOCUS_ROLE_QUERY, LOCUS_ROLE_KEY, 4e-8);
    check_spec("algebraic(group=grid:2, generator=householder, split=3:2)", rig_shape(2, 5, 0, 0), LOCUS_ROLE_QUERY,
               LOCUS_ROLE_KEY, 4e-8);
}

static void test_mixtures(void **state) {
    (void)state;
    const char *const specs[] = {
        "mixed",  "mixed(heads=shared, side=key)", "mixed(group=grid:3, base=10)",     "mixed(group=seq, values=on)",
        "string", "string(heads=shared)",          "string(group=grid:3, side=query)", "string(group=seq, base=10)"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        check_spec(specs[i], rig_shape(2, 6, 0, 0), LOCUS_ROLE_QUERY, LOCUS_ROLE_KEY, 8e-8);
    check_spec("mixed(values=on)", rig_shape(2, 8, 0, 0), LOCUS_ROLE_VALUE, LOCUS_ROLE_OUTPUT, 8e-8);
    check_spec("string(values=on)", rig_shape(2, 4, 0, 0), LOCUS_ROLE_VALUE, LOCUS_ROLE_OUTPUT, 8e-8);
}

/* Rows of a grid that are long enough for a way of their own (rotary_standing.c), among others that are not; x moves on
 * axis 0 alone now and then. */
static void check_rows(const char *spec, locus_shape shape, locus_role role) {
    enum { COUNT = 75 };
    gradient_case c = {.role = role, .tokens = COUNT, .reach = 64, .steep = 8}; /* more tokens to sum */
    const size_t offsets[] = {0, COUNT};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    locus_positions *positions = NULL;
    int64_t values[COUNT][2];
    for (int64_t t = 0; t < COUNT; t++) {
        values[t][0] = t < 20 ? 3 : t < 40 ? -7 : t < 45 ? t : 64;
        values[t][1] = t < 40 ? t % 20 : t;
    }
    rig_bind(&c.r, spec, shape, 7);
    const locus_group *group = locus_encoding_group(c.r.encoding);
    if (locus_group_coordinates(group) == 1) /* everything stands */
        for (size_t t = 0; t < COUNT; t++)
            values[t / 2][t % 2] = t < 10 ? 1 : t < 30 ? 5 : t < 50 ? -3 : 33;
    rig_ok(locus_positions_create(&positions, group, &packing, values[0], error));
    rig_place(&c.r, positions, NULL);
    check_case(&c, 4e-7);
    rig_close(&c.r);
}

static void test_rows(void **state) {
    (void)state;
    for (locus_role role = LOCUS_ROLE_QUERY; role <= LOCUS_ROLE_OUTPUT; role++) {
        check_rows("algebraic(group=grid:2, values=on)", rig_shape(2, 8, 0, 0), role);
        check_rows("algebraic(group=seq*cycle:7, generator=cayley, values=on)", rig_shape(1, 8, 0, 0), role);
        check_rows("algebraic(group=grid:2, generator=householder, split=5:3, values=on)", rig_shape(1, 8, 0, 0), role);
        check_rows("string(values=on)", rig_shape(2, 4, 0, 0), role);
        check_rows("string(group=seq, values=on)", rig_shape(1, 4, 0, 0), role);
    }
    check_rows("algebraic", rig_shape(2, 5, 0, 0), LOCUS_ROLE_KEY);
    check_rows("algebraic(generator=householder)", rig_shape(1, 7, 0, 0), LOCUS_ROLE_QUERY);
    check_rows("algebraic(generator=householder, init=identity)", rig_shape(1, 7, 0, 0), LOCUS_ROLE_QUERY);
    check_rows("algebraic(init=identity, heads=shared)", rig_shape(2, 6, 0, 0), LOCUS_ROLE_QUERY);
    check_rows("algebraic(group=cycle:12)", rig_shape(1, 6, 0, 0), LOCUS_ROLE_QUERY);
}

/* Runs that stand on every axis: one operator of several axes' angles for all of a run (rotary_standing.c). */
static void check_standing(const char *spec, locus_shape shape, locus_role role) {
    enum { COUNT = 75 };
    static const int64_t stands[4][AXES] = {{3, -5, 2}, {-7, 4, 11}, {0, 9, -1}, {33, 0, 6}};
    gradient_case c = {.role = role, .tokens = COUNT, .reach = 64, .steep = 8};
    const size_t offsets[] = {0, COUNT};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    locus_positions *positions = NULL;
    int64_t values[COUNT * AXES];
    rig_bind(&c.r, spec, shape, 7);
    const locus_group *group = locus_encoding_group(c.r.encoding);
    const size_t axes = locus_group_coordinates(group);
    for (size_t t = 0; t < COUNT; t++)
        for (size_t a = 0; a < axes; a++) /* 20, 20 and 19 at one place, 16 elsewhere, which is the least */
            values[t * axes + a] = stands[t < 20 ? 0 : t < 40 ? 1 : t < 59 ? 2 : 3][a];
    rig_ok(locus_positions_create(&positions, group, &packing, values, error));
    rig_place(&c.r, positions, NULL);
    check_case(&c, 4e-7);
    rig_close(&c.r);
}

/* A block of tokens that move, whose sums are kept while those behind it stand, a block and a part of one; then others
 * that move. */
static void check_behind(const char *spec, locus_shape shape) {
    enum { MOVING = 64, STANDING = 84, COUNT = MOVING + STANDING + 44 };
    gradient_case c = {.role = LOCUS_ROLE_QUERY, .tokens = COUNT, .reach = 64, .steep = 8};
    int64_t values[COUNT];
    rig_bind(&c.r, spec, shape, 7);
    for (int64_t t = 0; t < COUNT; t++)
        values[t] = t < MOVING || t >= MOVING + STANDING ? t * 7 % 11 - 5 : 3;
    rig_place(&c.r, rig_positions(values, COUNT), NULL);
    check_case(&c, 4e-7);
    rig_close(&c.r);
}

static void test_standing(void **state) {
    (void)state;
    check_behind("algebraic", rig_shape(1, 10, 0, 0));
    for (locus_role role = LOCUS_ROLE_QUERY; role <= LOCUS_ROLE_OUTPUT; role++) {
        check_standing("string(values=on, base=10)", rig_shape(2, 6, 0, 0), role);
        check_standing("string(group=grid:3, heads=shared, values=on, base=10)", rig_shape(2, 6, 0, 0), role);
    }
}

/* ---- near angles ---- */

/* Generators whose eigenvalues collide: A for S with angles a and b in planes that are not the axes'. */
static void set_skew(double *A, double a, double b) {
    const double plane[4][4] = {
        {0.5, 0.5, 0.5, 0.5}, {0.5, -0.5, 0.5, -0.5}, {0.5, 0.5, -0.5, -0.5}, {0.5, -0.5, -0.5, 0.5}};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++)
            A[i * 4 + j] = a * plane[1][i] * plane[0][j] + b * plane[3][i] * plane[2][j];
}

static void test_near_angles(void **state) {
    (void)state;
    const double sets[][2] = {
        {0.3, 0.3},    {0, 0}, {0.3, 0.3 + 1e-9}, {0.3, 0.3 + 1e-5}, {0.2, 0.201}, {0.2, 0.2 + 2e-3}, {1e-4, 0.0},
        {1.5, 1.5002}, {2, 1}, {30, 30.0004}};
    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++)
        for (size_t kind = 0; kind < 2; kind++) {
            gradient_case c = {.role = LOCUS_ROLE_QUERY, .tokens = TOKENS, .reach = REACH};
            rig_bind(&c.r, kind ? "algebraic(generator=cayley)" : "algebraic", rig_shape(1, 4, 0, 0), 7);
            set_skew(c.r.values[0].data, sets[s][0], sets[s][1]);
            rig_place(&c.r, positions_of(NULL), NULL);
            rig_update(&c.r);
            check_case(&c, 1e-7);
            rig_close(&c.r);
        }
}

/* As many groups of near angles as pairs of planes allow, in each of two heads. */
static void test_pairs_of_near_angles(void **state) {
    enum { DIM = 16, HEADS = 2, FOURS = DIM / 4 };
    (void)state;
    gradient_case c = {.role = LOCUS_ROLE_QUERY, .tokens = TOKENS, .reach = REACH};
    rig_bind(&c.r, "algebraic", rig_shape(HEADS, DIM, 0, 0), 7);
    double *A = c.r.values[0].data, four[16];
    memset(A, 0, sizeof *A * HEADS * DIM * DIM);
    for (size_t i = 0; i < HEADS * FOURS; i++) {
        set_skew(four, 0.3 + 0.7 * (double)i, 0.3 + 0.7 * (double)i + 1e-5 * (double)(i % 2));
        for (size_t j = 0; j < 16; j++)
            A[i / FOURS * DIM * DIM + (i % FOURS * 4 + j / 4) * DIM + i % FOURS * 4 + j % 4] = four[j];
    }
    rig_place(&c.r, positions_of(NULL), NULL);
    rig_update(&c.r);
    check_case(&c, 1e-7);
    rig_close(&c.r);
}

/* Pairs of reflection vectors that are nearly parallel, or nearly at right angles: products are then near 1 or −1, and
 * eigenvalues near one another there. An odd last vector stands alone: an eigenvalue −1. */
static void set_reflections(double *A, size_t dim, bool right_angles, double slant) {
    memset(A, 0, dim * dim * sizeof *A);
    for (size_t i = 0; i < dim; i++) {
        const size_t own = right_angles || i + 1 == dim ? i : i / 2 * 2, other = i % 2 && right_angles ? i - 1 : i;
        A[i * dim + own] = 1;
        if (i % 2)
            A[i * dim + other] += slant * (double)(1 + i / 2);
    }
}

static void test_near_reflections(void **state) {
    (void)state;
    const double slants[] = {0, 1e-9, 1e-5, 3e-4, 1e-3, 4e-3, 0.02, 0.5};
    for (size_t dim = 4; dim <= 7; dim++)
        for (size_t s = 0; s < 2 * sizeof slants / sizeof slants[0]; s++) {
            gradient_case c = {
                .role = LOCUS_ROLE_QUERY, .tokens = TOKENS, .reach = REACH, .steep = 4}; /* dL/dv = 2Kv, K = G − Gᵀ */
            rig_bind(&c.r, "algebraic(generator=householder)", rig_shape(1, dim, 0, 0), 7);
            set_reflections(c.r.values[0].data, dim, s % 2, slants[s / 2]);
            rig_place(&c.r, positions_of(NULL), NULL);
            rig_update(&c.r);
            check_case(&c, 1e-7);
            rig_close(&c.r);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sequences),
                                       cmocka_unit_test(test_cycles),
                                       cmocka_unit_test(test_grids),
                                       cmocka_unit_test(test_splits),
                                       cmocka_unit_test(test_mixtures),
                                       cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_standing),
                                       cmocka_unit_test(test_near_angles),
                                       cmocka_unit_test(test_pairs_of_near_angles),
                                       cmocka_unit_test(test_near_reflections)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
