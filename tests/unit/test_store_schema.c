/* SPDX-License-Identifier: MIT */
/* What came to the run store after its first version: notes, new names, views, and one row for what was measured at a
 * step. A store of before gets them when it is opened, by however many processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/store/store_sql.h"
#include "unit/child_exit.h"
#include "unit/older_store.h"
#include "unit/scratch_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static locus_error failed;
#define OK(call) assert_int_equal((call), LOCUS_OK)

static lab_store *open_store(void) {
    lab_store *store;
    if (lab_store_open(&store, scratch_path("locus.db"), &failed) != LOCUS_OK)
        fail_msg("%s", failed.message);
    return store;
}

static int64_t plant(lab_store *store, const char *name, const char *config, uint64_t seed, double accuracy) {
    char copy[64], task[] = "copy", encoding[] = "rope", empty[] = "";
    char settings[128];
    snprintf(copy, sizeof copy, "%s", name);
    snprintf(settings, sizeof settings, "%s", config);
    lab_run run = {.name = copy,
                   .task = task,
                   .encoding = encoding,
                   .setup = empty,
                   .embedding_init = empty,
                   .budget = empty,
                   .config = settings,
                   .seed = seed,
                   .state = LAB_RUN_DONE,
                   .steps_done = 4};
    OK(lab_store_run_insert(store, &run, &failed));
    OK(lab_store_final_set(store, run.id, "test", "accuracy", accuracy, &failed));
    OK(lab_store_measured(store, run.id, 2, &(lab_measured){"dev.loss", 1.5}, 1, &failed));
    return run.id;
}

/* The first row of an answer, its columns joined by '|'. */
static void expect_row(const char *sql, const char *expected) {
    sqlite3 *database;
    sqlite3_stmt *statement;
    char text[512] = "";
    assert_int_equal(sqlite3_open(scratch_path("locus.db"), &database), SQLITE_OK);
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        const char *value = (const char *)sqlite3_column_text(statement, i);
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "|" : "", value != NULL ? value : "NULL");
    }
    sqlite3_finalize(statement);
    sqlite3_close(database);
    assert_string_equal(text, expected);
}

