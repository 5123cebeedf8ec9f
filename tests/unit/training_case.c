/* SPDX-License-Identifier: MIT */
/* Forks a training, waits for it, and reads its files and its store afterwards. */
#include "unit/training_case.h"

#include "sanitized.h"
#include "unit/child_exit.h"

#include "io/file.h"
#include "ranks/ranks_threads.h"

#include <locus/parallel.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], store_path[96];

int training_setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/locus-training-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(store_path, sizeof store_path, "%s/locus.db", folder);
    return 0;
}

int training_teardown(void **state) {
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

const char *training_folder(void) {
    return folder;
}

static bool look(void *context, const lab_progress *progress) {
    const training_plan *plan = context;
    if (plan->kill_at != 0 && progress->step >= plan->kill_at)
        raise(SIGKILL);
    const bool here = plan->stop_phase == NULL || strcmp(progress->phase, plan->stop_phase) == 0;
    return plan->stop_at == 0 || progress->step < plan->stop_at || !here;
}

static bool a_scheduler(void) {
    return true;
}

static bool only_look(void *context, const lab_progress *progress) {
    (void)context, (void)progress;
    return true;
}

static locus_status train_rank(const training_plan *plan, lab_ranks *ranks, locus_error *error) {
    const size_t rank = lab_ranks_rank(ranks);
    lab_store *store = NULL;
    lab_run run;
    training_plan copy = *plan;
    const lab_train_request request = {.config = plan->config,
                                       .folder = folder,
                                       .name = plan->name,
                                       .command = "test",
                                       .every_step = true,
                                       .progress = rank == plan->kill_rank ? look : only_look,
                                       .context = &copy,
                                       .queue_again = plan->stop_phase != NULL ? a_scheduler : NULL,
                                       .ranks = ranks};
    memset(&run, 0, sizeof run);
    locus_status status = rank == 0 ? lab_store_open(&store, store_path, error) : LOCUS_OK;
    if (status == LOCUS_OK)
        status = lab_train(store, &request, &run, error);
    lab_run_free(&run);
    lab_store_close(&store);
    return status;
}

/* What became of rank 0's training. */
typedef struct rank_job {
    const training_plan *plan;
    locus_status status;
    locus_error error;
} rank_job;

static void rank_body(lab_ranks **ranks, void *context) {
    rank_job *job = context;
    const bool first = lab_ranks_rank(*ranks) == 0;
    locus_error error = {0};
    const locus_status status = train_rank(job->plan, *ranks, &error);
    if (first) {
        job->status = status;
        job->error = error;
    }
    lab_ranks_close(ranks);
}

static locus_status train_here(const training_plan *plan, locus_error *error) {
    rank_job job = {.plan = plan, .status = LOCUS_ERROR_MEMORY};
    locus_status status = locus_threads_set(plan->threads);
    if (status != LOCUS_OK || plan->ranks == 0)
        return status == LOCUS_OK ? train_rank(plan, NULL, error) : status;
    status = lab_ranks_threads(plan->ranks, rank_body, &job, error);
    if (status != LOCUS_OK)
        return status;
    *error = job.error;
    return job.status;
}

int training_run(const training_plan *plan) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        locus_error error = {0};
        locus_status status = train_here(plan, &error);
        if (status != LOCUS_OK && status != LOCUS_ERROR_INTERRUPTED)
            fprintf(stderr, "%s: %s\n", plan->name, error.message);
        if (plan->says != NULL && strcmp(error.message, plan->says) != 0)
            child_exit(TRAINING_SAYS_OTHER);
        const bool again = status == LOCUS_ERROR_INTERRUPTED && strcmp(error.argument, LAB_QUEUE_AGAIN) == 0;
        child_exit(again ? TRAINING_QUEUE_AGAIN : (int)status);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

training_remains training_look(const char *name) {
    static const char *const names[] = {"train.loss", "train.gradient_norm", "train.rate", "dev.loss", "dev.accuracy"};
    training_remains r = {0};
    lab_store *store;
    locus_error error;
    char path[160];
    assert_int_equal(lab_store_open(&store, store_path, &error), LOCUS_OK);
    if (lab_store_run_find(store, name, &r.run, &error) == LOCUS_OK) {
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(lab_store_metrics(store, r.run.id, names[i], &r.metrics[i], &r.counts[i], &error),
                             LOCUS_OK);
        }
        assert_int_equal(lab_store_finals(store, r.run.id, &r.finals, &r.final_count, &error), LOCUS_OK);
    }
    lab_store_close(&store);
    snprintf(path, sizeof path, "%s/%s/best.safetensors", folder, name);
    if (access(path, F_OK) == 0)
        assert_int_equal(lab_file_read(path, &r.best, &r.best_bytes, &error), LOCUS_OK);
    return r;
}

