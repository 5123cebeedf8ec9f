/* SPDX-License-Identifier: MIT */
/* The run store: what is written comes back, cuts and replacements, several processes at once, stores that may only be
 * read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/store/store.h"
#include "train/store/store_sql.h"
#include "unit/child_exit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[128];

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/locus-store-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/deep/er/locus.db", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static lab_store *open_store(void) {
    lab_store *store;
    locus_error error = {0};
    if (lab_store_open(&store, path, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return store;
}

static lab_run make_run(const char *name) {
    lab_run run = {
        .seed = UINT64_MAX - 3, .data_seed = 7, .state = LAB_RUN_STOPPED, .steps_total = 100, .steps_done = 40};
    char **texts[] = {&run.name,    &run.task,    &run.encoding, &run.setup,   &run.embedding_init,
                      &run.budget,  &run.config,  &run.command,  &run.version, &run.machine,
                      &run.message, &run.started, &run.ended};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[64];
        snprintf(text, sizeof text, i == 0 ? "%s" : "%s'\" ⌈p⌉ %zu", name, i);
        *texts[i] = strdup(text);
    }
    run.tokens_seen = 1ull << 40;
    run.wall_seconds = 1.0 / 3;
    run.tokens_per_second = 12345.678;
    run.peak_bytes = 1ll << 33;
    run.parameters = 918000;
    return run;
}

static void assert_runs_equal(const lab_run *a, const lab_run *b) {
    assert_int_equal(a->id, b->id);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->task, b->task);
    assert_string_equal(a->encoding, b->encoding);
    assert_string_equal(a->setup, b->setup);
    assert_string_equal(a->embedding_init, b->embedding_init);
    assert_string_equal(a->budget, b->budget);
    assert_string_equal(a->config, b->config);
    assert_string_equal(a->command, b->command);
    assert_string_equal(a->version, b->version);
    assert_string_equal(a->machine, b->machine);
    assert_string_equal(a->message, b->message);
    assert_string_equal(a->started, b->started);
    assert_string_equal(a->ended, b->ended);
    assert_true(a->seed == b->seed && a->data_seed == b->data_seed && a->state == b->state);
    assert_true(a->steps_total == b->steps_total && a->steps_done == b->steps_done && a->tokens_seen == b->tokens_seen);
    assert_memory_equal(&a->wall_seconds, &b->wall_seconds, sizeof(double));
    assert_memory_equal(&a->tokens_per_second, &b->tokens_per_second, sizeof(double));
    assert_true(a->peak_bytes == b->peak_bytes && a->parameters == b->parameters);
}

static void test_runs(void **state) {
    (void)state;
    lab_store *store = open_store();
    locus_error error = {0};
    lab_run run = make_run("copy-rope"), found, again = make_run("copy-rope");
    assert_int_equal(lab_store_run_insert(store, &run, &error), LOCUS_OK);
    assert_int_equal(lab_store_run_insert(store, &again, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(lab_store_run_find(store, "copy-rope", &found, &error), LOCUS_OK);
    assert_runs_equal(&run, &found);
    lab_run_free(&found);
    run.steps_done = 100;
    run.state = LAB_RUN_DONE;
    assert_int_equal(lab_store_run_update(store, &run, &error), LOCUS_OK);
    lab_store_close(&store);

    store = open_store();
    char id[32];
    snprintf(id, sizeof id, "%lld", (long long)run.id);
    assert_int_equal(lab_store_run_find(store, id, &found, &error), LOCUS_OK);
    assert_runs_equal(&run, &found);
    lab_run_free(&found);
    assert_int_equal(lab_store_run_find(store, "nobody", &found, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "nobody"));
    assert_int_equal(lab_store_run_delete(store, run.id, &error), LOCUS_OK);
    assert_int_equal(lab_store_run_find(store, "copy-rope", &found, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(lab_store_run_update(store, &run, &error), LOCUS_ERROR_IO);
    lab_run_free(&run);
    lab_run_free(&again);
    lab_store_close(&store);
}

static void test_filter(void **state) {
    (void)state;
    lab_store *store = open_store();
    locus_error error = {0};
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "run-%d", i);
        lab_run run = make_run(name);
        free(run.task);
        run.task = strdup(i % 4 == 0 ? "copy" : "reverse");
        assert_int_equal(lab_store_run_insert(store, &run, &error), LOCUS_OK);
        lab_run_free(&run);
    }
    lab_run *runs;
    size_t count;
    const lab_run_filter filter = {.task = "copy"};
    assert_int_equal(lab_store_runs(store, &filter, &runs, &count, &error), LOCUS_OK);
    assert_int_equal(count, 10);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(runs[i].task, "copy");
        assert_true(i == 0 || runs[i].id > runs[i - 1].id);
        lab_run_free(&runs[i]);
    }
    free(runs);
    assert_int_equal(lab_store_runs(store, NULL, &runs, &count, &error), LOCUS_OK);
    assert_int_equal(count, 40);
    lab_runs_free(runs, count);
    lab_store_close(&store);
}

static void test_metrics(void **state) {
    (void)state;
    lab_store *store = open_store();
    locus_error error = {0};
    lab_run run = make_run("m");
    assert_int_equal(lab_store_run_insert(store, &run, &error), LOCUS_OK);
    assert_int_equal(lab_store_begin(store, &error), LOCUS_OK);
    for (uint64_t step = 200; step > 0; step--)
        assert_int_equal(
            lab_store_measured(store, run.id, step, &(lab_measured){"dev.loss", 1.0 / (double)step}, 1, &error),
            LOCUS_OK);
    assert_int_equal(lab_store_measured(store, run.id, 200, &(lab_measured){"train.loss", (double)NAN}, 1, &error),
                     LOCUS_OK);
    assert_int_equal(lab_store_commit(store, &error), LOCUS_OK);
    lab_metric *metrics;
    size_t count;
    assert_int_equal(lab_store_metrics(store, run.id, "dev.loss", &metrics, &count, &error), LOCUS_OK);
    assert_int_equal(count, 200);
    for (size_t i = 0; i < count; i++) {
        double expected = 1.0 / (double)(i + 1);
        assert_int_equal(metrics[i].step, i + 1);
        assert_memory_equal(&metrics[i].value, &expected, sizeof expected);
    }
    free(metrics);
    assert_int_equal(lab_store_metrics(store, run.id, "train.loss", &metrics, &count, &error), LOCUS_OK);
    assert_true(count == 1 && isnan(metrics[0].value));
    free(metrics);
    assert_int_equal(lab_store_metrics_cut(store, run.id, 150, &error), LOCUS_OK);
    assert_int_equal(lab_store_measured(store, run.id, 150, &(lab_measured){"dev.loss", 9.0}, 1, &error), LOCUS_OK);
    assert_int_equal(lab_store_metrics(store, run.id, "dev.loss", &metrics, &count, &error), LOCUS_OK);
    assert_true(count == 150 && metrics[149].value > 8.5);
    free(metrics);

    lab_final *finals;
    assert_int_equal(lab_store_final_set(store, run.id, "test:200", "accuracy", 0.5, &error), LOCUS_OK);
    assert_int_equal(lab_store_final_set(store, run.id, "test", "exact", 0.25, &error), LOCUS_OK);
    assert_int_equal(lab_store_final_set(store, run.id, "test", "exact", 0.75, &error), LOCUS_OK);
    assert_int_equal(lab_store_finals(store, run.id, &finals, &count, &error), LOCUS_OK);
    assert_int_equal(count, 2);
    assert_string_equal(finals[0].set, "test");
    assert_true(fabs(finals[0].value - 0.75) < 1e-15);
    assert_string_equal(finals[1].set, "test:200");
    free(finals);
    /* Names of any length come back whole: cut, these two would be one. */
    char one[501], two[501];
    memset(one, 'x', sizeof one);
    memcpy(one, "test:", 5);
    one[500] = '\0';
    memcpy(two, one, sizeof two);
    two[499] = 'y';
    assert_int_equal(lab_store_final_set(store, run.id, one, two, 1.0, &error), LOCUS_OK);
    assert_int_equal(lab_store_final_set(store, run.id, two, one, 2.0, &error), LOCUS_OK);
    assert_int_equal(lab_store_finals(store, run.id, &finals, &count, &error), LOCUS_OK);
    assert_int_equal(count, 4);
    assert_string_equal(finals[2].set, one);
    assert_string_equal(finals[2].name, two);
    assert_string_equal(finals[3].set, two);
    assert_string_equal(finals[3].name, one);
    assert_true(finals[2].value < 1.5 && finals[3].value > 1.5);
    free(finals);

    assert_int_equal(lab_store_begin(store, &error), LOCUS_OK); /* a transaction that is given up leaves nothing */
    assert_int_equal(lab_store_measured(store, run.id, 999, &(lab_measured){"dev.loss", 1.0}, 1, &error), LOCUS_OK);
    lab_store_rollback(store);
    assert_int_equal(lab_store_run_delete(store, run.id, &error), LOCUS_OK);
    assert_int_equal(lab_store_metrics(store, run.id, "dev.loss", &metrics, &count, &error), LOCUS_OK);
    assert_int_equal(count, 0);
    free(metrics);
    lab_run_free(&run);
    lab_store_close(&store);
}

