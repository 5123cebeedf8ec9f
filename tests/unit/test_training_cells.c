/* SPDX-License-Identifier: MIT */
/* Cells in processes of their own: what the caller learns of each, however it ends. */
#include "jobs/training_cells.h"
#include "runs/cells.h"
#include "task/word_task.h"
#include "train/configuration/config.h"
#include "unit/scratch_folder.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CELLS = 3 };

static lab_cell cells[CELLS];
static char store[160], folder[160];
static bool stop;

static bool stopped(void) {
    return stop;
}

typedef struct witness {
    const lab_cells *all;
    size_t ended, most_running, polls;
    bool stop_soon, kill_first;
} witness;

static void watch(void *watcher, const lab_cell *ended) {
    witness *seen = watcher;
    size_t running = 0;
    for (size_t i = 0; i < seen->all->count; i++)
        running += seen->all->cells[i].process > 0;
    seen->most_running = running > seen->most_running ? running : seen->most_running;
    seen->ended += ended != NULL;
    seen->polls += ended == NULL;
    stop = stop || seen->stop_soon;
    if (seen->kill_first && ended == NULL && cells[0].process > 0)
        kill(cells[0].process, SIGKILL);
    errno = EINTR; /* what a signal leaves says nothing of the end of a pipe */
}

/* Trained in some tenths of a second. */
static void fill_cell(lab_cell *cell, const char *encoding, uint64_t seed) {
    locus_error error;
    lab_train_config *config = &cell->config;
    *cell = (lab_cell){0};
    assert_int_equal(lab_train_config_budget(config, lab_task_find("copy"), "smoke", LAB_SETUP_PAPER, &error),
                     LOCUS_OK);
    snprintf(cell->encoding, sizeof cell->encoding, "%s", encoding);
    config->encoding = cell->encoding;
    config->budget = "custom";
    config->seed = seed;
    config->model.dim = 16;
    config->model.heads = 2;
    config->model.feed_forward = 32;
    config->model.encoder_layers = config->model.decoder_layers = 1;
    LAB_WORDS(&config->data)->length_mean = 6;
    LAB_WORDS(&config->data)->length_deviation = 1;
    config->train_samples = 16;
    config->dev_samples = config->test_samples = config->greedy_samples = 4;
    config->batch = 8;
    config->steps = config->evaluate_every = 2;
    snprintf(cell->name, sizeof cell->name, "%s-%u", encoding, (unsigned)seed);
    snprintf(cell->label, sizeof cell->label, "%s", cell->name);
}

static int prepare(void **state) {
    (void)state;
    snprintf(store, sizeof store, "%s", scratch_path("locus.db"));
    snprintf(folder, sizeof folder, "%s", scratch_path("."));
    stop = false;
    return 0;
}

static lab_cells all_cells(size_t jobs, witness *seen) {
    return (lab_cells){.cells = cells,
                       .count = CELLS,
                       .store_path = store,
                       .folder = folder,
                       .command = "test",
                       .jobs = jobs,
                       .threads = 1,
                       .stopped = stopped,
                       .watch = watch,
                       .watcher = seen};
}

/* Two train, one cannot: its encoding does not exist; the others are none the worse. */
static void ends(void **state) {
    locus_error error;
    witness seen = {0};
    (void)state;
    fill_cell(&cells[0], "rope", 1);
    fill_cell(&cells[1], "nosuch", 1);
    fill_cell(&cells[2], "alibi", 1);
    lab_cells all = all_cells(2, &seen);
    seen.all = &all;
    assert_int_equal(lab_cells_run(&all, &error), LOCUS_OK);
    assert_int_equal(lab_cells_ended(&all), CELLS);
    assert_int_equal(seen.ended, CELLS);
    assert_int_equal(seen.most_running, 2);
    assert_true(cells[0].finished && cells[2].finished && cells[0].trained_now);
    assert_true(cells[0].run > 0 && cells[0].run != cells[2].run);
    assert_false(cells[1].finished);
    assert_int_equal(cells[1].status, LOCUS_ERROR_SPEC);
    assert_non_null(strstr(cells[1].message, "nosuch"));
}

/* All have ended before the first is listened to. */
static void watch_late(void *watcher, const lab_cell *ended) {
    witness *seen = watcher;
    for (size_t i = 0; i < seen->all->count && seen->polls == 0; i++) {
        siginfo_t how;
        const pid_t process = cells[i].process;
        assert_int_equal(waitid(P_PID, (id_t)process, &how, WEXITED | WNOWAIT), 0);
    }
    watch(watcher, ended);
}

/* The first has least to say and ends among others that are still listened to: each is told as ended once. */
static void each_ends_once(void **state) {
    locus_error error;
    witness seen = {0};
    (void)state;
    fill_cell(&cells[0], "nosuch", 5);
    fill_cell(&cells[1], "rope", 5);
    fill_cell(&cells[2], "alibi", 5);
    lab_cells all = all_cells(CELLS, &seen);
    all.watch = watch_late;
    seen.all = &all;
    assert_int_equal(lab_cells_run(&all, &error), LOCUS_OK);
    assert_int_equal(seen.ended, CELLS);
    assert_int_equal(lab_cells_ended(&all), CELLS);
    assert_true(cells[1].finished && cells[1].trained_now && cells[2].finished && cells[2].trained_now);
}

