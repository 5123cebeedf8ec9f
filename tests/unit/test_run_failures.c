/* SPDX-License-Identifier: MIT */
/* What fails around a run is told, whole, and loses nothing: a store without one of its tables, a row, curve or score
 * that cannot be written, something else where a run's files belong. Afterwards the same training comes to the end that
 * an undisturbed one has. */
#include "task/problem.h"
#include "task/tree_task.h"
#include "task/word_task.h"
#include "train/configuration/budgets.h"
#include "train/configuration/config.h"
#include "train/outcome.h"
#include "train/store/run_export.h"
#include "train/store/run_file.h"
#include "train/store/store_merge.h"
#include "train/store/store_sql.h"
#include "train/train.h"
#include "unit/scratch_folder.h"

#include <cjson/cJSON.h>
#include <locus/parallel.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char store_path[1024], folder[1024];
static lab_store *store;

static int open_all(void **state) {
    if (scratch_create(state) != 0)
        return 1;
    snprintf(store_path, sizeof store_path, "%s", scratch_path("locus.db"));
    snprintf(folder, sizeof folder, "%s", scratch_path("runs"));
    return locus_threads_set(1) == LOCUS_OK && lab_store_open(&store, store_path, NULL) == LOCUS_OK ? 0 : 1;
}

static int close_all(void **state) {
    lab_store_close(&store);
    return scratch_remove(state);
}

static void execute(const char *sql) {
    locus_error error = {0};
    if (lab_store_execute(store, sql, &error) != LOCUS_OK)
        fail_msg("%s: %s", sql, error.message);
}

/* ---- a table is gone ---- */

static lab_run planted;

static void plant(void) {
    static char config[] = "{}", text[] = "t", name[] = "planted";
    planted = (lab_run){.name = name,
                        .task = text,
                        .encoding = text,
                        .setup = text,
                        .embedding_init = text,
                        .budget = text,
                        .config = config,
                        .command = text,
                        .version = text,
                        .machine = text,
                        .message = text,
                        .started = text,
                        .ended = text,
                        .state = LAB_RUN_DONE};
    assert_int_equal(lab_store_run_insert(store, &planted, NULL), LOCUS_OK);
    assert_int_equal(lab_store_measured(store, planted.id, 3, &(lab_measured){"dev.loss", 0.5}, 1, NULL), LOCUS_OK);
    assert_int_equal(lab_store_final_set(store, planted.id, "test", "accuracy", 0.5, NULL), LOCUS_OK);
}

static locus_status insert(locus_error *error) {
    lab_run other = planted;
    return lab_store_run_insert(store, &other, error);
}

static locus_status update(locus_error *error) {
    return lab_store_run_update(store, &planted, error);
}

static locus_status find(locus_error *error) {
    lab_run found;
    const locus_status status = lab_store_run_find(store, "planted", &found, error);
    assert_null(found.name);
    return status;
}

static locus_status list(locus_error *error) {
    lab_run *runs = &planted;
    size_t count = 7;
    const locus_status status = lab_store_runs(store, NULL, &runs, &count, error);
    assert_true(runs == NULL && count == 0);
    return status;
}

static bool keep_all(const char *task, const char *config) {
    return task != NULL && config != NULL;
}

static locus_status listed(locus_error *error) {
    lab_run *runs = &planted;
    size_t count = 7;
    const lab_run_filter any = {.task = NULL};
    const locus_status status = lab_store_runs_listed(store, &any, keep_all, &runs, &count, error);
    assert_true(runs == NULL && count == 0);
    return status;
}

static locus_status between(locus_error *error) {
    lab_run *runs = &planted;
    size_t count = 7;
    const locus_status status = lab_store_runs_between(store, 0, 9, &runs, &count, error);
    assert_true(runs == NULL && count == 0);
    return status;
}

static locus_status rename_run(locus_error *error) {
    return lab_store_run_rename(store, planted.id, "other", error);
}

static locus_status delete_run(locus_error *error) {
    return lab_store_run_delete(store, planted.id, error);
}

static locus_status mark(locus_error *error) {
    return lab_store_run_imported(store, planted.id, error);
}

static locus_status note(locus_error *error) {
    return lab_store_run_note(store, planted.id, "text", error);
}

static locus_status forget_note(locus_error *error) {
    return lab_store_run_note(store, planted.id, "", error);
}

static locus_status tell_parent(locus_error *error) {
    return lab_store_run_parent(store, planted.id, "parent", error);
}

