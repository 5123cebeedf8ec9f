/* SPDX-License-Identifier: MIT */
/* Budgets of all kinds of tasks, and names of runs. */
#include "model/architecture.h"
#include "nn/convolution.h"
#include "task/listops/listops.h"
#include "task/problem.h"
#include "task/text_task.h"
#include "task/tree_task.h"
#include "train/configuration/config.h"
#include "train/train.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static lab_train_config budget_of(const char *task, const char *budget, lab_setup setup) {
    lab_train_config config;
    locus_error error;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find(task), budget, setup, &error), LOCUS_OK);
    assert_int_equal(lab_config_check(&config, &error), LOCUS_OK);
    return config;
}

/* Hashes and names that version 0.1 gave: runs of words that are in stores go on under them. */
static void test_words_are_what_they_were(void **state) {
    (void)state;
    static const struct {
        const char *budget, *name;
        lab_setup setup;
        uint64_t hash;
    } known[] = {
        {"smoke", "copy-none-smoke-s0-e9059d2f", LAB_SETUP_PAPER, 0xe9059d2fb68e19ac},
        {"smoke", "copy-none-smoke-code-s0-a8a9fd95", LAB_SETUP_CODE, 0xa8a9fd95216dc1e8},
        {"quick", "copy-none-quick-s0-bad89405", LAB_SETUP_PAPER, 0xbad89405e0fbe583},
        {"quick", "copy-none-quick-code-s0-aa2c3164", LAB_SETUP_CODE, 0xaa2c316458c4f9c9},
        {"paper", "copy-none-paper-s0-c148d9af", LAB_SETUP_PAPER, 0xc148d9afdc245af8},
        {"paper", "copy-none-paper-code-s0-b98a2ef3", LAB_SETUP_CODE, 0xb98a2ef3a43ffd28},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char name[256];
        lab_train_config config = budget_of("copy", known[i].budget, known[i].setup);
        assert_true(lab_config_hash(&config) == known[i].hash);
        lab_train_name(&config, name, sizeof name);
        assert_string_equal(name, known[i].name);
    }
}

/* A number that an option gives, and that is recorded only if it does. */
static uint64_t hash_with_two(lab_train_config config, const lab_option *option) {
    const uint64_t two = 2;
    const size_t size = sizeof two;
    assert_int_equal(size, sizeof(size_t));
    memcpy((char *)&config + option->offset, &two, size);
    return lab_config_hash(&config);
}

static bool is_left_out(const lab_train_config *config, const lab_option *option) {
    char text[LAB_FIELD_SIZE];
    if ((option->type != LAB_OPTION_SIZE && option->type != LAB_OPTION_COUNT) || option->name == NULL ||
        option->field == NULL)
        return false;
    lab_option_text(option, config, text, sizeof text);
    return lab_option_is_silent(option, text);
}

/* The same number of two options that are left out by default makes two trainings. The name that version 0.2 gave is
 * known, too. */
static void test_options_are_told_apart(void **state) {
    (void)state;
    static const char *const tasks[] = {"copy", "tree-copy", "cifar10", "addition", "text", "listops"};
    char name[256];
    size_t pairs = 0;
    for (size_t t = 0; t < sizeof tasks / sizeof *tasks; t++) {
        const lab_train_config config = budget_of(tasks[t], "smoke", LAB_SETUP_PAPER);
        const lab_option *first, *second;
        for (size_t i = 0; (first = lab_config_field(config.task->class, i)) != NULL; i++)
            for (size_t j = 0; j < i && (second = lab_config_field(config.task->class, j)) != NULL; j++) {
                if (!is_left_out(&config, first) || !is_left_out(&config, second))
                    continue;
                pairs++;
                if (hash_with_two(config, first) == hash_with_two(config, second))
                    fail_msg("%s: %s and %s are one training", tasks[t], first->field, second->field);
            }
    }
    assert_true(pairs >= 3 * sizeof tasks / sizeof *tasks);
    lab_train_config config = budget_of("copy", "smoke", LAB_SETUP_PAPER);
    config.model.kv_heads = 2;
    assert_true(lab_config_older_hash(&config) != lab_config_hash(&config));
    lab_train_older_name(&config, name, sizeof name);
    assert_string_equal(name, "copy-none-smoke-s0-71b5dca0");
    config.model.kv_heads = 0, config.shards = 2;
    lab_train_older_name(&config, name, sizeof name);
    assert_string_equal(name, "copy-none-smoke-s0-71b5dca0");
}

