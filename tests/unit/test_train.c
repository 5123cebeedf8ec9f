/* SPDX-License-Identifier: MIT */
/* The training loop. Every training runs in a process of its own, which may be killed; what is compared is what it
 * leaves: best.safetensors byte for byte, metrics and scores bit for bit. */
#include "io/file.h"
#include "model/architecture.h"
#include "sanitized.h"
#include "task/task_class.h"
#include "task/word_task.h"
#include "threads_only.h"
#include "train/checkpoint.h"
#include "train/configuration/config.h"
#include "train/feed/batch.h"
#include "train/machine.h"
#include "train/train.h"
#include "unit/child_exit.h"

#include <cjson/cJSON.h>
#include <locus/parallel.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], store_path[96];

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/locus-train-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(store_path, sizeof store_path, "%s/locus.db", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* A checkpoint follows each step, which sanitizers make slow; what happens at steps happens before the fewer ones. */
enum { STEPS = SANITIZED(22, 60), LATE = SANITIZED(15, 30) };

/* Small enough to train in a fraction of a second; 70 samples in batches of 8 end epochs in the middle of
 * evaluations and with a smaller batch. */
static lab_train_config tiny(void) {
    lab_train_config config;
    locus_error error;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find("copy"), "smoke", LAB_SETUP_PAPER, &error),
                     LOCUS_OK);
    config.task = lab_task_find("reverse");
    config.encoding = "rope";
    config.budget = "custom";
    config.model.dim = 16;
    config.model.heads = 2;
    config.model.feed_forward = 32;
    config.model.encoder_layers = config.model.decoder_layers = 1;
    LAB_WORDS(&config.data)->length_mean = 6.0;
    LAB_WORDS(&config.data)->length_deviation = 1.0;
    LAB_WORDS(&config.data)->symbols = 5;
    config.train_samples = 70;
    config.dev_samples = 20;
    config.test_samples = 20;
    config.greedy_samples = 10;
    config.batch = 8;
    config.steps = STEPS;
    config.evaluate_every = 7;
    config.checkpoint_seconds = 0; /* after every step */
    config.test_lengths[0] = 9;
    config.test_length_count = 1;
    return config;
}

/* ---- trainings in processes ---- */

typedef struct plan {
    lab_train_config config;
    const char *name;
    size_t threads;
    uint64_t stop_at; /* progress asks to stop from this step on; 0: never */
    bool restart;
} plan;

static bool stop_at(void *context, const lab_progress *progress) {
    uint64_t step = *(const uint64_t *)context;
    return step == 0 || progress->step < step;
}

static locus_status train_here(const plan *p, lab_run *run, locus_error *error) {
    lab_store *store = NULL;
    uint64_t step = p->stop_at;
    const lab_train_request request = {.config = p->config,
                                       .folder = folder,
                                       .name = p->name,
                                       .command = "test",
                                       .restart = p->restart,
                                       .every_step = true,
                                       .progress = stop_at,
                                       .context = &step};
    memset(run, 0, sizeof *run);
    locus_status status = locus_threads_set(p->threads);
    if (status == LOCUS_OK)
        status = lab_store_open(&store, store_path, error);
    if (status == LOCUS_OK)
        status = lab_train(store, &request, run, error);
    lab_store_close(&store);
    return status;
}

static pid_t start(const plan *p) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        lab_run run;
        locus_error error = {0};
        locus_status status = train_here(p, &run, &error);
        if (status != LOCUS_OK && status != LOCUS_ERROR_INTERRUPTED && status != LOCUS_ERROR_NUMERIC)
            fprintf(stderr, "%s\n", error.message);
        child_exit((int)status);
    }
    return child;
}

