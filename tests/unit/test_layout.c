/* SPDX-License-Identifier: MIT */
/* Where elements stand: points of every kind of panel, and of panels that repeat, worked out on paper. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "figures/layout.h"

enum { MARGIN = 34 };

typedef struct expected_point {
    double values[4], x, y, nearness;
} expected_point;

typedef struct layout_case {
    const char *group;
    size_t nodes; /* of trees */
    double across, width, height;
    expected_point points[2];
} layout_case;

static void assert_near(const char *what, double found, double wanted) {
    if (!(fabs(found - wanted) < 1e-9))
        fail_msg("%s: %.12g is not %.12g", what, found, wanted);
}

/* Axes have five positions, or two where panels repeat. */
static void check_case(const layout_case *wanted, int64_t steps, lab_point origin) {
    locus_group *group = NULL;
    lab_layout layout;
    locus_error error;
    assert_int_equal(locus_group_parse(wanted->group, &group, &error), LOCUS_OK);
    assert_int_equal(lab_layout_open(&layout, group, &error), LOCUS_OK);
    assert_int_equal(lab_layout_fill(&layout, steps, wanted->nodes, &error), LOCUS_OK);
    assert_int_equal(lab_layout_measure(&layout, wanted->across, &error), LOCUS_OK);
    layout.origin = origin;
    assert_near(wanted->group, lab_layout_width(&layout), wanted->width);
    assert_near(wanted->group, lab_layout_height(&layout), wanted->height);
    for (size_t i = 0; i < 2; i++) {
        const expected_point *point = &wanted->points[i];
        double nearness = -1;
        const lab_point found = lab_layout_point(&layout, point->values, &nearness);
        assert_near(wanted->group, found.x, origin.x + point->x);
        assert_near(wanted->group, found.y, origin.y + point->y);
        assert_near(wanted->group, nearness, point->nearness);
        assert_true(lab_layout_point(&layout, point->values, NULL).x == found.x);
    }
    lab_layout_close(&layout);
    locus_group_destroy(&group);
}

static void test_panels(void **state) {
    (void)state;
    const double radius = 8 * 46 / (2 * acos(-1)), ring = 2 * radius + 2 * MARGIN;
    const layout_case cases[] = {
        {"seq", 0, 100, 148, 118.8, {{{0}, 34, 78.8, 1}, {{3}, 94, 78.8, 1}}},
        {"cycle:8", 0, 320, ring, ring, {{{2}, ring / 2 + radius, ring / 2, 1}, {{4}, ring / 2, ring / 2 + radius, 1}}},
        {"grid:2", 0, 100, 148, 148, {{{2, 3}, 94, 74, 1}, {{4, 0.5}, 44, 114, 1}}},
        {"cycle:4*cycle:4", 0, 200, 268, 206, {{{0, 0}, 134, 158, 0.92}, {{3, 1}, 204, 78.1, 0.85}}},
        {"seq*cycle:4", 0, 200, 264, 188, {{{2, 1}, 150, 94, 1}, {{0, 2}, 52, 154, 0.5}}},
        {"cycle:4*seq", 0, 200, 264, 188, {{{1, 2}, 150, 94, 1}, {{3, 1}, 74, 94, 0}}},
        {"tree:2", 7, 200, 218, 184, {{{0}, 109, 34, 1}, {{6}, 184, 150, 1}}},
        {"tree:2", 6, 200, 122, 126, {{{1}, 34, 92, 1}, {{2}, 88, 92, 1}}},
        {"tree:1", 10, 200, 122, 446, {{{0}, 61, 34, 1}, {{9}, 61, 412, 1}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(&cases[i], 5, (lab_point){0, 0});
}

/* The first coordinate down a column, the second along the rows; one alone along a row. */
static void test_panels_repeat(void **state) {
    (void)state;
    const layout_case rows = {"grid:4", 0, 400, 248, 248, {{{1, 0, 1, 1}, 90, 214, 1}, {{0, 1, 0, 1}, 214, 34, 1}}};
    const layout_case row = {"grid:3", 0, 400, 248, 124, {{{1, 0, 1}, 214, 34, 1}, {{0, 1, 0}, 34, 90, 1}}};
    check_case(&rows, 2, (lab_point){10, 20});
    check_case(&row, 2, (lab_point){-5, 0.5});
}

/* Ranges grow to both sides of the origin. */
static void test_shown_elements(void **state) {
    (void)state;
    locus_group *group = NULL;
    lab_layout layout;
    locus_error error;
    assert_int_equal(locus_group_parse("grid:2", &group, &error), LOCUS_OK);
    assert_int_equal(lab_layout_open(&layout, group, &error), LOCUS_OK);
    lab_element element = {0};
    element.parts[0].value = -2;
    element.parts[1].value = 3;
    assert_int_equal(lab_layout_show(&layout, &element, &error), LOCUS_OK);
    assert_int_equal(lab_layout_measure(&layout, 120, &error), LOCUS_OK);
    assert_near("width", lab_layout_width(&layout), 3 * 30 + 2 * MARGIN);
    assert_near("height", lab_layout_height(&layout), 2 * 30 + 2 * MARGIN);
    double values[2];
    lab_layout_values(&layout, &element, values);
    lab_point point = lab_layout_point(&layout, values, NULL);
    assert_near("x", point.x, MARGIN + 3 * 30);
    assert_near("y", point.y, MARGIN);
    point = lab_layout_point(&layout, (const double[]){0, 0}, NULL);
    assert_near("x", point.x, MARGIN);
    assert_near("y", point.y, MARGIN + 2 * 30);
    lab_layout_close(&layout);
    locus_group_destroy(&group);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_panels),
        cmocka_unit_test(test_panels_repeat),
        cmocka_unit_test(test_shown_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