static locus_status add_metric(locus_error *error) {
    return lab_store_measured(store, planted.id, 1, &(lab_measured){"dev.loss", 0.5}, 1, error);
}

static locus_status cut(locus_error *error) {
    return lab_store_metrics_cut(store, planted.id, 1, error);
}

static locus_status copy(locus_error *error) {
    return lab_store_metrics_copy(store, planted.id, planted.id, 1, error);
}

static locus_status curve(locus_error *error) {
    lab_metric *metrics = (lab_metric *)(void *)&planted;
    size_t count = 7;
    const locus_status status = lab_store_metrics(store, planted.id, "dev.loss", &metrics, &count, error);
    assert_true(metrics == NULL && count == 0);
    return status;
}

static locus_status curve_names(locus_error *error) {
    const char *name = "", **names = &name;
    size_t count = 7;
    const locus_status status = lab_store_metric_names(store, planted.id, &names, &count, error);
    assert_true(names == NULL && count == 0);
    return status;
}

static locus_status set_final(locus_error *error) {
    return lab_store_final_set(store, planted.id, "test", "exact", 0.5, error);
}

static locus_status finals(locus_error *error) {
    lab_final *found = (lab_final *)(void *)&planted;
    size_t count = 7;
    const locus_status status = lab_store_finals(store, planted.id, &found, &count, error);
    assert_true(found == NULL && count == 0);
    return status;
}

static locus_status scores(locus_error *error) {
    lab_run_score *found = (lab_run_score *)(void *)&planted;
    size_t count = 7;
    const locus_status status = lab_store_scores(store, "test", "exact", &found, &count, error);
    assert_true(found == NULL && count == 0);
    return status;
}

static locus_status show(locus_error *error) {
    cJSON *root = lab_run_json(store, &planted, error);
    assert_null(root);
    return error->status;
}

/* What is exported is whole or not there. */
static locus_status export_csv(locus_error *error) {
    const char *path = scratch_path("made.csv");
    const locus_status status = lab_run_export_csv(store, &planted, 1, path, error);
    assert_int_not_equal(access(path, F_OK), 0);
    return status;
}

static locus_status export_events(locus_error *error) {
    const locus_status status = lab_run_export_events(store, &planted, 1, scratch_path("events"), error);
    assert_int_not_equal(access(scratch_path("events/planted/events.out.tfevents.0.locus"), F_OK), 0);
    return status;
}

static locus_status write_json(locus_error *error) {
    const char *path = scratch_path("made.json");
    const locus_status status = lab_run_file_write(store, &planted, 1, NULL, path, error);
    assert_int_not_equal(access(path, F_OK), 0);
    return status;
}

static void tables_that_are_gone(void **state) {
    (void)state;
    static const struct {
        const char *table;
        locus_status (*attempt)(locus_error *error);
    } cases[] = {
        {"run", insert},
        {"run", update},
        {"run", find},
        {"run", list},
        {"run", listed},
        {"run", between},
        {"run", rename_run},
        {"run", delete_run},
        {"imported", mark},
        {"note", note},
        {"note", forget_note},
        {"parent", tell_parent},
        {"evaluation", add_metric},
        {"evaluation", cut},
        {"evaluation", copy},
        {"evaluation", curve},
        {"evaluation", curve_names},
        {"evaluation", export_csv},
        {"evaluation", write_json},
        {"final", set_final},
        {"final", finals},
        {"final", scores},
        {"final", show},
        {"final", export_csv},
        {"final", export_events},
        {"evaluation", export_events},
        {"final", write_json},
    };
    plant();
    for (size_t i = 0; i < COUNT(cases); i++) {
        locus_error error = {0};
        char sql[64], start[1200], end[32];
        snprintf(sql, sizeof sql, "BEGIN; DROP TABLE %s", cases[i].table);
        execute("PRAGMA foreign_keys = OFF");
        execute(sql);
        assert_int_equal(cases[i].attempt(&error), LOCUS_ERROR_IO);
        assert_int_equal(error.status, LOCUS_ERROR_IO);
        assert_string_equal(error.argument, "store");
        snprintf(start, sizeof start, "the run store '%s' failed: no such table: ", store_path);
        snprintf(end, sizeof end, "%s", cases[i].table);
        const size_t length = strlen(error.message);
        if (strncmp(error.message, start, strlen(start)) != 0 || strcmp(error.message + length - strlen(end), end) != 0)
            fail_msg("case %zu: '%s'", i, error.message);
        lab_store_rollback(store);
        execute("PRAGMA foreign_keys = ON");
    }
    assert_int_equal(lab_store_run_delete(store, planted.id, NULL), LOCUS_OK);
}

