/* SPDX-License-Identifier: MIT */
/* Stores that are merged: which run is which, what is kept of two, what is refused and leaves the store as it was, and
 * the files that come along. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/file.h"
#include "train/configuration/config.h"
#include "train/store/run_folder.h"
#include "train/store/store_merge.h"
#include "train/store/store_sql.h"
#include "train/train.h"
#include "unit/child_exit.h"
#include "unit/older_store.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call) \
    do { \
        locus_error failed = {0}; \
        if ((call) != LOCUS_OK) { \
            fail_msg("%s: %s", #call, failed.message); \
        } \
    } while (0)

enum { STEPS = 100 };

/* ---- two stores, each in a folder of its own ---- */

static char base[64], here_path[96], there_path[96], here[80], there[80];
static lab_store *store;

static int setup(void **state) {
    (void)state;
    snprintf(base, sizeof base, "/tmp/locus-merge-XXXXXX");
    if (mkdtemp(base) == NULL)
        return 1;
    snprintf(here, sizeof here, "%s/here", base);
    snprintf(there, sizeof there, "%s/there", base);
    snprintf(here_path, sizeof here_path, "%s/locus.db", here);
    snprintf(there_path, sizeof there_path, "%s/locus.db", there);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[160];
    lab_store_close(&store);
    snprintf(command, sizeof command, "rm -rf '%s'", base);
    return system(command);
}

static lab_store *open_at(const char *path) {
    lab_store *opened = NULL;
    OK(lab_store_open(&opened, path, &failed));
    return opened;
}

/* What a planted run is; the curve of a training is a function of its seed and of the step. */
typedef struct planted {
    const char *name;
    uint64_t seed;
    lab_run_state state;
    uint64_t steps;     /* done */
    double other;       /* added to the curve's point at step 50 */
    bool further;       /* a score of a further test set */
    const char *parent; /* NULL: none */
} planted;

static char *set(const char *text) {
    char *copy = strdup(text);
    assert_non_null(copy);
    return copy;
}

static void plant(lab_store *to, planted p) {
    lab_train_config config;
    OK(lab_train_config_budget(&config, lab_task_find("copy"), "smoke", LAB_SETUP_PAPER, &failed));
    config.encoding = config.model.encoding = "rope";
    config.seed = p.seed;
    char *json = lab_config_json(&config);
    assert_non_null(json);
    lab_run run = {.name = set(p.name),
                   .task = set("copy"),
                   .encoding = set("rope"),
                   .setup = set("paper"),
                   .embedding_init = set(lab_embedding_init_name(config.model.embedding_init)),
                   .budget = set("smoke"),
                   .config = set(json),
                   .command = set("locus train"),
                   .version = set("1"),
                   .machine = set("a machine"),
                   .message = set(""),
                   .started = set("2026-01-01T00:00:00Z"),
                   .ended = set("2026-01-01T00:01:00Z"),
                   .seed = p.seed,
                   .state = p.state,
                   .steps_total = STEPS,
                   .steps_done = p.steps};
    cJSON_free(json);
    OK(lab_store_begin(to, &failed));
    OK(lab_store_run_insert(to, &run, &failed));
    for (uint64_t step = 25; step <= p.steps; step += 25) {
        const double value = 1.0 / (double)(step + p.seed) + (step == 50 ? p.other : 0.0);
        OK(lab_store_measured(to, run.id, step, &(lab_measured){"dev.loss", value}, 1, &failed));
    }
    if (p.state == LAB_RUN_DONE) {
        OK(lab_store_final_set(to, run.id, "test", "accuracy", 1.0 / (double)(1 + p.seed), &failed));
        OK(lab_store_final_set(to, run.id, "test", "loss", (double)NAN, &failed));
    }
    if (p.further)
        OK(lab_store_final_set(to, run.id, "test:40", "accuracy", 0.25, &failed));
    if (p.parent != NULL)
        OK(lab_store_run_parent(to, run.id, p.parent, &failed));
    OK(lab_store_commit(to, &failed));
    lab_run_free(&run);
}