static void test_trees(void **state) {
    (void)state;
    lab_train_config paper = budget_of("tree-copy", "paper", LAB_SETUP_PAPER);
    assert_int_equal(paper.model.dim, 512);
    assert_int_equal(paper.model.vocabulary, 21);
    assert_int_equal(paper.model.tree_arity, 2);
    assert_true(fabs(LAB_TREES(&paper.data)->depth_mean - 7) + fabs(LAB_TREES(&paper.data)->depth_deviation - 1) <
                1e-12);
    assert_int_equal(paper.train_samples, 6000);
    assert_int_equal(lab_config_steps(&paper), 400 * 94);
    assert_int_equal(paper.greedy_samples, 2000);
    lab_train_config quick = budget_of("tree-ops", "quick", LAB_SETUP_PAPER);
    assert_int_equal(quick.model.dim, 128);
    assert_int_equal(quick.model.vocabulary, 129);
    assert_true(fabs(LAB_TREES(&quick.data)->depth_mean - 5) < 1e-12);
    const lab_train_config smoke = budget_of("tree-c3", "smoke", LAB_SETUP_PAPER);
    assert_true(LAB_TREES(&smoke.data)->depth_mean < 5);

    char breadth[256], depth[256];
    lab_train_name(&paper, breadth, sizeof breadth);
    LAB_TREES(&paper.data)->order = LAB_ORDER_DEPTH;
    lab_train_name(&paper, depth, sizeof depth);
    assert_true(strncmp(breadth, "tree-copy-breadth-none-paper-s0-", 32) == 0);
    assert_true(strncmp(depth, "tree-copy-depth-none-paper-s0-", 30) == 0);

    lab_task_options deeper = lab_config_data(&paper, 9); /* the deviation stays */
    assert_true(fabs(LAB_TREES(&deeper)->depth_mean - 9) + fabs(LAB_TREES(&deeper)->depth_deviation - 1) < 1e-12);
}

static void test_images(void **state) {
    (void)state;
    lab_train_config paper = budget_of("cifar10", "paper", LAB_SETUP_PAPER);
    const lab_model_config *m = &paper.model;
    assert_ptr_equal(m->architecture, &lab_image_classifier);
    assert_int_equal(m->dim, 256);
    assert_int_equal(m->heads, 4);
    assert_int_equal(m->encoder_layers, 7);
    assert_int_equal(m->feed_forward, 512);
    assert_int_equal(m->activation, LAB_GELU);
    assert_int_equal(m->survivors, LAB_SURVIVORS_RESCALED);
    assert_true(m->dropout < 1e-12 && fabs(m->attention_dropout - 0.1) < 1e-12);
    assert_true(fabs(m->stochastic_depth - 0.1) < 1e-12 && fabs(m->label_smoothing - 0.1) < 1e-12);
    assert_int_equal(lab_convolution_grid(m->image_side), 10);
    assert_int_equal(paper.augment, LAB_AUGMENT_POLICY);
    assert_int_equal(lab_config_steps(&paper), 300 * 391);
    assert_int_equal(lab_config_evaluate_every(&paper), 391);
    assert_true(fabs(paper.optimizer.weight_decay - 0.03) < 1e-12);
    lab_train_config code = budget_of("cifar10", "paper", LAB_SETUP_CODE), quick = budget_of("cifar10", "quick", 0);
    assert_int_equal(code.model.survivors, LAB_SURVIVORS_AS_THEY_ARE);
    assert_int_equal(code.model.norm, LAB_NORM_AFTER);
    assert_int_equal(code.model.attention_dropout_on, LOCUS_DROPOUT_LOGITS);
    assert_true(quick.epochs >= 5);
    quick.epochs = paper.epochs; /* nothing else of the published training is smaller */
    quick.budget = paper.budget;
    assert_null(lab_config_difference(&paper, &quick));

    locus_error error;
    paper.dev_samples = 5000;
    assert_int_equal(lab_config_check(&paper, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "dev-samples"));
}