/* What is done already is not trained again. */
static void again(void **state) {
    locus_error error;
    witness seen = {0};
    const int64_t run = cells[0].run;
    (void)state;
    fill_cell(&cells[0], "rope", 1);
    lab_cells all = all_cells(1, &seen);
    all.count = 1;
    seen.all = &all;
    assert_int_equal(lab_cells_run(&all, &error), LOCUS_OK);
    assert_true(cells[0].finished && !cells[0].trained_now && cells[0].run == run);
}

static void count_ended(void *count) {
    ++*(size_t *)count;
}

/* A command hears of each cell that ended, and fails if one did. */
static void commands_hear_of_each(void **state) {
    witness seen = {0};
    size_t heard = 0;
    (void)state;
    fill_cell(&cells[0], "rope", 1);
    fill_cell(&cells[1], "nosuch", 1);
    fill_cell(&cells[2], "alibi", 1);
    lab_cells all = all_cells(2, &seen);
    assert_int_equal(cli_cells_run(&all, count_ended, &heard), 1);
    assert_int_equal(heard, CELLS);
    fill_cell(&cells[1], "none", 1);
    assert_int_equal(cli_cells_run(&all, NULL, NULL), 0);
}

/* Where there can be no store the cell says so itself. */
static void no_store(void **state) {
    locus_error error;
    witness seen = {0};
    (void)state;
    fill_cell(&cells[0], "rope", 3);
    lab_cells all = all_cells(1, &seen);
    all.count = 1;
    char path[200];
    scratch_write("file", "", 0);
    snprintf(path, sizeof path, "%s", scratch_path("file/locus.db"));
    all.store_path = path;
    seen.all = &all;
    assert_int_equal(lab_cells_run(&all, &error), LOCUS_OK);
    assert_true(cells[0].reported && !cells[0].finished && !cells[0].trained_now);
    assert_int_equal(cells[0].status, LOCUS_ERROR_IO);
    assert_int_equal(cells[0].run, 0);
    assert_non_null(strstr(cells[0].message, "file"));
}

static pid_t parent;
static char heard[160];

/* A child waits until its parent has heard of a step; it stops after a minute. */
static bool waits_to_be_heard(void) {
    for (int i = 0; getpid() != parent && access(heard, F_OK) != 0; i++) {
        if (i == 1200)
            return true;
        poll(NULL, 0, 50);
    }
    return false;
}

static void hear(void *watcher, const lab_cell *ended) {
    (void)watcher;
    (void)ended;
    if (cells[0].trained_now && cells[0].process > 0)
        scratch_write("heard", "", 0);
}

/* What a cell says is heard while it runs. */
static void heard_while_running(void **state) {
    locus_error error;
    (void)state;
    parent = getpid();
    snprintf(heard, sizeof heard, "%s", scratch_path("heard"));
    fill_cell(&cells[0], "rope", 4);
    lab_cells all = all_cells(1, NULL);
    all.count = 1;
    all.stopped = waits_to_be_heard;
    all.watch = hear;
    assert_int_equal(lab_cells_run(&all, &error), LOCUS_OK);
    if (!cells[0].finished)
        fail_msg("%s", cells[0].message);
    assert_true(strcmp(cells[0].phase, "") != 0 && cells[0].progress.phase == cells[0].phase);
}

/* A child that is killed says nothing; what ended it is known all the same. */
static void killed(void **state) {
    locus_error error;
    witness seen = {.kill_first = true};
    (void)state;
    fill_cell(&cells[0], "rope", 2);
    lab_cells all = all_cells(1, &seen);
    all.count = 1;
    seen.all = &all;
    assert_int_equal(lab_cells_run(&all, &error), LOCUS_OK);
    assert_false(cells[0].finished);
    assert_int_equal(cells[0].status, LOCUS_ERROR_INTERRUPTED);
    assert_string_equal(cells[0].message, "its process was ended by signal 9");
}

static bool leaves(void) {
    if (getpid() != parent)
        _exit(7);
    return false;
}

/* So is the status of one that ended by itself. */
static void gone(void **state) {
    locus_error error;
    witness seen = {0};
    (void)state;
    parent = getpid();
    fill_cell(&cells[0], "rope", 6);
    lab_cells all = all_cells(1, &seen);
    all.count = 1;
    all.stopped = leaves;
    seen.all = &all;
    assert_int_equal(lab_cells_run(&all, &error), LOCUS_OK);
    assert_false(cells[0].finished || cells[0].reported);
    assert_int_equal(cells[0].status, LOCUS_ERROR_INTERRUPTED);
    assert_string_equal(cells[0].message, "its process ended with status 7");
    assert_int_equal(lab_cells_ended(&all), 1);
}