/* Four processes make the same store at once and write 50 transactions each: nothing is lost, nobody fails. */
static void test_processes(void **state) {
    (void)state;
    pid_t children[4];
    for (int c = 0; c < 4; c++) {
        children[c] = fork();
        assert_true(children[c] >= 0);
        if (children[c] == 0) {
            lab_store *store;
            locus_error error;
            char name[32];
            snprintf(name, sizeof name, "child-%d", c);
            lab_run run = make_run(name);
            bool good = lab_store_open(&store, path, &error) == LOCUS_OK &&
                        lab_store_run_insert(store, &run, &error) == LOCUS_OK;
            for (uint64_t step = 1; good && step <= 50; step++) {
                good = lab_store_begin(store, &error) == LOCUS_OK &&
                       lab_store_measured(store, run.id, step, &(lab_measured){"dev.loss", (double)c}, 1, &error) ==
                           LOCUS_OK &&
                       lab_store_commit(store, &error) == LOCUS_OK;
            }
            child_exit(good ? 0 : 1);
        }
    }
    for (int c = 0; c < 4; c++) {
        int status;
        assert_int_equal(waitpid(children[c], &status, 0), children[c]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    lab_store *store = open_store();
    lab_run *runs;
    size_t count;
    locus_error error;
    assert_int_equal(lab_store_runs(store, NULL, &runs, &count, &error), LOCUS_OK);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        lab_metric *metrics;
        size_t steps;
        assert_int_equal(lab_store_metrics(store, runs[i].id, "dev.loss", &metrics, &steps, &error), LOCUS_OK);
        assert_int_equal(steps, 50);
        free(metrics);
        lab_run_free(&runs[i]);
    }
    free(runs);
    lab_store_close(&store);
}

/* In a process that may not write: the store is read, whether or not somebody has it open; nothing is written to it. */
static bool can_only_read(void) {
    lab_store *store;
    lab_run found;
    locus_error error = {0};
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return false;
    const bool refused = lab_store_open(&store, path, &error) == LOCUS_ERROR_IO && strstr(error.message, "written");
    if (!refused || lab_store_open_reading(&store, path, &error) != LOCUS_OK)
        return false;
    bool good = lab_store_run_find(store, "kept", &found, &error) == LOCUS_OK && found.steps_done == 40;
    good = good && lab_store_run_delete(store, found.id, &error) == LOCUS_ERROR_IO && strstr(error.message, "written");
    lab_store_close(&store);
    return good;
}

/* In a child, run as nobody: somebody was killed while writing, and only one who may write can undo the half of it. */
static bool journal_refused(void) {
    lab_store *store;
    locus_error error = {0};
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return false;
    return lab_store_open_reading(&store, path, &error) == LOCUS_ERROR_IO && store == NULL;
}

static void assert_in_child(bool (*good)(void)) {
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        child_exit(good() ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void journal_path(char text[160]) {
    snprintf(text, 160, "%s-journal", path);
}

/* What begins with no 0 counts as one that must be rolled back. */
static void leave_journal(void) {
    char text[160], bytes[512];
    journal_path(text);
    memset(bytes, 'x', sizeof bytes);
    FILE *stream = fopen(text, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, sizeof bytes, 1, stream), 1);
    assert_int_equal(fclose(stream), 0);
}

static void remove_journal(void) {
    char text[160];
    journal_path(text);
    unlink(text); /* whoever may write did it */
}

static void test_reading(void **state) {
    (void)state;
    locus_error error;
    lab_store *store;
    snprintf(path, sizeof path, "%s/50%%41 ö#?/locus.db", folder);
    char own[128];
    snprintf(own, sizeof own, "%s", path);
    *strrchr(own, '/') = '\0';
    store = open_store();
    lab_run run = make_run("kept");
    assert_int_equal(lab_store_run_insert(store, &run, &error), LOCUS_OK);
    assert_int_equal(chmod(folder, 0755) | chmod(own, 0555) | chmod(path, 0444), 0);
    assert_in_child(can_only_read);
    assert_int_equal(chmod(own, 0755) | chmod(path, 0644), 0);
    lab_store_close(&store);
    assert_int_equal(chmod(own, 0555) | chmod(path, 0444), 0);
    assert_in_child(can_only_read);
    assert_int_equal(chmod(own, 0755), 0);
    leave_journal();
    assert_int_equal(chmod(own, 0555), 0);
    assert_in_child(journal_refused);
    assert_int_equal(chmod(own, 0755) | chmod(path, 0644), 0);
    remove_journal();
    assert_int_equal(lab_store_open_reading(&store, path, &error), LOCUS_OK);
    lab_store_close(&store);
    lab_run_free(&run);
}

/* Who has waited for a lock in vain does not wait as long again: a training that ends for it has its row to close. */
static void test_locked(void **state) {
    (void)state;
    int64_t before, after;
    locus_error error = {0};
    lab_store *holder = open_store(), *store = open_store();
    assert_int_equal(lab_store_integer(store, "PRAGMA busy_timeout", &before, &error), LOCUS_OK);
    sqlite3_busy_timeout(store->database, 1); /* milliseconds, for this test's sake */
    assert_int_equal(lab_store_begin(holder, &error), LOCUS_OK);
    assert_int_equal(lab_store_begin(store, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "stays locked"));
    assert_int_equal(lab_store_integer(store, "PRAGMA busy_timeout", &after, &error), LOCUS_OK);
    assert_true(after > 1 && 10 * after < before);
    assert_int_equal(lab_store_commit(holder, &error), LOCUS_OK);
    assert_int_equal(lab_store_begin(store, &error), LOCUS_OK);
    assert_int_equal(lab_store_commit(store, &error), LOCUS_OK);
    lab_store_close(&holder);
    lab_store_close(&store);
}

/* Commits wait for the disk (2, FULL) but where somebody said that they need not (1, NORMAL). */
static void test_lasting(void **state) {
    (void)state;
    static const int64_t expected[] = {2, 1, 2};
    lab_store *store = open_store();
    for (size_t i = 0; i < 3; i++) {
        int64_t waits;
        if (i > 0)
            assert_int_equal(lab_store_lasting(store, i == 2, NULL), LOCUS_OK);
        assert_int_equal(lab_store_integer(store, "PRAGMA synchronous", &waits, NULL), LOCUS_OK);
        assert_int_equal(waits, expected[i]);
    }
    lab_store_close(&store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_filter, setup, teardown),
        cmocka_unit_test_setup_teardown(test_metrics, setup, teardown),
        cmocka_unit_test_setup_teardown(test_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lasting, setup, teardown),
        cmocka_unit_test_setup_teardown(test_locked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reading, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
