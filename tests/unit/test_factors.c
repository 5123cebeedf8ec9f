/* SPDX-License-Identifier: MIT */
/* The table of what each scale does, on made-up scores: which differences stand in it, of which columns, how many of
 * them share the 5 %, what is left empty, and that a table without scales has none. */
#include "report/reproduction/reproduction_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static lab_reproduction table;
static lab_result result;
static char text[4000];

static void write_table(bool factors, char *const *columns, size_t count) {
    const lab_reproduction_request request = {
        .table = "table1", .budget = "smoke", .factors = factors, .columns = columns, .column_count = count};
    const lab_reproduction_view view = {.table = &table, .result = &result};
    locus_error error;
    memset(&result, 0, sizeof result);
    if (lab_reproduction_make(&table, &request, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    /* Column c, row r: (10 c² + r) %, ± 1 % over three seeds. */
    for (size_t i = 0; i < table.column_count * table.row_count; i++) {
        const size_t column = i / table.row_count, row = i % table.row_count;
        const double mean = 0.1 * (double)(column * column) + 0.01 * (double)row;
        const double values[] = {mean - 0.01, mean, mean + 0.01};
        result.fields[row][column].accuracy = lab_statistic_of(values, 3);
        result.fields[row][column].of = 3;
    }
    FILE *file = tmpfile();
    assert_non_null(file);
    lab_factors_write(&view, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
}

static void has(const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("there is no '%s' in: %s", part, text);
}

/* Columns are scaled 0, unit 10, positions 40, logits 90, both 160 %: sinusoids have all five effects; the others
 * have the logits' once, and both against scaled. ν is 4, and its t at 0.05 / 11 is 5.7465 (SciPy): times 0.01 √(2/3)
 * that is 4.69 points. */
static void every_effect_once(void **state) {
    (void)state;
    char *const copy[] = {(char[]){"copy"}};
    write_table(true, copy, 1);
    has("all 11 together");
    has("| copy: positions times √D, logits as they are | +30.00 ±4.69 |  |  |  |\n");
    has("| copy: positions times √D, logits over √D | +70.00 ±4.69 |  |  |  |\n");
    has("| copy: logits over √D, positions as they are | +80.00 ±4.69 | +80.00 ±4.69 | +80.00 ±4.69 | +80.00 ±4.69 "
        "|\n");
    has("| copy: logits over √D, positions times √D | +120.00 ±4.69 |  |  |  |\n");
    has("| copy: unit with both, less scaled | +160.00 ±4.69 | +160.00 ±4.69 | +160.00 ±4.69 | +160.00 ±4.69 |\n");
}

static void two_tasks_are_judged_together(void **state) {
    (void)state;
    char *const two[] = {(char[]){"copy"}, (char[]){"reverse"}};
    write_table(true, two, 2);
    has("all 22 together");
    has("| reverse: positions times √D, logits as they are |");
}

static void parts_have_what_they_can(void **state) {
    (void)state;
    char *const some[] = {(char[]){"copy-unit-logits"}, (char[]){"copy-unit-both"}};
    write_table(true, some, 2);
    has("all 1 together"); /* of sinusoids; nobody else has two trainings there */
    has("| copy: logits over √D, positions as they are |  |  |  |  |\n");
    char *const plain[] = {(char[]){"copy-unit"}};
    write_table(false, plain, 1);
    assert_string_equal(text, "");
    write_table(false, NULL, 0);
    assert_string_equal(text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_effect_once),
        cmocka_unit_test(two_tasks_are_judged_together),
        cmocka_unit_test(parts_have_what_they_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
