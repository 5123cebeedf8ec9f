/* SPDX-License-Identifier: MIT */
/* What the published tables are made of: the schemes with their sizes, columns, measures, parts of a table, and that
 * every training has a spec and a configuration that can be trained and a name of its own; which seed is the worst. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "report/reproduction/reproduction_report.h"
#include "report/reproduction/reproduction_result.h"
#include "task/listops/listops.h"
#include "task/task_class.h"
#include "task/text_task.h"
#include "task/tree_task.h"
#include "task/word_task.h"
#include "train/configuration/config.h"
#include "unit/scratch_folder.h"
#include "unit/small_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char folder[512];       /* of a text of 300 tokens */
static lab_reproduction table; /* too large for the stack */

static void make(const lab_reproduction_request *request) {
    locus_error failed;
    if (lab_reproduction_make(&table, request, &failed) != LOCUS_OK)
        fail_msg("%s: %s", request->table, failed.message);
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
    const lab_train_config words = {
        .task = lab_task_find("copy"),
        .data = lab_task_with(lab_task_find("copy"), &(lab_word_options){.length_mean = 20, .symbols = 20})};
    const lab_train_config trees = {
        .task = lab_task_find("tree-copy"),
        .data = lab_task_with(lab_task_find("tree-copy"), &(lab_tree_options){.depth_mean = 7, .arity = 2})};
    const lab_train_config wide = {
        .task = lab_task_find("tree-copy"),
        .data = lab_task_with(lab_task_find("tree-copy"), &(lab_tree_options){.depth_mean = 5, .arity = 3})};
    const lab_train_config images = {.task = lab_task_find("cifar10")};
    lab_scheme_request request = {.class = words.task->class, .config = &words};
    assert_specs(&request, (const char *const[]){"sinusoidal", "relative(window=20)", "rope",
                                                 "algebraic(group=seq, decay=0.98)", NULL});
    request = (lab_scheme_request){.class = trees.task->class, .config = &trees};
    assert_specs(&request, (const char *const[]){"sinusoidal", "shiv-quirk(k=2, depth=7)", "rope",
                                                 "algebraic(group=seq, decay=0.98)",
                                                 "algebraic(group=tree:2, decay=0.98)", NULL});
    request.setup = LAB_SETUP_CODE;
    request.decay = LAB_DECAY_NOBODY;
    assert_specs(&request, (const char *const[]){"sinusoidal", "shiv-quirk(k=2, depth=8)", "rope",
                                                 "algebraic(group=seq)", "algebraic(group=tree:2)", NULL});
    request = (lab_scheme_request){.class = wide.task->class, .config = &wide, .decay = LAB_DECAY_BOTH};
    assert_specs(&request,
                 (const char *const[]){"sinusoidal", "shiv-quirk(k=3, depth=5)", "rope", "rope + decay(rate=0.98)",
                                       "algebraic(group=seq, decay=0.98)", "algebraic(group=seq)",
                                       "algebraic(group=tree:3, decay=0.98)", "algebraic(group=tree:3)", NULL});
    request = (lab_scheme_request){.class = images.task->class, .config = &images, .more = true};
    assert_specs(&request, (const char *const[]){"sinusoidal", "learned(size=100)", "algebraic(group=seq, decay=0.98)",
                                                 "algebraic(group=grid:2, decay=0.98)", "rope(axes=2)", "mixed",
                                                 "string", "none", NULL});
    request.more = false;
    lab_scheme schemes[LAB_MOST_SCHEMES];
    assert_int_equal(lab_schemes(&request, schemes), 4);
}