/* The status of a training; −1 if it was killed by us. */
static int end(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int train(const plan *p) {
    return end(start(p));
}

/* ---- what they leave ---- */

typedef struct remains {
    lab_run run;
    char *best;
    size_t best_bytes;
    lab_metric *metrics[5];
    size_t counts[5];
    lab_final *finals;
    size_t final_count;
} remains;

static remains look_at(const char *name) {
    static const char *const names[] = {"train.loss", "train.gradient_norm", "train.rate", "dev.loss", "dev.accuracy"};
    remains r = {0};
    lab_store *store;
    locus_error error;
    char path[160];
    assert_int_equal(lab_store_open(&store, store_path, &error), LOCUS_OK);
    assert_int_equal(lab_store_run_find(store, name, &r.run, &error), LOCUS_OK);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(lab_store_metrics(store, r.run.id, names[i], &r.metrics[i], &r.counts[i], &error), LOCUS_OK);
    assert_int_equal(lab_store_finals(store, r.run.id, &r.finals, &r.final_count, &error), LOCUS_OK);
    lab_store_close(&store);
    snprintf(path, sizeof path, "%s/%s/best.safetensors", folder, name);
    if (access(path, F_OK) == 0)
        assert_int_equal(lab_file_read(path, &r.best, &r.best_bytes, &error), LOCUS_OK);
    return r;
}

static void forget(remains *r) {
    lab_run_free(&r->run);
    free(r->best);
    free(r->finals);
    for (size_t i = 0; i < 5; i++)
        free(r->metrics[i]);
}

static double final_of(const remains *r, const char *set, const char *name) {
    for (size_t i = 0; i < r->final_count; i++)
        if (strcmp(r->finals[i].set, set) == 0 && strcmp(r->finals[i].name, name) == 0)
            return r->finals[i].value;
    return -1.0;
}

/* Everything but times, memory and the name. */
static void assert_same(const char *name, const char *other) {
    remains a = look_at(name), b = look_at(other);
    assert_int_equal(a.run.state, LAB_RUN_DONE);
    assert_int_equal(b.run.state, LAB_RUN_DONE);
    assert_true(a.run.steps_done == b.run.steps_done && a.run.tokens_seen == b.run.tokens_seen);
    assert_true(a.best_bytes > 1000);
    assert_int_equal(a.best_bytes, b.best_bytes);
    assert_memory_equal(a.best, b.best, a.best_bytes);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(a.counts[i], STEPS / 7 + 1);
        assert_int_equal(a.counts[i], b.counts[i]);
        assert_memory_equal(a.metrics[i], b.metrics[i], a.counts[i] * sizeof *a.metrics[i]);
    }
    assert_int_equal(a.final_count, b.final_count);
    for (size_t i = 0; i < a.final_count; i++) {
        assert_string_equal(a.finals[i].set, b.finals[i].set);
        assert_string_equal(a.finals[i].name, b.finals[i].name);
        assert_memory_equal(&a.finals[i].value, &b.finals[i].value, sizeof(double));
    }
    forget(&a);
    forget(&b);
}

static void pause_milliseconds(long milliseconds) {
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* ---- resume ---- */

static void test_stopped(void **state) {
    (void)state;
    static const uint64_t stops[] = {1, 7, LATE, LATE + 1, STEPS - 1};
    plan whole = {.config = tiny(), .name = "whole", .threads = 1}, parts = whole;
    parts.name = "parts";
    assert_int_equal(train(&whole), LOCUS_OK);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        parts.stop_at = stops[i];
        assert_int_equal(train(&parts), LOCUS_ERROR_INTERRUPTED);
        remains r = look_at("parts");
        assert_int_equal(r.run.state, LAB_RUN_STOPPED);
        assert_int_equal(r.run.steps_done, stops[i]);
        assert_non_null(strstr(r.run.message, "stopped"));
        forget(&r);
    }
    parts.stop_at = 0;
    assert_int_equal(train(&parts), LOCUS_OK);
    assert_same("whole", "parts");
    remains r = look_at("whole");
    assert_string_equal(r.run.message, "");
    assert_true(r.run.wall_seconds > 0 && r.run.tokens_per_second > 0 && r.run.peak_bytes > 1 << 20);
    assert_true(r.run.parameters > 0 && r.run.started[0] != '\0' && r.run.ended[0] != '\0');
    assert_true(final_of(&r, "test", "accuracy") >= 0 && final_of(&r, "test:9", "greedy_exact") >= 0);
    assert_true(final_of(&r, "dev", "best_step") >= 7);
    forget(&r);
}

/* Of one sample that is decoded the share is none or all. */
static void test_one_decoded(void **state) {
    (void)state;
    plan p = {.config = tiny(), .name = "one", .threads = 1};
    p.config.greedy_samples = 1;
    p.config.steps = 1;
    p.config.evaluate_every = 1;
    assert_int_equal(train(&p), LOCUS_OK);
    remains r = look_at("one");
    const double share = final_of(&r, "test", "greedy_exact");
    assert_true(share == 0.0 || share == 1.0);
    forget(&r);
}

/* Kills at random moments, until the training is through; checkpoints are written after every step, or now and then. */
enum { MOST_KILLS = SANITIZED(8, 40) };