static void test_problems(void **state) {
    (void)state;
    const lab_train_config addition = budget_of("addition", "paper", LAB_SETUP_PAPER);
    const lab_model_config *m = &addition.model;
    assert_ptr_equal(m->architecture, &lab_decoder);
    assert_true(m->dim == 512 && m->heads == 8 && m->feed_forward == 2048 && m->decoder_layers == 6);
    assert_int_equal(m->encoder_layers, 0);
    assert_int_equal(m->norm, LAB_NORM_AFTER);
    assert_true(fabs(m->dropout - 0.1) < 1e-12);
    assert_true(LAB_PROBLEMS(&addition.data)->sequence == 641 && addition.batch == 32 &&
                LAB_PROBLEMS(&addition.data)->digits == 8);
    assert_int_equal(lab_config_steps(&addition), 5000);
    assert_true(addition.train_samples == 0 && addition.greedy_samples == 128);
    const lab_train_config search = budget_of("substring-search", "paper", LAB_SETUP_CODE);
    m = &search.model;
    assert_true(m->dim == 128 && m->heads == 4 && m->feed_forward == 512 && m->decoder_layers == 3);
    assert_int_equal(m->norm, LAB_NORM_BEFORE); /* in either set-up: it is the task's */
    assert_int_equal(m->attention_dropout_on, LOCUS_DROPOUT_LOGITS);
    assert_true(LAB_PROBLEMS(&search.data)->sequence == 513 && search.batch == 16 &&
                lab_config_steps(&search) == 65000);
    assert_int_equal(search.greedy_samples, 0);
    static const char *const tasks[] = {"addition", "substring-index", "substring-search"};
    for (size_t i = 0; i < 3; i++) {
        for (int setup = 0; setup < 2; setup++) {
            const lab_train_config smoke = budget_of(tasks[i], "smoke", (lab_setup)setup);
            const lab_train_config quick = budget_of(tasks[i], "quick", (lab_setup)setup);
            assert_true(smoke.model.dropout < 1e-12 && quick.model.dropout < 1e-12);
            assert_int_equal(quick.greedy_samples > 0, i < 2);
        }
    }
    char name[256];
    lab_train_name(&addition, name, sizeof name);
    assert_true(strncmp(name, "addition-none-paper-s0-", 23) == 0);
}

static void test_text(void **state) {
    (void)state;
    const lab_train_config paper = budget_of("text", "paper", LAB_SETUP_PAPER);
    assert_ptr_equal(paper.model.architecture, &lab_decoder);
    assert_true(paper.model.dim == 512 && LAB_TEXT(&paper.data)->sequence == 513 && paper.batch == 32);
    assert_true(paper.train_samples == 0 && paper.test_samples == 0); /* all of it */
    assert_int_equal(lab_config_steps(&paper), 20000);
    assert_int_equal(budget_of("text", "quick", LAB_SETUP_CODE).test_samples, 0);
}