/* Problems, text, expressions; the tree columns of RoPER have rows of their own. */
static void test_decoder_schemes(void **state) {
    (void)state;
    const lab_train_config problems = {.task = lab_task_find("addition")}, text = {.task = lab_task_find("text")};
    const lab_train_config trees = {
        .task = lab_task_find("tree-copy"),
        .data = lab_task_with(lab_task_find("tree-copy"), &(lab_tree_options){.depth_mean = 5, .arity = 2})};
    const lab_train_config expressions = {
        .task = lab_task_find("listops"),
        .data = lab_task_with(lab_task_find("listops"),
                              &(lab_expression_options){.arguments = 7, .depth = 6, .shortest = 250, .longest = 1000})};
    lab_scheme_request request = {.class = problems.task->class, .config = &problems};
    assert_specs(&request, (const char *const[]){"rope", "rope(values=on)", NULL});
    request.more = true;
    request.class = text.task->class;
    request.config = &text;
    assert_specs(&request, (const char *const[]){"rope", "rope(values=on)", "algebraic(group=seq)",
                                                 "algebraic(group=seq, values=on)", NULL});
    request = (lab_scheme_request){.table = "roper", .class = trees.task->class, .config = &trees, .more = true};
    assert_specs(&request, (const char *const[]){"algebraic(group=tree:2, decay=0.98)",
                                                 "algebraic(group=tree:2, values=on, decay=0.98)", NULL});
    request.gaps = true;
    assert_specs(&request, (const char *const[]){"", "", "", "", "algebraic(group=tree:2, decay=0.98)",
                                                 "algebraic(group=tree:2, values=on, decay=0.98)", NULL});
    request = (lab_scheme_request){.class = expressions.task->class, .config = &expressions};
    assert_specs(&request, (const char *const[]){"none", "sinusoidal", "learned(size=1001)",
                                                 "chebyshev(size=1001, site=input)", "rope", "algebraic(group=seq)",
                                                 "algebraic(group=tree:7)", "shiv-quirk(k=7, depth=6)", NULL});
    request.pretrained = true;
    lab_scheme schemes[LAB_MOST_SCHEMES];
    assert_int_equal(lab_schemes(&request, schemes), 10);
    assert_true(schemes[8].pretrained && schemes[9].pretrained);
    assert_string_equal(schemes[8].spec, "chebyshev(site=output)");
    assert_string_equal(schemes[9].spec, "none"); /* the control */
    request = (lab_scheme_request){.class = problems.task->class, .config = &problems, .decay = LAB_DECAY_BOTH};
    assert_specs(&request, (const char *const[]){"rope", "rope + decay(rate=0.98)", "rope(values=on)",
                                                 "rope(values=on) + decay(rate=0.98)", NULL});
}