static void test_killed(void **state) {
    (void)state;
    plan whole = {.config = tiny(), .name = "whole", .threads = 1}, parts = whole;
    uint64_t random = (uint64_t)getpid();
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    assert_int_equal(train(&whole), LOCUS_OK);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    uint64_t whole_milliseconds =
        (uint64_t)((ended.tv_sec - began.tv_sec) * 1000 + (ended.tv_nsec - began.tv_nsec) / 1000000) + 1;
    parts.name = "parts";
    int killed = 0, status = -1;
    for (int attempt = 0; attempt < 200 && status != LOCUS_OK; attempt++) {
        pid_t child = start(&parts);
        random = random * 6364136223846793005u + 1442695040888963407u;
        pause_milliseconds((long)((random >> 33) % (whole_milliseconds / 4 + 10)));
        if (attempt < MOST_KILLS)
            kill(child, SIGKILL);
        status = end(child);
        assert_true(status == LOCUS_OK || (status == -1 && attempt < MOST_KILLS));
        killed += status == -1;
    }
    assert_int_equal(status, LOCUS_OK);
    assert_true(killed >= 2);
    assert_same("whole", "parts");
}

static void test_threads(void **state) {
    (void)state;
    plan one = {.config = tiny(), .name = "one", .threads = 1},
         three = {.config = tiny(), .name = "three", .threads = 3};
    assert_int_equal(train(&one), LOCUS_OK);
    assert_int_equal(train(&three), LOCUS_OK);
    assert_same("one", "three");
}

/* The generators, frequencies and tables that encodings learn are part of what goes on. */
static void test_learned_encodings(void **state) {
    (void)state;
    static const char *const specs[] = {"algebraic(group=seq, decay=0.98)", "relative(window=6)",
                                        "rope(learned=on) + decay(learned=on)", "rope(learned=on) / decay(learned=on)"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i += SANITIZED(3, 1)) {
        char whole_name[32], parts_name[32];
        plan whole = {.config = tiny(), .name = whole_name, .threads = 1},
             parts = {.config = tiny(), .name = parts_name, .threads = 1};
        snprintf(whole_name, sizeof whole_name, "whole-%zu", i);
        snprintf(parts_name, sizeof parts_name, "parts-%zu", i);
        whole.config.encoding = parts.config.encoding = specs[i];
        parts.stop_at = LATE - 5;
        assert_int_equal(train(&whole), LOCUS_OK);
        assert_int_equal(train(&parts), LOCUS_ERROR_INTERRUPTED);
        parts.stop_at = 0;
        assert_int_equal(train(&parts), LOCUS_OK);
        assert_same(whole_name, parts_name);
    }
}

/* ---- ends of other kinds ---- */

static void test_not_finite(void **state) {
    (void)state;
    plan p = {.config = tiny(), .name = "wild", .threads = 1};
    p.config.steps = 60;      /* of which few are made */
    p.config.rate_peak = 1e5; /* explodes some steps after the first development score or before */
    p.config.warmup_share = 0.5;
    p.config.evaluate_every = 1;
    p.config.rate_initial = 1e-3;
    assert_int_equal(train(&p), LOCUS_ERROR_NUMERIC);
    remains r = look_at("wild");
    assert_int_equal(r.run.state, LAB_RUN_FAILED);
    assert_non_null(strstr(r.run.message, "not finite at step"));
    assert_non_null(strstr(r.run.message, "learning rate"));
    assert_true(r.run.steps_done < 60);
    assert_true(r.best_bytes > 0);
    lab_run copy = r.run;
    lab_train_config config;
    lab_model *model;
    locus_error error;
    assert_int_equal(lab_train_load(&copy, folder, &config, &model, &error), LOCUS_OK);
    for (size_t i = 0; i < lab_model_elements(model); i++)
        assert_true(isfinite(lab_model_values(model)[i]));
    lab_model_destroy(&model);
    forget(&r);
}

static void test_done_is_kept(void **state) {
    (void)state;
    plan p = {.config = tiny(), .name = "done", .threads = 1};
    assert_int_equal(train(&p), LOCUS_OK);
    remains before = look_at("done");
    char path[160];
    snprintf(path, sizeof path, "%s/done/last.safetensors", folder);
    assert_int_not_equal(access(path, F_OK), 0);
    p.config.test_lengths[1] = 12;
    p.config.test_length_count = 2;
    assert_int_equal(train(&p), LOCUS_OK); /* only the new length is scored */
    remains after = look_at("done");
    assert_int_equal(after.final_count, before.final_count + 4);
    assert_true(final_of(&after, "test:12", "accuracy") >= 0);
    assert_memory_equal(&before.run.wall_seconds, &after.run.wall_seconds, sizeof(double));
    assert_string_equal(before.run.ended, after.run.ended);
    forget(&before);
    forget(&after);
    p.config.rate_peak *= 2;
    lab_run run;
    locus_error error = {0};
    assert_int_equal(train_here(&p, &run, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "rate_peak"));
    lab_run_free(&run);
}