/* ---- trainings ---- */

/* Four steps, scored after two and after four. */
static lab_train_config tiny(const char *task) {
    lab_train_config config;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find(task), "smoke", LAB_SETUP_PAPER, NULL), LOCUS_OK);
    config.encoding = "rope";
    config.budget = "custom";
    config.model.dim = config.model.feed_forward = 16;
    config.model.heads = 2;
    config.model.encoder_layers = config.model.decoder_layers = 1;
    LAB_WORDS(&config.data)->length_mean = 4;
    LAB_WORDS(&config.data)->length_deviation = 1;
    LAB_TREES(&config.data)->depth_mean = 2;
    config.train_samples = 16;
    config.dev_samples = config.test_samples = 8;
    config.greedy_samples = 2;
    config.batch = 8;
    config.steps = 4;
    config.evaluate_every = 2;
    config.test_lengths[0] = 3;
    config.test_length_count = 1;
    return config;
}

/* Something is put into a file's place after the first step. */
typedef struct scene {
    lab_train_request request;
    const char *blocked; /* a path that becomes a folder; NULL: nothing does */
    uint64_t stop_at;    /* 0: nowhere */
    bool at_once;        /* before the first step */
} scene;

static bool look(void *context, const lab_progress *progress) {
    const scene *on = context;
    if (on->blocked != NULL && progress->step == 1)
        mkdir(on->blocked, 0777);
    return !on->at_once && (on->stop_at == 0 || progress->step < on->stop_at);
}

static locus_status train(scene *on, lab_run *run, locus_error *error) {
    on->request.folder = folder;
    on->request.command = "test";
    on->request.every_step = true;
    on->request.progress = look;
    on->request.context = on;
    *error = (locus_error){0};
    return lab_train(store, &on->request, run, error);
}

static void assert_fails(scene *on, const char *says) {
    lab_run run;
    locus_error error;
    const locus_status status = train(on, &run, &error);
    assert_string_equal(error.message, says);
    assert_int_equal(status, LOCUS_ERROR_IO);
    lab_run_free(&run);
}

