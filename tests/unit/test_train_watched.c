/* SPDX-License-Identifier: MIT */
/* What a training says of itself: each call of its watcher, number by number, and the whole row that it leaves, whether
 * it is trained at once or goes on. */
#include "io/clock.h"
#include "io/safetensors.h"
#include "task/word_task.h"
#include "train/configuration/budgets.h"
#include "train/configuration/config.h"
#include "train/machine.h"
#include "train/train.h"
#include "unit/scratch_folder.h"
#include "unit/small_images.h"

#include <cjson/cJSON.h>
#include <locus/parallel.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEPS = 5, EVERY = 2, MOST = 64 };

static lab_store *store;
static char folder[1024];

static int open_all(void **state) {
    if (scratch_create(state) != 0)
        return 1;
    snprintf(folder, sizeof folder, "%s", scratch_path("runs"));
    return locus_threads_set(1) == LOCUS_OK && lab_store_open(&store, scratch_path("locus.db"), NULL) == LOCUS_OK ? 0
                                                                                                                  : 1;
}

static int close_all(void **state) {
    lab_store_close(&store);
    return scratch_remove(state);
}

static lab_train_config tiny(const char *task) {
    lab_train_config config;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find(task), "smoke", LAB_SETUP_PAPER, NULL), LOCUS_OK);
    config.encoding = "rope";
    config.budget = "custom";
    config.model.dim = config.model.feed_forward = 16;
    config.model.heads = 2;
    config.model.encoder_layers = 1;
    config.model.decoder_layers = config.model.decoder_layers > 0;
    config.batch = 4;
    config.epochs = 0;
    config.steps = STEPS;
    config.evaluate_every = EVERY;
    config.seed = 7;
    config.data_seed = 8;
    return config;
}

static lab_train_config words(void) {
    lab_train_config config = tiny("copy");
    LAB_WORDS(&config.data)->length_mean = 4;
    LAB_WORDS(&config.data)->length_deviation = 0;
    config.train_samples = 8;
    config.dev_samples = 6;
    config.test_samples = 5;
    config.greedy_samples = 2;
    config.test_length_count = 0;
    return config;
}

/* ---- progress ---- */

typedef struct witness {
    lab_progress seen[MOST];
    char phases[MOST][16];
    double came[MOST];
    size_t count;
    uint64_t stop_at; /* 0: nowhere */
    bool slow;        /* before the first step */
} witness;

static bool watch(void *context, const lab_progress *now) {
    witness *of = context;
    assert_true(of->count < MOST);
    of->seen[of->count] = *now;
    of->came[of->count] = lab_seconds();
    snprintf(of->phases[of->count++], sizeof of->phases[0], "%s", now->phase);
    if (of->slow && of->count == 1)
        nanosleep(&(const struct timespec){.tv_nsec = 50000000}, NULL);
    return of->stop_at == 0 || now->step < of->stop_at;
}

static lab_run train(const lab_train_config *config, const char *name, bool every_step, witness *seen) {
    const bool whole = seen->stop_at == 0;
    lab_run run;
    locus_error error = {0};
    const lab_train_request request = {.config = *config,
                                       .folder = folder,
                                       .name = name,
                                       .command = "locus train …",
                                       .every_step = every_step,
                                       .progress = watch,
                                       .context = seen};
    char stopped[64] = "";
    const locus_status status = lab_train(store, &request, &run, &error);
    if (!whole)
        snprintf(stopped, sizeof stopped, "stopped after step %d of %d", (int)seen->stop_at, STEPS);
    assert_string_equal(error.message, stopped);
    assert_int_equal(status, whole ? LOCUS_OK : LOCUS_ERROR_INTERRUPTED);
    return run;
}

static double metric(int64_t run, const char *name, uint64_t step) {
    lab_metric *metrics;
    size_t count;
    double found = -1;
    assert_int_equal(lab_store_metrics(store, run, name, &metrics, &count, NULL), LOCUS_OK);
    for (size_t i = 0; i < count; i++)
        found = metrics[i].step == step ? metrics[i].value : found;
    free(metrics);
    return found;
}

