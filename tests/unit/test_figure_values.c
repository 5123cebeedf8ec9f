/* SPDX-License-Identifier: MIT */
/* What figures draw, as numbers: score kernels and similarities of two heads whose biases are known, rows of a table,
 * a reach that is halved until it fits, and the angles of generators that are reflections put together by hand. */
#include "../property/encoding_rig.h"

#include "figures/figure.h"
#include "figures/kernel.h"

#define SLOPE_MEAN ((0x1p-4 + 0x1p-8) / 2) /* of alibi with two heads */
#define SLOPE_DEVIATION ((0x1p-4 - 0x1p-8) / 2)

static void assert_near(double found, double wanted) {
    if (!(fabs(found - wanted) < 1e-5))
        fail_msg("%.9g is not %.9g", found, wanted);
}

/* ---- kernels ---- */

static void make_kernel(rig *r, const char *spec, locus_shape shape, size_t reach, lab_kernel *kernel) {
    rig_bind(r, spec, shape, 7);
    rig_ok(lab_kernel_compute(kernel, r->binding, locus_encoding_sites(r->encoding), &shape, reach, error));
}

/* q·k = 1 in every direction, so that heads differ by their slopes alone, grouped or not. */
static void test_kernel_of_heads(void **state) {
    (void)state;
    for (size_t kv_heads = 1; kv_heads <= 2; kv_heads++) {
        rig r;
        lab_kernel kernel;
        locus_shape shape = rig_shape(2, 6, 0, 0);
        shape.kv_heads = kv_heads;
        make_kernel(&r, "alibi", shape, 5, &kernel);
        assert_int_equal(kernel.count, 11);
        assert_false(kernel.embedding);
        for (size_t i = 0; i < kernel.count; i++) {
            const double distance = (double)i - 5, far = fabs(distance);
            assert_near(kernel.distance[i], distance);
            assert_near(kernel.mean[i], 1 - far * SLOPE_MEAN);
            if (far > 0) { /* at 0 the deviation is the root of a rounding */
                assert_near(kernel.low[i], 1 - far * (SLOPE_MEAN + SLOPE_DEVIATION));
                assert_near(kernel.high[i], 1 - far * (SLOPE_MEAN - SLOPE_DEVIATION));
            }
        }
        lab_kernel_free(&kernel);
        rig_close(&r);
    }
}

static void test_kernel_of_tables(void **state) {
    (void)state;
    rig r;
    lab_kernel kernel;
    make_kernel(&r, "sinusoidal", rig_shape(1, 4, 0, 4), 8, &kernel);
    assert_int_equal(kernel.count, 17);
    assert_true(kernel.embedding);
    for (size_t i = 0; i < kernel.count; i++) {
        assert_near(kernel.mean[i], (cos((double)i - 8) + cos(((double)i - 8) / 100)) / 2);
        assert_true(kernel.low[i] == kernel.mean[i] && kernel.high[i] == kernel.mean[i]);
    }
    lab_kernel_free(&kernel);
    rig_close(&r);
    make_kernel(&r, "learned(size=9)", rig_shape(1, 4, 0, 4), 16, &kernel);
    assert_int_equal(kernel.count, 9); /* the largest of 16, 8, 4 … on both sides of a row */
    assert_near(kernel.distance[0], -4);
    assert_near(kernel.mean[4], 1);
    lab_kernel_free(&kernel);
    rig_close(&r);
}

/* ---- similarities ---- */

enum { PLACES = 4 };

/* Of 0, 2, 4 and 6 to 2. */
static void make_similarity(const char *spec, locus_shape shape, lab_similarity *similarity) {
    rig r;
    locus_group *group = NULL;
    locus_path *paths[PLACES] = {NULL};
    const locus_path *list[PLACES];
    rig_bind(&r, spec, shape, 7);
    rig_ok(locus_group_parse("seq", &group, error));
    for (size_t i = 0; i < PLACES; i++) {
        const char text[] = {(char)('0' + 2 * i), '\0'};
        rig_ok(locus_path_parse(group, text, &paths[i], error));
        list[i] = paths[i];
    }
    const lab_figure_subject subject = {r.encoding, r.binding, &r.shape, 0};
    rig_ok(lab_similarity_compute(similarity, &subject, list, PLACES, list[1], error));
    assert_int_equal(similarity->count, PLACES);
    for (size_t i = 0; i < PLACES; i++)
        locus_path_destroy(&paths[i]);
    locus_group_destroy(&group);
    rig_close(&r);
}