/* Rows of the published table stay what they are when the others of the pairs are there. */
static void test_places(void **state) {
    (void)state;
    const lab_train_config data = {
        .task = lab_task_find("tree-copy"),
        .data = lab_task_with(lab_task_find("tree-copy"), &(lab_tree_options){.depth_mean = 5, .arity = 2})};
    lab_scheme_request request = {.class = data.task->class, .config = &data, .decay = LAB_DECAY_BOTH};
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

/* Rows that no column of a part has are none of the part; the others keep their fields in every column. */
static void test_rows_of_a_part(void **state) {
    (void)state;
    static const char *const problems[] = {"rope", "rope(values=on)", "algebraic", "algebraic(values=on)"};
    static const char *const trees[] = {"algebraic(group=tree:2, decay=0.98)",
                                        "algebraic(group=tree:2, values=on, decay=0.98)"};
    char *const of_trees[] = {(char[]){"tree-copy"}, (char[]){"tree-ops"}};
    char *const of_both[] = {(char[]){"addition"}, (char[]){"tree-ops"}};
    lab_reproduction_request request = {
        .table = "roper", .budget = "smoke", .more = true, .columns = of_trees, .column_count = 2};
    make(&request);
    assert_int_equal(table.column_count, 2);
    assert_int_equal(table.row_count, 2);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(table.columns[i / 2].rows[i % 2].spec, trees[i % 2]);
    request.columns = of_both;
    make(&request);
    assert_int_equal(table.column_count, 2);
    assert_int_equal(table.row_count, 6);
    for (size_t row = 0; row < 6; row++) {
        assert_int_equal(lab_reproduction_has(&table, row, 0), row < 4);
        assert_int_equal(lab_reproduction_has(&table, row, 1), row >= 4);
        if (row >= 4)
            assert_string_equal(table.columns[1].rows[row].spec, trees[row - 4]);
        else
            assert_memory_equal(table.columns[0].rows[row].spec, problems[row], 4);
    }
}

/* Embeddings of variance 1 with what is added to them scaled, the logits scaled, and both: a scheme that adds nothing
 * has one training for the first two of them. */
static void test_factors(void **state) {
    (void)state;
    static const char *const names[] = {"copy-scaled", "copy-unit", "copy-unit-positions", "copy-unit-logits",
                                        "copy-unit-both"},
                             *const variants[] = {"scaled", "unit", "unit positions", "unit logits", "unit both"};
    char *const columns[] = {(char[]){"copy"}, (char[]){"reverse"}};
    make(&(lab_reproduction_request){
        .table = "table1", .budget = "quick", .factors = true, .columns = columns, .column_count = 2});
    assert_int_equal(table.column_count, 10);
    for (size_t i = 0; i < 5; i++) {
        const lab_model_config *model = &table.columns[i].config.model;
        assert_string_equal(table.columns[i].name, names[i]);
        assert_string_equal(lab_reproduction_variant(&table.columns[i]), variants[i]);
        assert_int_equal(model->embedding_init, i == 0 ? LAB_EMBEDDING_SCALED : LAB_EMBEDDING_UNIT);
        assert_int_equal(model->position_scale, i == 2 || i == 4);
        assert_int_equal(model->logit_scale, i >= 3);
    }
    assert_int_equal(lab_reproduction_trainings(&table), 3 * 2 * (4 + 4 + 1 + 4 + 1));
    for (size_t row = 0; row < table.row_count; row++) {
        const bool adds = strcmp(table.columns[0].rows[row].key, "sinusoidal") == 0;
        assert_true(lab_reproduction_begins(&table, row, 3));
        assert_int_equal(lab_reproduction_begins(&table, row, 2), adds);
        assert_int_equal(lab_reproduction_begins(&table, row, 4), adds);
    }
    /* Without the other column these are trainings of its own. */
    char *const both[] = {(char[]){"copy-unit-both"}};
    make(&(lab_reproduction_request){
        .table = "table1", .budget = "quick", .factors = true, .columns = both, .column_count = 1});
    assert_int_equal(table.column_count, 1);
    assert_int_equal(lab_reproduction_trainings(&table), 3 * 4);
    make(&(lab_reproduction_request){.table = "table1", .budget = "quick", .factors = true});
    assert_int_equal(table.column_count, 15);
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
    assert_int_equal(lab_config_order(&table.columns[7].config), LAB_ORDER_DEPTH);
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

static void test_measures(void **state) {
    (void)state;
    static const struct {
        const char *name, *head;
        lab_measure measure;
    } expected[] = {
        {"addition", "addition, solved", LAB_MEASURE_SOLVED},
        {"substring-index", "substring-index, solved", LAB_MEASURE_SOLVED},
        {"substring-search", "substring-search, loss", LAB_MEASURE_LOSS},
        {"text-loss", "text, loss", LAB_MEASURE_LOSS},
        {"text-perplexity", "text, perplexity", LAB_MEASURE_PERPLEXITY},
        {"tree-copy-depth", "tree-copy depth", LAB_MEASURE_ACCURACY},
        {"tree-ops-depth", "tree-ops depth", LAB_MEASURE_ACCURACY},
    };
    for (size_t more = 0; more < 2; more++) {
        make(&(lab_reproduction_request){.table = "roper", .budget = "quick", .data_path = folder, .more = more == 1});
        assert_int_equal(table.column_count, more ? 7 : 5);
        assert_int_equal(table.training_count, more ? 6 : 4); /* loss and perplexity are of the same trainings */
        assert_int_equal(lab_reproduction_trainings(&table), 3 * (more ? 4 * 4 + 2 * 2 : 2 * 4));
        for (size_t i = 0; i < table.column_count; i++) {
            assert_string_equal(table.columns[i].name, expected[i].name);
            assert_string_equal(table.columns[i].head, expected[i].head);
            assert_int_equal(table.columns[i].measure, expected[i].measure);
            assert_true(expected[i].measure != LAB_MEASURE_SOLVED || table.columns[i].config.greedy_samples > 0);
        }
        assert_int_equal(LAB_TEXT(&table.columns[3].config.data)->symbols, 256);
        assert_true(table.columns[3].config.data.digest != 0);
    }
    make(&(lab_reproduction_request){.table = "listops", .budget = "quick"});
    assert_int_equal(table.column_count, 2);
    assert_int_equal(table.training_count, 2);
    assert_string_equal(table.columns[0].name, "digit");
    assert_int_equal(table.columns[0].config.model.classes, 10);
    assert_string_equal(table.columns[1].name, "parity");
    assert_int_equal(table.columns[1].config.model.classes, 2);
    assert_true(lab_measure_sign(LAB_MEASURE_SOLVED) > 0 && lab_measure_sign(LAB_MEASURE_PERPLEXITY) < 0);
}

/* Text that is not there is left out, unless it is asked for. */
static void test_no_text(void **state) {
    (void)state;
    const char *nowhere = "there/is/no/such/folder";
    make(&(lab_reproduction_request){.table = "roper", .budget = "smoke", .data_path = nowhere});
    assert_int_equal(table.column_count, 3);
    assert_true(table.part);
    assert_non_null(strstr(table.left_out, nowhere));
    make(&(lab_reproduction_request){.table = "roper", .budget = "smoke", .data_path = folder});
    assert_string_equal(table.left_out, "");
    assert_false(table.part);
    char *text[] = {(char[]){"text"}}, *search[] = {(char[]){"substring"}};
    lab_reproduction_request request = {
        .table = "roper", .budget = "smoke", .data_path = nowhere, .columns = text, .column_count = 1};
    locus_error failed;
    assert_int_equal(lab_reproduction_make(&table, &request, &failed), LOCUS_ERROR_IO);
    const lab_reproduction_request empty = {.table = "roper", .budget = "smoke", .data_path = "/"};
    assert_int_equal(lab_reproduction_make(&table, &empty, &failed), LOCUS_ERROR_IO); /* after other columns, too */
    request.columns = search;
    make(&request);
    assert_int_equal(table.column_count, 2);
    assert_string_equal(table.left_out, ""); /* nobody asked for it */
}

static void test_protocol(void **state) {
    (void)state;
    locus_error failed;
    make(&(lab_reproduction_request){.table = "roper", .budget = "paper", .data_path = folder});
    assert_int_equal(table.seeds, 10);
    assert_true(table.drop_worst);
    make(&(lab_reproduction_request){.table = "roper", .budget = "paper", .data_path = folder, .seeds = 3});
    assert_int_equal(table.seeds, 3);
    assert_false(table.drop_worst);
    make(&(lab_reproduction_request){.table = "roper", .budget = "quick", .data_path = folder, .drop_worst = true});
    assert_true(table.drop_worst);
    const lab_reproduction_request bad[] = {
        {.table = "table1", .budget = "smoke", .drop_worst = true},
        {.table = "roper", .budget = "smoke", .drop_worst = true, .seeds = 1},
        {.table = "roper", .budget = "smoke", .setup = LAB_SETUP_CODE},
        {.table = "listops", .budget = "smoke", .inits = LAB_INITS_BOTH},
        {.table = "listops", .budget = "huge"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(lab_reproduction_make(&table, &bad[i], &failed), LOCUS_ERROR_ARGUMENT);
    char *tree[] = {(char[]){"tree-ops"}}, *rope[] = {(char[]){"rope"}};
    const lab_reproduction_request empty = {.table = "roper",
                                            .budget = "smoke",
                                            .columns = tree,
                                            .column_count = 1,
                                            .rows = rope,
                                            .row_count = 1,
                                            .more = true};
    assert_int_equal(lab_reproduction_make(&table, &empty, &failed), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(failed.message, "makes sense"));
    /* Columns in which the rows make no sense are left out with them. */
    make(&(lab_reproduction_request){
        .table = "roper", .budget = "smoke", .data_path = folder, .rows = rope, .row_count = 1, .more = true});
    assert_int_equal(table.row_count, 1);
    assert_int_equal(table.column_count, 5);
}

/* ---- the worst seed ---- */

static void put_run(lab_store *store, size_t row, size_t column, size_t seed, const char *score, double value) {
    lab_train_config config;
    char encoding[LAB_SPEC_SIZE], name[256];
    locus_error failed;
    lab_run run = {.name = name,
                   .task = (char *)(uintptr_t)table.columns[column].config.task->name,
                   .encoding = encoding,
                   .setup = (char[]){"paper"},
                   .embedding_init = (char[]){"scaled"},
                   .budget = (char[]){"smoke"},
                   .config = (char[]){"{}"},
                   .command = (char[]){""},
                   .version = (char[]){"0"},
                   .machine = (char[]){"m"},
                   .message = (char[]){""},
                   .started = (char[]){""},
                   .ended = (char[]){""},
                   .seed = seed,
                   .state = LAB_RUN_DONE};
    const lab_reproduction_place place = {row, column, seed};
    assert_int_equal(lab_reproduction_config(&table, place, &config, encoding, &failed), LOCUS_OK);
    lab_train_name(&config, name, sizeof name);
    assert_int_equal(lab_store_run_insert(store, &run, &failed), LOCUS_OK);
    assert_int_equal(lab_store_final_set(store, run.id, "test", score, value, &failed), LOCUS_OK);
}

/* Samples of each column, and of what lies behind the last one none: of the widest table, too. */
static void test_sample_counts(void **state) {
    (void)state;
    static lab_result result;
    locus_error failed;
    const struct {
        const char *table;
        lab_inits inits;
        size_t columns;
    } cases[] = {{"table2", LAB_INITS_AS_PUBLISHED_TABLE, 8}, {"table2", LAB_INITS_BOTH, 16}, {"roper", 0, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make(&(lab_reproduction_request){
            .table = cases[i].table, .budget = "smoke", .inits = cases[i].inits, .data_path = folder});
        assert_int_equal(table.column_count, cases[i].columns);
        for (size_t column = 0; column < LAB_MOST_COLUMNS; column++) {
            table.columns[column].config.test_samples = 100 + column;
            table.columns[column].config.greedy_samples = 200 + column;
        }
        assert_int_equal(lab_result_read(&result, &table, NULL, &failed), LOCUS_OK);
        for (size_t column = 0; column < LAB_MOST_COLUMNS; column++) {
            const bool solved = table.columns[column].measure == LAB_MEASURE_SOLVED;
            assert_int_equal(result.samples[column], column >= table.column_count ? 0 : (solved ? 200 : 100) + column);
        }
    }
}

/* A table follows from its trainings, and from the longer ones that say who is still learning. */
static void test_uses(void **state) {
    (void)state;
    static lab_result result;
    result.runs[0] = 3;
    result.runs[1] = 4;
    result.run_count = 2;
    result.runs[2] = 5; /* is none */
    lab_learning *last = &result.fields[LAB_MOST_SCHEMES - 1][LAB_MOST_COLUMNS - 1].learning;
    last->longer.count = 2;
    last->longer_runs[0] = 7;
    last->longer_runs[1] = 9;
    last->longer_runs[2] = 11; /* is none */
    result.fields[0][0].learning.longer.count = 1;
    result.fields[0][0].learning.longer_runs[0] = 8;
    for (int64_t run = 1; run < 13; run++)
        assert_int_equal(lab_result_uses(&result, run), run == 3 || run == 4 || (run >= 7 && run <= 9));
}

static void test_worst(void **state) {
    (void)state;
    static lab_result result;
    lab_store *store;
    locus_error failed;
    char *columns[] = {(char[]){"substring"}}, *rows[] = {(char[]){"rope"}};
    const lab_reproduction_request request = {.table = "roper",
                                              .budget = "smoke",
                                              .columns = columns,
                                              .column_count = 1,
                                              .rows = rows,
                                              .row_count = 1,
                                              .seeds = 3,
                                              .drop_worst = true};
    make(&request);
    assert_int_equal(lab_store_open(&store, scratch_path("worst.db"), &failed), LOCUS_OK);
    const double solved[] = {0.5, 0.2, 0.7}, loss[] = {0.5, 0.2, 0.7};
    for (size_t seed = 0; seed < 3; seed++) {
        put_run(store, 0, 0, seed, "greedy_exact", solved[seed]);
        if (seed < 2)
            put_run(store, 0, 1, seed, "loss", loss[seed]);
    }
    assert_int_equal(lab_result_read(&result, &table, store, &failed), LOCUS_OK);
    assert_true(result.fields[0][0].dropped && result.fields[0][0].greedy_exact.count == 2);
    assert_true(fabs(result.fields[0][0].greedy_exact.mean - 0.6) < 1e-12);
    assert_false(result.fields[0][1].dropped); /* one is missing: any of the others may still be better than it */
    assert_true(fabs(result.fields[0][1].loss.mean - 0.35) < 1e-12);
    put_run(store, 0, 1, 2, "loss", loss[2]);
    assert_int_equal(lab_result_read(&result, &table, store, &failed), LOCUS_OK);
    assert_true(result.fields[0][1].dropped);
    assert_true(fabs(result.fields[0][1].loss.mean - 0.35) < 1e-12); /* the highest loss is the worst */
    assert_true(fabs(result.fields[0][1].perplexity.mean - (exp(0.5) + exp(0.2)) / 2) < 1e-12);
    assert_int_equal(result.done, 6);
    table.drop_worst = false;
    assert_int_equal(lab_result_read(&result, &table, store, &failed), LOCUS_OK);
    assert_int_equal(result.fields[0][0].greedy_exact.count, 3);
    lab_store_close(&store);
}

/* Chance and majority stand beside shares of expressions; a loss has none. */
static void test_chance(void **state) {
    (void)state;
    static lab_result result;
    locus_error failed;
    make(&(lab_reproduction_request){.table = "listops", .budget = "smoke"});
    assert_int_equal(lab_result_chance(&result, &table, &failed), LOCUS_OK);
    assert_true(fabs(result.uniform[0] - 0.1) < 1e-12 && fabs(result.uniform[1] - 0.5) < 1e-12);
    assert_true(result.chance[0] >= 0.1 && result.chance[0] < 0.4);
    assert_true(result.chance[1] >= 0.5 && result.chance[1] < 0.7);
    char *columns[] = {(char[]){"substring"}};
    make(&(lab_reproduction_request){.table = "roper", .budget = "smoke", .columns = columns, .column_count = 1});
    assert_int_equal(lab_result_chance(&result, &table, &failed), LOCUS_OK);
    assert_true(result.chance[0] <= 0 && result.chance[1] <= 0 && result.uniform[0] <= 0);
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

static void make_part(const char *name, const char *column, const char *row, size_t seeds, lab_decay_choice decay) {
    char *columns[] = {(char *)(uintptr_t)column}, *rows[] = {(char *)(uintptr_t)row};
    make(&(lab_reproduction_request){.table = name,
                                     .budget = "quick",
                                     .columns = columns,
                                     .column_count = 1,
                                     .rows = rows,
                                     .row_count = row != NULL,
                                     .seeds = seeds,
                                     .decay = decay});
}

/* What is told apart, of no scheme, the first alone, the last alone, of two and more. */
static void test_separation(void **state) {
    (void)state;
    static lab_result result;
    static const struct {
        double means[4]; /* negative: not measured */
        double deviation, chance;
        size_t seeds;
        bool markdown;
        const char *says;
    } cases[] = {
        {{-1, -1, -1, -1}, 0, 0, 3, false, "Nothing is measured yet.\n"},
        {{0.9, -1, -1, -1}, 0.1, 0, 3, false, "  copy scaled: one scheme is measured\n"},
        {{-1, -1, -1, 0.9}, 0.1, 0, 3, true, "- copy scaled: one scheme is measured\n"},
        {{0.9, -1, -1, 0.9}, 0.1, 0, 3, true, "- copy scaled: not separated: sinusoidal – algebraic (seq)\n"},
        {{0.9, 0.9, 0.9, -1},
         0.1,
         0,
         3,
         false,
         "  copy scaled: not separated: sinusoidal – relative; sinusoidal – rope; relative – rope\n"},
        {{0.9, -1, 0.2, -1}, 0.001, 0, 3, false, "  copy scaled: not separated: none, all schemes are told apart\n"},
        {{0.9, -1, 0.2, -1}, 0.001, 0, 1, false, "  copy scaled: with one seed nothing is separated\n"},
        {{0.5, -1, -1, -1},
         0.01,
         0.5,
         3,
         false,
         "  copy scaled: no scheme has left chance (guessing scores 50.00): this column says nothing; one scheme is "
         "measured\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lab_reproduction_view view = {.table = &table, .result = &result};
        char *text = NULL;
        size_t bytes;
        make_part("table1", "copy-scaled", NULL, cases[i].seeds, LAB_DECAY_AS_PUBLISHED);
        assert_int_equal(table.row_count, 4);
        memset(&result, 0, sizeof result);
        for (size_t row = 0; row < 4; row++)
            if (cases[i].means[row] >= 0)
                result.fields[row][0].accuracy = (lab_statistic){
                    .count = cases[i].seeds, .mean = cases[i].means[row], .deviation = cases[i].deviation};
        result.chance[0] = cases[i].chance;
        FILE *stream = open_memstream(&text, &bytes);
        lab_separation_write(&view, stream, cases[i].markdown);
        fclose(stream);
        assert_string_equal(text, cases[i].says);
        free(text);
    }
}

/* One field, the first or the last, says it of a column; a row of its own says it of a table. */
static void test_view(void **state) {
    (void)state;
    static lab_result result;
    const lab_reproduction_view view = {.table = &table, .result = &result};
    make_part("table1", "copy-scaled", NULL, 3, LAB_DECAY_BOTH);
    memset(&result, 0, sizeof result);
    assert_false(lab_view_is_whole(&view, 0));
    for (size_t row = 0; row < table.row_count; row++) {
        lab_field *field = &result.fields[row][0];
        field->exact.count = 1;
        assert_true(lab_view_is_whole(&view, 0));
        field->exact.count = 0, field->greedy_exact.count = 1;
        assert_true(lab_view_is_whole(&view, 0));
        field->greedy_exact.count = 0;
        const lab_scheme *rows = table.columns[0].rows;
        const size_t without = lab_view_without_decay(&view, row);
        assert_true(rows[row].decay == (without != SIZE_MAX));
        assert_true(without == SIZE_MAX || (without < table.row_count && !rows[without].decay &&
                                            strcmp(rows[without].name, rows[row].name) == 0));
    }
    make_part("table1", "copy-scaled", "algebraic", 3, LAB_DECAY_AS_PUBLISHED);
    assert_true(table.row_count == 1 && table.columns[0].rows[0].decay);
    assert_true(lab_view_without_decay(&view, 0) == SIZE_MAX);
    assert_true(lab_view_has_published(&view));
    make_part("roper", "addition", NULL, 3, LAB_DECAY_AS_PUBLISHED);
    assert_false(lab_view_has_published(&view));
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    lab_claims_write(&(lab_reproduction_view){.findings = &(lab_findings){0}}, stream, true);
    fclose(stream);
    assert_string_equal(text, "Nothing: this part of the table has no fields that a claim is about.\n");
    free(text);
}

static int by_text(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Every training of a table with everything on: the spec is one that can be trained, no two have one name. */
static void test_trainings(void **state) {
    (void)state;
    static char names[LAB_MOST_SCHEMES * LAB_MOST_COLUMNS * 2][256];
    static const char *const budgets[] = {"smoke", "quick", "paper"};
    for (size_t of = 0; of < 3 * lab_reproduction_table_count(); of++) {
        const size_t t = of / 3, b = of % 3;
        const char *name = lab_reproduction_table_name(t);
        const bool published = strncmp(name, "table", 5) == 0;
        size_t count = 0;
        make(&(lab_reproduction_request){.table = name,
                                         .budget = budgets[b],
                                         .setup = published ? (lab_setup)(t % 2) : LAB_SETUP_PAPER,
                                         .data_path = strcmp(name, "roper") == 0 ? folder : NULL,
                                         .decay = LAB_DECAY_BOTH,
                                         .more = true,
                                         .seeds = 2});
        for (size_t i = 0; i < table.column_count * table.row_count * 2; i++) {
            lab_train_config config;
            char encoding[LAB_SPEC_SIZE];
            locus_error failed = {0};
            const lab_reproduction_place place = {i / 2 % table.row_count, i / 2 / table.row_count, i % 2};
            if (!lab_reproduction_has(&table, place.row, place.column))
                continue;
            if (lab_reproduction_config(&table, place, &config, encoding, &failed) != LOCUS_OK ||
                lab_config_check(&config, &failed) != LOCUS_OK)
                fail_msg("%s %s: %s", table.columns[place.column].name, encoding, failed.message);
            if (lab_reproduction_leads(&table, place.column))
                lab_train_name(&config, names[count++], sizeof names[0]);
        }
        assert_int_equal(count, lab_reproduction_trainings(&table));
        qsort(names, count, sizeof names[0], by_text);
        for (size_t i = 1; i < count; i++)
            assert_string_not_equal(names[i - 1], names[i]);
    }
}

static int create(void **state) {
    return scratch_create(state) || small_text_create(folder, sizeof folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schemes),        cmocka_unit_test(test_decoder_schemes),
        cmocka_unit_test(test_places),         cmocka_unit_test(test_columns),
        cmocka_unit_test(test_rows_of_a_part), cmocka_unit_test(test_factors),
        cmocka_unit_test(test_measures),       cmocka_unit_test(test_no_text),
        cmocka_unit_test(test_encodings),      cmocka_unit_test(test_protocol),
        cmocka_unit_test(test_uses),           cmocka_unit_test(test_worst),
        cmocka_unit_test(test_chance),         cmocka_unit_test(test_parts),
        cmocka_unit_test(test_trainings),      cmocka_unit_test(test_sample_counts),
        cmocka_unit_test(test_separation),     cmocka_unit_test(test_view),
    };
    return cmocka_run_group_tests(tests, create, scratch_remove);
}