static double final_of(int64_t run, const char *set, const char *name) {
    lab_final *finals;
    size_t count;
    double found = -1;
    assert_int_equal(lab_store_finals(store, run, &finals, &count, NULL), LOCUS_OK);
    for (size_t i = 0; i < count; i++)
        if (strcmp(finals[i].set, set) == 0 && strcmp(finals[i].name, name) == 0)
            found = finals[i].value;
    free(finals);
    return found;
}

static bool same(double a, double b) {
    return isnan(a) ? isnan(b) : fabs(a - b) <= 1e-12 * fabs(b);
}

/* Before the first step, after each, and at each batch that is scored: 6 samples of the development set are 2 batches,
 * 5 of the test set as well, 2 of them are decoded in one. */
static void each_step_is_told(void **state) {
    (void)state;
    static const char *const phases[] = {"train", "train", "dev", "dev",   "train", "train", "dev",   "dev",
                                         "train", "dev",   "dev", "train", "test",  "test",  "greedy"};
    static const uint64_t steps[] = {0, 1, 2, 2, 2, 3, 4, 4, 4, 5, 5, 5, 5, 5, 5};
    lab_train_config config = words();
    witness seen = {.count = 0};
    const double began = lab_seconds();
    lab_run run = train(&config, "watched", true, &seen);
    const double all = lab_seconds() - began;
    const lab_schedule schedule = lab_config_schedule(&config);
    assert_int_equal(seen.count, sizeof phases / sizeof *phases);
    for (size_t i = 0; i < seen.count; i++) {
        const lab_progress *now = &seen.seen[i];
        assert_string_equal(seen.phases[i], phases[i]);
        assert_int_equal(now->step, steps[i]);
        assert_int_equal(now->steps, STEPS);
        assert_int_equal(now->epoch_steps, 0);
        assert_true(same(now->rate, steps[i] == 0 ? 0 : lab_schedule_rate(&schedule, steps[i] - 1)));
        assert_true(steps[i] == 0 ? isnan(now->loss) : now->loss > 0);
        assert_true(steps[i] == 0 ? !(now->tokens_per_second > 0) : now->tokens_per_second > 0);
        const uint64_t scored = strcmp(phases[i], "train") == 0 && steps[i] % EVERY == 0 ? steps[i]
                                : steps[i] == STEPS && strcmp(phases[i], "dev") != 0     ? STEPS
                                                                                     : (steps[i] - 1) / EVERY * EVERY;
        const bool any = steps[i] > 0 && scored > 0;
        assert_true(same(now->dev_loss, any ? metric(run.id, "dev.loss", scored) : (double)NAN));
        assert_true(same(now->dev_accuracy, any ? metric(run.id, "dev.accuracy", scored) : (double)NAN));
        if (steps[i] == 0) {
            assert_true(isnan(now->seconds_left));
            continue;
        }
        /* What is left takes as long for a step as what is done. */
        const double share = (double)(STEPS - steps[i]) / (double)steps[i];
        assert_true(now->seconds_left >= 0 && now->seconds_left <= share * all + 1e-9);
        assert_true(now->seconds_left >= share * (seen.came[i - 1] - seen.came[0]) - 1e-9);
    }
    /* The mean of a record's steps is what stands in the curve. */
    assert_true(fabs((seen.seen[1].loss + seen.seen[4].loss) / 2 - metric(run.id, "train.loss", 2)) < 1e-9);
    assert_true(same(metric(run.id, "train.rate", 2), seen.seen[4].rate));
    lab_run_free(&run);
}

