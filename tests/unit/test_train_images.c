/* SPDX-License-Identifier: MIT */
/* Images through the training loop, on a few images of noise and stripes in CIFAR-10's format: resume in the middle of
 * an epoch, scores from the curve, the best parameters. */
#include "model/architecture.h"
#include "sanitized.h"
#include "train/configuration/config.h"
#include "train/feed/feed.h"
#include "train/session.h"
#include "unit/small_images.h"
#include "unit/training_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* Under a sanitizer, to which one epoch is like another, fewer of these. */
enum { PIXELS = 3072, EACH = 9, TESTS = 30, EPOCHS = SANITIZED(5, 9), STOP = SANITIZED(16, 28) };

static char data_path[96];

static int setup(void **state) {
    if (training_setup(state) != 0)
        return 1;
    snprintf(data_path, sizeof data_path, "%s/data", training_folder());
    if (mkdir(data_path, 0777) != 0)
        return 1;
    small_images_write(data_path, EACH, TESTS);
    return 0;
}

/* 45 images in batches of 8: six steps an epoch, the last one of five images. */
static lab_train_config tiny(const char *encoding) {
    lab_train_config config;
    locus_error error;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find("cifar10"), "smoke", LAB_SETUP_PAPER, &error),
                     LOCUS_OK);
    config.encoding = encoding;
    config.budget = "custom";
    config.data.path = data_path;
    config.model.dim = 16;
    config.model.heads = 2;
    config.model.feed_forward = 16;
    config.model.encoder_layers = 2;
    config.train_samples = 5 * EACH;
    config.dev_samples = config.test_samples = TESTS;
    config.batch = 8;
    config.epochs = EPOCHS;
    config.rate_peak = 3e-3;
    config.checkpoint_seconds = 0; /* after every step */
    return config;
}

static void test_resume(void **state) {
    (void)state;
    training_plan whole = {.config = tiny("algebraic(group=grid:2)"), .name = "whole", .threads = 1}, parts = whole;
    parts.name = "parts";
    parts.threads = 2;
    assert_int_equal(training_run(&whole), LOCUS_OK);
    parts.kill_at = 9; /* the third step of the second epoch */
    assert_int_equal(training_run(&parts), -1);
    parts.kill_at = 0;
    parts.stop_at = STOP;
    assert_int_equal(training_run(&parts), LOCUS_ERROR_INTERRUPTED);
    training_remains r = training_look("parts");
    assert_int_equal(r.run.state, LAB_RUN_STOPPED);
    assert_int_equal(r.run.steps_done, STOP);
    training_forget(&r);
    parts.stop_at = 0;
    assert_int_equal(training_run(&parts), LOCUS_OK);
    training_assert_same("whole", "parts");
}

/* All scores are those of the curve, and the parameters that are kept have the accuracy that is reported. */
static void test_finals(void **state) {
    (void)state;
    training_plan p = {.config = tiny("sinusoidal"), .name = "finals", .threads = 1};
    assert_int_equal(training_run(&p), LOCUS_OK);
    training_remains r = training_look("finals");
    const lab_metric *loss = r.metrics[3], *accuracy = r.metrics[4];
    size_t best = 0, half = 0;
    assert_int_equal(r.counts[4], EPOCHS); /* once an epoch */
    for (size_t i = 0; i < EPOCHS; i++) {
        assert_int_equal(accuracy[i].step, 6 * (i + 1));
        best = accuracy[i].value > accuracy[best].value ? i : best;
        half = i < EPOCHS / 2 && accuracy[i].value > accuracy[half].value ? i : half; /* they end in the first half */
    }
    assert_true(accuracy[best].value > SANITIZED(-1.0, 0.15)); /* chance is 0.1: something was learned */
    assert_memory_equal(&(double){training_final(&r, "test", "accuracy")}, &accuracy[best].value, sizeof(double));
    assert_true(fabs(training_final(&r, "test", "accuracy_half") - accuracy[half].value) < 1e-15);
    assert_true(fabs(training_final(&r, "test", "accuracy_last") - accuracy[EPOCHS - 1].value) < 1e-15);
    assert_true(fabs(training_final(&r, "test", "loss") - loss[best].value) < 1e-15);
    assert_int_equal(lround(training_final(&r, "test", "best_step")), accuracy[best].step);
    assert_true(training_final(&r, "test", "exact") < 0 && training_final(&r, "test", "greedy_exact") < 0);
    assert_int_equal(r.run.tokens_seen, EPOCHS * 45 * 100);
    training_forget(&r);
}

