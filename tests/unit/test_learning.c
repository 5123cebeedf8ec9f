/* SPDX-License-Identifier: MIT */
/* Whether a field is still learning: the five steps of learning.h, one after the other, from planted curves and longer
 * trainings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "report/tables/learning.h"
#include "train/configuration/config.h"
#include "unit/scratch_folder.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define OK(call) \
    do { \
        locus_error failed = {0}; \
        if ((call) != LOCUS_OK) { \
            fail_msg("%s: %s", #call, failed.message); \
        } \
    } while (0)

/* ---- curves ---- */

static double gain_of(double (*score)(double share), uint64_t every, lab_measure measure) {
    lab_metric metrics[64];
    size_t count = 0;
    double gain = 0;
    for (uint64_t step = every; step <= 1200; step += every)
        metrics[count++] = (lab_metric){step, score((double)step / 1200)};
    assert_true(lab_learning_gain(metrics, count, 1200, measure, &gain));
    return gain;
}

static double rising(double share) {
    return 0.3 + 0.3 * share;
}

/* Everything is learned between two thirds and five sixths of the steps. */
static double jumping(double share) {
    return share <= 2.0 / 3 + 1e-9 ? 0.2 : 0.9;
}

static double done_early(double share) {
    return share < 0.5 ? share : 0.5;
}

/* A straight line gains in the last third a third of what it gains in all. */
static void test_gain(void **state) {
    (void)state;
    for (uint64_t every = 25; every <= 100; every *= 2) {
        assert_true(fabs(gain_of(rising, every, LAB_MEASURE_ACCURACY) - 0.1) < 1e-9);
        assert_true(fabs(gain_of(rising, every, LAB_MEASURE_LOSS) + 0.1) < 1e-9); /* a loss that grows */
        assert_true(fabs(gain_of(jumping, every, LAB_MEASURE_ACCURACY) - 0.7) < 1e-9);
        assert_true(fabs(gain_of(done_early, every, LAB_MEASURE_ACCURACY)) < 1e-9);
    }
}

static void test_no_curve(void **state) {
    (void)state;
    const lab_metric sparse[] = {{600, 0.2}, {1200, 0.3}}, broken[] = {{700, NAN}, {1200, 0.3}};
    double gain;
    assert_false(lab_learning_gain(sparse, 0, 1200, LAB_MEASURE_ACCURACY, &gain));
    assert_false(lab_learning_gain(sparse, 2, 1200, LAB_MEASURE_ACCURACY, &gain)); /* nothing between 600 and 800 */
    assert_false(lab_learning_gain(broken, 2, 1200, LAB_MEASURE_ACCURACY, &gain));
}

/* ---- the steps ---- */

static lab_statistic shares(double mean, size_t count) {
    const double values[4] = {mean, mean, mean, mean};
    return lab_statistic_of(values, count);
}

static lab_convergence judge(const lab_learning *learning, double mean) {
    const lab_statistic score = shares(mean, 3);
    return lab_learning_judge(learning, &score, LAB_MEASURE_ACCURACY, 0.05);
}

static void test_steps(void **state) {
    (void)state;
    lab_learning learning = {.curves = 3, .runs = 3, .gain = 0.2};
    const lab_statistic none = {0};
    assert_int_equal(lab_learning_judge(&learning, &none, LAB_MEASURE_ACCURACY, 0.05), LAB_CONVERGENCE_UNKNOWN);
    /* Within a point of everything right nothing is left to learn, whatever the curve says. */
    assert_int_equal(judge(&learning, 0.991), LAB_CONVERGED);
    assert_int_equal(judge(&learning, 0.985), LAB_STILL_LEARNING);
    learning.gain = 0.011;
    assert_int_equal(judge(&learning, 0.5), LAB_STILL_LEARNING);
    learning.gain = 0.009;
    assert_int_equal(judge(&learning, 0.5), LAB_CONVERGED);
    learning.gain = -0.3; /* what is forgotten is not being learned */
    assert_int_equal(judge(&learning, 0.5), LAB_CONVERGED);
    /* At chance: a tenth of the way from 0.05 to 1. */
    assert_int_equal(judge(&learning, 0.144), LAB_NOT_BEGUN);
    assert_int_equal(judge(&learning, 0.146), LAB_CONVERGED);
    /* A training without a curve says nothing of the field. */
    learning.runs = 4;
    assert_int_equal(judge(&learning, 0.5), LAB_CONVERGENCE_UNKNOWN);
    assert_int_equal(judge(&(lab_learning){0}, 0.5), LAB_CONVERGENCE_UNKNOWN);
    /* Of a claim that it is at chance it is asked whether it rises. */
    const lab_statistic low = shares(0.1, 3);
    learning = (lab_learning){.curves = 3, .runs = 3, .gain = 0.005};
    assert_int_equal(lab_learning_judge(&learning, &low, LAB_MEASURE_ACCURACY, 0), LAB_CONVERGED);
    learning.longer = shares(0.9, 3);
    assert_int_equal(lab_learning_judge(&learning, &low, LAB_MEASURE_ACCURACY, 0), LAB_STILL_LEARNING);
}