static void assert_trains(scene *on) {
    lab_run run;
    locus_error error;
    if (train(on, &run, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(run.state, LAB_RUN_DONE);
    assert_string_equal(run.message, "");
    lab_run_free(&run);
}

static lab_run row_of(const char *name) {
    lab_run run;
    assert_int_equal(lab_store_run_find(store, name, &run, NULL), LOCUS_OK);
    return run;
}

static int64_t number(const char *sql) {
    int64_t value = -1;
    assert_int_equal(lab_store_integer(store, sql, &value, NULL), LOCUS_OK);
    return value;
}

/* How many rows of a table two runs do not have alike. */
static void assert_same(const char *one, const char *other) {
    static const char *const tables[] = {"SELECT step, metrics FROM evaluation",
                                         "SELECT \"set\", name, value FROM final"};
    for (size_t i = 0; i < 2; i++) {
        char sql[600];
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM (SELECT * FROM (%s WHERE run = (SELECT id FROM run WHERE name = '%s')) EXCEPT "
                 "SELECT * FROM (%s WHERE run = (SELECT id FROM run WHERE name = '%s')))",
                 tables[i], one, tables[i], other);
        assert_int_equal(number(sql), 0);
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM (SELECT * FROM (%s WHERE run = (SELECT id FROM run WHERE name = '%s')) EXCEPT "
                 "SELECT * FROM (%s WHERE run = (SELECT id FROM run WHERE name = '%s')))",
                 tables[i], other, tables[i], one);
        assert_int_equal(number(sql), 0);
    }
}

/* From now on SQLite refuses a row; the message is what it says. */
static void refuse(const char *rows, const char *when) {
    char sql[400];
    snprintf(sql, sizeof sql,
             "CREATE TEMP TRIGGER refused BEFORE %s WHEN %s BEGIN SELECT RAISE(ABORT, 'not today'); END", rows, when);
    execute(sql);
}

static const char *refused(void) {
    static char text[1200];
    snprintf(text, sizeof text, "the run store '%s' failed: not today", store_path);
    return text;
}

/* What was measured before the failure stays, and a step that could not be written is not there. */
static void curves_that_cannot_be_written(void **state) {
    (void)state;
    scene whole = {.request = {.config = tiny("copy"), .name = "whole"}}, parts = whole;
    assert_trains(&whole);
    parts.request.name = "parts";
    refuse("INSERT ON main.evaluation", "NEW.step = 4");
    assert_fails(&parts, refused());
    execute("DROP TRIGGER refused");
    assert_int_equal(number("SELECT max(step) FROM evaluation JOIN run ON run.id = run WHERE run.name = 'parts'"), 2);
    assert_int_equal(number("SELECT count(*) FROM evaluation WHERE step = 4"), 1);
    lab_run run = row_of("parts");
    assert_int_equal(run.state, LAB_RUN_STOPPED);
    assert_string_equal(run.message, refused());
    assert_int_equal(run.steps_done, 4);
    assert_true(run.ended[0] != '\0');
    lab_run_free(&run);
    assert_trains(&parts); /* from the beginning: no checkpoint was due */
    assert_same("whole", "parts");
}

/* Scores of a set are all there or none, and the training ends there when it goes on. */
static void expect_scores(const lab_train_config *config, const char *name, const char *const (*refusals)[2],
                          size_t count) {
    char whole_name[32];
    snprintf(whole_name, sizeof whole_name, "%s-whole", name);
    scene whole = {.request = {.config = *config, .name = whole_name}}, parts = whole;
    parts.request.name = name;
    assert_trains(&whole);
    for (size_t i = 0; i < count; i++) {
        char when[96], sql[200];
        snprintf(when, sizeof when, "NEW.\"set\" LIKE '%s' AND NEW.name = '%s'", refusals[i][0], refusals[i][1]);
        refuse("INSERT ON main.final", when);
        assert_fails(&parts, refused());
        execute("DROP TRIGGER refused");
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM final JOIN run ON run.id = run WHERE run.name = '%s' AND \"set\" LIKE '%s'",
                 name, refusals[i][0]);
        assert_int_equal(number(sql), 0);
        lab_run run = row_of(name);
        assert_int_equal(run.state, LAB_RUN_STOPPED);
        assert_string_equal(run.message, refused());
        assert_int_equal(run.steps_done, lab_config_steps(config));
        lab_run_free(&run);
    }
    refuse("UPDATE ON main.run", "NEW.state = 1");
    assert_fails(&parts, refused());
    execute("DROP TRIGGER refused");
    assert_trains(&parts);
    assert_same(whole_name, name);
}

static void scores_that_cannot_be_written(void **state) {
    (void)state;
    static const char *const words[][2] = {{"test", "accuracy"},     {"test", "exact"},     {"test", "loss"},
                                           {"dev", "accuracy"},      {"dev", "loss"},       {"dev", "best_step"},
                                           {"test", "greedy_exact"}, {"test:3", "accuracy"}};
    static const char *const trees[][2] = {{"depth:%", "accuracy"},
                                           {"depth:%", "exact"},
                                           {"depth:%", "samples"},
                                           {"depth:%", "greedy_exact"},
                                           {"test", "exact"}};
    const lab_train_config copies = tiny("copy"), reordered = tiny("tree-reorder");
    expect_scores(&copies, "words", words, COUNT(words));
    expect_scores(&reordered, "trees", trees, COUNT(trees));
}

/* Of another size, for one who asks later. */
static void further_scores(void **state) {
    (void)state;
    const lab_task *task = lab_task_find("copy");
    const lab_outcome outcome = {.task = task,
                                 .score = {.loss = 1.0, .tokens = 4, .correct = 2, .samples = 2, .exact = 1}};
    lab_run run = row_of("words");
    locus_error error = {0};
    const int64_t before = number("SELECT count(*) FROM final");
    refuse("INSERT ON main.final", "NEW.name = 'exact'");
    assert_int_equal(lab_train_store(store, &run, 7, &outcome, &error), LOCUS_ERROR_IO);
    assert_string_equal(error.message, refused());
    assert_int_equal(number("SELECT count(*) FROM final"), before);
    execute("DROP TRIGGER refused");
    assert_int_equal(lab_train_store(store, &run, 7, &outcome, &error), LOCUS_OK);
    assert_int_equal(
        number("SELECT count(*) FROM final WHERE \"set\" = 'test:7' AND name = 'accuracy' AND value = 0.5"), 1);
    assert_int_equal(number("SELECT count(*) FROM final WHERE \"set\" = 'test:7' AND name = 'exact' AND value = 0.5"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM final WHERE \"set\" = 'test:7' AND name = 'loss' AND value = 0.25"),
                     1);
    lab_run_free(&run);
}

/* The row itself: the training begins again, and what cannot be thrown away stays. */
static void rows_that_cannot_be_written(void **state) {
    (void)state;
    scene on = {.request = {.config = tiny("copy"), .name = "rows"}};
    refuse("UPDATE ON main.run", "NEW.steps_done = 0");
    assert_fails(&on, refused());
    execute("DROP TRIGGER refused");
    refuse("UPDATE ON main.run", "NEW.steps_done = 2");
    assert_fails(&on, refused());
    execute("DROP TRIGGER refused");
    assert_trains(&on);
    assert_same("whole", "rows");
    on.request.restart = true;
    refuse("DELETE ON main.run", "OLD.name = 'rows'");
    assert_fails(&on, refused()); /* and the run is still there */
    execute("DROP TRIGGER refused");
    assert_same("whole", "rows");
    assert_int_equal(access(scratch_path("runs/rows/best.safetensors"), F_OK), 0);
    on.request.restart = false;
    assert_trains(&on);
}

/* ---- files ---- */

static const char *sentence(const char *format, const char *path, const char *reason) {
    static char text[1400];
    snprintf(text, sizeof text, format, path, reason);
    return text;
}

/* A folder where a checkpoint belongs. */
static void files_that_cannot_be_written(void **state) {
    (void)state;
    static const char *const names[] = {"last.safetensors", "best.safetensors"};
    for (size_t i = 0; i < COUNT(names); i++) {
        char name[32], path[64], blocked[1024];
        snprintf(name, sizeof name, "blocked-%zu", i);
        snprintf(path, sizeof path, "runs/%s/%s", name, names[i]);
        snprintf(blocked, sizeof blocked, "%s", scratch_path(path));
        scene on = {.request = {.config = tiny("copy"), .name = name}, .blocked = blocked};
        assert_fails(&on, sentence("cannot write '%s': %s", blocked, "Is a directory"));
        lab_run run = row_of(name);
        assert_int_equal(run.state, LAB_RUN_STOPPED);
        assert_string_equal(run.message, sentence("cannot write '%s': %s", blocked, "Is a directory"));
        assert_int_equal(run.steps_done, 4);
        lab_run_free(&run);
        on.blocked = NULL;
        on.request.restart = true;
        assert_fails(&on, sentence("cannot remove '%s': %s", blocked, "Is a directory"));
        assert_int_equal(rmdir(blocked), 0);
        on.request.restart = false;
        assert_trains(&on);
        assert_same("whole", name);
    }
}

/* The state of a training that is done is kept for those that go on from it. */
static void states_that_cannot_be_kept(void **state) {
    (void)state;
    char kept[1024], last[1024];
    scene on = {.request = {.config = tiny("copy"), .name = "kept", .keep_state = true}, .blocked = kept};
    snprintf(kept, sizeof kept, "%s", scratch_path("runs/kept/state.safetensors"));
    snprintf(last, sizeof last, "%s", scratch_path("runs/kept/last.safetensors"));
    assert_fails(&on, sentence("cannot rename '%s': %s", last, "Is a directory"));
    assert_int_equal(access(last, F_OK), 0);
    on.blocked = NULL;
    assert_fails(&on, sentence("cannot rename '%s': %s", last, "Is a directory")); /* done, but for that */
    on.request.restart = true;
    assert_fails(&on, sentence("cannot remove '%s': %s", kept, "Is a directory"));
    on.request.restart = false;
    assert_int_equal(rmdir(kept), 0);
    assert_trains(&on);
    assert_same("whole", "kept");
    struct stat facts;
    assert_true(stat(kept, &facts) == 0 && S_ISREG(facts.st_mode));
    assert_int_not_equal(access(last, F_OK), 0);
}

/* ---- what is refused before the first step ---- */

/* One line, and neither a row nor a folder. */
static void assert_refused(scene *on, locus_status wanted, const char *argument, const char *says) {
    lab_run run, found;
    locus_error error;
    const locus_status status = train(on, &run, &error);
    assert_string_equal(error.message, says);
    assert_string_equal(error.argument, argument);
    assert_int_equal(status, wanted);
    assert_int_equal(run.id, 0);
    assert_int_equal(lab_store_run_find(store, on->request.name, &found, NULL), LOCUS_ERROR_ARGUMENT);
    assert_int_not_equal(access(sentence("%s/%s", folder, on->request.name), F_OK), 0);
    lab_run_free(&run);
}

static void trainings_that_cannot_begin(void **state) {
    (void)state;
    scene on = {.request = {.config = tiny("copy"), .name = "begun"}};
    LAB_WORDS(&on.request.config.data)->length_mean = 4;
    LAB_WORDS(&on.request.config.data)->length_deviation = 0;
    on.request.config.encoding = "learned(size=4)";
    assert_refused(&on, LOCUS_ERROR_POSITION, "encoding",
                   "a test sample has 5 tokens: position 4 of token 4 is outside the learned table of 4 rows (0 … 3): "
                   "raise 'size' or move the positions");
    on.request.config.encoding = "rope";
    on.request.config.continued_at = 2;
    assert_refused(&on, LOCUS_ERROR_ARGUMENT, "continue", "the training goes on from another run: name it");
    on.request.config.continued_at = 0;
    on.request.config.init_digest = 7;
    assert_refused(&on, LOCUS_ERROR_ARGUMENT, "init-from",
                   "the training begins from parameters of a file: --init-from names it");
    on.request.config.init_digest = 0;
    execute("ALTER TABLE run RENAME TO gone");
    assert_fails(&on, sentence("the run store '%s' failed: %s", store_path, "no such table: run"));
    execute("ALTER TABLE gone RENAME TO run");
    assert_int_not_equal(access(scratch_path("runs/begun"), F_OK), 0);
    /* Seen in the first step only, when there is a row already. */
    lab_train_config fresh;
    assert_int_equal(lab_train_config_budget(&fresh, lab_task_find("addition"), "smoke", LAB_SETUP_PAPER, NULL),
                     LOCUS_OK);
    scene sums = {.request = {.config = tiny("addition"), .name = "summed"}};
    sums.request.config.data = fresh.data;
    LAB_PROBLEMS(&sums.request.config.data)->sequence = 30;
    sums.request.config.model.encoder_layers = 0;
    sums.request.config.test_length_count = 0;
    sums.request.config.encoding = "learned(size=12)";
    assert_refused(&sums, LOCUS_ERROR_POSITION, "positions",
                   "position 12 of token 12 is outside the learned table of 12 rows (0 … 11): raise 'size' or move the "
                   "positions");
}

/* Stopped before the first step it has its row and its checkpoint all the same. */
static void stopped_at_once(void **state) {
    (void)state;
    scene on = {.request = {.config = tiny("copy"), .name = "early"}, .at_once = true};
    lab_run run;
    locus_error error;
    assert_int_equal(train(&on, &run, &error), LOCUS_ERROR_INTERRUPTED);
    assert_string_equal(error.message, "stopped after step 0 of 4");
    lab_run_free(&run);
    run = row_of("early");
    assert_int_equal(run.state, LAB_RUN_STOPPED);
    assert_string_equal(run.message, error.message);
    assert_int_equal(access(scratch_path("runs/early/last.safetensors"), F_OK), 0);
    lab_run_free(&run);
    on.at_once = false;
    assert_trains(&on);
    assert_same("whole", "early");
}

/* A checkpoint whose row is gone, with all that may lie beside it; a name that is another run's number. */
static void checkpoints_without_a_row(void **state) {
    (void)state;
    scene on = {.request = {.config = tiny("copy"), .name = "lost"}, .stop_at = 2};
    lab_run run;
    locus_error error;
    assert_int_equal(train(&on, &run, &error), LOCUS_ERROR_INTERRUPTED);
    char number_of_it[32];
    snprintf(number_of_it, sizeof number_of_it, "%lld", (long long)run.id);
    lab_run_free(&run);
    on.stop_at = 0;
    scene numbered = {.request = {.config = tiny("copy"), .name = number_of_it}};
    assert_trains(&numbered);
    assert_same("whole", number_of_it);
    run = row_of("lost");
    assert_int_equal(run.steps_done, 2);
    assert_int_equal(lab_store_run_delete(store, run.id, NULL), LOCUS_OK);
    lab_run_free(&run);
    char last[1024];
    snprintf(last, sizeof last, "%s", scratch_path("runs/lost/last.safetensors"));
    assert_fails(&on, sentence("'%s' belongs to no run of this store: name the store that it was made with, or %s",
                               last, "--restart"));
    assert_int_equal(access(last, F_OK), 0);
    static const char *const strange[] = {"runs/lost/.state.safetensors.tmp-0123456789abcdef",
                                          "runs/lost/tokenizer.model", "runs/lost/vocab.txt"};
    for (size_t i = 0; i < COUNT(strange); i++)
        scratch_write(strange[i], "x", 1);
    on.request.restart = true;
    assert_trains(&on);
    assert_same("whole", "lost");
    for (size_t i = 0; i < COUNT(strange); i++)
        if (access(scratch_path(strange[i]), F_OK) == 0)
            fail_msg("%s is still there", strange[i]);
}

/* Of a rate that changes nothing the first score stays the best: two more are waited for, and nothing else. */
static void no_better_scores(void **state) {
    (void)state;
    scene on = {.request = {.config = tiny("copy"), .name = "patient"}};
    on.request.config.schedule = LAB_SCHEDULE_CONSTANT;
    on.request.config.rate_peak = 1e-300;
    on.request.config.evaluate_every = 1;
    on.request.config.steps = 9;
    on.request.config.patience = 2;
    lab_run run;
    locus_error error;
    assert_int_equal(train(&on, &run, &error), LOCUS_OK);
    assert_string_equal(run.message, "ended early: 2 development scores in a row were no better");
    assert_int_equal(run.steps_done, 3);
    assert_int_equal(run.state, LAB_RUN_DONE);
    lab_run_free(&run);
    /* What is done is done: it needs no files any more. */
    assert_int_equal(unlink(scratch_path("runs/patient/best.safetensors")), 0);
    assert_int_equal(train(&on, &run, &error), LOCUS_OK);
    assert_int_equal(run.steps_done, 3);
    lab_run_free(&run);
}

/* Lengths that a table has no positions for are noted one by one, and not tried again. */
static void lengths_out_of_reach(void **state) {
    (void)state;
    static const char notes[] = "test:8: position 7 of token 7 is outside the learned table of 7 rows (0 … 6): raise "
                                "'size' or move the positions; test:9: position 7 of token 7 is outside the learned "
                                "table of 7 rows (0 … 6): raise 'size' or move the positions";
    scene on = {.request = {.config = tiny("copy"), .name = "short"}};
    LAB_WORDS(&on.request.config.data)->length_mean = 4;
    LAB_WORDS(&on.request.config.data)->length_deviation = 0;
    on.request.config.encoding = "learned(size=7)";
    on.request.config.test_lengths[0] = 8;
    on.request.config.test_lengths[1] = 3;
    on.request.config.test_lengths[2] = 9;
    on.request.config.test_length_count = 3;
    lab_run run;
    locus_error error;
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(train(&on, &run, &error), LOCUS_OK);
        assert_string_equal(run.message, notes);
        assert_int_equal(run.state, LAB_RUN_DONE);
        lab_run_free(&run);
        unlink(scratch_path("runs/short/best.safetensors")); /* which only another length would need */
    }
    assert_int_equal(number("SELECT count(*) FROM final WHERE run = (SELECT id FROM run WHERE name = 'short') AND "
                            "\"set\" IN ('test', 'test:3') AND name = 'accuracy'"),
                     2);
    assert_int_equal(number("SELECT count(*) FROM final WHERE run = (SELECT id FROM run WHERE name = 'short') AND "
                            "\"set\" NOT IN ('test', 'test:3', 'dev')"),
                     0);
    on.request.config.test_lengths[3] = 5;
    on.request.config.test_length_count = 4;
    assert_int_equal(train(&on, &run, &error), LOCUS_ERROR_IO);
    assert_string_equal(error.message, sentence("cannot read '%s': %s", scratch_path("runs/short/best.safetensors"),
                                                "No such file or directory"));
    lab_run_free(&run);
}