/* Both stores, new, with one run each; `first` may have no name: then the store is empty. */
static void plant_both(planted first, planted second) {
    char command[200];
    lab_store_close(&store);
    snprintf(command, sizeof command, "rm -rf '%s' '%s'", here, there);
    assert_int_equal(system(command), 0);
    store = open_at(here_path);
    lab_store *other = open_at(there_path);
    if (first.name != NULL)
        plant(store, first);
    if (second.name != NULL)
        plant(other, second);
    lab_store_close(&other);
}

static void put_file(const char *folder, const char *name, const char *file, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(mkdir(path, 0777) == 0 || access(path, W_OK) == 0);
    snprintf(path, sizeof path, "%s/%s/%s", folder, name, file);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

/* NULL: the file must not be there. */
static void assert_file(const char *folder, const char *name, const char *file, const char *text) {
    char path[256], *data = NULL;
    size_t bytes;
    snprintf(path, sizeof path, "%s/%s/%s", folder, name, file);
    if (text == NULL) {
        assert_int_not_equal(access(path, F_OK), 0);
        return;
    }
    OK(lab_file_read(path, &data, &bytes, &failed));
    assert_int_equal(bytes, strlen(text));
    assert_memory_equal(data, text, bytes);
    free(data);
}

static size_t open_descriptors(void) {
    size_t count = 0;
    for (int i = 0; i < 1024; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* Whatever comes of it, locks and files are given back; those of a log that is put away, too. */
static locus_status merge(bool checkpoints, lab_merge_result *result, locus_error *error) {
    const lab_merge_request request = {.path = there_path, .folder = here, .checkpoints = checkpoints};
    const size_t before = open_descriptors();
    const locus_status status = lab_store_merge(store, &request, result, error);
    assert_true(open_descriptors() <= before);
    return status;
}

static void assert_merge(bool checkpoints, lab_merge_result wanted) {
    lab_merge_result got;
    OK(merge(checkpoints, &got, &failed));
    assert_int_equal(got.added, wanted.added);
    assert_int_equal(got.replaced, wanted.replaced);
    assert_int_equal(got.known, wanted.known);
    assert_int_equal(got.unfinished, wanted.unfinished);
    assert_int_equal(got.bare, wanted.bare);
}

/* Refused by this line; the store has `runs` runs as before. */
static void assert_refused(locus_status wanted, const char *says, size_t runs) {
    lab_merge_result got;
    locus_error error = {0};
    lab_run *left;
    size_t count;
    assert_int_equal(merge(true, &got, &error), wanted);
    assert_string_equal(error.message, says);
    assert_int_equal(got.added + got.replaced + got.known + got.unfinished + got.bare, 0);
    OK(lab_store_runs(store, NULL, &left, &count, &failed));
    assert_int_equal(count, runs);
    lab_runs_free(left, count);
}

/* The whole message: what is imported, and behind it `says` of a run and what differs in it. */
static void assert_told(const char *says, size_t runs) {
    char whole[sizeof((locus_error *)NULL)->message];
    snprintf(whole, sizeof whole, "'%s' %s", there_path, says);
    assert_refused(LOCUS_ERROR_ARGUMENT, whole, runs);
}

#define OTHER_NUMBERS(name, where) \
    "cannot be imported: its run '" name \
    "' and the store's run 'one' are the same training with other numbers (" where \
    "): delete one, or name another store"
#define OTHER_TRAINING(name) \
    "cannot be imported: its run '" name \
    "' is another training than the store's run of that name: rename one of them " \
    "by 'locus runs rename'"

/* The store's run of this name has that many steps, points and scores, and the curve of its seed. */
static int64_t assert_run(const char *name, uint64_t steps, size_t scores, bool imported) {
    lab_run run;
    lab_metric *curve;
    lab_final *finals;
    size_t count;
    OK(lab_store_run_find(store, name, &run, &failed));
    assert_int_equal(run.steps_done, steps);
    assert_int_equal(run.imported, imported);
    OK(lab_store_metrics(store, run.id, "dev.loss", &curve, &count, &failed));
    assert_int_equal(count, steps / 25);
    for (size_t i = 0; i < count; i++)
        assert_true(curve[i].value == 1.0 / (double)(curve[i].step + run.seed));
    OK(lab_store_finals(store, run.id, &finals, &count, &failed));
    assert_int_equal(count, scores);
    const int64_t id = run.id;
    free(curve);
    free(finals);
    lab_run_free(&run);
    return id;
}

static void assert_points(int64_t run, size_t wanted) {
    lab_metric *curve;
    size_t count;
    OK(lab_store_metrics(store, run, "dev.loss", &curve, &count, &failed));
    assert_int_equal(count, wanted);
    free(curve);
}

/* ---- what comes in ---- */

static const planted nothing = {.name = NULL};
static const planted finished = {.name = "one", .seed = 3, .state = LAB_RUN_DONE, .steps = STEPS};
static const planted half = {.name = "one", .seed = 3, .state = LAB_RUN_STOPPED, .steps = 50};

static void test_added(void **state) {
    (void)state;
    planted child = finished;
    child.parent = "before";
    plant_both((planted){.name = "zero", .seed = 1, .state = LAB_RUN_DONE, .steps = STEPS}, child);
    lab_store *other = open_at(there_path);
    OK(lab_store_run_note(other, 1, "a note", &failed));
    plant(other, (planted){.name = "two", .seed = 4, .state = LAB_RUN_DONE, .steps = STEPS});
    plant(other, (planted){.name = "three", .seed = 5, .state = LAB_RUN_STOPPED, .steps = 25});
    lab_store_close(&other);
    assert_merge(false, (lab_merge_result){.added = 2, .unfinished = 1});
    assert_run("zero", STEPS, 2, false);
    assert_int_equal(assert_run("one", STEPS, 2, true), 2);
    assert_int_equal(assert_run("two", STEPS, 2, true), 3);
    lab_run run;
    OK(lab_store_run_find(store, "one", &run, &failed));
    assert_string_equal(run.note, "a note");
    assert_string_equal(run.parent, "before");
    lab_run_free(&run);
    OK(lab_store_run_note(store, 2, "mine", &failed));
    assert_merge(false, (lab_merge_result){.known = 2, .unfinished = 1});
    OK(lab_store_run_find(store, "one", &run, &failed));
    assert_string_equal(run.note, "mine");
    lab_run_free(&run);
}

/* The same training is one, whatever it is called, and what it lacked is added. */
static void test_known(void **state) {
    (void)state;
    planted further = finished;
    further.name = "called otherwise";
    further.further = true;
    plant_both(finished, further);
    assert_merge(false, (lab_merge_result){.known = 1});
    assert_run("one", STEPS, 3, false);
    plant_both(finished, half);
    assert_merge(true, (lab_merge_result){.known = 1});
    assert_run("one", STEPS, 2, false);
}

/* A run that came in this program's time is known to the next file, too. */
static void test_twice(void **state) {
    (void)state;
    plant_both(nothing, finished);
    lab_store *other = open_at(there_path);
    planted again = finished;
    again.name = "again";
    again.further = true;
    plant(other, again);
    lab_store_close(&other);
    assert_merge(false, (lab_merge_result){.added = 1, .known = 1});
    assert_run("one", STEPS, 3, true);
    assert_points(2, 0);
}

/* A new store: runs are left out, and one takes the place of another that came before it. */
static void test_new_store(void **state) {
    (void)state;
    plant_both(nothing, half);
    lab_store *other = open_at(there_path);
    plant(other, (planted){.name = "two", .seed = 4, .state = LAB_RUN_DONE, .steps = STEPS});
    plant(other, (planted){.name = "three", .seed = 5, .state = LAB_RUN_DONE, .steps = STEPS});
    planted whole = finished;
    whole.name = "whole";
    plant(other, whole);
    OK(lab_store_run_delete(other, 2, &failed));
    lab_store_close(&other);
    assert_merge(false, (lab_merge_result){.added = 2, .unfinished = 1});
    assert_int_equal(assert_run("three", STEPS, 2, true), 1);
    assert_int_equal(assert_run("whole", STEPS, 2, true), 2);
    assert_points(3, 0);
    lab_store_close(&store);
    assert_int_equal(unlink(here_path), 0);
    store = open_at(here_path);
    put_file(there, "one", LAB_RUN_LAST, "step 50");
    put_file(there, "whole", LAB_RUN_BEST, "best");
    put_file(there, "three", LAB_RUN_BEST, "best");
    assert_merge(true, (lab_merge_result){.added = 2, .replaced = 1});
    assert_int_equal(assert_run("one", STEPS, 2, false), 1);
    assert_points(3, 0);
    plant(store, (planted){.name = "next", .seed = 9, .state = LAB_RUN_DONE, .steps = STEPS});
    assert_int_equal(assert_run("next", STEPS, 2, false), 3);
}

static void assert_setting(const char *name, const char *wanted) {
    char sql[64];
    sqlite3 *database;
    sqlite3_stmt *statement;
    snprintf(sql, sizeof sql, "PRAGMA %s", name);
    assert_int_equal(sqlite3_open(here_path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), wanted);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* A store without runs is written to without a log, unless somebody else has it open; others never are. */
static void test_journal(void **state) {
    (void)state;
    plant_both(nothing, half);
    lab_store *other = open_at(there_path);
    plant(other, (planted){.name = "two", .seed = 4, .state = LAB_RUN_DONE, .steps = STEPS});
    lab_store_close(&other);
    lab_store *reader = open_at(here_path);
    assert_merge(false, (lab_merge_result){.added = 1, .unfinished = 1});
    assert_setting("journal_mode", "wal");
    lab_store_close(&reader);
    assert_merge(false, (lab_merge_result){.known = 1, .unfinished = 1});
    assert_setting("journal_mode", "wal");
    lab_store_close(&store);
    assert_int_equal(unlink(here_path), 0);
    store = open_at(here_path);
    assert_merge(false, (lab_merge_result){.added = 1, .unfinished = 1});
    assert_setting("journal_mode", "delete");
    assert_merge(false, (lab_merge_result){.known = 1, .unfinished = 1});
    OK(lab_store_begin(store, &failed)); /* as in the middle of a file: others come in, and read */
    reader = open_at(here_path);
    OK(lab_store_commit(store, &failed));
    lab_store_close(&reader);
    lab_store_close(&store);
    assert_setting("journal_mode", "wal");
    assert_setting("page_size", "4096");
    store = open_at(here_path);
}

/* The pages of a store of more than 8,192, here for the most part empty ones, are not looked at when it is opened. A
 * new store that it comes to has larger ones. */
static void test_large_store(void **state) {
    (void)state;
    sqlite3 *database;
    plant_both(nothing, nothing);
    assert_int_equal(unlink(there_path), 0);
    assert_int_equal(sqlite3_open(there_path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database,
                                  "PRAGMA page_size = 512; CREATE TABLE filler(bytes BLOB); "
                                  "INSERT INTO filler VALUES(zeroblob(34000000)); DROP TABLE filler",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    lab_store *other = open_at(there_path);
    plant(other, finished);
    lab_store_close(&other);
    assert_merge(false, (lab_merge_result){.added = 1});
    assert_run("one", STEPS, 2, true);
    assert_setting("page_size", "16384");
}

static void test_replaced(void **state) {
    (void)state;
    planted renamed = half;
    renamed.name = "mine";
    plant_both(renamed, finished);
    put_file(here, "mine", LAB_RUN_LAST, "old");
    put_file(here, "mine", LAB_RUN_BEST, "old");
    assert_merge(false, (lab_merge_result){.replaced = 1});
    assert_int_equal(assert_run("mine", STEPS, 2, true), 1);
    assert_file(here, "mine", LAB_RUN_LAST, NULL);
    assert_file(here, "mine", LAB_RUN_BEST, NULL);
    put_file(there, "one", LAB_RUN_BEST, "new"); /* asked for later */
    assert_merge(true, (lab_merge_result){.known = 1});
    assert_run("mine", STEPS, 2, false);
    assert_file(here, "mine", LAB_RUN_BEST, "new");
}

/* A kill between the rows and the files leaves a checkpoint that nobody asks for. */
static void test_killed_between(void **state) {
    (void)state;
    plant_both(half, finished);
    put_file(here, "one", LAB_RUN_LAST, "old");
    assert_merge(false, (lab_merge_result){.replaced = 1});
    put_file(here, "one", LAB_RUN_LAST, "old");
    assert_merge(false, (lab_merge_result){.known = 1});
    assert_file(here, "one", LAB_RUN_LAST, NULL);
    plant_both(finished, finished); /* but what a training of one's own left is its own */
    put_file(here, "one", LAB_RUN_LAST, "own");
    put_file(here, "one", LAB_RUN_BEST, "own");
    for (int checkpoints = 0; checkpoints < 2; checkpoints++) {
        assert_merge(checkpoints == 1, (lab_merge_result){.known = 1, .bare = (size_t)checkpoints});
        assert_file(here, "one", LAB_RUN_LAST, "own");
        assert_file(here, "one", LAB_RUN_BEST, "own");
    }
}

static void test_unfinished(void **state) {
    (void)state;
    planted more = half;
    more.steps = 75;
    plant_both(half, more);
    put_file(here, "one", LAB_RUN_LAST, "step 50");
    put_file(there, "one", LAB_RUN_LAST, "step 75");
    assert_merge(false, (lab_merge_result){.unfinished = 1});
    assert_run("one", 50, 0, false);
    assert_merge(true, (lab_merge_result){.replaced = 1});
    assert_run("one", 75, 0, false);
    assert_file(here, "one", LAB_RUN_LAST, "step 75");
    plant_both(more, half);
    put_file(here, "one", LAB_RUN_LAST, "step 75");
    put_file(there, "one", LAB_RUN_LAST, "step 50");
    assert_merge(true, (lab_merge_result){.known = 1});
    assert_file(here, "one", LAB_RUN_LAST, "step 75");
    plant_both(nothing, half);
    assert_merge(true, (lab_merge_result){.added = 1, .bare = 1});
    plant_both(nothing, half); /* a folder is no checkpoint */
    put_file(there, "one", LAB_RUN_BEST ".d", "");
    char path[256];
    snprintf(path, sizeof path, "%s/one/" LAB_RUN_LAST, there);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_merge(true, (lab_merge_result){.added = 1, .bare = 1});
    assert_file(here, "one", LAB_RUN_LAST, NULL);
}

/* ---- what is refused ---- */

static void test_conflicts(void **state) {
    (void)state;
    planted other = finished;
    other.name = "theirs";
    other.other = 1e-9;
    plant_both(finished, other);
    assert_told(OTHER_NUMBERS("theirs", "dev.loss, step 50"), 1);
    assert_run("one", STEPS, 2, false);
    other.state = LAB_RUN_STOPPED; /* fewer steps, but not the same ones */
    other.steps = 50;
    plant_both(finished, other);
    assert_told(OTHER_NUMBERS("theirs", "dev.loss, step 50"), 1);
    plant_both(finished, finished);
    lab_store *there_store = open_at(there_path);
    OK(lab_store_final_set(there_store, 1, "test", "loss", 1.0, &failed));
    lab_store_close(&there_store);
    assert_told(OTHER_NUMBERS("one", "test, loss"), 1);
    plant_both((planted){.name = "one", .seed = 8, .state = LAB_RUN_DONE, .steps = STEPS}, finished);
    assert_told(OTHER_TRAINING("one"), 1);
}

static void change_there(const char *sql) {
    lab_store *other = open_at(there_path);
    OK(lab_store_execute(other, sql, &failed));
    lab_store_close(&other);
}

/* Of two finished runs each has what the other has; an unfinished one may have measured less. */
static void test_missing_points(void **state) {
    (void)state;
    static const char *const missing[] = {
        "UPDATE evaluation SET metrics = '{\"dev.accuracy\":0.5,' || substr(metrics, 2) WHERE step = 75",
        "DELETE FROM evaluation WHERE step = 75", "INSERT INTO evaluation VALUES(1, 76, '{\"dev.loss\":0.5}')",
        "UPDATE evaluation SET step = 76 WHERE step = 75",
        "UPDATE evaluation SET metrics = replace(metrics, 'dev.loss', 'dev.lost') WHERE step = 75"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        plant_both(finished, finished);
        change_there(missing[i]);
        assert_told(OTHER_NUMBERS("one", "curves, points"), 1);
        change_there("UPDATE run SET state = 2");
        assert_merge(true, (lab_merge_result){.known = 1});
        assert_run("one", STEPS, 2, false);
    }
    plant_both(finished, finished);
    change_there("UPDATE evaluation SET metrics = replace(metrics, ':', ' : ')"); /* somebody else wrote the same */
    assert_merge(false, (lab_merge_result){.known = 1});
    change_there("UPDATE evaluation SET metrics = '{\"dev.loss\":null}' WHERE step = 75");
    assert_told(OTHER_NUMBERS("one", "dev.loss, step 75"), 1);
}

/* What is no object of numbers does not come in: the other store is damaged, and this one has nothing of it. */
static void test_spoilt_points(void **state) {
    (void)state;
    static const char *const texts[] = {"'{'",
                                        "'[1,2]'",
                                        "x'00ff'",
                                        "7",
                                        "'{\"dev.loss\":-inf}'",
                                        "'{\"dev.loss\":\"x\"}'",
                                        "'{\"dev.loss\":1.0}' || char(0)"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char sql[120], says[200];
        snprintf(says, sizeof says,
                 "the run store '%s' is damaged or no run store: move it away, or name another with --store",
                 there_path);
        for (int known = 0; known < 2; known++) {
            plant_both(known ? finished : nothing, finished);
            snprintf(sql, sizeof sql, "UPDATE evaluation SET metrics = %s WHERE step = 75", texts[i]);
            change_there(sql);
            assert_refused(LOCUS_ERROR_IO, says, known ? 1 : 0);
        }
    }
    plant_both(finished, finished); /* nor is it taken for the same where this store has it */
    OK(lab_store_execute(store, "UPDATE evaluation SET metrics = '{' WHERE step = 75", &failed));
    char says[200];
    snprintf(says, sizeof says, "the run store '%s' failed: malformed JSON", here_path);
    assert_refused(LOCUS_ERROR_IO, says, 1);
}

/* One run of many is refused: none is taken. */
static void test_all_or_nothing(void **state) {
    (void)state;
    plant_both((planted){.name = "last", .seed = 9, .state = LAB_RUN_DONE, .steps = STEPS}, finished);
    lab_store *other = open_at(there_path);
    plant(other, (planted){.name = "last", .seed = 10, .state = LAB_RUN_DONE, .steps = STEPS});
    lab_store_close(&other);
    assert_told(OTHER_TRAINING("last"), 1);
    other = open_at(there_path);
    OK(lab_store_run_delete(other, 2, &failed));
    lab_store_close(&other);
    assert_merge(false, (lab_merge_result){.added = 1});
}

/* A later run of the same file is refused: what an earlier one would have replaced keeps its files. */
static void test_refused_keeps_files(void **state) {
    (void)state;
    plant_both(half, finished);
    plant(store, (planted){.name = "last", .seed = 9, .state = LAB_RUN_DONE, .steps = STEPS});
    lab_store *other = open_at(there_path);
    plant(other, (planted){.name = "last", .seed = 10, .state = LAB_RUN_DONE, .steps = STEPS});
    lab_store_close(&other);
    put_file(here, "one", LAB_RUN_LAST, "step 50");
    put_file(here, "one", LAB_RUN_BEST, "step 25");
    assert_told(OTHER_TRAINING("last"), 2);
    assert_run("one", 50, 0, false);
    assert_file(here, "one", LAB_RUN_LAST, "step 50");
    assert_file(here, "one", LAB_RUN_BEST, "step 25");
}

/* Where a file is in the way of a run's folder the checkpoint cannot come, and it is said; the rows have come. */
static void test_no_place_for_files(void **state) {
    (void)state;
    plant_both(nothing, finished);
    put_file(there, "one", LAB_RUN_BEST, "best");
    char path[256];
    snprintf(path, sizeof path, "%s/one", here);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_int_equal(fclose(stream), 0);
    lab_merge_result got;
    locus_error error = {0};
    assert_int_equal(merge(true, &got, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "one'"));
    assert_int_equal(unlink(path), 0);
    assert_merge(true, (lab_merge_result){.known = 1});
    assert_file(here, "one", LAB_RUN_BEST, "best");
}

/* A store of the first version that may not be written is read as it is, and what it says is compared. */
static void test_older_store(void **state) {
    (void)state;
    planted other = finished;
    other.other = 1;
    const struct {
        planted here, there;
        lab_merge_result wanted; /* none: refused */
    } cases[] = {{nothing, finished, {.added = 1}},
                 {half, finished, {.replaced = 1}},
                 {finished, finished, {.known = 1}},
                 {finished, other, {0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[640];
        plant_both(cases[i].here, cases[i].there);
        lab_store_close(&store);
        make_older(there_path);
        snprintf(command, sizeof command,
                 "rm -f '%s'-*; chmod 755 '%s'; chmod 777 '%s'; chmod 666 '%s'; chmod a-w '%s' '%s'", there_path, base,
                 here, here_path, there, there_path);
        assert_int_equal(system(command), 0);
        const pid_t child = fork();
        if (child == 0) {
            lab_merge_result got;
            if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
                child_exit(2);
            const lab_merge_request request = {.path = there_path, .folder = here};
            bool good = lab_store_open(&store, here_path, NULL) == LOCUS_OK;
            const locus_status status = lab_store_merge(store, &request, &got, NULL);
            good = good && (status == LOCUS_OK) == (i < 3) && memcmp(&got, &cases[i].wanted, sizeof got) == 0;
            lab_store_close(&store);
            child_exit(good ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        snprintf(command, sizeof command, "chmod u+w '%s' '%s'", there, there_path);
        assert_int_equal(system(command), 0);
        store = open_at(here_path);
        assert_run("one", STEPS, 2, i < 2);
    }
}

static void test_itself(void **state) {
    (void)state;
    plant_both(finished, finished);
    lab_merge_result result;
    locus_error error = {0};
    const lab_merge_request request = {.path = here_path, .folder = here};
    assert_int_equal(lab_store_merge(store, &request, &result, &error), LOCUS_ERROR_ARGUMENT);
    char says[160];
    snprintf(says, sizeof says, "'%s' is the store itself: there is nothing to import", here_path);
    assert_string_equal(error.message, says);
    assert_int_equal(unlink(there_path), 0);
    snprintf(says, sizeof says, "'%s' is no run store: it does not begin as one", there_path);
    assert_refused(LOCUS_ERROR_IO, says, 1);
}

static pid_t trainer;

/* Another process holds the run's lock while `work` is done. */
static void while_trained(const char *folder, const char *name, void (*work)(void)) {
    int ready[2], over[2], status;
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(over), 0);
    const pid_t child = trainer = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int lock;
        locus_error error;
        const bool held = lab_run_hold(folder, name, &lock, &error) == LOCUS_OK && lock >= 0;
        const bool told = write(ready[1], &byte, 1) == 1 && read(over[0], &byte, 1) == 1;
        child_exit(held && told ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    work();
    assert_int_equal(write(over[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(over[i]);
    }
}

static void refused_as_trained(const char *locked) {
    char says[200];
    snprintf(says, sizeof says, "process %ld is training this run already (lock '%s/one/lock')", (long)trainer, locked);
    assert_refused(LOCUS_ERROR_IO, says, 1);
}

static void refused_here(void) {
    refused_as_trained(here);
}

static void refused_there(void) {
    refused_as_trained(there);
}

/* Nobody's training loses its row, and no checkpoint is copied while it is written. */
static void test_trained_meanwhile(void **state) {
    (void)state;
    planted more = half;
    more.steps = 75;
    plant_both(half, finished);
    put_file(here, "one", LAB_RUN_LAST, "old");
    while_trained(here, "one", refused_here);
    assert_run("one", 50, 0, false);
    assert_file(here, "one", LAB_RUN_LAST, "old");
    plant_both(half, more);
    put_file(there, "one", LAB_RUN_LAST, "new");
    while_trained(there, "one", refused_there);
    assert_merge(true, (lab_merge_result){.replaced = 1});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_added),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_new_store),
        cmocka_unit_test(test_journal),
        cmocka_unit_test(test_large_store),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_killed_between),
        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_missing_points),
        cmocka_unit_test(test_spoilt_points),
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_refused_keeps_files),
        cmocka_unit_test(test_no_place_for_files),
        cmocka_unit_test(test_older_store),
        cmocka_unit_test(test_itself),
        cmocka_unit_test(test_trained_meanwhile),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