/* A table that ends: lengths within are scored, others leave a note. */
static void test_length_out_of_table(void **state) {
    (void)state;
    plan p = {.config = tiny(), .name = "table", .threads = 1};
    p.config.encoding = "learned(size=16)";
    p.config.test_lengths[1] = 40;
    p.config.test_length_count = 2;
    assert_int_equal(train(&p), LOCUS_OK);
    remains r = look_at("table");
    assert_int_equal(r.run.state, LAB_RUN_DONE);
    assert_true(final_of(&r, "test:9", "accuracy") >= 0);
    assert_true(final_of(&r, "test:40", "accuracy") < 0);
    assert_non_null(strstr(r.run.message, "test:40: "));
    forget(&r);
}

static void cut_file(const char *path) {
    char *data;
    size_t bytes;
    locus_error error;
    assert_int_equal(lab_file_read(path, &data, &bytes, &error), LOCUS_OK);
    assert_int_equal(truncate(path, (off_t)(bytes / 2)), 0);
    free(data);
}

static void test_damaged_checkpoint(void **state) {
    (void)state;
    plan p = {.config = tiny(), .name = "cut", .threads = 1, .stop_at = LATE};
    char path[160];
    snprintf(path, sizeof path, "%s/cut/last.safetensors", folder);
    assert_int_equal(train(&p), LOCUS_ERROR_INTERRUPTED);
    cut_file(path);
    p.stop_at = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        lab_run run;
        locus_error error = {0};
        bool told = train_here(&p, &run, &error) == LOCUS_ERROR_IO && strstr(error.message, path) != NULL;
        child_exit(told ? 0 : 1);
    }
    assert_int_equal(end(child), 0);
    remains r = look_at("cut");
    assert_int_equal(r.run.state, LAB_RUN_STOPPED);
    assert_int_equal(r.run.steps_done, LATE);
    forget(&r);
    p.restart = true;
    assert_int_equal(train(&p), LOCUS_OK);
}

static void test_lost_row(void **state) {
    (void)state;
    plan p = {.config = tiny(), .name = "lost", .threads = 1, .stop_at = 10};
    assert_int_equal(train(&p), LOCUS_ERROR_INTERRUPTED);
    assert_int_equal(unlink(store_path), 0);
    p.stop_at = 0;
    lab_run run;
    locus_error error = {0};
    assert_int_equal(train_here(&p, &run, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "--restart"));
    lab_run_free(&run);
}

static void set_version(const char *name, const char *version) {
    lab_store *store;
    lab_run run;
    locus_error error = {0};
    assert_int_equal(lab_store_open(&store, store_path, &error), LOCUS_OK);
    assert_int_equal(lab_store_run_find(store, name, &run, &error), LOCUS_OK);
    free(run.version);
    run.version = strdup(version);
    assert_int_equal(lab_store_run_update(store, &run, &error), LOCUS_OK);
    lab_run_free(&run);
    lab_store_close(&store);
}

/* Steps that another program made stay that program's. */
static void test_versions(void **state) {
    (void)state;
    plan p = {.config = tiny(), .name = "handed", .threads = 1, .stop_at = 10};
    char own[96], want[200];
    lab_version_text(own, sizeof own);
    snprintf(want, sizeof want, "0.0.9 (0123456789), then %s", own);
    assert_int_equal(train(&p), LOCUS_ERROR_INTERRUPTED);
    set_version("handed", "0.0.9 (0123456789)");
    p.stop_at = 20;
    assert_int_equal(train(&p), LOCUS_ERROR_INTERRUPTED);
    p.stop_at = 0;
    assert_int_equal(train(&p), LOCUS_OK); /* a program that goes on with its own run is not told twice */
    remains r = look_at("handed");
    assert_string_equal(r.run.version, want);
    forget(&r);
    p.restart = true;
    assert_int_equal(train(&p), LOCUS_OK);
    r = look_at("handed");
    assert_string_equal(r.run.version, own);
    forget(&r);
}

/* Nor is a run gone on with whose program computed otherwise. */
static void test_numerics(void **state) {
    (void)state;
    plan p = {.config = tiny(), .name = "numerics", .threads = 1, .stop_at = 10};
    char names[2][256];
    lab_run run;
    locus_error error = {0};
    assert_int_equal(p.config.numerics, LAB_NUMERICS);
    assert_int_equal(train(&p), LOCUS_ERROR_INTERRUPTED);
    lab_train_name(&p.config, names[0], sizeof names[0]);
    p.config.numerics = LAB_NUMERICS + 1;
    lab_train_name(&p.config, names[1], sizeof names[1]);
    assert_string_not_equal(names[0], names[1]);
    assert_int_equal(train_here(&p, &run, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "another numerics"));
    lab_run_free(&run);
}