static void execute(const char *sql) {
    sqlite3 *database;
    assert_int_equal(sqlite3_open(scratch_path("locus.db"), &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

static void test_views(void **state) {
    (void)state;
    lab_store *store = open_store();
    plant(store, "a", "{\"dim\":8,\"seed\":\"0\",\"test_lengths\":[]}", 0, 0.25);
    plant(store, "b", "{\"dim\":8,\"seed\":\"1\",\"test_lengths\":[7]}", 1, 0.75);
    plant(store, "c", "{\"dim\":9,\"seed\":\"0\",\"test_lengths\":[]}", 0, 0.5);
    plant(store, "d", "no JSON", 0, 0.5);
    lab_store_close(&store);
    expect_row("SELECT count(*) FROM scores", "4");
    expect_row("SELECT name, task, encoding, \"set\", score, value FROM scores WHERE seed = 1",
               "b|copy|rope|test|accuracy|0.75");
    expect_row("SELECT name, curve, step, value FROM curves WHERE name = 'c'", "c|dev.loss|2|1.5");
    expect_row("SELECT count(*), min(steps) FROM costs", "4|4");
    expect_row("SELECT count(*) FROM means", "3");
    expect_row("SELECT seeds, mean, variance, least, most FROM means WHERE settings = '{\"dim\":8}'",
               "2|0.5|0.125|0.25|0.75");
    expect_row("SELECT seeds, mean, variance FROM means WHERE settings = '{\"dim\":9}'", "1|0.5|NULL");
    expect_row("SELECT seeds FROM means WHERE settings = 'no JSON'", "1");
}

static void test_notes(void **state) {
    (void)state;
    lab_store *store = open_store();
    const int64_t id = plant(store, "a", "{}", 0, 0.5);
    lab_run run;
    static const char *const notes[] = {"first", "it's \"second\"\n", ""};
    for (size_t i = 0; i < 3; i++) {
        OK(lab_store_run_note(store, id, notes[i], &failed));
        OK(lab_store_run_find(store, "a", &run, &failed));
        assert_string_equal(run.note, notes[i]);
        lab_run_free(&run);
    }
    OK(lab_store_run_note(store, id, "goes with it", &failed));
    OK(lab_store_run_delete(store, id, &failed));
    lab_store_close(&store);
    expect_row("SELECT count(*) FROM note", "0");
}

static void test_names(void **state) {
    (void)state;
    lab_store *store = open_store();
    const int64_t id = plant(store, "a", "{}", 0, 0.5);
    lab_run run;
    plant(store, "b", "{}", 0, 0.5);
    OK(lab_store_run_rename(store, id, "new", &failed));
    OK(lab_store_run_find(store, "new", &run, &failed));
    assert_int_equal(run.id, id);
    lab_run_free(&run);
    assert_int_equal(lab_store_run_rename(store, id, "b", &failed), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(failed.message, "has a run 'b' already"));
    lab_store_close(&store);
    expect_row("SELECT max(name), min(name) FROM run", "new|b");
}

static void test_scores_of_all(void **state) {
    (void)state;
    lab_store *store = open_store();
    const int64_t first = plant(store, "a", "{}", 0, 0.25), second = plant(store, "b", "{}", 1, 0.75);
    lab_run_score *scores;
    size_t count;
    OK(lab_store_final_set(store, first, "test:9", "accuracy", 1.0, &failed));
    OK(lab_store_scores(store, "test", "accuracy", &scores, &count, &failed));
    assert_true(count == 2 && scores[0].run == first && scores[1].run == second);
    assert_true(scores[0].value < 0.3 && scores[1].value > 0.7);
    free(scores);
    lab_store_close(&store);
}

static bool is_changed(const char *task, const char *config) {
    return strcmp(task, "copy") == 0 && strstr(config, "9") != NULL;
}

/* What a list shows is what the rows have; the other texts are not read. */
static void test_list(void **state) {
    (void)state;
    lab_store *store = open_store();
    const lab_run_filter rope = {.encoding = "rope"}, others = {.encoding = "none"};
    lab_run *all, *shown;
    size_t count, listed;
    plant(store, "a", "{\"dim\":8}", 3, 0.25);
    OK(lab_store_run_imported(store, plant(store, "b", "{\"dim\":9}", 1, 0.75), &failed));
    OK(lab_store_run_parent(store, plant(store, "c", "{}", 2, 0.75), "a", &failed));
    OK(lab_store_runs(store, &rope, &all, &count, &failed));
    OK(lab_store_runs_listed(store, &rope, is_changed, &shown, &listed, &failed));
    assert_true(count == 3 && listed == 3);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(shown[i].name, all[i].name);
        assert_string_equal(shown[i].task, all[i].task);
        assert_string_equal(shown[i].encoding, all[i].encoding);
        assert_string_equal(shown[i].budget, all[i].budget);
        assert_string_equal(shown[i].setup, all[i].setup);
        assert_string_equal(shown[i].embedding_init, all[i].embedding_init);
        assert_string_equal(shown[i].parent, all[i].parent);
        assert_true(shown[i].id == all[i].id && shown[i].seed == all[i].seed && shown[i].state == all[i].state);
        assert_true(shown[i].steps_done == all[i].steps_done && shown[i].steps_total == all[i].steps_total);
        assert_true(shown[i].imported == (i == 1) && shown[i].peak_bytes == all[i].peak_bytes);
        assert_true((shown[i].config != NULL) == (i == 1) && shown[i].command == NULL);
    }
    assert_string_equal(shown[1].config, "{\"dim\":9}");
    lab_runs_free(all, count);
    lab_runs_free(shown, listed);
    OK(lab_store_runs_listed(store, &others, is_changed, &shown, &listed, &failed));
    assert_true(listed == 0 && shown == NULL);
    lab_store_close(&store);
}

/* A store of one run as the first version made it at first, without what was added later. */
static void make_first(void) {
    lab_store *store = open_store();
    plant(store, "old", "{}", 0, 0.5);
    lab_store_close(&store);
    make_older(scratch_path("locus.db"));
    execute(
        "DROP VIEW scores; DROP VIEW costs; DROP VIEW means; DROP TABLE note; DROP TABLE imported;"
        "INSERT INTO metric VALUES(1, 'dev.loss', 4, 0.1 + 0.2), (1, 'dev.loss', 6, -2.5), (1, 'dev.loss', 8, NULL),"
        " (1, 'a \"curve\"', 4, 1e-300), (1, 'train.loss', 9, 7)");
}

static void expect_curve(lab_store *store, const char *name, const lab_metric *wanted, size_t wanted_count) {
    lab_metric *curve;
    size_t count;
    OK(lab_store_metrics(store, 1, name, &curve, &count, &failed));
    assert_int_equal(count, wanted_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(curve[i].step, wanted[i].step);
        if (wanted[i].value == wanted[i].value)
            assert_memory_equal(&curve[i].value, &wanted[i].value, sizeof(double));
        else
            assert_true(curve[i].value != curve[i].value);
    }
    free(curve);
}

/* All that make_first() has, to the bit. */
static void expect_first(lab_store *store) {
    static const char *const wanted[] = {"a \"curve\"", "dev.loss", "train.loss"};
    const char **names;
    size_t count;
    OK(lab_store_metric_names(store, 1, &names, &count, &failed));
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(names[i], wanted[i]);
    free(names);
    expect_curve(store, wanted[0], &(lab_metric){4, 1e-300}, 1);
    expect_curve(store, wanted[1], (const lab_metric[]){{2, 1.5}, {4, 0.1 + 0.2}, {6, -2.5}, {8, (double)NAN}}, 4);
    expect_curve(store, wanted[2], &(lab_metric){9, 7}, 1);
    expect_curve(store, "none", NULL, 0);
}

/* Runs that were there stay, whoever opens it first. */
static void test_older_store(void **state) {
    (void)state;
    lab_store *store;
    make_first();
    pid_t children[4];
    for (size_t i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i] == 0)
            child_exit(lab_store_open(&store, scratch_path("locus.db"), &failed) == LOCUS_OK ? 0 : 1);
    }
    for (size_t i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    expect_row("SELECT name, value FROM scores", "old|0.5");
    expect_row("SELECT count(*) FROM note", "0");
    expect_row("PRAGMA user_version", "2");
    expect_row("SELECT count(*) FROM sqlite_master WHERE name = 'metric'", "0");
    expect_row("SELECT metrics FROM evaluation WHERE step = 4",
               "{\"a \\\"curve\\\"\":1e-300,\"dev.loss\":0.30000000000000004}");
    expect_row("SELECT metrics FROM evaluation WHERE step = 9", "{\"train.loss\":7.0}");
    expect_row("SELECT curve, value, typeof(value) FROM curves WHERE step = 8", "dev.loss|NULL|null");
    store = open_store();
    expect_first(store);
    lab_store_close(&store);
}

/* One that may not be written stays as it is, and is read. */
static void test_older_sealed(void **state) {
    (void)state;
    lab_store *store;
    make_first();
    char command[200];
    snprintf(command, sizeof command, "chmod 555 '%s' && chmod 444 '%s'", scratch_path("."), scratch_path("locus.db"));
    assert_int_equal(system(command), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            child_exit(2);
        if (lab_store_open_reading(&store, scratch_path("locus.db"), &failed) != LOCUS_OK)
            child_exit(3);
        expect_first(store);
        lab_store_close(&store);
        child_exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    snprintf(command, sizeof command, "chmod 755 '%s'", scratch_path("."));
    assert_int_equal(system(command), 0);
    expect_row("PRAGMA user_version", "1");
}

/* Nor does one that may be written, while it is only read. */
static void test_older_read(void **state) {
    (void)state;
    lab_store *store;
    make_first();
    OK(lab_store_open_reading(&store, scratch_path("locus.db"), &failed));
    expect_first(store);
    lab_store_close(&store);
    expect_row("PRAGMA user_version", "1");
    expect_row("SELECT count(*) FROM metric", "6");
    OK(lab_store_open_reading(&store, scratch_path("locus.db"), &failed)); /* what came later is added to it, too */
    OK(lab_store_run_note(store, 1, "kept", &failed));
    OK(lab_store_final_set(store, 1, "test:9", "accuracy", 1, &failed));
    lab_store_close(&store);
    expect_row("SELECT text FROM note", "kept");
    expect_row("PRAGMA user_version", "1");
    store = open_store();
    expect_first(store);
    OK(lab_store_run_delete(store, 1, &failed));
    lab_store_close(&store);
    expect_row("SELECT (SELECT count(*) FROM evaluation) + (SELECT count(*) FROM note)", "0");
}

/* Points of a run that somebody deleted by hand do not come along. */
static void test_older_strays(void **state) {
    (void)state;
    lab_store *store;
    make_first();
    execute("INSERT INTO metric VALUES(7, 'dev.loss', 4, 1)");
    store = open_store();
    expect_first(store);
    lab_store_close(&store);
    expect_row("SELECT count(*) FROM evaluation WHERE run = 7", "0");
    expect_row("PRAGMA user_version", "2");
}

/* Of points that somebody wrote twice, into a table that lets him, one comes along. */
static void test_older_twice(void **state) {
    (void)state;
    make_first();
    execute("ALTER TABLE metric RENAME TO once; CREATE TABLE metric(run INTEGER, name TEXT, step INTEGER, value REAL);"
            "INSERT INTO metric SELECT * FROM once; DROP TABLE once;"
            "INSERT INTO metric VALUES(1, 'a', 5, 1), (1, 'c', 5, 2), (1, 'a', 5, 1), (1, 'a', 5, 1), (1, 'd', 5, 3),"
            " (1, 'c', 5, 2), (1, 'b', 5, 4)");
    lab_store *store = open_store();
    lab_store_close(&store);
    expect_row("SELECT metrics FROM evaluation WHERE step = 5", "{\"a\":1.0,\"b\":4.0,\"c\":2.0,\"d\":3.0}");
    expect_row("PRAGMA user_version", "2");
}

/* A first version that cannot be brought to the second stays as it is. */
static void test_older_refused(void **state) {
    (void)state;
    lab_store *store;
    make_first();
    execute("CREATE TABLE evaluation(x)");
    assert_int_equal(lab_store_open(&store, scratch_path("locus.db"), &failed), LOCUS_ERROR_IO);
    assert_non_null(strstr(failed.message, "evaluation already exists"));
    expect_row("PRAGMA user_version", "1");
    expect_row("SELECT count(*) FROM metric", "6");
    expect_row("SELECT count(*) FROM sqlite_master WHERE name = 'note'", "0");
}

/* Values are known by name; a later one takes the place of an earlier. */
static void test_evaluations(void **state) {
    (void)state;
    lab_store *store = open_store();
    const int64_t id = plant(store, "a", "{}", 0, 0.5);
    OK(lab_store_measured(store, id, 3, (const lab_measured[]){{"b", 2}, {"c", (double)NAN}, {"a", -0.1}}, 3, &failed));
    OK(lab_store_measured(store, id, 3, (const lab_measured[]){{"b", 1e22}, {"B", 1}, {"b", 3}}, 3, &failed));
    OK(lab_store_measured(store, id, 5, (const lab_measured[]){{"a", 1e22}, {"b", -0.0}}, 2, &failed));
    lab_store_close(&store);
    expect_row("SELECT metrics FROM evaluation WHERE step = 3", "{\"B\":1.0,\"a\":-0.1,\"b\":3.0,\"c\":null}");
    expect_row("SELECT metrics FROM evaluation WHERE step = 5", "{\"a\":1e+22,\"b\":-0.0}");
    expect_row("SELECT count(*), typeof(max(value)) FROM curves WHERE curve = 'b'", "2|real");
}

/* Somebody else may write what says the same. */
static void test_other_texts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t points;
        double value;
    } cases[] = {{"{\"a\":1.0,\"dev.loss\":2.5}", 1, 2.5},        {"{ \"dev.loss\" : 2.5e0 }", 1, 2.5},
                 {"{\"dev\\u002eloss\":25e-1}", 1, 2.5},          {"{\"a\":null,\"dev.loss\":-2}\n", 1, -2},
                 {"{\"dev.losses\":1.0,\"dev.los\":null}", 0, 0}, {"{}", 0, 0}};
    lab_store *store = open_store();
    const int64_t id = plant(store, "a", "{}", 0, 0.5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_metric *curve;
        size_t count;
        OK(lab_store_do(store, &failed, "UPDATE evaluation SET metrics = ?", "t", cases[i].text));
        OK(lab_store_metrics(store, id, "dev.loss", &curve, &count, &failed));
        assert_int_equal(count, cases[i].points);
        assert_true(count == 0 || (curve[0].value >= cases[i].value && curve[0].value <= cases[i].value));
        free(curve);
    }
    lab_store_close(&store);
}