/* The best parameters are kept although no checkpoint was due before the loss was lost. */
static void losses_that_are_not_finite(void **state) {
    (void)state;
    scene on = {.request = {.config = tiny("copy"), .name = "wild"}};
    on.request.config.schedule = LAB_SCHEDULE_CONSTANT;
    on.request.config.rate_peak = 9e5;
    on.request.config.evaluate_every = 1;
    on.request.config.steps = 200;
    on.request.config.checkpoint_seconds = 3600;
    lab_run run;
    locus_error error;
    assert_int_equal(train(&on, &run, &error), LOCUS_ERROR_NUMERIC);
    assert_non_null(strstr(error.message, "the development loss is not finite at step "));
    assert_string_equal(run.message, error.message);
    assert_int_equal(run.state, LAB_RUN_FAILED);
    assert_true(run.steps_done >= 1);
    assert_int_equal(access(scratch_path("runs/wild/best.safetensors"), F_OK), 0);
    lab_run_free(&run);
}

/* ---- from elsewhere ---- */

/* All runs of the store as a file, and as a store. */
typedef struct origin {
    char file[1024], store[1024];
} origin;

static locus_status take_file(const origin *from, locus_error *error) {
    lab_run_file_content content;
    const locus_status status = lab_run_file_read(store, from->file, &content, error);
    assert_int_equal(content.added > 0, status == LOCUS_OK);
    assert_null(content.table);
    return status;
}