static void test_similarity_of_heads(void **state) {
    (void)state;
    lab_similarity similarity;
    make_similarity("alibi", rig_shape(2, 6, 0, 0), &similarity);
    assert_false(similarity.embedding);
    for (size_t i = 0; i < PLACES; i++) {
        const double far = fabs(2 * (double)i - 2);
        assert_near(similarity.mean[i], 1 - far * SLOPE_MEAN);
        if (far > 0)
            assert_near(similarity.deviation[i], far * SLOPE_DEVIATION);
    }
    lab_similarity_free(&similarity);
}

static void test_similarity_of_tables(void **state) {
    (void)state;
    lab_similarity similarity;
    make_similarity("sinusoidal", rig_shape(1, 4, 0, 4), &similarity);
    assert_true(similarity.embedding);
    for (size_t i = 0; i < PLACES; i++) {
        const double far = 2 * (double)i - 2;
        assert_near(similarity.mean[i], (cos(far) + cos(far / 100)) / 2);
    }
    lab_similarity_free(&similarity);
}

/* A row of zeros is like nothing, whether it is the origin's or another's. */
static void test_similarity_of_nothing(void **state) {
    (void)state;
    locus_group *group = NULL;
    locus_path *paths[3] = {NULL};
    rig r;
    rig_ok(locus_group_parse("seq", &group, error));
    rig_bind(&r, "learned(size=3)", rig_shape(1, 2, 0, 2), 7);
    static const double rows[3][2] = {{3, 4}, {0, 0}, {-4, 3}};
    assert_int_equal(rig_elements(&r.info[0]), 6);
    memcpy(r.values[0].data, rows, sizeof rows);
    rig_ok(locus_binding_update(&r.binding, r.values, r.count, error));
    for (size_t i = 0; i < 3; i++)
        rig_ok(locus_path_parse(group, (const char[]){(char)('0' + i), '\0'}, &paths[i], error));
    const lab_figure_subject subject = {r.encoding, r.binding, &r.shape, 0};
    static const double wanted[3][3] = {{1, 0, 0}, {0, 0, 0}, {0, 0, 1}};
    for (size_t origin = 0; origin < 3; origin++) {
        lab_similarity similarity;
        rig_ok(
            lab_similarity_compute(&similarity, &subject, (const locus_path *const *)paths, 3, paths[origin], error));
        for (size_t i = 0; i < 3; i++)
            assert_near(similarity.mean[i], wanted[origin][i]);
        lab_similarity_free(&similarity);
    }
    for (size_t i = 0; i < 3; i++)
        locus_path_destroy(&paths[i]);
    locus_group_destroy(&group);
    rig_close(&r);
}

/* ---- spectra ---- */

/* Vectors of the reflections of one generator; a last pair of equal ones is nothing. */
static const double reflections[2][2][4][4] = {
    {{{1, -1, 0, 0}, {0, 1, -1, 0}, {0, 0, 0, 1}, {0, 0, 0, 1}},  /* x1 → x2 → x3 → x1 */
     {{1, -1, 0, 0}, {0, 0, 1, -1}, {1, 0, 0, 0}, {1, 0, 0, 0}}}, /* x1 ↔ x2, x3 ↔ x4 */
    {{{1, 0, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 1, 0}},    /* a right angle */
     {{0, 1, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 1, 0}}}};  /* nothing */

static void test_angles_of_reflections(void **state) {
    (void)state;
    const double pi = acos(-1), angles[2][2][2] = {{{2 * pi / 3, 0}, {pi, 0}}, {{pi / 2, 0}, {0, 0}}};
    rig r;
    lab_spectrum spectrum;
    rig_bind(&r, "algebraic(group=tree:2, generator=householder)", rig_shape(2, 4, 0, 0), 7);
    assert_int_equal(rig_elements(&r.info[0]), sizeof reflections / sizeof(double));
    memcpy(r.values[0].data, reflections, sizeof reflections);
    rig_ok(locus_binding_update(&r.binding, r.values, r.count, error));
    const lab_figure_subject subject = {r.encoding, r.binding, &r.shape, 0};
    rig_ok(lab_spectrum_compute(&spectrum, &subject, 8, error));
    assert_int_equal(spectrum.count, 2);
    for (size_t branch = 0; branch < 2; branch++) {
        const lab_spectrum_panel *panel = &spectrum.panels[branch];
        assert_int_equal(panel->heads, 2);
        assert_int_equal(panel->count, 2);
        for (size_t i = 0; i < 4; i++)
            assert_near(panel->angles[i], angles[i / 2][branch][i % 2]);
    }
    assert_string_equal(spectrum.panels[1].title, "branch 2");
    lab_spectrum_free(&spectrum);
    rig_close(&r);
}