/* A curve as the store has it, and what is made of it; -1: no such score. The accuracies stand at every second step. */
typedef struct curve_case {
    const char *name;
    uint64_t steps;
    size_t accuracies, losses;
    double accuracy[4]; /* all behind are 0.125 */
    double best, best_step, loss, half, last;
} curve_case;

static void score_curve(lab_store *store, const curve_case *of) {
    static char task[] = "cifar10", none[] = "none", empty[] = "", config[] = "{}";
    locus_error error = {0};
    lab_run run = {.name = (char *)(uintptr_t)of->name,
                   .task = task,
                   .encoding = none,
                   .setup = empty,
                   .embedding_init = empty,
                   .budget = empty,
                   .config = config,
                   .command = empty,
                   .version = empty,
                   .machine = empty,
                   .message = empty,
                   .started = empty,
                   .ended = empty};
    assert_int_equal(lab_store_run_insert(store, &run, &error), LOCUS_OK);
    for (size_t i = 0; i < of->accuracies || i < of->losses; i++) {
        const lab_measured measured[] = {{"dev.accuracy", i < 4 ? of->accuracy[i] : 0.125},
                                         {"dev.loss", 1.0 + (double)i}};
        const size_t first = i >= of->accuracies, end = i < of->losses ? 2 : 1;
        assert_int_equal(lab_store_measured(store, run.id, 2 * (i + 1), measured + first, end - first, &error),
                         LOCUS_OK);
    }
    lab_session session = {.store = store, .run = &run, .leads = true, .config = tiny("none")};
    session.config.steps = of->steps;
    assert_int_equal(lab_session_finals(&session, &error), LOCUS_OK);
}

/* The first of the best, of the first half and of all; a curve that fills its room to the last point, none and one. */
static void test_curves(void **state) {
    (void)state;
    static const curve_case cases[] = {
        {"no-point", 8, 0, 0, {0}, -1, -1, -1, -1, -1},
        {"no-loss", 8, 3, 0, {0.5, 0.5, 0.5}, -1, -1, -1, -1, -1},
        {"one-point", 2, 1, 1, {0.25}, 0.25, 2, 1, -1, 0.25},
        {"one-at-half", 4, 1, 1, {0.25}, 0.25, 2, 1, 0.25, 0.25},
        {"first-of-equals", 8, 4, 4, {0.25, 0.5, 0.5, 0.25}, 0.5, 4, 2, 0.5, 0.25},
        {"better-later", 8, 4, 4, {0.25, 0.125, 0.75, 0.5}, 0.75, 6, 3, 0.25, 0.5},
        {"half-is-one-more", 7, 3, 3, {0.25, 0.5, 0.75}, 0.75, 6, 3, 0.25, 0.75},
        {"nothing-right", 8, 4, 4, {0}, 0, 2, 1, 0, 0},
        {"fewer-losses", 8, 4, 3, {0.25, 0.5, 0.125, 0.75}, 0.5, 4, 2, 0.5, 0.125},
        {"behind-the-end", 4, 4, 4, {0.25, 0.5, 0.75, 0.875}, 0.5, 4, 2, 0.25, 0.875},
        {"whole-room", 128, 64, 64, {0.25, 0.5, 0.25, 0.25}, 0.5, 4, 2, 0.5, 0.125},
    };
    static const char *const names[] = {"accuracy", "best_step", "loss", "accuracy_half", "accuracy_last"};
    lab_store *store;
    char path[160];
    snprintf(path, sizeof path, "%s/locus.db", training_folder());
    assert_int_equal(lab_store_open(&store, path, NULL), LOCUS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        score_curve(store, &cases[i]);
    lab_store_close(&store);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const curve_case *of = &cases[i];
        const double want[] = {of->best, of->best_step, of->loss, of->half, of->last};
        training_remains r = training_look(of->name);
        size_t known = 0;
        for (size_t n = 0; n < 5; n++) {
            known += want[n] >= 0;
            if (training_final(&r, "test", names[n]) != want[n])
                fail_msg("%s: %s is %g", of->name, names[n], training_final(&r, "test", names[n]));
        }
        assert_int_equal(r.final_count, known);
        training_forget(&r);
    }
}