/* Longer trainings decide where there are three of them: either way, and at chance, too. */
static void test_longer_steps(void **state) {
    (void)state;
    lab_learning learning = {.curves = 3, .runs = 3, .gain = 0.2, .longer_steps = 3000};
    learning.longer = shares(0.505, 3);
    assert_int_equal(judge(&learning, 0.5), LAB_CONVERGED);
    learning.longer = shares(0.52, 3);
    learning.gain = 0;
    assert_int_equal(judge(&learning, 0.5), LAB_STILL_LEARNING);
    learning.longer = shares(0.4, 3);
    assert_int_equal(judge(&learning, 0.5), LAB_CONVERGED);
    learning.longer = shares(0.06, 3);
    assert_int_equal(judge(&learning, 0.06), LAB_CONVERGED);
    learning.longer = shares(0.9, 2);
    assert_int_equal(judge(&learning, 0.5), LAB_CONVERGED); /* two decide nothing: the curve does */
}

/* 0.02 nats; nothing is within the margin of the best loss, or at its chance. */
static void test_losses(void **state) {
    (void)state;
    const lab_statistic loss = shares(0.001, 3);
    lab_learning learning = {.curves = 3, .runs = 3, .gain = 0.021};
    assert_int_equal(lab_learning_judge(&learning, &loss, LAB_MEASURE_LOSS, 0.05), LAB_STILL_LEARNING);
    learning.gain = 0.019;
    assert_int_equal(lab_learning_judge(&learning, &loss, LAB_MEASURE_LOSS, 0.05), LAB_CONVERGED);
    learning.longer = shares(-0.03, 3); /* lower is ahead */
    assert_int_equal(lab_learning_judge(&learning, &loss, LAB_MEASURE_LOSS, 0.05), LAB_STILL_LEARNING);
    assert_true(fabs(lab_learning_longer_gain(&learning, &loss, LAB_MEASURE_LOSS) - 0.031) < 1e-12);
}

static void test_chance(void **state) {
    (void)state;
    const lab_statistic low = shares(0.1, 3), zero = shares(0, 3), none = {0};
    assert_true(lab_is_at_chance(&low, LAB_MEASURE_ACCURACY, 0.05));
    assert_false(lab_is_at_chance(&low, LAB_MEASURE_ACCURACY, 0)); /* unknown */
    assert_false(lab_is_at_chance(&low, LAB_MEASURE_SOLVED, 0.05));
    assert_true(lab_is_at_chance(&zero, LAB_MEASURE_SOLVED, 0));
    assert_false(lab_is_at_chance(&zero, LAB_MEASURE_LOSS, 0.5));
    assert_false(lab_is_at_chance(&none, LAB_MEASURE_ACCURACY, 0.05));
}

/* ---- from a store ---- */

static int64_t put_run(lab_store *store, const lab_train_config *config, lab_run_state is, double accuracy) {
    static int count;
    char name[64], *json = lab_config_json(config);
    snprintf(name, sizeof name, "run-%d", count++);
    lab_run run = {.name = name,
                   .task = (char *)(uintptr_t)config->task->name,
                   .encoding = (char *)(uintptr_t)config->encoding,
                   .setup = (char *)(uintptr_t)lab_setup_name(config->setup),
                   .embedding_init = (char *)(uintptr_t)lab_embedding_init_name(config->model.embedding_init),
                   .budget = (char *)(uintptr_t)config->budget,
                   .config = json,
                   .command = (char *)(uintptr_t) "",
                   .version = (char *)(uintptr_t) "",
                   .machine = (char *)(uintptr_t) "",
                   .started = (char *)(uintptr_t) "",
                   .ended = (char *)(uintptr_t) "",
                   .seed = config->seed,
                   .state = is};
    OK(lab_store_run_insert(store, &run, &failed));
    OK(lab_store_final_set(store, run.id, "test", "accuracy", accuracy, &failed));
    OK(lab_store_final_set(store, run.id, "test", "loss", 10 * accuracy, &failed));
    cJSON_free(json);
    return run.id;
}

