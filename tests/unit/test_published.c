/* SPDX-License-Identifier: MIT */
/* The published numbers against a list that is typed here a second time, in percent, as the source's tables print
 * them; and which specs they belong to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "report/tables/published.h"

#include <math.h>
#include <string.h>

typedef struct table_row {
    const char *spec;
    double mean[8], deviation[8]; /* deviation < 0: none */
} table_row;

typedef struct table_column {
    const char *task;
    lab_order order;
    lab_span span;
} table_column;

static const table_column words[] = {{"copy", LAB_ORDER_BREADTH, LAB_SPAN_FULL},
                                     {"reverse", LAB_ORDER_BREADTH, LAB_SPAN_FULL},
                                     {"repeat", LAB_ORDER_BREADTH, LAB_SPAN_FULL}};
static const table_row table1[] = {
    {"sinusoidal", {13.80, 13.30, 12.80}, {3.5, 0.3, 0.5}},
    {"relative(window=100)", {100.00, 64.80, 92.34}, {-1, 2.8, 0.3}},
    {"rope", {99.99, 97.00, 99.76}, {0.0, 0.8, 0.3}},
    {"algebraic(group=seq, decay=0.98)", {100.00, 99.81, 99.90}, {0.0, 0.1, 0.0}},
};

static const table_column trees[] = {
    {"tree-copy", LAB_ORDER_BREADTH, LAB_SPAN_FULL},    {"tree-copy", LAB_ORDER_DEPTH, LAB_SPAN_FULL},
    {"tree-reorder", LAB_ORDER_BREADTH, LAB_SPAN_FULL}, {"tree-reorder", LAB_ORDER_DEPTH, LAB_SPAN_FULL},
    {"tree-c3", LAB_ORDER_BREADTH, LAB_SPAN_FULL},      {"tree-c3", LAB_ORDER_DEPTH, LAB_SPAN_FULL},
    {"tree-ops", LAB_ORDER_BREADTH, LAB_SPAN_FULL},     {"tree-ops", LAB_ORDER_DEPTH, LAB_SPAN_FULL},
};
static const table_row table2[] = {
    {"sinusoidal", {24.52, 26.51, 24.57, 25.70, 53.64, 53.87, 15.06, 13.08}, {0.5, 0.4, 0.2, 0.6, 0.2, 0.5, 1.0, 1.0}},
    {"shiv-quirk(k=2, depth=7)",
     {98.35, 99.86, 97.99, 99.62, 61.71, 68.22, 37.64, 43.11},
     {0.2, 0.2, 0.2, 0.1, 3.6, 13.5, 0.5, 1.4}},
    {"rope", {100.00, 85.46, 91.19, 85.46, 64.90, 63.53, 83.02, 39.67}, {0.0, 2.0, 5.2, 2.0, 2.7, 1.0, 0.8, 3.0}},
    {"algebraic(group=seq, decay=0.98)",
     {99.99, 79.02, 91.95, 74.90, 82.80, 64.19, 87.51, 33.50},
     {0.0, 4.9, 2.3, 2.7, -1, 1.0, -1, 2.4}},
    {"algebraic(group=tree:2, decay=0.98)",
     {99.06, 99.70, 95.92, 99.86, 87.67, 98.83, 81.00, 85.40},
     {0.1, 0.2, 2.8, 0.0, 10.5, 1.2, 0.3, 0.2}},
};

static const table_column images[] = {{"cifar10", LAB_ORDER_BREADTH, LAB_SPAN_HALF},
                                      {"cifar10", LAB_ORDER_BREADTH, LAB_SPAN_FULL}};
static const table_row table3[] = {
    {"sinusoidal", {91.57, 92.79}, {0.0, 0.1}},
    {"learned(size=100, deviation=1)", {90.86, 92.68}, {0.2, 0.2}},
    {"algebraic(decay=0.98)", {88.93, 91.09}, {0.1, 0.1}},
    {"algebraic(group=grid:2, decay=0.98)", {92.95, 94.42}, {0.0, 0.1}},
};