void training_forget(training_remains *r) {
    lab_run_free(&r->run);
    free(r->best);
    free(r->finals);
    for (size_t i = 0; i < 5; i++)
        free(r->metrics[i]);
}

double training_final(const training_remains *r, const char *set, const char *name) {
    for (size_t i = 0; i < r->final_count; i++)
        if (strcmp(r->finals[i].set, set) == 0 && strcmp(r->finals[i].name, name) == 0)
            return r->finals[i].value;
    return -1.0;
}

void training_assert_same(const char *name, const char *other) {
    training_remains a = training_look(name), b = training_look(other);
    assert_int_equal(a.run.state, LAB_RUN_DONE);
    assert_int_equal(b.run.state, LAB_RUN_DONE);
    assert_true(a.run.steps_done == b.run.steps_done && a.run.tokens_seen == b.run.tokens_seen);
    assert_string_equal(a.run.message, b.run.message);
    assert_true(a.best_bytes > 1000);
    assert_int_equal(a.best_bytes, b.best_bytes);
    assert_memory_equal(a.best, b.best, a.best_bytes);
    for (size_t i = 0; i < 5; i++) {
        assert_true(a.counts[i] > 0);
        assert_int_equal(a.counts[i], b.counts[i]);
        assert_memory_equal(a.metrics[i], b.metrics[i], a.counts[i] * sizeof *a.metrics[i]);
    }
    assert_true(a.final_count > 0);
    assert_int_equal(a.final_count, b.final_count);
    for (size_t i = 0; i < a.final_count; i++) {
        assert_string_equal(a.finals[i].set, b.finals[i].set);
        assert_string_equal(a.finals[i].name, b.finals[i].name);
        assert_memory_equal(&a.finals[i].value, &b.finals[i].value, sizeof(double));
    }
    training_forget(&a);
    training_forget(&b);
}

void training_assert_resumes(const lab_train_config *config, const char *name) {
    static const uint64_t kills[] = {3, 9, 21};
    enum { KILLS = SANITIZED(2, 3), STOP = SANITIZED(10, 22) };
    char whole_name[64], parts_name[64];
    snprintf(whole_name, sizeof whole_name, "whole-%s", name);
    snprintf(parts_name, sizeof parts_name, "parts-%s", name);
    training_plan whole = {.config = *config, .name = whole_name, .threads = 1}, parts = whole;
    parts.name = parts_name;
    parts.threads = 2;
    assert_int_equal(training_run(&whole), LOCUS_OK);
    for (size_t i = 0; i < KILLS; i++) {
        parts.kill_at = kills[i];
        assert_int_equal(training_run(&parts), -1);
    }
    parts.kill_at = 0;
    parts.stop_at = STOP;
    assert_int_equal(training_run(&parts), LOCUS_ERROR_INTERRUPTED);
    parts.stop_at = 0;
    assert_int_equal(training_run(&parts), LOCUS_OK);
    training_assert_same(whole_name, parts_name);
}