/* A few times a second are enough, but for the first word and the last step. What is not decoded has no score of it. */
static void not_each_step_is_told(void **state) {
    (void)state;
    lab_train_config config = words();
    witness seen = {.count = 0};
    config.greedy_samples = 0;
    const double began = lab_seconds();
    lab_run run = train(&config, "seldom", false, &seen);
    assert_true(final_of(run.id, "test", "accuracy") >= 0 && final_of(run.id, "test", "greedy_exact") < 0);
    if (lab_seconds() - began < 0.2)
        assert_int_equal(seen.count, 2);
    assert_true(seen.count >= 2 && seen.seen[0].step == 0);
    bool ended = false;
    for (size_t i = 0; i < seen.count; i++)
        ended = ended || (seen.seen[i].step == STEPS && strcmp(seen.phases[i], "train") == 0);
    assert_true(ended);
    lab_run_free(&run);
}

/* Images are counted by epochs. */
static void epochs_are_told(void **state) {
    (void)state;
    char data[1024];
    snprintf(data, sizeof data, "%s", scratch_path("data"));
    assert_int_equal(mkdir(data, 0777), 0);
    small_images_write(data, 2, 4);
    lab_train_config config = tiny("cifar10");
    config.data.path = data;
    config.train_samples = 10;
    config.dev_samples = config.test_samples = 4;
    witness seen = {.count = 0};
    lab_run run = train(&config, "images", true, &seen);
    for (size_t i = 0; i < seen.count; i++)
        assert_int_equal(seen.seen[i].epoch_steps, 3);
    assert_int_equal(run.tokens_seen, (4 + 4 + 2 + 4 + 4) * 100);
    lab_run_free(&run);
}

/* ---- what was learned ---- */

/* Words of two symbols, which are soon learned: accuracy passes both marks on its way to 1. */
static void the_curve_in_numbers(void **state) {
    (void)state;
    lab_train_config config = words();
    LAB_WORDS(&config.data)->symbols = 2;
    config.train_samples = 32;
    config.dev_samples = 40;
    config.batch = 32;
    config.steps = 100;
    config.evaluate_every = 5;
    config.rate_peak = 0.02;
    config.model.dropout = config.model.attention_dropout = 0;
    witness seen = {.count = 0};
    lab_run run = train(&config, "learns", false, &seen);
    lab_metric *accuracy, *loss;
    size_t count, losses, best = 0;
    assert_int_equal(lab_store_metrics(store, run.id, "dev.accuracy", &accuracy, &count, NULL), LOCUS_OK);
    assert_int_equal(lab_store_metrics(store, run.id, "dev.loss", &loss, &losses, NULL), LOCUS_OK);
    assert_int_equal(count, 20);
    assert_int_equal(losses, 20);
    static const double marks[] = {0.90, 0.99};
    static const char *const names[] = {"steps_to_90", "steps_to_99"};
    for (size_t m = 0; m < 2; m++) {
        double step = -1;
        for (size_t i = count; i > 0; i--)
            step = accuracy[i - 1].value >= marks[m] ? (double)accuracy[i - 1].step : step;
        assert_true(step > 3 && step < 60); /* not at once, but before the end */
        assert_true(same(final_of(run.id, "dev", names[m]), step));
    }
    for (size_t i = 1; i < count; i++)
        best = loss[i].value < loss[best].value ? i : best;
    assert_true(same(final_of(run.id, "dev", "best_step"), (double)loss[best].step));
    assert_true(same(final_of(run.id, "dev", "loss"), loss[best].value));
    assert_true(same(final_of(run.id, "dev", "accuracy"), accuracy[best].value));
    assert_true(same(final_of(run.id, "test", "accuracy"), 1) && same(final_of(run.id, "test", "exact"), 1));
    assert_true(same(final_of(run.id, "test", "greedy_exact"), 1));
    free(accuracy);
    free(loss);
    lab_run_free(&run);
    config.evaluate_every = config.steps; /* the first look is past both marks */
    seen = (witness){.count = 0};
    run = train(&config, "learned", false, &seen);
    for (size_t m = 0; m < 2; m++)
        assert_true(same(final_of(run.id, "dev", names[m]), 100));
    lab_run_free(&run);
}

/* ---- the row ---- */

static void expect_time(const char *text) {
    int fields[6], length = 0;
    assert_int_equal(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &fields[0], &fields[1], &fields[2], &fields[3],
                            &fields[4], &fields[5], &length),
                     6);
    assert_int_equal(length, 20);
    assert_true(strlen(text) == 20 && fields[0] >= 2024);
}

