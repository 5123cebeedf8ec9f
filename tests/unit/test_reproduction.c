/* SPDX-License-Identifier: MIT */
/* What the published tables are made of: the schemes with their sizes, columns, parts of a table, and that every
 * training has a spec that can be trained and a name of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "report/reproduction.h"

#include <stdlib.h>
#include <string.h>

static lab_reproduction table; /* too large for the stack */

static void make(const lab_reproduction_request *request) {
    locus_error failed;
    if (lab_reproduction_make(&table, request, &failed) != LOCUS_OK) {
        fail_msg("%s: %s", request->table, failed.message);
    }
}

static void assert_specs(const lab_scheme_request *request, const char *const *specs) {
    lab_scheme schemes[LAB_MOST_SCHEMES];
    size_t count = lab_schemes(request, schemes), i = 0;
    for (; specs[i] != NULL; i++) {
        assert_true(i < count);
        assert_string_equal(schemes[i].spec, specs[i]);
    }
    assert_int_equal(count, i);
}

static void test_schemes(void **state) {
    (void)state;
    const lab_task_options words = {.length_mean = 20, .symbols = 20};
    const lab_task_options trees = {.depth_mean = 7, .arity = 2}, wide = {.depth_mean = 5, .arity = 3};
    const lab_task_options images = {0};
    lab_scheme_request request = {.kind = LAB_TASK_WORDS, .data = &words};
    assert_specs(&request, (const char *const[]){"sinusoidal", "relative(window=20)", "rope",
                                                 "algebraic(group=seq, decay=0.98)", NULL});
    request = (lab_scheme_request){.kind = LAB_TASK_TREES, .data = &trees};
    assert_specs(&request, (const char *const[]){"sinusoidal", "shiv-quirk(k=2, depth=7)", "rope",
                                                 "algebraic(group=seq, decay=0.98)",
                                                 "algebraic(group=tree:2, decay=0.98)", NULL});
    request.setup = LAB_SETUP_CODE;
    request.decay = LAB_DECAY_NOBODY;
    assert_specs(&request, (const char *const[]){"sinusoidal", "shiv-quirk(k=2, depth=8)", "rope",
                                                 "algebraic(group=seq)", "algebraic(group=tree:2)", NULL});
    request = (lab_scheme_request){.kind = LAB_TASK_TREES, .data = &wide, .decay = LAB_DECAY_BOTH};
    assert_specs(&request,
                 (const char *const[]){"sinusoidal", "shiv-quirk(k=3, depth=5)", "rope", "rope + decay(rate=0.98)",
                                       "algebraic(group=seq, decay=0.98)", "algebraic(group=seq)",
                                       "algebraic(group=tree:3, decay=0.98)", "algebraic(group=tree:3)", NULL});
    request = (lab_scheme_request){.kind = LAB_TASK_IMAGES, .data = &images, .more = true};
    assert_specs(&request, (const char *const[]){"sinusoidal", "learned(size=100)", "algebraic(group=seq, decay=0.98)",
                                                 "algebraic(group=grid:2, decay=0.98)", "rope(axes=2)", "mixed",
                                                 "string", "none", NULL});
    request.more = false;
    lab_scheme schemes[LAB_MOST_SCHEMES];
    assert_int_equal(lab_schemes(&request, schemes), 4);
}

/* Rows of the published table stay what they are when the others of the pairs are there. */
static void test_places(void **state) {
    (void)state;
    const lab_task_options data = {.depth_mean = 5, .arity = 2};
    lab_scheme_request request = {.kind = LAB_TASK_TREES, .data = &data, .decay = LAB_DECAY_BOTH};
    lab_scheme both[LAB_MOST_SCHEMES], published[LAB_MOST_SCHEMES];
    size_t count = lab_schemes(&request, both), kept = 0;
    request.decay = LAB_DECAY_AS_PUBLISHED;
    size_t expected = lab_schemes(&request, published);
    for (size_t i = 0; i < count; i++) {
        if (both[i].place == LAB_SCHEME_PUBLISHED) {
            assert_string_equal(both[i].spec, published[kept].spec);
            assert_string_equal(both[i].key, published[kept].key);
            kept++;
        } else {
            assert_true(both[i].orthogonal);
            assert_int_equal(both[i].place, LAB_SCHEME_ABLATION);
        }
    }
    assert_int_equal(kept, expected);
    assert_int_equal(count, expected + 3); /* rope, algebraic (seq), algebraic (tree) */
}