/* One reflection: two dimensions change places. */
typedef struct swap {
    size_t a, b;
} swap;

/* Generators that are products of swaps, or of reflections of one direction where both are one; what is left of the
 * reflections are equal ones in pairs, which are nothing. `wanted`: each branch's angles, in parts of a turn. */
static void expect_angles(size_t dim, const swap swaps[2][8], const size_t counts[2], const double wanted[2][4]) {
    rig r;
    lab_spectrum spectrum;
    rig_bind(&r, "algebraic(group=tree:2, generator=householder)", rig_shape(1, dim, 0, 0), 7);
    assert_int_equal(rig_elements(&r.info[0]), 2 * dim * dim);
    double *vectors = r.values[0].data;
    memset(vectors, 0, 2 * dim * dim * sizeof *vectors);
    for (size_t branch = 0; branch < 2; branch++) {
        assert_int_equal((dim - counts[branch]) % 2, 0);
        for (size_t i = 0; i < dim; i++) {
            const swap of = i < counts[branch] ? swaps[branch][i] : (swap){dim - 1, dim - 1};
            double *row = vectors + (branch * dim + i) * dim;
            row[of.b] = -1;
            row[of.a] = 1;
        }
    }
    rig_ok(locus_binding_update(&r.binding, r.values, r.count, error));
    const lab_figure_subject subject = {r.encoding, r.binding, &r.shape, 0};
    rig_ok(lab_spectrum_compute(&spectrum, &subject, 8, error));
    assert_int_equal(spectrum.count, 2);
    for (size_t branch = 0; branch < 2; branch++) {
        size_t count = 0;
        while (count < 4 && wanted[branch][count] >= 0)
            count++;
        assert_int_equal(spectrum.panels[branch].count, count);
        for (size_t i = 0; i < count; i++)
            assert_near(spectrum.panels[branch].angles[i], 2 * acos(-1) * wanted[branch][i]);
    }
    lab_spectrum_free(&spectrum);
    rig_close(&r);
}

static void test_angles_of_cycles(void **state) {
    (void)state;
    /* Seven of eight; five and three of them. */
    expect_angles(8,
                  (const swap[2][8]){{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}},
                                     {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {5, 6}, {6, 7}}},
                  (const size_t[2]){6, 6},
                  (const double[2][4]){{3.0 / 7, 2.0 / 7, 1.0 / 7, 0}, {2.0 / 5, 1.0 / 3, 1.0 / 5, 0}});
    /* A cycle of four whose last two are no neighbours, so that the last entries of its cosines are 0; and the whole
     * of it, with a direction that is turned back. */
    expect_angles(4, (const swap[2][8]){{{0, 2}, {2, 1}, {1, 3}, {3, 3}}, {{0, 3}, {1, 2}}}, (const size_t[2]){4, 2},
                  (const double[2][4]){{3.0 / 8, 1.0 / 8, -1}, {1.0 / 2, 0, -1}});
}

/* What does not move has no angle; a block begins where something moves and ends behind it, of an odd size too. */
static void test_angles_of_blocks(void **state) {
    (void)state;
    expect_angles(4, (const swap[2][8]){{{0, 0}}, {{1, 2}, {2, 3}}}, (const size_t[2]){0, 2},
                  (const double[2][4]){{-1}, {1.0 / 3, 0, -1}});
    expect_angles(4, (const swap[2][8]){{{1, 1}, {2, 2}}, {{3, 3}, {0, 0}}}, (const size_t[2]){2, 2},
                  (const double[2][4]){{1.0 / 2, -1}, {1.0 / 2, 0, -1}});
    /* A direction that is turned back, and a right angle; a direction alone. */
    expect_angles(3, (const swap[2][8]){{{0, 0}, {1, 1}, {1, 2}}, {{1, 1}}}, (const size_t[2]){3, 1},
                  (const double[2][4]){{1.0 / 2, 1.0 / 4, -1}, {1.0 / 2, -1}});
}

