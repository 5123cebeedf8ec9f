/* SPDX-License-Identifier: MIT */
/* The laws of every group's operators: homomorphism, inverse, orthogonality; attention that sees relative paths only;
 * groups that equal one another; and the one encoding that breaks the law, `liere`. */
#include "algebra_rig.h"

static const char *const groups[] = {
    "seq",    "cycle:1", "cycle:2", "cycle:6",    "cycle:97",           "grid:2",        "grid:3",
    "tree:1", "tree:2",  "tree:3",  "seq*tree:2", "cycle:5*tree:2*seq", "tree:2*tree:5", "(grid:2*tree:2)*cycle:3"};
static const char *const generators[] = {"skew", "cayley", "householder", "angles", "fixed"};
static const char *const inits[] = {"rope", "identity", "random"};
static const char *const grid_names[] = {"mixed", "string", "liere"};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const char *text_of(const char *format, const char *a, const char *b) {
    static char text[256];
    (void)snprintf(text, sizeof text, format, a, b);
    return text;
}

/* ---- operators ---- */

enum { ORIGIN, A, B, SUM, NEGATIVE, RELATIVE, ELEMENTS };

static void draw_elements(const locus_group *group, algebra_reach reach, uint64_t *state, locus_path **paths) {
    char zeros[ALGEBRA_TEXT] = "0";
    if (locus_group_coordinates(group) > 1) {
        (void)snprintf(zeros, sizeof zeros, "(0");
        for (size_t i = 1; i < locus_group_coordinates(group); i++)
            (void)snprintf(zeros + strlen(zeros), sizeof zeros - strlen(zeros), ",0");
        (void)snprintf(zeros + strlen(zeros), sizeof zeros - strlen(zeros), ")");
    }
    paths[ORIGIN] = algebra_path(group, zeros);
    paths[A] = algebra_random_path(group, reach, state);
    paths[B] = algebra_random_path(group, reach, state);
    paths[SUM] = algebra_sum(paths[A], paths[B]);
    rig_ok(locus_path_inverse(paths[A], &paths[NEGATIVE], error));
    rig_ok(locus_path_relative(paths[A], paths[B], &paths[RELATIVE], error));
}

/* How far ⌈a + b⌉ is from ⌈a⌉⌈b⌉, and ⌈−a + b⌉ from ⌈a⌉ᵀ⌈b⌉, in the worst head; everything else must hold: ⌈0⌉ = 1,
 * ⌈p⌉ orthogonal, ⌈−a⌉ = ⌈a⌉ᵀ. */
static double homomorphism_error(const rig *r, const char *spec) {
    const size_t dim = r->shape.head_dim, square = dim * dim;
    double *all = algebra_operators(r, ELEMENTS), worst = 0;
    for (size_t h = 0; h < r->shape.heads; h++) {
        const double *of[ELEMENTS];
        for (size_t i = 0; i < ELEMENTS; i++) {
            of[i] = all + (i * r->shape.heads + h) * square;
            if (!(algebra_product_error(dim, of[i], false, of[i], true, NULL) < 1e-12))
                fail_msg("%s, head_dim %zu: not orthogonal", spec, dim);
        }
        if (!(algebra_product_error(dim, of[ORIGIN], false, of[ORIGIN], false, NULL) < 1e-13))
            fail_msg("%s, head_dim %zu: the origin moves something", spec, dim);
        for (size_t i = 0; i < square; i++)
            assert_true(fabs(of[NEGATIVE][i] - of[A][i % dim * dim + i / dim]) < 1e-12);
        worst = fmax(worst, algebra_product_error(dim, of[A], false, of[B], false, of[SUM]));
        worst = fmax(worst, algebra_product_error(dim, of[A], true, of[B], false, of[RELATIVE]));
    }
    free(all);
    return worst;
}

/* Near the origin and far from it, with initial and with random parameters. */
static double law_error(const char *spec, const char *group_text, size_t dim, int64_t reach, uint64_t *state) {
    const algebra_reach near = {20, 8}, far = {reach, 40};
    locus_group *group = algebra_group(group_text);
    double worst = 0;
    for (int round = 0; round < 4; round++) {
        rig r;
        locus_path *paths[ELEMENTS];
        rig_bind(&r, spec, rig_shape(2, dim, 0, 0), (uint64_t)round);
        if (round % 2 == 1)
            algebra_scatter(&r, algebra_scale(spec), state);
        draw_elements(group, round < 2 ? near : far, state, paths);
        rig_place(&r, algebra_positions(group, paths, ELEMENTS), NULL);
        worst = fmax(worst, homomorphism_error(&r, spec));
        for (size_t i = 0; i < ELEMENTS; i++)
            locus_path_destroy(&paths[i]);
        rig_close(&r);
    }
    locus_group_destroy(&group);
    return worst;
}

