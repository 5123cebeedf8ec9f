/* SPDX-License-Identifier: MIT */
/* Every allocation of a table fails once, one after another: either it is told as MEMORY, or the table is the same to
 * the byte, in each of its forms. */
#include "report/tables/table.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_allocator.h"

/* More cells than there is room for at first. */
enum { ROWS = 40 };

static locus_status write_table(lab_table_format form, FILE *stream, locus_error *error) {
    static const char *const heads[] = {"encoding", ">accuracy|%", ">time|s"};
    lab_table *table = lab_table_create(heads, 3);
    lab_table_title(table, "of %d rows", ROWS);
    for (int i = 0; i < ROWS; i++) {
        lab_table_cell(table, "rope_%d", i);
        lab_table_mean(table, 90 + 0.125 * i, 3, 0.02, 2);
        if (i % 2)
            lab_table_none(table);
        else
            lab_table_number(table, 0.5 * i, "%.1f s", 0.5 * i);
    }
    const locus_status status = lab_table_write(table, form, false, stream, error);
    lab_table_free(table);
    return status;
}

static void write_one_by_one(lab_table_format form) {
    char *whole = NULL;
    size_t bytes;
    locus_error error = {0};
    FILE *stream = open_memstream(&whole, &bytes);
    assert_non_null(stream);
    assert_int_equal(write_table(form, stream, &error), LOCUS_OK);
    assert_int_equal(fclose(stream), 0);
    bool failed = true;
    long n = 0;
    for (; failed; n++) {
        char *written = NULL;
        size_t size;
        stream = open_memstream(&written, &size);
        assert_non_null(stream);
        allocator_arm(n);
        const locus_status status = write_table(form, stream, &error);
        failed = allocator_disarm();
        assert_int_equal(fclose(stream), 0);
        if (status == LOCUS_OK ? strcmp(written, whole) != 0 : status != LOCUS_ERROR_MEMORY || !failed)
            fail_msg("form %d, allocation %ld: %d, %s", (int)form, n, (int)status, written);
        free(written);
    }
    assert_true(n > 4);
    free(whole);
}

static void tables_are_written_whole_or_not(void **state) {
    (void)state;
    for (lab_table_format form = LAB_TABLE_TEXT; form <= LAB_TABLE_MARKDOWN; form++)
        write_one_by_one(form);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_are_written_whole_or_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