/* No more generators than are asked for; each named by where it acts. */
static void test_titles(void **state) {
    (void)state;
    static const char *const titles[] = {"coordinate 1: axis", "coordinate 2: cycle of 5", "coordinate 3: branch 1",
                                         "coordinate 3: branch 2"};
    static const struct {
        const char *spec, *title;
    } alone[] = {{"algebraic(group=seq)", "sequence"}, {"algebraic(group=cycle:6)", "cycle of 6"}};
    rig r;
    lab_spectrum spectrum;
    rig_bind(&r, "algebraic(group=seq*cycle:5*tree:2)", rig_shape(2, 12, 0, 0), 7);
    const lab_figure_subject subject = {r.encoding, r.binding, &r.shape, 0};
    for (size_t most = 0; most <= 5; most++) {
        rig_ok(lab_spectrum_compute(&spectrum, &subject, most, error));
        assert_int_equal(spectrum.count, most < 4 ? most : 4);
        for (size_t i = 0; i < spectrum.count; i++) {
            assert_string_equal(spectrum.panels[i].title, titles[i]);
            assert_int_equal(spectrum.panels[i].count, 2); /* of a block of four */
        }
        lab_spectrum_free(&spectrum);
    }
    rig_close(&r);
    for (size_t i = 0; i < 2; i++) {
        rig_bind(&r, alone[i].spec, rig_shape(1, 4, 0, 0), 7);
        const lab_figure_subject one = {r.encoding, r.binding, &r.shape, 0};
        rig_ok(lab_spectrum_compute(&spectrum, &one, 5, error));
        assert_int_equal(spectrum.count, 1);
        assert_string_equal(spectrum.panels[0].title, alone[i].title);
        lab_spectrum_free(&spectrum);
        rig_close(&r);
    }
}

/* Heads agree if no angle differs from the first head's by more than a millionth of it. */
static void test_heads_that_agree(void **state) {
    (void)state;
    static const struct {
        size_t heads, count;
        double angles[6];
        bool agree;
    } cases[] = {
        {1, 3, {3, 2, 1}, true},
        {3, 0, {1}, true},
        {2, 2, {1, 0, 1, 0}, true},
        {2, 2, {1, 0.5, 1 + 0.9e-6, 0.5}, true},
        {2, 2, {1, 0.5, 1 + 1.1e-6, 0.5}, false},
        {2, 2, {1, 0.5, 1 - 1.1e-6, 0.5}, false},
        {2, 2, {1, 0.5, 1, 0.5 + 0.6e-6}, false},
        {2, 2, {1, 0, 1, 1e-9}, false},
        {3, 2, {1, 0.5, 1, 0.5, 1, 0.5}, true},
        {3, 2, {1, 0.5, 1, 0.5, 1, 0.25}, false},
        {3, 2, {1, 0.5, 0.5, 0.5, 1, 0.5}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double angles[6];
        memcpy(angles, cases[i].angles, sizeof angles);
        const lab_spectrum_panel panel = {.heads = cases[i].heads, .count = cases[i].count, .angles = angles};
        if (lab_spectrum_agrees(&panel) != cases[i].agree)
            fail_msg("case %zu", i);
    }
}

static void expect_extent(lab_spectrum_panel *panels, size_t count, lab_spectrum_range wanted) {
    const lab_spectrum_range range = lab_spectrum_extent(&(lab_spectrum){count, panels}, 0x1p-20);
    if (range.pairs != wanted.pairs || range.low != wanted.low || range.high != wanted.high)
        fail_msg("%g pairs from %g to %g", range.pairs, range.low, range.high);
}

/* All panels and heads; nothing of nothing, and what is smaller than what is shown is as small as that. */
static void test_extent(void **state) {
    (void)state;
    double small[4] = {0.5, 0.25, 0.25, 0}, wide[3] = {1.5, 0x1p-12, 0x1p-11}, least[1] = {0x1p-30};
    lab_spectrum_panel panels[3] = {{.heads = 2, .count = 2, .angles = small},
                                    {.heads = 1, .count = 3, .angles = wide},
                                    {.heads = 1, .count = 1, .angles = least}};
    expect_extent(panels, 0, (lab_spectrum_range){2, 1e-3, 1});
    expect_extent(panels, 1, (lab_spectrum_range){2, 1e-3, 1});
    expect_extent(panels, 2, (lab_spectrum_range){3, 0x1p-12, 1.5});
    expect_extent(panels, 3, (lab_spectrum_range){3, 0x1p-20, 1.5});
    expect_extent(panels + 2, 1, (lab_spectrum_range){2, 0x1p-20, 1});
    small[3] = 2;
    expect_extent(panels, 3, (lab_spectrum_range){3, 0x1p-20, 2});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_of_heads),
        cmocka_unit_test(test_kernel_of_tables),
        cmocka_unit_test(test_similarity_of_heads),
        cmocka_unit_test(test_similarity_of_tables),
        cmocka_unit_test(test_similarity_of_nothing),
        cmocka_unit_test(test_angles_of_reflections),
        cmocka_unit_test(test_angles_of_cycles),
        cmocka_unit_test(test_angles_of_blocks),
        cmocka_unit_test(test_heads_that_agree),
        cmocka_unit_test(test_extent),
        cmocka_unit_test(test_titles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