static void test_two_at_once(void **state) {
    (void)state;
    char path[160];
    int lock;
    locus_error error = {0};
    snprintf(path, sizeof path, "%s/twice", folder);
    assert_int_equal(lab_directory_create(path, &error), LOCUS_OK);
    snprintf(path, sizeof path, "%s/twice/lock", folder);
    assert_int_equal(lab_run_lock(path, &lock, &error), LOCUS_OK);
    plan p = {.config = tiny(), .name = "twice", .threads = 1};
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        lab_run run;
        char process[32];
        snprintf(process, sizeof process, "process %ld", (long)getppid());
        bool told = train_here(&p, &run, &error) == LOCUS_ERROR_IO && strstr(error.message, process) != NULL;
        child_exit(told ? 0 : 1);
    }
    assert_int_equal(end(child), 0);
    close(lock);
    assert_int_equal(train(&p), LOCUS_OK);
}

static void test_refusals(void **state) {
    (void)state;
    plan p = {.config = tiny(), .name = "bad", .threads = 1};
    lab_run run;
    locus_error error = {0};
    p.config.encoding = "roper(";
    assert_int_equal(train_here(&p, &run, &error), LOCUS_ERROR_SPEC);
    p.config = tiny();
    p.config.model.heads = 3;
    assert_int_equal(train_here(&p, &run, &error), LOCUS_ERROR_ARGUMENT);
    p.config = tiny();
    p.name = "../bad";
    assert_int_equal(train_here(&p, &run, &error), LOCUS_ERROR_ARGUMENT);
}

/* ---- parts ---- */

static void test_batches(void **state) {
    (void)state;
    lab_dataset set;
    locus_error error;
    lab_task_options options = lab_task_with(
        lab_task_find("copy"), &(lab_word_options){.length_mean = 6.0, .length_deviation = 2.0, .symbols = 20});
    const lab_draw draw = {lab_task_find("copy"), &options, LAB_SET_TRAIN, 21, 0};
    assert_int_equal(lab_dataset_generate(&set, &draw, &error), LOCUS_OK);
    lab_batcher straight, jumping;
    assert_int_equal(lab_batcher_create(&straight, &set, 4, 9, &error), LOCUS_OK);
    assert_int_equal(lab_batcher_create(&jumping, &set, 4, 9, &error), LOCUS_OK);
    size_t first_order[21];
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        size_t samples = 0, tokens = 0;
        for (uint64_t k = 0; k < 6; k++) {
            const lab_batch *batch, *same;
            assert_int_equal(lab_batcher_step(&straight, 6 * epoch + k, &batch, &error), LOCUS_OK);
            assert_int_equal(lab_batcher_step(&jumping, 17 - (6 * epoch + k), &same, &error), LOCUS_OK);
            assert_int_equal(lab_batcher_step(&jumping, 6 * epoch + k, &same, &error), LOCUS_OK);
            assert_int_equal(batch->samples, k == 5 ? 1 : 4);
            assert_int_equal(batch->samples, same->samples);
            assert_memory_equal(batch->input, same->input, batch->input_offsets[batch->samples] * sizeof(int32_t));
            assert_memory_equal(batch->input, batch->target, batch->input_offsets[batch->samples] * sizeof(int32_t));
            samples += batch->samples;
            tokens += batch->input_offsets[batch->samples];
        }
        bool seen[21] = {false};
        for (size_t i = 0; i < 21; i++)
            seen[straight.epochs.order[i]] = true;
        for (size_t i = 0; i < 21; i++)
            assert_true(seen[i]);
        if (epoch == 0)
            memcpy(first_order, straight.epochs.order, sizeof first_order);
        else
            assert_memory_not_equal(first_order, straight.epochs.order, sizeof first_order);
        assert_int_equal(samples, 21);
        assert_int_equal(tokens, set.input_offsets[21]);
    }
    lab_batcher_destroy(&straight);
    lab_batcher_destroy(&jumping);
    lab_dataset_destroy(&set);
}

