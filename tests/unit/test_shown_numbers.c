/* SPDX-License-Identifier: MIT */
/* What the program shows to people: numbers with units at every boundary between two of them, and columns of scores
 * of each kind of task. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output.h"
#include "page/cost_columns.h"
#include "report/tables/score_columns.h"

#include <math.h>

typedef char *format_number(char *text, size_t size, double value);

typedef struct number {
    double value;
    const char *text;
} number;

static void check_numbers(format_number *format, const number *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char text[32];
        assert_string_equal(format(text, sizeof text, numbers[i].value), numbers[i].text);
    }
}

#define CHECK_NUMBERS(format, numbers) check_numbers(format, numbers, sizeof(numbers) / sizeof *(numbers))

static void counts(void **state) {
    (void)state;
    static const number numbers[] = {{0, "0"},          {7, "7"},           {7.25, "7.2"},     {99.94, "99.9"},
                                     {100.4, "100"},    {999, "999"},       {999.5, "1.00 k"}, {1234, "1.23 k"},
                                     {9994, "9.99 k"},  {9996, "10.0 k"},   {99940, "99.9 k"}, {99960, "100 k"},
                                     {999499, "999 k"}, {999500, "1.00 M"}, {1.5e7, "15.0 M"}, {9.995e8, "1.00 G"},
                                     {2.5e11, "250 G"}, {1e12, "1.00 T"},   {3.2e15, "3200 T"}};
    CHECK_NUMBERS(lab_count_text, numbers);
}

static void bytes(void **state) {
    (void)state;
    static const number numbers[] = {{0, "0 B"},
                                     {1023, "1023 B"},
                                     {1023.5, "1.0 KiB"},
                                     {9.94 * 1024, "9.9 KiB"},
                                     {9.96 * 1024, "10 KiB"},
                                     {1023.4 * 1024, "1023 KiB"},
                                     {1023.6 * 1024, "1.0 MiB"},
                                     {312.0 * 1048576, "312 MiB"},
                                     {5.5 * 1073741824, "5.5 GiB"},
                                     {3.0 * 1099511627776, "3.0 TiB"},
                                     {5000.0 * 1099511627776, "5000 TiB"}};
    CHECK_NUMBERS(lab_bytes_text, numbers);
}

static void seconds(void **state) {
    (void)state;
    static const number numbers[] = {{0.04, "0.0 s"},          {9.94, "9.9 s"},      {10, "10 s"},
                                     {99.4, "99 s"},           {99.5, "1 min 40 s"}, {185, "3 min 05 s"},
                                     {5969, "99 min 29 s"},    {5970, "1 h 40 min"}, {7200, "2 h 00 min"},
                                     {360000, "100 h 00 min"}, {1e9, "?"},           {(double)NAN, "?"}};
    CHECK_NUMBERS(lab_seconds_text, numbers);
}

/* ---- costs ---- */

static void check_costs(const lab_cost *cost, const number *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char text[32];
        cost->format(text, sizeof text, numbers[i].value);
        assert_string_equal(text, numbers[i].text);
    }
}

#define CHECK_COSTS(which, numbers) check_costs(&lab_costs[which], numbers, sizeof(numbers) / sizeof *(numbers))

static void costs(void **state) {
    (void)state;
    static const number large[] = {{9999, "9999"},  {10000, "10.0 k"},  {99960, "100.0 k"}, {999999, "1000.0 k"},
                                   {1e6, "1.00 M"}, {9.99e6, "9.99 M"}, {1e7, "10.0 M"},    {1.234e8, "123.4 M"}};
    static const number times[] = {{99.9, "99.9 s"}, {100, "1.7 min"}, {5999, "100.0 min"}, {6000, "1.7 h"}};
    static const number sizes[] = {
        {0x1p20, "1 MiB"}, {1000.0 * 0x1p20, "1000 MiB"}, {0x1p30, "1.00 GiB"}, {2.5 * 0x1p30, "2.50 GiB"}};
    CHECK_COSTS(0, large);
    CHECK_COSTS(1, times);
    CHECK_COSTS(2, sizes);
    CHECK_COSTS(3, large);
    assert_true(lab_cost_spread(&(lab_statistic){.count = 2, .mean = 50, .deviation = 1}) == 2);
    assert_true(lab_cost_spread(&(lab_statistic){.count = 2, .mean = 50, .deviation = 0.025}) == 0);
    assert_true(lab_cost_spread(&(lab_statistic){.count = 2, .mean = 50, .deviation = 0.026}) > 0);
    assert_true(lab_cost_spread(&(lab_statistic){.count = 1, .mean = 50, .deviation = 1}) == 0);
}

/* ---- scores ---- */

static char *printed(lab_table *table) {
    char *text = NULL;
    size_t size;
    locus_error error;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    assert_int_equal(lab_table_write(table, LAB_TABLE_TEXT, false, stream, &error), LOCUS_OK);
    assert_int_equal(fclose(stream), 0);
    lab_table_free(table);
    return text;
}

static void expect_table(lab_table *table, const char *expected) {
    char *text = printed(table);
    assert_string_equal(text, expected);
    free(text);
}

/* Column i of a class gets i + 0.125. */
static double numbered(const void *context, const char *name) {
    const lab_task_class *class = context;
    for (size_t i = 0; i < class->column_count; i++)
        if (strcmp(class->columns[i].name, name) == 0)
            return (double)i + 0.125;
    return (double)NAN;
}

static double unknown(const void *context, const char *name) {
    (void)context, (void)name;
    return (double)NAN;
}

static void expect_scores(const char *task, unsigned where, const char *expected) {
    const lab_task_class *class = lab_task_find(task)->class;
    static const char *const first[] = {"set"};
    lab_table *table = lab_score_table(first, 1, class, where);
    lab_table_cell(table, "test");
    lab_score_cells(table, class, where, numbered, class);
    lab_table_cell(table, "dev");
    lab_score_cells(table, class, where, unknown, class);
    expect_table(table, expected);
}

static void scores(void **state) {
    (void)state;
    expect_scores("text", LAB_SCORE_RUN,
                  "set     loss  perplexity  bits per byte  accuracy\n"
                  "test  0.1250        1.12         2.1250  312.50 %\n"
                  "dev        –           –              –         –\n");
    expect_scores("addition", LAB_SCORE_SET,
                  "set    solved    loss  accuracy\n"
                  "test  12.50 %  1.1250  212.50 %\n"
                  "dev         –       –         –\n");
    expect_scores("listops", LAB_SCORE_RUN,
                  "set   accuracy    loss    chance  majority\n"
                  "test   12.50 %  1.1250  212.50 %  312.50 %\n"
                  "dev          –       –         –         –\n");
    expect_scores("cifar10", LAB_SCORE_RUN,
                  "set   best to half  accuracy  at the end    loss  best step\n"
                  "test       12.50 %  112.50 %    212.50 %  3.1250          4\n"
                  "dev              –         –           –       –          –\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts), cmocka_unit_test(bytes),  cmocka_unit_test(seconds),
        cmocka_unit_test(costs),  cmocka_unit_test(scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
