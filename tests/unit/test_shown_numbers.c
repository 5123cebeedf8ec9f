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
#include "score_columns.h"

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
    CHECK_NUMBERS(cli_format_count, numbers);
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
    CHECK_NUMBERS(cli_format_bytes, numbers);
}

static void seconds(void **state) {
    (void)state;
    static const number numbers[] = {{0.04, "0.0 s"},          {9.94, "9.9 s"},      {10, "10 s"},
                                     {99.4, "99 s"},           {99.5, "1 min 40 s"}, {185, "3 min 05 s"},
                                     {5969, "99 min 29 s"},    {5970, "1 h 40 min"}, {7200, "2 h 00 min"},
                                     {360000, "100 h 00 min"}, {1e9, "?"},           {(double)NAN, "?"}};
    CHECK_NUMBERS(cli_format_seconds, numbers);
}

/* ---- scores ---- */

static char *printed(cli_table *table) {
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    cli_table_print(table, stream);
    assert_int_equal(fclose(stream), 0);
    cli_table_free(table);
    return text;
}

static void expect_table(cli_table *table, const char *expected) {
    char *text = printed(table);
    assert_string_equal(text, expected);
    free(text);
}

/* Each column of a kind gets 0.125, 1.125, …; nothing that is not known. */
static void expect_scores(lab_task_kind kind, bool eval, const char *expected, const char *legend) {
    const cli_score_column *columns;
    const size_t count = eval ? cli_eval_columns(kind, &columns) : cli_score_columns(kind, &columns);
    static const char *const first[] = {"set"};
    cli_table *table = cli_score_table(first, 1, columns, count);
    cli_table_cell(table, "test");
    for (size_t i = 0; i < count; i++)
        cli_score_cell(table, &columns[i], (double)i + 0.125);
    cli_table_cell(table, "dev");
    for (size_t i = 0; i < count; i++)
        cli_score_cell(table, &columns[i], (double)NAN);
    expect_table(table, expected);
    assert_string_equal(cli_score_legend(kind), legend);
}

static void scores(void **state) {
    (void)state;
    expect_scores(
        LAB_TASK_TEXT, false,
        "set   perplexity  bits per byte    loss  accuracy\n"
        "test        0.12         1.1250  2.1250  312.50 %\n"
        "dev            –              –       –         –\n",
        "Perplexity is exp(loss), loss in nats a token; bits per byte of the text that the tokens stand for.");
    expect_scores(LAB_TASK_PROBLEMS, true,
                  "set    solved  accuracy    loss\n"
                  "test  12.50 %  112.50 %  2.1250\n"
                  "dev         –         –       –\n",
                  "Problems solved to the letter by greedy decoding; characters right, and nats a character, under "
                  "teacher forcing.");
    expect_scores(LAB_TASK_EXPRESSIONS, false,
                  "set   accuracy    loss    chance  majority\n"
                  "test   12.50 %  1.1250  212.50 %  312.50 %\n"
                  "dev          –       –         –         –\n",
                  "Chance is one of the classes; majority is the share of the most common one.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(bytes),
        cmocka_unit_test(seconds),
        cmocka_unit_test(scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