static void test_expressions(void **state) {
    (void)state;
    lab_train_config paper = budget_of("listops", "paper", LAB_SETUP_PAPER);
    assert_ptr_equal(paper.model.architecture, &lab_text_classifier);
    assert_true(paper.model.classes == 10 && paper.model.decoder_layers == 0 && paper.model.tree_arity == 7);
    assert_true(paper.train_samples == 56000 && paper.dev_samples == 2000 && paper.test_samples == 2000);
    assert_true(LAB_EXPRESSIONS(&paper.data)->depth == 7 && LAB_EXPRESSIONS(&paper.data)->shortest == 250 &&
                LAB_EXPRESSIONS(&paper.data)->longest == 1000);
    assert_int_equal(paper.batch, 32);
    LAB_EXPRESSIONS(&paper.data)->asked = LAB_ASKED_PARITY;
    lab_config_fill(&paper);
    assert_int_equal(paper.model.classes, 2);
    char name[256];
    lab_train_name(&paper, name, sizeof name);
    assert_true(strncmp(name, "listops-parity-none-paper-s0-", 29) == 0);
    const lab_train_config quick = budget_of("listops", "quick", LAB_SETUP_CODE);
    assert_int_equal(quick.model.tree_arity, LAB_EXPRESSIONS(&quick.data)->arguments);
    assert_true(quick.model.dim < 512 && LAB_EXPRESSIONS(&quick.data)->longest < 250);
}

/* All that a configuration holds comes back from its JSON. */
static void test_json(void **state) {
    (void)state;
    static const char *const tasks[] = {"copy", "tree-ops", "cifar10", "substring-index", "text", "listops"};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        char task[24], encoding[] = "none", budget[] = "smoke";
        snprintf(task, sizeof task, "%s", tasks[i]);
        const lab_run run = {.task = task, .encoding = encoding, .budget = budget};
        lab_train_config config = budget_of(tasks[i], "smoke", LAB_SETUP_CODE), back;
        locus_error error;
        lab_config_set_variant(&config, i == 1 ? "depth" : "parity"); /* others have none */
        lab_config_fill(&config);
        config.data.digest = i == 4 ? UINT64_MAX - 3 : 0;
        config.patience = i;
        config.optimizer.decay = i == 5 ? LAB_DECAY_COUPLED : LAB_DECAY_DECOUPLED;
        char *json = lab_config_json(&config);
        assert_int_equal(lab_config_parse(&back, json, &run, "a test", &error), LOCUS_OK);
        assert_null(lab_config_difference(&config, &back));
        assert_int_equal(config.model.vocabulary, back.model.vocabulary);
        assert_int_equal(config.model.tree_arity, back.model.tree_arity);
        assert_int_equal(strstr(json, "augment\":\"autoaugment\"") != NULL, i == 2);
        assert_int_equal(strstr(json, "\"arity\":") != NULL, i == 1 || i == 5);
        assert_int_equal(strstr(json, "sequence") != NULL, i == 3 || i == 4);
        assert_int_equal(strstr(json, "\"asked\":\"parity\"") != NULL, i == 5);
        assert_int_equal(strstr(json, "patience") != NULL, i > 0);
        cJSON_free(json);
        back.augment = config.augment == LAB_AUGMENT_NONE ? LAB_AUGMENT_POLICY : LAB_AUGMENT_NONE;
        if (i == 2)
            assert_string_equal(lab_config_difference(&config, &back), "augment");
        else
            assert_null(lab_config_difference(&config, &back)); /* it is an option of images alone */
    }
}

/* Of the last value, and of none. */
static void test_names(void **state) {
    (void)state;
    const char *const names[][3] = {
        {lab_setup_name(LAB_SETUP_CODE), lab_setup_name((lab_setup)2), "code"},
        {lab_embedding_init_name(LAB_EMBEDDING_PLAIN), lab_embedding_init_name((lab_embedding_init)3), "plain"},
        {lab_position_scale_name(LAB_POSITIONS_SQRT_DIM), lab_position_scale_name((lab_position_scale)2), "sqrt-dim"},
        {lab_logit_scale_name(LAB_LOGITS_INVERSE_SQRT_DIM), lab_logit_scale_name((lab_logit_scale)2),
         "inverse-sqrt-dim"},
        {lab_order_name(LAB_ORDER_DEPTH), lab_order_name((lab_order)2), "depth"},
        {lab_tree_paths_name(LAB_PATHS_CODE), lab_tree_paths_name((lab_tree_paths)3), "code"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_string_equal(names[i][0], names[i][2]);
        assert_string_equal(names[i][1], "unknown");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_are_what_they_were),
        cmocka_unit_test(test_options_are_told_apart),
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