static void the_whole_row(void **state) {
    (void)state;
    lab_train_config config = words();
    witness seen = {.count = 0};
    char machine[256], version[96];
    const double began = lab_seconds();
    lab_run run = train(&config, "row", true, &seen), found;
    const double all = lab_seconds() - began;
    assert_int_equal(lab_store_run_find(store, "row", &found, NULL), LOCUS_OK);
    lab_machine_text(machine, sizeof machine);
    lab_version_text(version, sizeof version);
    lab_config_fill(&config);
    char *json = lab_config_json(&config);
    const lab_run *const rows[] = {&run, &found};
    for (size_t i = 0; i < 2; i++) {
        const lab_run *r = rows[i];
        assert_string_equal(r->name, "row");
        assert_string_equal(r->task, "copy");
        assert_string_equal(r->encoding, "rope");
        assert_string_equal(r->setup, "paper");
        assert_string_equal(r->embedding_init, "scaled");
        assert_string_equal(r->budget, "custom");
        assert_string_equal(r->config, json);
        assert_string_equal(r->command, "locus train …");
        assert_string_equal(r->version, version);
        assert_string_equal(r->machine, machine);
        assert_string_equal(r->message, "");
        assert_string_equal(r->note, "");
        assert_string_equal(r->parent, "");
        assert_true(r->seed == 7 && r->data_seed == 8 && r->state == LAB_RUN_DONE && !r->imported);
        assert_true(r->steps_total == STEPS && r->steps_done == STEPS);
        assert_int_equal(r->tokens_seen, STEPS * 4 * (4 + 4 + 1)); /* a batch's inputs, targets and ends */
        assert_true(r->wall_seconds > 0 && r->wall_seconds <= all);
        assert_true(r->tokens_per_second >= (double)r->tokens_seen / all);
        assert_true(r->peak_bytes > 1 << 20 && r->peak_bytes <= lab_peak_bytes());
        expect_time(r->started);
        expect_time(r->ended);
        assert_true(strcmp(r->started, r->ended) <= 0);
    }
    /* D = F = 16, 22 symbols: embedding, two layers, of which the decoder's has two attentions, norms. */
    const int64_t D = 16, attention = 4 * (D * D + D), block = 2 * (D * D + D), norm = 2 * D;
    assert_int_equal(found.parameters, 22 * D + 3 * attention + 2 * block + 5 * norm + 2 * norm);
    cJSON_free(json);
    lab_run_free(&run);
    lab_run_free(&found);
}

/* ---- going on ---- */

/* The checkpoint knows how long the steps so far took. From now on, an hour and half of it, and very much memory. */
static void remember_long_steps(const char *name, double wall) {
    char path[1200];
    lab_safetensors file;
    double *reals = NULL;
    int64_t *integers = NULL;
    snprintf(path, sizeof path, "%s/%s/last.safetensors", folder, name);
    assert_int_equal(lab_safetensors_read(&file, path, NULL), LOCUS_OK);
    for (size_t i = 0; i < file.count; i++) {
        reals = strcmp(file.arrays[i].name, "state.reals") == 0 ? file.arrays[i].data : reals;
        integers = strcmp(file.arrays[i].name, "state.integers") == 0 ? file.arrays[i].data : integers;
    }
    assert_true(reals != NULL && integers != NULL);
    assert_true(reals[3] >= 0.05 && reals[3] <= wall && reals[4] > 0 && reals[4] <= wall);
    reals[3] = 3600;
    reals[4] = 1800;
    integers[5] = (int64_t)1 << 50;
    assert_int_equal(lab_safetensors_write(path, file.arrays, file.count, file.metadata, file.metadata_count, NULL),
                     LOCUS_OK);
    lab_safetensors_close(&file);
}