/* Scores do not depend on how the set is cut into batches; greedy decoding of one token agrees with teacher forcing. */
static void score_in_child(void) {
    lab_train_config config = tiny();
    lab_dataset set;
    lab_model *model;
    lab_score small = {0}, large = {0};
    double greedy_small, greedy_large;
    locus_error error;
    config.model.vocabulary = lab_task_vocabulary(lab_task_find("copy"), &config.data);
    config.model.encoding = config.encoding;
    const lab_draw draw = {lab_task_find("copy"), &config.data, LAB_SET_TEST, 23, 0};
    assert_int_equal(lab_dataset_generate(&set, &draw, &error), LOCUS_OK);
    assert_int_equal(lab_model_create(&model, &config.model, 1, &error), LOCUS_OK);
    const lab_scoring few = {.batch = 5, .greedy_samples = 23}, many = {.batch = 64, .greedy_samples = 23};
    assert_int_equal(lab_train_score(model, &set, &few, &small, &greedy_small, &error), LOCUS_OK);
    assert_int_equal(lab_train_score(model, &set, &many, &large, &greedy_large, &error), LOCUS_OK);
    assert_int_equal(small.tokens, set.target_offsets[23] + 23);
    assert_int_equal(small.tokens, large.tokens);
    assert_int_equal(small.samples, 23);
    assert_int_equal(small.correct, large.correct);
    assert_int_equal(small.exact, large.exact);
    assert_true(fabs(small.loss - large.loss) < 1e-4 * large.loss);
    assert_true(fabs(greedy_small - greedy_large) < 1e-12);
    lab_model_destroy(&model);
    lab_dataset_destroy(&set);
}

static void test_scores(void **state) {
    (void)state;
    score_in_child();
}

static void test_config(void **state) {
    (void)state;
    lab_train_config config = tiny(), back;
    config.seed = UINT64_MAX - 5;
    config.rate_peak = 0.1;
    config.optimizer.clip = 1.0 / 3;
    LAB_WORDS(&config.data)->length_deviation = 1.2000000000000002; /* one bit more than 1.2 */
    config.setup = LAB_SETUP_CODE;
    config.model.norm = LAB_NORM_AFTER;
    char task[] = "reverse", encoding[] = "rope", budget[] = "custom";
    const lab_run run = {.task = task, .encoding = encoding, .budget = budget};
    char *json = lab_config_json(&config);
    locus_error error;
    assert_non_null(json);
    assert_int_equal(lab_config_parse(&back, json, &run, "a test", &error), LOCUS_OK);
    assert_null(lab_config_difference(&config, &back));
    assert_true(lab_config_same_texts(&config, json));
    assert_int_equal(back.test_length_count, 1);
    assert_true(lab_config_hash(&config) == lab_config_hash(&back));
    back.test_length_count = 0;
    back.checkpoint_seconds = 99;
    assert_true(lab_config_hash(&config) == lab_config_hash(&back));
    back.dev_samples++;
    assert_string_equal(lab_config_difference(&config, &back), "dev_samples");
    assert_true(lab_config_hash(&config) != lab_config_hash(&back));
    char unknown[] = "revers";
    const lab_run other_task = {.task = unknown, .encoding = encoding, .budget = budget};
    assert_int_equal(lab_config_parse(&back, json, &other_task, "a test", &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "the task 'revers', which this version does not have"));
    json[strlen(json) / 2] = '\0';
    assert_int_equal(lab_config_parse(&back, json, &run, "a test", &error), LOCUS_ERROR_IO);
    cJSON_free(json);

    char name[256], other[256];
    config.encoding = "algebraic(group=seq, decay=0.98)";
    lab_train_name(&config, name, sizeof name);
    assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-."), strlen(name));
    config.seed++;
    lab_train_name(&config, other, sizeof other);
    assert_string_not_equal(name, other);
}