static void test_columns(void **state) {
    (void)state;
    make(&(lab_reproduction_request){.table = "table1", .budget = "smoke"});
    assert_int_equal(table.column_count, 6);
    assert_int_equal(table.seeds, 3);
    assert_string_equal(table.columns[1].name, "copy-unit");
    assert_int_equal(table.columns[1].config.model.embedding_init, LAB_EMBEDDING_UNIT);
    make(&(lab_reproduction_request){.table = "table2", .budget = "quick", .seeds = 2});
    assert_int_equal(table.column_count, 8);
    assert_int_equal(table.training_count, 8);
    assert_int_equal(table.seeds, 2);
    assert_string_equal(table.columns[7].name, "tree-ops-depth");
    assert_int_equal(table.columns[7].config.data.order, LAB_ORDER_DEPTH);
    make(&(lab_reproduction_request){.table = "table2", .budget = "quick", .inits = LAB_INITS_BOTH});
    assert_int_equal(table.column_count, 16);
    /* Both columns of the images are scores of the same trainings. */
    make(&(lab_reproduction_request){.table = "table3", .budget = "quick"});
    assert_int_equal(table.column_count, 2);
    assert_int_equal(table.training_count, 1);
    assert_int_equal(table.seeds, 1);
    make(&(lab_reproduction_request){.table = "table3", .budget = "paper"});
    assert_int_equal(table.seeds, 3);
    assert_int_equal(table.columns[0].epochs, 150);
    assert_int_equal(table.columns[1].epochs, 300);
}

/* The set-up is part of what is trained. */
static void test_encodings(void **state) {
    (void)state;
    char encoding[LAB_SPEC_SIZE];
    make(&(lab_reproduction_request){.table = "table2", .budget = "smoke", .setup = LAB_SETUP_CODE});
    assert_string_equal(lab_reproduction_encoding(&table, 2, 7, encoding), "rope(learned=on)");
    make(&(lab_reproduction_request){.table = "table2", .budget = "smoke"});
    assert_string_equal(lab_reproduction_encoding(&table, 2, 7, encoding), "rope");
}

static void test_parts(void **state) {
    (void)state;
    char *columns[] = {(char[]){"tree-ops"}, (char[]){"tree-copy-depth"}}, *rows[] = {(char[]){"algebraic"}};
    make(&(lab_reproduction_request){
        .table = "table2", .budget = "smoke", .columns = columns, .column_count = 2, .rows = rows, .row_count = 1});
    assert_int_equal(table.column_count, 3);
    assert_string_equal(table.columns[0].name, "tree-copy-depth");
    assert_int_equal(table.row_count, 2);
    locus_error failed;
    char *unknown[] = {(char[]){"tree-cop"}};
    const lab_reproduction_request bad = {.table = "table2", .budget = "smoke", .columns = unknown, .column_count = 1};
    assert_int_equal(lab_reproduction_make(&table, &bad, &failed), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(failed.message, "tree-copy-breadth"));
    const lab_reproduction_request none = {.table = "table4", .budget = "smoke"};
    assert_int_equal(lab_reproduction_make(&table, &none, &failed), LOCUS_ERROR_ARGUMENT);
    const lab_reproduction_request image = {.table = "table3", .budget = "smoke", .inits = LAB_INITS_UNIT};
    assert_int_equal(lab_reproduction_make(&table, &image, &failed), LOCUS_ERROR_ARGUMENT);
}

static int by_text(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Every training of a table with everything on: the spec is one that can be trained, no two have one name. */
static void test_trainings(void **state) {
    (void)state;
    static char names[LAB_MOST_SCHEMES * LAB_MOST_COLUMNS * 2][256];
    for (size_t t = 0; t < lab_reproduction_table_count(); t++) {
        size_t count = 0;
        make(&(lab_reproduction_request){.table = lab_reproduction_table_name(t),
                                         .budget = "quick",
                                         .setup = (lab_setup)(t % 2),
                                         .decay = LAB_DECAY_BOTH,
                                         .more = true,
                                         .seeds = 2});
        for (size_t i = 0; i < table.column_count * table.row_count * 2; i++) {
            lab_train_config config;
            char encoding[LAB_SPEC_SIZE];
            locus_error failed = {0};
            const lab_reproduction_place place = {i / 2 % table.row_count, i / 2 / table.row_count, i % 2};
            if (lab_reproduction_config(&table, place, &config, encoding, &failed) != LOCUS_OK) {
                fail_msg("%s", failed.message);
            }
            if (table.columns[place.column].span == LAB_SPAN_FULL) {
                lab_train_name(&config, names[count++], sizeof names[0]);
            }
        }
        assert_int_equal(count, table.training_count * table.row_count * 2);
        qsort(names, count, sizeof names[0], by_text);
        for (size_t i = 1; i < count; i++) {
            assert_string_not_equal(names[i - 1], names[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schemes),   cmocka_unit_test(test_places), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_encodings), cmocka_unit_test(test_parts),  cmocka_unit_test(test_trainings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