/* What is no object of numbers is damage, wherever it is read. */
static void test_spoilt_evaluations(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "{",
                                        "[1.0]",
                                        "1",
                                        "{\"dev.loss\":\"1\"}",
                                        "{\"x\":{\"dev.loss\":1.0}}",
                                        "{\"dev.loss\":1.0.0}",
                                        "{\"dev.loss\":1.0",
                                        "{\"a\":1.0,",
                                        "{\"dev.loss\":0x10}",
                                        "{\"dev.loss\":-}",
                                        "{\"dev.loss\":.5}",
                                        "{\"dev.loss\":1e999}",
                                        "{\"dev.loss\":-inf}",
                                        "{\"dev.loss\":1.0}x",
                                        "{\"dev.loss\":1.0,zzz",
                                        "{\"b\":1--2,\"dev.loss\":3.0}",
                                        "{\"dev.loss\":1.0,\"dev.loss\":1.0}"};
    lab_store *store = open_store();
    const int64_t id = plant(store, "a", "{}", 0, 0.5);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        lab_metric *curve = NULL;
        size_t count = 1;
        OK(lab_store_do(store, &failed, "UPDATE evaluation SET metrics = ?", "t", texts[i]));
        assert_int_equal(lab_store_metrics(store, id, "dev.loss", &curve, &count, &failed), LOCUS_ERROR_IO);
        assert_non_null(strstr(failed.message, "is damaged"));
        assert_true(curve == NULL && count == 0);
        assert_int_equal(lab_store_measured(store, id, 2, &(lab_measured){"dev.loss", 1}, 1, &failed), LOCUS_ERROR_IO);
        assert_non_null(strstr(failed.message, "is damaged"));
    }
    lab_store_close(&store);
}