static lab_train_config config_of(const char *task, const char *encoding) {
    lab_train_config config;
    OK(lab_train_config_budget(&config, lab_task_find(task), "smoke", LAB_SETUP_PAPER, &failed));
    lab_config_fill(&config);
    config.encoding = config.model.encoding = encoding;
    return config;
}

/* `count` seeds of a training with that many steps. */
static void put_longer(lab_store *store, lab_train_config config, uint64_t steps, size_t count, double accuracy) {
    config.budget = "custom";
    config.steps = steps;
    config.evaluate_every = 77;
    for (size_t i = 0; i < count; i++) {
        config.seed = 20 + i;
        put_run(store, &config, LAB_RUN_DONE, accuracy + 0.01 * (double)i);
    }
}

static void look(lab_store *store, const lab_train_config *config, lab_measure measure, lab_learning *learning) {
    *learning = (lab_learning){0};
    OK(lab_learning_look(learning, store, config, measure, LAB_SPAN_FULL, &failed));
}

static void test_look(void **state) {
    (void)state;
    lab_store *store;
    lab_learning found;
    OK(lab_store_open(&store, scratch_path("longer.db"), &failed));
    lab_train_config config = config_of("copy", "rope"), other = config;
    const uint64_t steps = lab_config_steps(&config);
    put_run(store, &config, LAB_RUN_DONE, 0.5);
    put_longer(store, config, 2 * steps - 1, 3, 0.6);
    put_longer(store, config, 4 * steps, 2, 0.6);
    other.model.dim *= 2; /* another model */
    put_longer(store, other, 2 * steps, 3, 0.6);
    put_longer(store, config_of("copy", "none"), 2 * steps, 3, 0.6);
    look(store, &config, LAB_MEASURE_ACCURACY, &found);
    assert_int_equal(found.longer.count, 0);
    put_longer(store, config, 2 * steps, 3, 0.7);
    look(store, &config, LAB_MEASURE_ACCURACY, &found);
    assert_int_equal(found.longer.count, 3);
    assert_int_equal(found.longer_steps, 2 * steps);
    assert_true(fabs(found.longer.mean - 0.71) < 1e-12);
    assert_true(found.longer_runs[0] > 0 && found.longer_runs[2] == found.longer_runs[0] + 2);
    put_longer(store, config, 3 * steps, 4, 0.8); /* the longest that there are seeds enough of */
    look(store, &config, LAB_MEASURE_LOSS, &found);
    assert_int_equal(found.longer_steps, 3 * steps);
    assert_true(fabs(found.longer.mean - 8.15) < 1e-12);
    lab_store_close(&store);
}

static void test_add(void **state) {
    (void)state;
    lab_store *store;
    lab_learning learning = {0}, half = {0}, solved = {0};
    OK(lab_store_open(&store, scratch_path("curves.db"), &failed));
    const lab_train_config config = config_of("copy", "rope");
    for (int i = 0; i < 2; i++) {
        const int64_t run = put_run(store, &config, LAB_RUN_DONE, 0.5);
        for (uint64_t step = 25; step <= 1200; step += 25) {
            const double share = (double)step / 1200;
            OK(lab_store_measured(store, run, step,
                                  &(lab_measured){"dev.accuracy", i == 0 ? rising(share) : done_early(share)}, 1,
                                  &failed));
        }
        OK(lab_learning_add(&learning, store, run, LAB_MEASURE_ACCURACY, LAB_SPAN_FULL, &failed));
        OK(lab_learning_add(&half, store, run, LAB_MEASURE_ACCURACY, LAB_SPAN_HALF, &failed));
        OK(lab_learning_add(&solved, store, run, LAB_MEASURE_SOLVED, LAB_SPAN_FULL, &failed));
    }
    assert_int_equal(learning.curves, 2);
    assert_true(fabs(learning.gain - 0.05) < 1e-9);             /* 0.1 and 0 */
    assert_true(fabs(half.gain - (0.05 + 1.0 / 6) / 2) < 1e-9); /* up to half of the steps, the second still rises */
    assert_true(solved.curves == 0 && solved.runs == 2);        /* nothing is decoded while training */
    const int64_t bare = put_run(store, &config, LAB_RUN_DONE, 0.5); /* a training without a curve */
    OK(lab_learning_add(&learning, store, bare, LAB_MEASURE_ACCURACY, LAB_SPAN_FULL, &failed));
    assert_true(learning.curves == 2 && learning.runs == 3);
    lab_store_close(&store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gain),   cmocka_unit_test(test_no_curve),     cmocka_unit_test(test_steps),
        cmocka_unit_test(test_losses), cmocka_unit_test(test_longer_steps), cmocka_unit_test(test_chance),
        cmocka_unit_test(test_look),   cmocka_unit_test(test_add),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