static void assert_law(const char *spec, const char *group, size_t dim, uint64_t *state) {
    const double error = law_error(spec, group, dim, 1000000, state);
    if (!(error < 1e-12))
        fail_msg("%s, head_dim %zu: not a homomorphism, off by %g", spec, dim, error);
}

/* Angles that are sums over axes are rounded as such: reach times 1e-16. */
static void assert_grid_law(const char *spec, const char *group, size_t dim, uint64_t *state) {
    const double error = law_error(spec, group, dim, 2000, state);
    if (!(error < 1e-11))
        fail_msg("%s, head_dim %zu: not a homomorphism, off by %g", spec, dim, error);
}

/* Blocks of 2, 3, 4 and 7 dimensions for each coordinate; odd ones where pairs are not needed. */
static void test_homomorphism(void **state) {
    (void)state;
    const size_t blocks[] = {2, 3, 4, 7};
    uint64_t random = 0;
    for (size_t g = 0; g < COUNT(groups); g++)
        for (size_t k = 0; k < COUNT(generators); k++)
            for (size_t b = 0; b < COUNT(blocks); b++) {
                if (blocks[b] % 2 == 1 && (strstr(groups[g], "cycle") || strcmp(generators[k], "angles") == 0))
                    continue;
                char spec[256];
                (void)snprintf(spec, sizeof spec, "algebraic(group=%s, generator=%s)", groups[g], generators[k]);
                locus_group *group = algebra_group(groups[g]);
                assert_law(spec, groups[g], blocks[b] * locus_group_coordinates(group), &random);
                locus_group_destroy(&group);
            }
}

static void test_inits(void **state) {
    (void)state;
    uint64_t random = 500;
    for (size_t g = 0; g < COUNT(groups); g++)
        for (size_t i = 0; i < COUNT(inits); i++)
            for (size_t k = 0; k < COUNT(generators); k++) {
                char spec[256];
                (void)snprintf(spec, sizeof spec, "algebraic(group=%s, init=%s, generator=%s, heads=shared)", groups[g],
                               inits[i], generators[k]);
                locus_group *group = algebra_group(groups[g]);
                assert_law(spec, groups[g], 4 * locus_group_coordinates(group), &random);
                locus_group_destroy(&group);
            }
}

static void test_splits(void **state) {
    (void)state;
    uint64_t random = 700;
    assert_law("algebraic(group=seq*tree:2, split=3:5)", "seq*tree:2", 8, &random);
    assert_law("algebraic(group=seq*tree:2, split=5:3, generator=householder)", "seq*tree:2", 8, &random);
    assert_law("algebraic(group=cycle:6*tree:2, split=2:7, generator=cayley)", "cycle:6*tree:2", 9, &random);
    assert_law("algebraic(group=cycle:6*seq, split=6:2, generator=angles)", "cycle:6*seq", 8, &random);
    assert_law("algebraic(group=tree:2, split=6)", "tree:2", 6, &random);
}

static void test_grids_that_commute(void **state) {
    (void)state;
    uint64_t random = 800;
    for (size_t n = 0; n < 2; n++) {
        assert_grid_law(text_of("%s(group=%s)", grid_names[n], "grid:2"), "grid:2", 6, &random);
        assert_grid_law(text_of("%s(group=%s, heads=shared)", grid_names[n], "grid:3"), "grid:3", 8, &random);
        assert_grid_law(text_of("%s(group=%s)", grid_names[n], "seq"), "seq", 4, &random);
    }
}

/* The figure must show that liere is no homomorphism; with one axis it is one. */
static void test_liere_breaks_the_law(void **state) {
    (void)state;
    uint64_t random = 900;
    assert_true(law_error("liere(group=grid:2)", "grid:2", 6, 2000, &random) > 1e-3);
    assert_true(law_error("liere(group=grid:3, heads=shared)", "grid:3", 5, 2000, &random) > 1e-3);
    assert_grid_law("liere(group=seq)", "seq", 5, &random);
}

/* ---- attention sees −p + q only ---- */

enum { TOKENS = 9, DIM = 8, HEADS = 2 };

/* A path that leads somewhere, if the group has one. */
static locus_path *draw_shift(const locus_group *group, uint64_t *state) {
    locus_path *shift = NULL;
    int64_t length = 0;
    for (int tries = 0; tries < 20 && length == 0; tries++) {
        locus_path_destroy(&shift);
        shift = algebra_random_path(group, (algebra_reach){30, 6}, state);
        rig_ok(locus_path_length(shift, &length, error));
    }
    return shift;
}