static void check(const table_column *columns, size_t column_count, const table_row *rows, size_t row_count,
                  const char *table) {
    for (size_t i = 0; i < column_count; i++) {
        for (size_t j = 0; j < row_count; j++) {
            const lab_published *found =
                lab_published_look(columns[i].task, columns[i].order, columns[i].span, rows[j].spec);
            assert_non_null(found);
            assert_true(fabs(100 * found->accuracy - rows[j].mean[i]) < 1e-9);
            assert_true(rows[j].deviation[i] < 0 ? found->deviation < 0
                                                 : fabs(100 * found->deviation - rows[j].deviation[i]) < 1e-9);
            assert_string_equal(found->budget, "paper");
            assert_non_null(strstr(found->source, table));
        }
    }
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void test_numbers(void **state) {
    (void)state;
    check(words, COUNT(words), table1, COUNT(table1), "Table 1");
    check(trees, COUNT(trees), table2, COUNT(table2), "Table 2");
    check(images, COUNT(images), table3, COUNT(table3), "Table 3");
    assert_int_equal(lab_published_count(),
                     COUNT(words) * COUNT(table1) + COUNT(trees) * COUNT(table2) + COUNT(images) * COUNT(table3));
    assert_null(lab_published_at(lab_published_count()));
}

/* No two entries for the same field: the second one would never be found. */
static void test_once(void **state) {
    (void)state;
    for (size_t i = 0; i < lab_published_count(); i++) {
        for (size_t j = 0; j < i; j++) {
            const lab_published *a = lab_published_at(i), *b = lab_published_at(j);
            assert_false(strcmp(a->task, b->task) == 0 && a->order == b->order && a->span == b->span &&
                         strcmp(a->scheme, b->scheme) == 0);
        }
    }
}

static void test_specs(void **state) {
    (void)state;
    const lab_published *found = lab_published_look("tree-c3", LAB_ORDER_DEPTH, LAB_SPAN_FULL, "shiv-quirk");
    assert_non_null(found);
    assert_ptr_equal(lab_published_look("tree-c3", LAB_ORDER_DEPTH, LAB_SPAN_FULL, "shiv-quirk(depth=8)"), found);
    assert_ptr_equal(lab_published_look("tree-c3", LAB_ORDER_DEPTH, LAB_SPAN_FULL, "shiv-quirk(k=2,depth=5)"), found);
    assert_null(lab_published_look("tree-c3", LAB_ORDER_DEPTH, LAB_SPAN_FULL, "shiv-quirk(k=3, depth=8)"));
    assert_null(lab_published_look("tree-c3", LAB_ORDER_DEPTH, LAB_SPAN_FULL, "algebraic(group=tree:3, decay=0.98)"));
    assert_null(lab_published_look("tree-c3", LAB_ORDER_DEPTH, LAB_SPAN_FULL, "rope + decay"));
    assert_null(lab_published_look("tree-c3", LAB_ORDER_DEPTH, LAB_SPAN_HALF, "rope"));
    assert_null(lab_published_look("cifar10", LAB_ORDER_BREADTH, LAB_SPAN_FULL, "rope(axes=2)"));
    assert_null(lab_published_look("copy", LAB_ORDER_BREADTH, LAB_SPAN_FULL, "algebraic(group=grid:2)"));
    assert_non_null(lab_published_look("tree-copy", LAB_ORDER_DEPTH, LAB_SPAN_FULL, "rope")->doubt);
}

/* ListOps: Table 2 of Hastings 2024, from the highest down; one of them is not what it stands among. */
static void test_listops(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double percent;
    } rows[] = {{"LAS", 53.05},       {"Chebyshev", 49.51}, {"LAS-chunk", 46.21},      {"Luna-256", 37.98},
                {"Reformer", 37.27},  {"XFM", 37.11},       {"Transformer", 36.37},    {"BigBird", 36.05},
                {"Linformer", 35.70}, {"Performer", 18.01}, {"Local Attention", 15.82}};
    assert_int_equal(lab_published_listops_count(), COUNT(rows));
    for (size_t i = 0; i < COUNT(rows); i++) {
        const lab_published_model *model = lab_published_listops_at(i);
        assert_string_equal(model->name, rows[i].name);
        assert_true(fabs(100 * model->accuracy - rows[i].percent) < 1e-9);
        assert_true((model->doubt != NULL) == (strcmp(model->name, "Chebyshev") == 0));
    }
    assert_null(lab_published_listops_at(COUNT(rows)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_specs),
        cmocka_unit_test(test_listops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