/* A stranger's store may do something of itself wherever a row is written, but call nothing that is not harmless. */
static void test_untrusted_schema(void **state) {
    (void)state;
    lab_store *store = open_store();
    const int64_t id = plant(store, "a", "{}", 0, 0.5);
    lab_store_close(&store);
    execute("CREATE TRIGGER harmless AFTER INSERT ON note BEGIN UPDATE run SET steps_done = abs(-7); END");
    store = open_store();
    OK(lab_store_run_note(store, id, "first", &failed));
    lab_store_close(&store);
    expect_row("SELECT steps_done FROM run", "7");
    execute("CREATE TRIGGER looks AFTER INSERT ON note BEGIN "
            "UPDATE run SET steps_done = (SELECT count(*) FROM pragma_database_list); END");
    store = open_store();
    assert_int_equal(lab_store_run_note(store, id, "second", &failed), LOCUS_ERROR_IO);
    assert_non_null(strstr(failed.message, "unsafe use of virtual table"));
    lab_store_close(&store);
    expect_row("SELECT steps_done, text FROM run, note", "7|first");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_views, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_notes, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_names, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_scores_of_all, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_list, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_older_store, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_older_sealed, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_older_read, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_older_strays, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_older_twice, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_older_refused, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_evaluations, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_other_texts, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_spoilt_evaluations, scratch_create, scratch_remove),
        cmocka_unit_test_setup_teardown(test_untrusted_schema, scratch_create, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