/* Fields that version 0.3 did not have: its rows read as what they were, and keep their hash and their name. */
static void test_later_fields(void **state) {
    (void)state;
    char task[] = "reverse", encoding[] = "rope", budget[] = "custom", name[256];
    const lab_run run = {.task = task, .encoding = encoding, .budget = budget};
    lab_train_config config = tiny(), back;
    locus_error error;
    config.encoding = encoding, config.budget = budget;
    char *json = lab_config_json(&config);
    assert_null(strstr(json, "attention\":\"")); /* attention_dropout_on is written */
    assert_null(strstr(json, "kv_heads"));
    assert_int_equal(lab_config_parse(&back, json, &run, "a test", &error), LOCUS_OK);
    assert_string_equal(back.model.attention, "");
    assert_int_equal(back.model.kv_heads, 0);
    cJSON_free(json);
    const uint64_t before = lab_config_hash(&config);
    strcpy(config.model.attention, "clustered");
    config.model.kv_heads = 2;
    json = lab_config_json(&config);
    assert_non_null(strstr(json, "\"attention\":\"clustered\""));
    assert_non_null(strstr(json, "\"kv_heads\":2"));
    assert_int_equal(lab_config_parse(&back, json, &run, "a test", &error), LOCUS_OK);
    assert_string_equal(back.model.attention, "clustered");
    assert_int_equal(back.model.kv_heads, 2);
    assert_null(lab_config_difference(&config, &back));
    assert_true(lab_config_hash(&config) == lab_config_hash(&back) && lab_config_hash(&config) != before);
    lab_train_name(&config, name, sizeof name);
    assert_non_null(strstr(name, "-clustered-"));
    back.model.kv_heads = 0;
    assert_string_equal(lab_config_difference(&config, &back), "kv_heads");
    assert_int_equal(lab_model_attention(&config.model, "soft(landmarks=32, iterations=20)", &error), LOCUS_OK);
    assert_string_equal(config.model.attention, "soft(landmarks=32)");
    lab_train_name(&config, name, sizeof name);
    assert_non_null(strstr(name, "-soft-landmarks-32-"));
    char *soft = lab_config_json(&config);
    assert_int_equal(lab_config_parse(&back, soft, &run, "a test", &error), LOCUS_OK);
    assert_string_equal(back.model.attention, "soft(landmarks=32)");
    cJSON_free(soft);
    assert_int_equal(lab_model_attention(&config.model, "softmax", &error), LOCUS_OK);
    assert_string_equal(config.model.attention, "");
    char *bad = strstr(json, "clustered");
    memcpy(bad, "clustared", 9);
    assert_int_equal(lab_config_parse(&back, json, &run, "a test", &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "(attention)"));
    cJSON_free(json);
    config.model.heads = 4;
    config.model.kv_heads = 3;
    assert_int_equal(lab_config_check(&config, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "--kv-heads"));
}

static void test_encodings(void **state) {
    (void)state;
    static const struct {
        const char *typed, *same_as;
        lab_setup setup;
        lab_embedding_init init;
        const lab_architecture *architecture;
        const char *pretrained;
    } cases[] = {
        {"algebraic", "algebraic(group=seq)", LAB_SETUP_PAPER, 0, NULL, NULL},
        {" algebraic + alibi", "algebraic(group=seq)+alibi", LAB_SETUP_PAPER, 0, NULL, NULL},
        {"rope", "rope", LAB_SETUP_PAPER, 0, NULL, NULL},
        {"rope", "rope(learned=on)", LAB_SETUP_CODE, 0, NULL, NULL},
        {"rope (pairs=half)+alibi", "rope(learned=on,pairs=half) + alibi", LAB_SETUP_CODE, 0, NULL, NULL},
        {"rope(learned=off)", "rope(learned=off)", LAB_SETUP_CODE, 0, NULL, NULL},
        {"sinusoidal", "sinusoidal", LAB_SETUP_CODE, 0, NULL, NULL},
        {"2*algebraic/none", "2*algebraic(group=seq) / none", LAB_SETUP_PAPER, 0, NULL, NULL},
        {"5*rope/rope(base=1e6)", "5*rope(learned=on) / rope(learned=on, base=1e6)", LAB_SETUP_CODE, 0, NULL, NULL},
        {"rope / rope", "rope", LAB_SETUP_PAPER, 0, NULL, NULL},
        {"learned", "learned(deviation=1)", LAB_SETUP_PAPER, 0, NULL, NULL},
        {"rope+learned( size=9)", "rope + learned(size=9, deviation=1)", LAB_SETUP_PAPER, LAB_EMBEDDING_UNIT, NULL,
         NULL},
        {"learned(size=9)", "learned(size=9, deviation=0.02)", LAB_SETUP_PAPER, LAB_EMBEDDING_PLAIN,
         &lab_encoder_decoder, NULL},
        {"learned(size=9)", "learned(size=9, deviation=1)", LAB_SETUP_PAPER, LAB_EMBEDDING_PLAIN, &lab_image_classifier,
         NULL},
        {"learned(deviation=0.02)", "learned(deviation=0.02)", LAB_SETUP_PAPER, 0, NULL, NULL},
        {"learned(size=9)", "learned(size=9)", LAB_SETUP_PAPER, LAB_EMBEDDING_PLAIN, NULL, "a folder"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char a[400], b[400], again[400];
        locus_pattern *parsed;
        locus_error error = {0};
        const lab_train_config config = {
            .setup = cases[i].setup,
            .model = {.embedding_init = cases[i].init, .architecture = cases[i].architecture},
            .pretrained = cases[i].pretrained};
        if (lab_train_encoding(cases[i].typed, &config, a, sizeof a, &error) != LOCUS_OK)
            fail_msg("%s: %s", cases[i].typed, error.message);
        assert_int_equal(locus_pattern_parse(cases[i].same_as, &parsed, &error), LOCUS_OK);
        locus_pattern_text(parsed, b, sizeof b);
        locus_pattern_destroy(&parsed);
        assert_string_equal(a, b);
        /* what a run's row says is asked for again */
        assert_int_equal(lab_train_encoding(a, &config, again, sizeof again, &error), LOCUS_OK);
        assert_string_equal(a, again);
    }
    char text[400];
    locus_error error = {0};
    const lab_train_config code = {.setup = LAB_SETUP_CODE};
    assert_int_equal(lab_train_encoding("rope + algebric", &code, text, sizeof text, &error), LOCUS_ERROR_SPEC);
    assert_int_equal(error.offset, 7);
    assert_int_equal(lab_train_encoding("rope / 2*algebric", &code, text, sizeof text, &error), LOCUS_ERROR_SPEC);
    assert_int_equal(error.offset, 9);
}

/* Runs of version 0.1, whose text says no deviation and meant 0.02, are other runs. */
static void test_tables_begin_apart(void **state) {
    (void)state;
    lab_train_config config;
    char now[LAB_SPEC_SIZE], names[2][256];
    assert_int_equal(lab_train_config_budget(&config, lab_task_find("listops"), "quick", LAB_SETUP_PAPER, NULL),
                     LOCUS_OK);
    assert_int_equal(lab_train_encoding("learned(size=102)", &config, now, sizeof now, NULL), LOCUS_OK);
    config.encoding = config.model.encoding = "learned(size=102)";
    const uint64_t before = lab_config_hash(&config);
    lab_train_name(&config, names[0], sizeof names[0]);
    config.encoding = config.model.encoding = now;
    lab_train_name(&config, names[1], sizeof names[1]);
    assert_true(lab_config_hash(&config) != before);
    assert_string_not_equal(names[0], names[1]);
}

static void test_budgets(void **state) {
    (void)state;
    static const char *const names[] = {"smoke", "quick", "paper"};
    lab_train_config config;
    locus_error error;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(lab_train_config_budget(&config, lab_task_find("copy"), names[i], LAB_SETUP_PAPER, &error),
                         LOCUS_OK);
        assert_int_equal(lab_config_check(&config, &error), LOCUS_OK);
        assert_string_equal(config.budget, names[i]);
    }
    /* Paper is tasks.md: 6000 samples in batches of 64 are 94 steps, 400 times. */
    assert_int_equal(lab_config_steps(&config), 37600);
    lab_schedule schedule = lab_config_schedule(&config);
    assert_int_equal(schedule.warmup, 1880);
    assert_true(fabs(schedule.peak - 5e-4) < 1e-15);
    assert_int_equal(lab_train_config_budget(&config, lab_task_find("copy"), "paper", LAB_SETUP_CODE, &error),
                     LOCUS_OK);
    assert_int_equal(lab_config_schedule(&config).warmup, 5 * 94);
    assert_int_equal(config.model.norm, LAB_NORM_AFTER);
    assert_int_equal(config.model.attention_dropout_on, LOCUS_DROPOUT_LOGITS);
    assert_int_equal(lab_train_config_budget(&config, lab_task_find("copy"), "huge", LAB_SETUP_CODE, &error),
                     LOCUS_ERROR_ARGUMENT);
}