/* Largest change of the output when all positions are shifted by one path from the left. */
static double shift_error(const char *spec, const char *group_text, size_t dim, uint64_t *state) {
    const algebra_reach reach = {30, 6};
    const size_t count = TOKENS * HEADS * dim;
    locus_group *group = algebra_group(group_text);
    locus_path *places[2][TOKENS], *shift = draw_shift(group, state);
    double *q = rig_normal(count, state), *k = rig_normal(count, state), *v = rig_normal(count, state), worst = 0;
    double *o[2] = {calloc(count, sizeof(double)), calloc(count, sizeof(double))};
    assert_true(o[0] && o[1]);
    for (size_t t = 0; t < TOKENS; t++) {
        places[0][t] = algebra_random_path(group, reach, state);
        places[1][t] = algebra_sum(shift, places[0][t]);
    }
    uint64_t same = *state;
    for (int side = 0; side < 2; side++) {
        rig r;
        *state = same;
        rig_bind(&r, spec, rig_shape(HEADS, dim, 0, 0), 3);
        algebra_scatter(&r, algebra_scale(spec), state);
        rig_place(&r, algebra_positions(group, places[side], TOKENS), NULL);
        const algebra_attention call = {.tokens = TOKENS, .dtype = LOCUS_FLOAT64, .q = q, .k = k, .v = v, .o = o[side]};
        algebra_attend(&r, &call);
        rig_close(&r);
        for (size_t t = 0; t < TOKENS; t++)
            locus_path_destroy(&places[side][t]);
    }
    for (size_t i = 0; i < count; i++)
        worst = fmax(worst, fabs(o[0][i] - o[1][i]));
    free(q), free(k), free(v), free(o[0]), free(o[1]);
    locus_path_destroy(&shift);
    locus_group_destroy(&group);
    return worst;
}

static void assert_relative(const char *spec, const char *group, size_t dim, uint64_t *state) {
    const double error = shift_error(spec, group, dim, state);
    if (!(error < 1e-11))
        fail_msg("%s: the output changes by %g when all positions are shifted", spec, error);
}

static void test_relativity(void **state) {
    (void)state;
    uint64_t random = 1000;
    for (size_t g = 0; g < COUNT(groups); g++) {
        locus_group *group = algebra_group(groups[g]);
        const size_t dim = 4 * locus_group_coordinates(group);
        locus_group_destroy(&group);
        assert_relative(text_of("algebraic(group=%s%s)", groups[g], ", values=on, decay=0.95"), groups[g], dim,
                        &random);
        assert_relative(text_of("algebraic(group=%s%s)", groups[g], ", generator=householder"), groups[g], dim,
                        &random);
        assert_relative(text_of("algebraic(group=%s, generator=%s)", groups[g], "angles"), groups[g], dim, &random);
        assert_relative(text_of("decay(group=%s%s)", groups[g], ", learned=on"), groups[g], dim, &random);
        assert_relative(text_of("alibi(group=%s%s)", groups[g], ""), groups[g], dim, &random);
    }
    assert_relative("mixed(group=grid:2, values=on, decay=0.95)", "grid:2", DIM, &random);
    assert_relative("string(group=grid:3, values=on)", "grid:3", DIM, &random);
}

/* What must see absolute positions does. */
static void test_absolute_positions(void **state) {
    (void)state;
    uint64_t random = 2000;
    assert_true(shift_error("algebraic(group=tree:2, side=query)", "tree:2", DIM, &random) > 1e-3);
    assert_true(shift_error("algebraic(group=grid:2, side=key)", "grid:2", DIM, &random) > 1e-3);
    assert_true(shift_error("liere(group=grid:2)", "grid:2", DIM, &random) > 1e-3);
}

/* One side turned: that side alone, as both would, and nothing on the other. */
static void test_sides(void **state) {
    (void)state;
    uint64_t random = 3000;
    const char *const sides[] = {"both", "query", "key"};
    locus_group *group = algebra_group("cycle:5*tree:2*seq");
    double *x = rig_normal(TOKENS * HEADS * 12, &random), y[3][2][TOKENS * HEADS * 12];
    for (size_t s = 0; s < 3; s++) {
        uint64_t same = 3100;
        rig r;
        rig_bind(&r, text_of("algebraic(group=%s, side=%s)", "cycle:5*tree:2*seq", sides[s]),
                 rig_shape(HEADS, 12, 0, 0), 1);
        rig_place(&r, algebra_random_positions(group, (algebra_reach){20, 5}, TOKENS, &same), NULL);
        rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, TOKENS, x, y[s][0]);
        rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT64, TOKENS, x, y[s][1]);
        rig_close(&r);
    }
    assert_memory_equal(y[0][0], y[1][0], sizeof y[0][0]);
    assert_memory_equal(x, y[1][1], sizeof y[0][0]);
    assert_memory_equal(x, y[2][0], sizeof y[0][0]);
    assert_memory_equal(y[0][1], y[2][1], sizeof y[0][0]);
    free(x);
    locus_group_destroy(&group);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_homomorphism),
        cmocka_unit_test(test_inits),
        cmocka_unit_test(test_splits),
        cmocka_unit_test(test_grids_that_commute),
        cmocka_unit_test(test_liere_breaks_the_law),
        cmocka_unit_test(test_relativity),
        cmocka_unit_test(test_absolute_positions),
        cmocka_unit_test(test_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