static locus_status take_store(const origin *from, locus_error *error) {
    const lab_merge_request request = {.path = from->store, .folder = folder};
    lab_merge_result result;
    const locus_status status = lab_store_merge(store, &request, &result, error);
    assert_int_equal(result.added > 0, status == LOCUS_OK);
    return status;
}

/* Into a store that is empty, or has a run: all or nothing. */
static void expect_taken(const origin *from, const char *name, bool empty,
                         locus_status (*take)(const origin *from, locus_error *error)) {
    static const char *const tables[] = {"evaluation", "final", "imported", "note", "parent"};
    lab_store *const before = store;
    locus_error error = {0};
    char path[1024], says[1200];
    snprintf(path, sizeof path, "%s", scratch_path(name));
    assert_int_equal(lab_store_open(&store, path, NULL), LOCUS_OK);
    if (!empty)
        plant();
    const int64_t runs = number("SELECT count(*) FROM run"), points = number("SELECT count(*) FROM evaluation"),
                  scores_there = number("SELECT count(*) FROM final");
    snprintf(says, sizeof says, "the run store '%s' failed: not today", path);
    for (size_t i = 0; i < COUNT(tables); i++) {
        char rows[64];
        snprintf(rows, sizeof rows, "INSERT ON main.%s", tables[i]);
        refuse(rows, "1");
        assert_int_equal(take(from, &error), LOCUS_ERROR_IO);
        assert_string_equal(error.message, says);
        execute("DROP TRIGGER refused");
        assert_int_equal(number("SELECT count(*) FROM run"), runs);
        assert_int_equal(number("SELECT count(*) FROM evaluation"), points);
        assert_int_equal(number("SELECT count(*) FROM final"), scores_there);
        assert_int_equal(number("SELECT count(*) FROM imported") + number("SELECT count(*) FROM note"), 0);
    }
    assert_int_equal(take(from, &error), LOCUS_OK);
    lab_run run = row_of("whole");
    assert_true(run.imported);
    assert_string_equal(run.note, "seen");
    assert_string_equal(run.parent, "older");
    lab_run_free(&run);
    assert_int_equal(number("SELECT count(*) FROM evaluation JOIN run ON run.id = run WHERE run.name = 'whole'"), 2);
    assert_true(number("SELECT count(*) FROM final JOIN run ON run.id = run WHERE run.name = 'whole'") > 6);
    lab_store_close(&store);
    store = before;
}