static void expect_going_on(const lab_run *run, lab_run_state state, uint64_t steps, const char *message,
                            const char *version, double spent) {
    const double tokens = (double)(steps * 4 * (4 + 4 + 1));
    assert_int_equal(run->state, state);
    assert_int_equal(run->steps_done, steps);
    assert_int_equal(run->tokens_seen, tokens);
    assert_string_equal(run->message, message);
    assert_string_equal(run->version, version);
    assert_true(run->wall_seconds >= 3600 && run->wall_seconds <= 3600 + spent);
    assert_true(run->tokens_per_second <= tokens / 1800 && run->tokens_per_second >= tokens / (1800 + spent));
    assert_int_equal(run->peak_bytes, (int64_t)1 << 50);
    expect_time(run->ended);
}

/* Time, memory and versions of all that made its steps; what is left is told by the steps since it goes on. */
static void a_run_goes_on(void **state) {
    (void)state;
    const lab_train_config config = words();
    char version[96], old[] = "0.0 (old)", both[128];
    witness seen = {.stop_at = 1, .slow = true};
    lab_run run = train(&config, "parts", true, &seen);
    assert_string_equal(run.message, "stopped after step 1 of 5");
    assert_int_equal(run.state, LAB_RUN_STOPPED);
    remember_long_steps("parts", run.wall_seconds);
    free(run.version);
    run.version = old;
    assert_int_equal(lab_store_run_update(store, &run, NULL), LOCUS_OK);
    run.version = NULL;
    lab_run_free(&run);
    lab_version_text(version, sizeof version);
    snprintf(both, sizeof both, "0.0 (old), then %s", version);
    const double began = lab_seconds();
    seen = (witness){.stop_at = 3};
    run = train(&config, "parts", true, &seen);
    expect_going_on(&run, LAB_RUN_STOPPED, 3, "stopped after step 3 of 5", both, lab_seconds() - began);
    lab_run_free(&run);
    seen = (witness){.slow = true};
    const double again = lab_seconds();
    run = train(&config, "parts", true, &seen);
    expect_going_on(&run, LAB_RUN_DONE, STEPS, "", both, lab_seconds() - began);
    assert_int_equal(seen.seen[0].step, 3);
    for (size_t i = 0; i < seen.count; i++) {
        const lab_progress *now = &seen.seen[i];
        const double spent = lab_seconds() - again, share = (double)(STEPS - now->step) / (double)(now->step - 3);
        const double tokens = (double)now->step * 4 * (4 + 4 + 1);
        assert_true(now->tokens_per_second <= tokens / 1800 && now->tokens_per_second >= tokens / (1800 + spent));
        assert_true(now->step == 3 ? isnan(now->seconds_left) : now->seconds_left <= share * spent + 1e-9);
        assert_true(now->step == 3 || now->seconds_left >= share * (seen.came[i - 1] - seen.came[0]) - 1e-9);
    }
    lab_run_free(&run);
}

/* The best parameters are written again by whoever goes on, and are the first of those that are equally good. */
static void the_best_is_written_again(void **state) {
    (void)state;
    lab_train_config config = words();
    char path[1200];
    config.schedule = LAB_SCHEDULE_CONSTANT;
    config.rate_peak = 1e-300; /* no parameter changes */
    witness seen = {.stop_at = 3};
    lab_run run = train(&config, "best", true, &seen);
    lab_run_free(&run);
    snprintf(path, sizeof path, "%s/best/best.safetensors", folder);
    assert_int_equal(unlink(path), 0);
    seen = (witness){.count = 0};
    run = train(&config, "best", true, &seen);
    assert_int_equal(access(path, F_OK), 0);
    assert_true(same(final_of(run.id, "dev", "best_step"), EVERY));
    assert_true(same(metric(run.id, "dev.loss", 2), metric(run.id, "dev.loss", STEPS)));
    lab_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_is_told),
        cmocka_unit_test(not_each_step_is_told),
        cmocka_unit_test(epochs_are_told),
        cmocka_unit_test(the_curve_in_numbers),
        cmocka_unit_test(the_whole_row),
        cmocka_unit_test(a_run_goes_on),
        cmocka_unit_test(the_best_is_written_again),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