/* The best parameters score again what the store says of them; loaded here, so this starts threads: last. */
static void test_best_parameters(void **state) {
    (void)state;
    training_remains r = training_look("finals");
    lab_train_config config;
    lab_model *model;
    lab_dataset set;
    lab_score score;
    locus_error error;
    assert_int_equal(lab_train_load(&r.run, training_folder(), &config, &model, &error), LOCUS_OK);
    config.data.path = data_path;
    const lab_draw draw = {lab_task_find("cifar10"), &config.data, LAB_SET_TEST, config.test_samples, 0};
    assert_int_equal(lab_dataset_generate(&set, &draw, &error), LOCUS_OK);
    uint32_t each[TESTS];
    const lab_scoring how = {.batch = 7, .sample_correct = each};
    assert_int_equal(lab_train_score(model, &set, &how, &score, NULL, &error), LOCUS_OK);
    assert_int_equal(score.samples, TESTS);
    assert_int_equal(score.tokens, TESTS);
    assert_true(fabs((double)score.correct / TESTS - training_final(&r, "test", "accuracy")) < 1e-12);
    assert_true(fabs(score.loss / TESTS - training_final(&r, "test", "loss")) < 1e-4);
    size_t right = 0;
    for (size_t i = 0; i < TESTS; i++)
        right += each[i];
    assert_int_equal(right, score.correct);
    lab_dataset_destroy(&set);
    lab_model_destroy(&model);
    training_forget(&r);
}

/* Without augmentation another training, and a name of its own; other data are no other run. */
static void test_identity(void **state) {
    (void)state;
    lab_train_config config = tiny("sinusoidal"), plain = config;
    char name[256], other[256];
    plain.augment = LAB_AUGMENT_NONE;
    lab_train_name(&config, name, sizeof name);
    lab_train_name(&plain, other, sizeof other);
    assert_string_not_equal(name, other);
    plain.augment = config.augment;
    plain.data.path = "elsewhere";
    lab_train_name(&plain, other, sizeof other);
    assert_string_equal(name, other);
    assert_null(lab_config_difference(&config, &plain));
}

/* Neither a row nor a folder for images that are not there, or too few. */
static void test_refused(void **state) {
    (void)state;
    training_plan p = {.config = tiny("sinusoidal"), .name = "refused", .threads = 1};
    p.config.data.path = "/nowhere";
    assert_int_equal(training_run(&p), LOCUS_ERROR_IO);
    p.config = tiny("sinusoidal");
    p.config.train_samples = 5 * EACH + 1;
    assert_int_equal(training_run(&p), LOCUS_ERROR_ARGUMENT);
    p.config = tiny("algebraic(group=tree:2)");
    assert_int_not_equal(training_run(&p), LOCUS_OK);
    p.config = tiny("sinusoidal");
    p.config.model.image_side = 64; /* more pixels than the set has */
    assert_int_equal(training_run(&p), LOCUS_ERROR_ARGUMENT);
    training_remains r = training_look("refused");
    assert_int_equal(r.run.id, 0);
    training_forget(&r);
}

/* A model reads pixels of the size that it was made for: a set of others is not given to it. */
static void test_other_sizes(void **state) {
    (void)state;
    static uint8_t pixels[2 * PIXELS], labels[2];
    static int32_t word[1];
    static size_t offsets[] = {0, 1};
    const lab_dataset images = {.samples = 2, .images = {2, 3, 32, 10, pixels, labels, NULL}};
    const lab_dataset words = {
        .samples = 1, .input_offsets = offsets, .target_offsets = offsets, .input = word, .target = word};
    const lab_train_config config = tiny("none");
    lab_model_config larger = config.model, reader = lab_encoder_decoder.defaults;
    larger.image_side = 64;
    reader.dim = reader.feed_forward = 16;
    const struct {
        const lab_dataset *set;
        const lab_model_config *model;
        locus_status status;
    } cases[] = {{&images, &config.model, LOCUS_OK},
                 {&images, &larger, LOCUS_ERROR_ARGUMENT},
                 {&images, &reader, LOCUS_ERROR_ARGUMENT},
                 {&words, &reader, LOCUS_OK},
                 {&words, &config.model, LOCUS_ERROR_ARGUMENT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lab_scoring how = {.batch = 2, .phase = "dev"};
        lab_model *model;
        lab_score score;
        locus_error error;
        assert_int_equal(lab_model_create(&model, cases[i].model, 1, &error), LOCUS_OK);
        assert_int_equal(lab_train_score(model, cases[i].set, &how, &score, NULL, &error), cases[i].status);
        lab_model_destroy(&model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume),  cmocka_unit_test(test_finals),          cmocka_unit_test(test_identity),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_best_parameters), cmocka_unit_test(test_other_sizes),
        cmocka_unit_test(test_curves),
    };
    return cmocka_run_group_tests(tests, setup, training_teardown);
}