static void imports_that_fail(void **state) {
    (void)state;
    origin from;
    lab_run *runs, run = row_of("whole");
    size_t count;
    snprintf(from.file, sizeof from.file, "%s", scratch_path("runs.json"));
    snprintf(from.store, sizeof from.store, "%s", store_path);
    assert_int_equal(lab_store_run_note(store, run.id, "seen", NULL), LOCUS_OK);
    assert_int_equal(lab_store_run_parent(store, run.id, "older", NULL), LOCUS_OK);
    assert_int_equal(lab_store_runs(store, NULL, &runs, &count, NULL), LOCUS_OK);
    assert_int_equal(lab_run_file_write(store, runs, count, NULL, from.file, NULL), LOCUS_OK);
    expect_taken(&from, "a.db", true, take_file);
    expect_taken(&from, "b.db", false, take_file);
    lab_runs_free(runs, count);
    lab_run_free(&run);
    /* One of each training: copies of it are known. */
    execute("DELETE FROM run WHERE name <> 'whole'");
    expect_taken(&from, "c.db", true, take_store);
    expect_taken(&from, "d.db", false, take_store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_that_are_gone),
        cmocka_unit_test(curves_that_cannot_be_written),
        cmocka_unit_test(scores_that_cannot_be_written),
        cmocka_unit_test(further_scores),
        cmocka_unit_test(rows_that_cannot_be_written),
        cmocka_unit_test(files_that_cannot_be_written),
        cmocka_unit_test(states_that_cannot_be_kept),
        cmocka_unit_test(trainings_that_cannot_begin),
        cmocka_unit_test(stopped_at_once),
        cmocka_unit_test(checkpoints_without_a_row),
        cmocka_unit_test(no_better_scores),
        cmocka_unit_test(lengths_out_of_reach),
        cmocka_unit_test(losses_that_are_not_finite),
        cmocka_unit_test(imports_that_fail),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