/* Where there is no pipe for the second cell the first is asked to end, and the reason is told. */
static void no_pipe(void **state) {
    locus_error error = {0};
    witness seen = {0};
    struct rlimit before, few;
    (void)state;
    for (size_t i = 0; i < CELLS; i++) {
        fill_cell(&cells[i], "rope", 30 + i);
        cells[i].config.steps = cells[i].config.evaluate_every = 1000000;
    }
    int ends_of[2];
    assert_int_equal(pipe(ends_of), 0);
    close(ends_of[0]);
    close(ends_of[1]);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = (rlim_t)ends_of[1] + 1; /* for one pipe, of which one end stays open here */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    lab_cells all = all_cells(2, &seen);
    seen.all = &all;
    const locus_status status = lab_cells_run(&all, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, LOCUS_ERROR_IO);
    assert_string_equal(error.message, "cannot make a pipe: Too many open files");
    assert_int_equal(seen.ended, 1);
    assert_false(cells[0].finished || cells[1].process > 0 || cells[1].reported);
}

/* From then on nothing is started, and what runs is asked to end. */
static void told_to_stop(void **state) {
    locus_error error;
    witness seen = {.stop_soon = true};
    (void)state;
    for (size_t i = 0; i < CELLS; i++) {
        fill_cell(&cells[i], "rope", 10 + i);
        cells[i].config.steps = cells[i].config.evaluate_every = 1000000;
    }
    lab_cells all = all_cells(1, &seen);
    seen.all = &all;
    assert_int_equal(lab_cells_run(&all, &error), LOCUS_OK);
    assert_int_equal(seen.ended, 1);
    assert_int_equal(lab_cells_ended(&all), 1);
    assert_string_equal(cells[0].message, "its process was ended by signal 15"); /* it knows of no other way */
    assert_false(cells[1].finished || cells[1].reported);
}

/* What the program does with a broken pipe is as before. */
static void broken_pipes_as_before(void **state) {
    locus_error error;
    witness seen = {0};
    struct sigaction own, after;
    (void)state;
    memset(&own, 0, sizeof own);
    own.sa_handler = SIG_DFL;
    own.sa_flags = SA_RESTART;
    assert_int_equal(sigaction(SIGPIPE, &own, NULL), 0);
    lab_cells all = all_cells(1, &seen);
    all.count = 0;
    seen.all = &all;
    assert_int_equal(lab_cells_run(&all, &error), LOCUS_OK);
    assert_int_equal(sigaction(SIGPIPE, NULL, &after), 0);
    assert_true(after.sa_handler == SIG_DFL && (after.sa_flags & SA_RESTART) != 0);
}

static int told; /* the writing end of a pipe */

/* Says which process trains, and is gone. */
static void vanish(void *watcher, const lab_cell *ended) {
    (void)watcher;
    (void)ended;
    if (cells[0].trained_now && cells[0].process > 0) {
        const ssize_t written = write(told, &cells[0].process, sizeof cells[0].process);
        raise(written == (ssize_t)sizeof cells[0].process ? SIGKILL : SIGABRT);
    }
}

/* A child whose parent is gone ends as one that is told to stop: its run can go on. */
static void left_alone(void **state) {
    int ends_of[2], how;
    pid_t child = 0;
    locus_error error = {0};
    lab_store *runs;
    lab_run run;
    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(pipe(ends_of), 0);
    fill_cell(&cells[0], "rope", 20);
    cells[0].config.steps = cells[0].config.evaluate_every = 1000000;
    const pid_t middle = fork();
    assert_true(middle >= 0);
    if (middle == 0) {
        lab_cells all = all_cells(1, NULL);
        all.count = 1;
        all.watch = vanish;
        told = ends_of[1];
        lab_cells_run(&all, &error);
        _exit(1);
    }
    close(ends_of[1]);
    assert_int_equal(read(ends_of[0], &child, sizeof child), sizeof child);
    close(ends_of[0]);
    assert_int_equal(waitpid(middle, &how, 0), middle);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    assert_int_equal(waitpid(child, &how, 0), child); /* an orphan comes to its grandparent */
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 1);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
    assert_int_equal(lab_store_open(&runs, store, &error), LOCUS_OK);
    assert_int_equal(lab_store_run_find(runs, cells[0].name, &run, &error), LOCUS_OK);
    assert_int_equal(run.state, LAB_RUN_STOPPED);
    lab_run_free(&run);
    lab_store_close(&runs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ends, prepare),
        cmocka_unit_test_setup(again, prepare),
        cmocka_unit_test_setup(each_ends_once, prepare),
        cmocka_unit_test_setup(no_store, prepare),
        cmocka_unit_test_setup(heard_while_running, prepare),
        cmocka_unit_test_setup(killed, prepare),
        cmocka_unit_test_setup(gone, prepare),
        cmocka_unit_test_setup(no_pipe, prepare),
        cmocka_unit_test_setup(told_to_stop, prepare),
        cmocka_unit_test_setup(broken_pipes_as_before, prepare),
        cmocka_unit_test_setup(left_alone, prepare),
        cmocka_unit_test_setup(commands_hear_of_each, prepare), /* signals are otherwise from here on */
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