/* Only set-up code moves trees, and a configuration that says nothing of it is the one that there always was. */
static void test_tree_paths(void **state) {
    (void)state;
    lab_train_config config;
    const struct {
        const char *task;
        lab_setup setup;
        lab_tree_paths paths;
    } cases[] = {{"tree-copy", LAB_SETUP_PAPER, LAB_PATHS_OWN},
                 {"tree-copy", LAB_SETUP_CODE, LAB_PATHS_CODE},
                 {"copy", LAB_SETUP_CODE, LAB_PATHS_OWN},
                 {"listops", LAB_SETUP_CODE, LAB_PATHS_OWN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(lab_train_config_budget(&config, lab_task_find(cases[i].task), "quick", cases[i].setup, NULL),
                         LOCUS_OK);
        assert_int_equal(config.model.tree_paths, cases[i].paths);
        char *json = lab_config_json(&config);
        assert_int_equal(strstr(json, "tree_paths") != NULL, cases[i].paths != LAB_PATHS_OWN);
        cJSON_free(json);
    }
}

/* Trainings come first: no thread may have been started in this process when it parts. */
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_later_fields),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_tables_begin_apart),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_tree_paths),
        cmocka_unit_test(test_batches),
        cmocka_unit_test_setup_teardown(test_stopped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_decoded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_learned_encodings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_done_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_length_out_of_table, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_checkpoint, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lost_row, setup, teardown),
        cmocka_unit_test_setup_teardown(test_versions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numerics, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_finite, setup, teardown),
        cmocka_unit_test(test_scores),
    };
    threads_only("test_threads");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
