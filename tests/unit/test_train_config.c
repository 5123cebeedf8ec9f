/* SPDX-License-Identifier: MIT */
/* A training's configuration: what may just be and what may not, told whole; its text as JSON with wrong values; the
 * schedule, the encoding's text and the run's name that follow from it. */
#include "model/architecture.h"
#include "task/tree_task.h"
#include "train/configuration/budgets.h"
#include "train/configuration/config.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static lab_train_config smoke(const char *task) {
    lab_train_config config;
    locus_error error = {0};
    if (lab_train_config_budget(&config, lab_task_find(task), "smoke", LAB_SETUP_PAPER, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    config.encoding = config.model.encoding = "rope";
    return config;
}

static void expect(const lab_train_config *config, const char *argument, const char *says) {
    locus_error error = {0};
    const locus_status status = lab_config_check(config, &error);
    assert_string_equal(error.message, says != NULL ? says : "");
    assert_string_equal(error.argument, argument != NULL ? argument : "");
    assert_int_equal(status, says != NULL ? LOCUS_ERROR_ARGUMENT : LOCUS_OK);
}

/* ---- what may be ---- */

static void samples_and_batches(void **state) {
    (void)state;
    lab_train_config config = smoke("copy");
    config.epochs = 0;
    config.steps = 1;
    config.train_samples = config.dev_samples = config.test_samples = config.batch = 1;
    config.greedy_samples = 0;
    expect(&config, NULL, NULL);
    size_t *const sets[] = {&config.train_samples, &config.dev_samples, &config.test_samples};
    for (size_t i = 0; i < 3; i++) {
        *sets[i] = 0;
        expect(&config, "samples", "--samples: every set needs at least one sample");
        *sets[i] = 1;
    }
    config.batch = 0;
    expect(&config, "batch", "--batch: a batch has at least one sample");
    config.batch = 1024;
    config.shards = 1024;
    expect(&config, NULL, NULL);
    config.batch = 1023;
    expect(&config, "shards", "--shards: a batch of 1023 samples cannot be dealt to 1024 shards");
    config.batch = 4096;
    config.shards = 2048;
    expect(&config, "shards", "--shards: 2048 is no power of two up to 1024");
    config.shards = 6;
    expect(&config, "shards", "--shards: 6 is no power of two up to 1024");
    config.shards = 0;
    assert_int_equal(lab_config_shards(&config), 1);
    lab_train_config endless = smoke("addition");
    endless.train_samples = 0;
    endless.steps = endless.evaluate_every = 2;
    expect(&endless, NULL, NULL);
    endless.steps = 0;
    expect(&endless, "epochs",
           "--epochs: sequences that are drawn without end have no epochs: give --steps, or --train-samples");
    endless.steps = 2;
    endless.evaluate_every = 0;
    expect(&endless, "evaluate-every",
           "--evaluate-every: sequences that are drawn without end have no epochs: give steps");
    endless.evaluate_every = 1;
    endless.schedule = LAB_SCHEDULE_STEPS;
    expect(&endless, "train-samples", "--train-samples: a rate that falls by epochs needs a number of samples");
    lab_train_config images = smoke("cifar10");
    images.dev_samples = images.test_samples - 1;
    expect(&images, "dev-samples", "--dev-samples: images are developed on the test set: --test-samples is its size");
    lab_train_config search = smoke("substring-search");
    search.greedy_samples = 1;
    expect(&search, "greedy-samples", "--greedy-samples: nothing of this task is decoded");
    search = smoke("listops");
    search.test_length_count = 1;
    expect(&search, "test-lengths", "--test-lengths: only words and trees are scored at other lengths or depths");
}

static void lengths_and_steps(void **state) {
    (void)state;
    lab_train_config config = smoke("copy"), trees = smoke("tree-copy");
    config.test_length_count = trees.test_length_count = 2;
    config.test_lengths[0] = trees.test_lengths[0] = 1;
    config.test_lengths[1] = trees.test_lengths[1] = 1000000;
    expect(&config, NULL, NULL);
    config.test_lengths[0] = 0;
    expect(&config, "test-lengths", "--test-lengths: a mean length of 1 to 1000000 is needed");
    config.test_lengths[0] = 1;
    config.test_lengths[1] = 1000001;
    expect(&config, "test-lengths", "--test-lengths: a mean length of 1 to 1000000 is needed");
    trees.test_lengths[1] = 1000001;
    expect(&trees, "test-depths", "--test-depths: a mean depth of 1 to 1000000 is needed");
    config = smoke("copy");
    config.epochs = 0;
    config.steps = UINT32_MAX;
    expect(&config, NULL, NULL);
    config.steps++;
    expect(&config, "steps", "--steps: a training has 1 to 4294967295 steps");
    config.steps = 0;
    expect(&config, "epochs", "--epochs: a training has 1 to 4294967295 steps");
    config.train_samples = 9;
    config.batch = 4;
    config.epochs = 5;
    assert_int_equal(lab_config_epoch_steps(&config), 3);
    assert_int_equal(lab_config_steps(&config), 15);
    config.evaluate_every = 0;
    assert_int_equal(lab_config_evaluate_every(&config), 3);
    config.evaluate_every = 7;
    assert_int_equal(lab_config_evaluate_every(&config), 7);
    config.train_samples = 8;
    assert_int_equal(lab_config_epoch_steps(&config), 2);
    config.steps = 11;
    assert_int_equal(lab_config_steps(&config), 11);
}

static void heads_and_rates(void **state) {
    (void)state;
    lab_train_config config = smoke("copy");
    config.model.dim = 12;
    config.model.heads = 5;
    expect(&config, "heads", "--heads: dimension 12 is not divisible by 5 heads");
    config.model.heads = 0;
    expect(&config, "heads", "--heads: dimension 12 is not divisible by 0 heads");
    config.model.dim = 0;
    config.model.heads = 1;
    expect(&config, "heads", "--heads: dimension 0 is not divisible by 1 heads");
    config.model.dim = 12;
    config.model.heads = 6;
    config.model.kv_heads = 3;
    expect(&config, NULL, NULL);
    config.model.kv_heads = 4;
    expect(&config, "kv-heads", "--kv-heads: 6 heads cannot share 4 key and value heads: it must divide them");
    static const char rate[] = "--rate: the learning rate must be a positive number";
    static const char share[] = "--dropout: a probability from 0 to below 1 is needed";
    config = smoke("copy");
    const struct {
        double *at;
        double good[2], bad[3];
        const char *argument, *says;
    } reals[] = {
        {&config.rate_peak, {1e-300, 999999}, {0, 1e6, -1}, "rate", rate},
        {&config.rate_initial, {0, 1e9}, {-1e-9, (double)NAN, -1}, "rate", rate},
        {&config.rate_final, {0, 1e9}, {-1e-9, (double)NAN, -1}, "rate", rate},
        {&config.model.dropout, {0, 0.999}, {-1e-9, 1, (double)NAN}, "dropout", share},
        {&config.model.attention_dropout, {0, 0.999}, {-1e-9, 1, (double)NAN}, "dropout", share},
        {&config.optimizer.clip,
         {0, 1e9},
         {-1e-9, (double)NAN, -1},
         "clip",
         "--clip: a gradient norm of 0 (no clipping) or more is needed"},
    };
    for (size_t i = 0; i < COUNT(reals); i++) {
        const double usual = *reals[i].at;
        for (size_t v = 0; v < 2; v++) {
            *reals[i].at = reals[i].good[v];
            expect(&config, NULL, NULL);
        }
        for (size_t v = 0; v < 3; v++) {
            *reals[i].at = reals[i].bad[v];
            expect(&config, reals[i].argument, reals[i].says);
        }
        *reals[i].at = usual;
    }
#define STAIRS " epochs: a share above 0, up to 1, and at least one epoch are needed"
    config.schedule = LAB_SCHEDULE_STEPS;
    config.rate_factor = 1;
    config.rate_epochs = 1;
    expect(&config, NULL, NULL);
    config.rate_factor = 1e-9;
    expect(&config, NULL, NULL);
    config.rate_factor = 0;
    expect(&config, "rate", "--rate: it falls to 0 of itself every 1" STAIRS);
    config.rate_factor = 1.5;
    expect(&config, "rate", "--rate: it falls to 1.5 of itself every 1" STAIRS);
    config.rate_factor = 0.5;
    config.rate_epochs = 0;
    expect(&config, "rate", "--rate: it falls to 0.5 of itself every 0" STAIRS);
}

/* ---- what follows ---- */

static void schedules(void **state) {
    (void)state;
    lab_train_config config = smoke("copy");
    config.train_samples = 10;
    config.batch = 3;
    config.epochs = 0;
    config.steps = 101;
    config.rate_initial = 1;
    config.rate_peak = 2;
    config.rate_final = 3;
    config.warmup_share = 0.05; /* 5.05 steps */
    config.rate_epochs = 7;
    config.rate_factor = 0.25;
    lab_schedule s = lab_config_schedule(&config);
    assert_true(s.initial == 1 && s.peak == 2 && s.final == 3 && s.factor == 0);
    assert_true(s.warmup == 5 && s.total == 101 && s.every == 0);
    config.warmup_share = 0.055; /* 5.555 */
    config.schedule = LAB_SCHEDULE_STEPS;
    s = lab_config_schedule(&config);
    assert_true(s.warmup == 6 && s.total == 101 && s.every == 7 * 4 && s.factor == 0.25);
    config.schedule = LAB_SCHEDULE_CONSTANT;
    s = lab_config_schedule(&config);
    assert_true(s.initial == 2 && s.peak == 2 && s.final == 2 && s.warmup + s.total + s.every == 0);
}

static void encodings_have_a_length(void **state) {
    (void)state;
    const lab_train_config config = smoke("copy");
    char spec[LAB_SPEC_SIZE + 2], text[LAB_SPEC_SIZE], says[96];
    locus_error error = {0};
    memset(spec, ' ', sizeof spec);
    memcpy(spec, "rope", 4);
    spec[LAB_SPEC_SIZE - 1] = '\0';
    assert_int_equal(lab_train_encoding(spec, &config, text, sizeof text, &error), LOCUS_OK);
    assert_string_equal(text, "rope");
    spec[LAB_SPEC_SIZE - 1] = ' ';
    spec[LAB_SPEC_SIZE] = '\0';
    assert_int_equal(lab_train_encoding(spec, &config, text, sizeof text, &error), LOCUS_ERROR_ARGUMENT);
    snprintf(says, sizeof says, "the encoding's text is longer than %d bytes", LAB_SPEC_SIZE);
    assert_string_equal(error.message, says);
    assert_string_equal(error.argument, "encoding");
    assert_int_equal(lab_train_encoding("rope", &config, text, 5, &error), LOCUS_OK);
    assert_int_equal(lab_train_encoding("rope", &config, text, 4, &error), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.message, "the encoding's text is longer than 4 bytes");
    /* What is told already is not told again, wherever it stands and whatever stands beside it. */
    lab_train_config code = config;
    code.setup = LAB_SETUP_CODE;
    static const char *const told[][2] = {
        {"rope(pairs=half,learned=off)", "rope(learned=off, pairs=half)"},
        {"rope( learned=on )", "rope(learned=on)"},
        {"rope / rope(learned=off)", "rope(learned=on) / rope(learned=off)"},
        {"rope(base=100)+alibi", "rope(learned=on, base=100) + alibi"},
        {"roper", "roper(learned=on)"},
        {"rope (learned=off)", "rope(learned=off)"},
        {"rope \t ( base=100)", "rope(learned=on, base=100)"},
        {"rope  + alibi ", "rope(learned=on) + alibi"},
    };
    for (size_t i = 0; i < COUNT(told); i++) {
        char wanted[LAB_SPEC_SIZE];
        if (lab_train_encoding(told[i][0], &code, text, sizeof text, &error) != LOCUS_OK)
            fail_msg("%s: %s", told[i][0], error.message);
        assert_int_equal(lab_train_encoding(told[i][1], &config, wanted, sizeof wanted, &error), LOCUS_OK);
        assert_string_equal(text, wanted);
    }
}

static void expect_name(const lab_train_config *config, const char *start) {
    char name[256], wanted[300];
    lab_train_name(config, name, sizeof name);
    snprintf(wanted, sizeof wanted, "%s-s%" PRIu64 "-%08" PRIx32, start, config->seed,
             (uint32_t)(lab_config_hash(config) >> 32));
    assert_string_equal(name, wanted);
}

static void names(void **state) {
    (void)state;
    lab_train_config config = smoke("copy");
    config.seed = 12345678901234567890u;
    config.encoding = "((algebraic(group=seq, decay=0.98) + alibi))";
    expect_name(&config, "copy-algebraic-group-seq-decay-0.98-alibi-smoke");
    config.encoding = "0123456789012345678901234567890123456789+x";
    expect_name(&config, "copy-0123456789012345678901234567890123456789-smoke");
    config.encoding = "012345678901234567890123456789012345678(x)"; /* no dash where it is cut */
    expect_name(&config, "copy-012345678901234567890123456789012345678-smoke");
    config.encoding = "rope";
    config.budget = "/my own/";
    expect_name(&config, "copy-rope-my-own");
    config.budget = "custom";
    assert_int_equal(lab_model_attention(&config.model, "soft(landmarks=16)", NULL), LOCUS_OK);
    config.setup = LAB_SETUP_CODE;
    config.model.embedding_init = LAB_EMBEDDING_UNIT;
    config.model.position_scale = LAB_POSITIONS_SQRT_DIM;
    config.model.logit_scale = LAB_LOGITS_INVERSE_SQRT_DIM;
    config.model.precision = LAB_BF16;
    expect_name(&config, "copy-rope-custom-soft-landmarks-16-code-unit-positions-logits-bf16");
    config.model.embedding_init = LAB_EMBEDDING_PLAIN;
    config.pretrained_digest = 1;
    expect_name(&config, "copy-rope-custom-pretrained-soft-landmarks-16-code-plain-positions-logits-bf16");
    config = smoke("tree-copy");
    LAB_TREES(&config.data)->order = LAB_ORDER_DEPTH;
    expect_name(&config, "tree-copy-depth-rope-smoke");
}

/* ---- as JSON ---- */

/* The configuration's text with one value in the place of another. */
static char *with(const lab_train_config *config, const char *field, const char *value) {
    char *json = lab_config_json(config);
    cJSON *root = cJSON_Parse(json);
    cJSON_free(json);
    assert_non_null(root);
    cJSON_DeleteItemFromObjectCaseSensitive(root, field);
    if (value != NULL)
        cJSON_AddRawToObject(root, field, value);
    json = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return json;
}

static void values_that_cannot_be_read(void **state) {
    (void)state;
    static const struct {
        const char *field, *value;
        bool good;
    } cases[] = {
        {"dim", "-1", false},
        {"dim", "1.5", false},
        {"dim", "\"4\"", false},
        {"dim", NULL, false},
        {"dim", "0", true},
        {"dim", "9007199254740992", true},
        {"dim", "9007199254740994", false},
        {"steps", "true", false},
        {"steps", "1e999", false},
        {"seed", "5", false},
        {"seed", "\"5\"", true},
        {"seed", "\"\"", false},
        {"seed", "\"-5\"", false},
        {"seed", "\"5x\"", false},
        {"seed", "\"18446744073709551615\"", true},
        {"seed", "\"18446744073709551616\"", false},
        {"rate_peak", "1e999", false},
        {"rate_peak", "null", false},
        {"rate_peak", "-3", true},
        {"norm", "\"before\"", true},
        {"norm", "\"befor\"", false},
        {"norm", "0", false},
        {"task", "1", false},
        {"encoding", "null", false},
        {"attention", "\"linear\"", true},
        {"attention", "\"nine\"", false},
        {"attention", "1", false},
        {"kv_heads", NULL, true},
        {"test_lengths", NULL, false},
        {"test_lengths", "5", false},
        {"test_lengths", "[]", true},
        {"test_lengths", "[5, \"6\"]", false},
    };
    char task[] = "copy", encoding[] = "rope", budget[] = "smoke";
    const lab_run row = {.task = task, .encoding = encoding, .budget = budget};
    const lab_train_config config = smoke("copy");
    for (size_t i = 0; i < COUNT(cases); i++) {
        lab_train_config back;
        locus_error error = {0};
        char says[160], *json = with(&config, cases[i].field, cases[i].value);
        const locus_status status = lab_config_parse(&back, json, &row, "a test", &error);
        snprintf(says, sizeof says, "the configuration in a test cannot be read (%s): train again with --restart",
                 cases[i].field);
        assert_string_equal(error.message, cases[i].good ? "" : says);
        assert_int_equal(status, cases[i].good ? LOCUS_OK : LOCUS_ERROR_IO);
        cJSON_free(json);
    }
    /* As many further test lengths as there is room for. */
    char list[16 * LAB_MAX_TEST_LENGTHS + 32] = "[1";
    for (size_t i = 1; i < LAB_MAX_TEST_LENGTHS; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), ",%zu", i + 1);
    for (size_t more = 0; more < 2; more++) {
        char closed[sizeof list + 8], *json;
        lab_train_config back;
        snprintf(closed, sizeof closed, "%s%s]", list, more == 0 ? "" : ",9");
        json = with(&config, "test_lengths", closed);
        assert_int_equal(lab_config_parse(&back, json, &row, "a test", NULL), more == 0 ? LOCUS_OK : LOCUS_ERROR_IO);
        if (more == 0) {
            assert_int_equal(back.test_length_count, LAB_MAX_TEST_LENGTHS);
            for (size_t i = 0; i < LAB_MAX_TEST_LENGTHS; i++)
                assert_int_equal(back.test_lengths[i], i + 1);
        }
        cJSON_free(json);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_and_batches),
        cmocka_unit_test(lengths_and_steps),
        cmocka_unit_test(heads_and_rates),
        cmocka_unit_test(schedules),
        cmocka_unit_test(encodings_have_a_length),
        cmocka_unit_test(names),
        cmocka_unit_test(values_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
