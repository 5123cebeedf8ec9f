/* SPDX-License-Identifier: MIT */
/* Trainings over shards: 1, 2, 4 and 8 ranks (threads here) leave the same files and the same rows, also when a
 * training is killed or stopped and goes on with another number of ranks; shards change the order of sums and nothing
 * else. */
#include "sanitized.h"
#include "task/problem.h"
#include "task/text_task.h"
#include "task/tree_task.h"
#include "task/word_task.h"
#include "text/token_file.h"
#include "train/configuration/config.h"
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

enum { SHARDS = 8, EACH = 9, TESTS = 30 };

static char text_path[96], image_path[96], label_path[96];

static void write_tokens(const char *set, size_t count, uint32_t random) {
    int32_t *tokens = calloc(count, sizeof *tokens);
    char *path = lab_token_file_path(text_path, set);
    locus_error error;
    assert_non_null(tokens);
    for (size_t i = 0; i < count; i++) {
        random = random * 1664525u + 1013904223u;
        tokens[i] = i % 4 == 0 ? 3 : (int32_t)(4 + (random >> 28) % 5);
    }
    const lab_token_file_content content = {12, count, tokens, 2 * (count - 1)};
    assert_int_equal(lab_token_file_write(path, &content, &error), LOCUS_OK);
    free(path);
    free(tokens);
}

static int setup(void **state) {
    if (training_setup(state) != 0)
        return 1;
    snprintf(text_path, sizeof text_path, "%s/text", training_folder());
    snprintf(image_path, sizeof image_path, "%s/images", training_folder());
    snprintf(label_path, sizeof label_path, "%s/labels.jsonl", training_folder());
    if (mkdir(text_path, 0777) != 0 || mkdir(image_path, 0777) != 0)
        return 1;
    write_tokens("train", 801, 1);
    write_tokens("dev", 190, 2);
    write_tokens("test", 237, 3);
    small_images_write(image_path, EACH, TESTS);
    return 0;
}

/* 70 samples in batches of 16: an epoch's last batch has 6, fewer than shards. */
static lab_train_config tiny(const char *task, const char *encoding) {
    lab_train_config config;
    locus_error error;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find(task), "smoke", LAB_SETUP_PAPER, &error), LOCUS_OK);
    const bool sequences = config.task->open_sequences != NULL, images = strcmp(task, "cifar10") == 0;
    config.encoding = encoding;
    config.budget = "custom";
    config.model.dim = config.model.feed_forward = 16;
    config.model.heads = 2;
    config.model.encoder_layers = config.model.encoder_layers > 0 ? 1 + images : 0;
    config.model.decoder_layers = config.model.decoder_layers > 0;
    config.model.dropout = config.model.attention_dropout = 0.1;
    if (strcmp(task, "text") == 0)
        LAB_TEXT(&config.data)->sequence = 24;
    else if (sequences)
        LAB_PROBLEMS(&config.data)->sequence = 24;
    config.data.path = strcmp(task, "text") == 0 ? text_path : images ? image_path : NULL;
    config.train_samples = images ? 5 * EACH : sequences ? 0 : 70;
    config.dev_samples = config.test_samples = images ? TESTS : 19;
    config.greedy_samples = config.greedy_samples > 0 ? 11 : 0;
    config.batch = images ? 8 : 16;
    config.steps = SANITIZED(7, 12);
    config.epochs = 0;
    config.evaluate_every = 5;
    config.rate_peak = 3e-3;
    config.optimizer.clip = 0.5;
    config.checkpoint_seconds = 1000000;
    config.shards = SHARDS;
    return config;
}

static lab_train_config words(const char *encoding) {
    lab_train_config config = tiny("reverse", encoding);
    LAB_WORDS(&config.data)->length_mean = 6.0;
    LAB_WORDS(&config.data)->length_deviation = 1.0;
    LAB_WORDS(&config.data)->symbols = 5;
    config.test_lengths[0] = 9;
    config.test_length_count = 1;
    return config;
}

static lab_train_config trees(const char *encoding) {
    lab_train_config config = tiny("tree-ops", encoding);
    LAB_TREES(&config.data)->depth_mean = 2.0;
    LAB_TREES(&config.data)->order = LAB_ORDER_DEPTH;
    config.test_samples = 90; /* batches of both halves, scored by depth and size */
    return config;
}

static void train(const lab_train_config *config, const char *name, size_t ranks) {
    const training_plan plan = {.config = *config, .name = name, .threads = 1 + ranks % 2, .ranks = ranks};
    assert_int_equal(training_run(&plan), LOCUS_OK);
}

/* Under a sanitizer on four: test_elastic has the other numbers. */
static void assert_same_on_all(const lab_train_config *config, const char *name) {
    char alone[64], shared[64];
    snprintf(alone, sizeof alone, "%s-alone", name);
    train(config, alone, 0);
    for (size_t ranks = SANITIZED(4, 2); ranks <= SANITIZED(4, SHARDS); ranks *= 2) {
        snprintf(shared, sizeof shared, "%s-%zu", name, ranks);
        train(config, shared, ranks);
        training_assert_same(alone, shared);
    }
}

static void test_words(void **state) {
    (void)state;
    const lab_train_config config = words("rope");
    assert_same_on_all(&config, "words");
    train(&config, "words-1", 1); /* a rank without others */
    training_assert_same("words-alone", "words-1");
}

/* Two shards, the fewest: each has its own dropout, so that a whole batch learns something else. */
static void test_two_shards(void **state) {
    (void)state;
    lab_train_config config = words("rope");
    config.shards = 2;
    train(&config, "two-alone", 0);
    train(&config, "two-2", 2);
    training_assert_same("two-alone", "two-2");
    config.shards = 1;
    train(&config, "one-shard", 0);
    training_remains dealt = training_look("two-alone"), whole = training_look("one-shard");
    assert_int_equal(dealt.counts[0], whole.counts[0]);
    assert_true(dealt.metrics[0][0].value != whole.metrics[0][0].value);
    training_forget(&dealt);
    training_forget(&whole);
}

/* Large enough for gradients to take the memory of activations (model/lending.h), with a checkpoint after each step.
 * Every second batch has two samples and so two shards without any. */
static void test_lending(void **state) {
    (void)state;
    lab_train_config config = words("rope");
    LAB_WORDS(&config.data)->length_mean = 20.0;
    config.model.dim = 256;
    config.model.feed_forward = 512;
    config.model.heads = 4;
    config.model.encoder_layers = config.model.decoder_layers = 2;
    config.train_samples = 34;
    config.batch = 32;
    config.shards = 4;
    config.steps = SANITIZED(3, 5);
    config.evaluate_every = 2;
    config.checkpoint_seconds = 0;
    train(&config, "lending-alone", 0);
    for (size_t ranks = 2; ranks <= 4; ranks *= 2) {
        const char *name = ranks == 2 ? "lending-2" : "lending-4";
        train(&config, name, ranks);
        training_assert_same("lending-alone", name);
    }
}

/* Products and attention of bfloat16. */
static void test_half(void **state) {
    (void)state;
    lab_train_config config = words("rope");
    config.model.precision = LAB_BF16;
    config.model.dim = 32;
    assert_same_on_all(&config, "half");
}

static void test_learned(void **state) {
    (void)state;
    const lab_train_config config = words("learned(size=40) + algebraic(group=seq, decay=0.98)");
    assert_same_on_all(&config, "learned");
}

static void test_trees(void **state) {
    (void)state;
    const lab_train_config config = trees("algebraic(group=tree:2)");
    assert_same_on_all(&config, "trees");
}

static void test_images(void **state) {
    (void)state;
    lab_train_config config = tiny("cifar10", "algebraic(group=grid:2)");
    config.model.stochastic_depth = 0.3;
    config.augment = LAB_AUGMENT_POLICY;
    config.steps = SANITIZED(7, 13); /* the sixth and the twelfth have five images */
    assert_same_on_all(&config, "images");
}

static void test_sequences(void **state) {
    (void)state;
    const lab_train_config problems = tiny("addition", "rope"), text = tiny("text", "t5"),
                           expressions = tiny("listops", "algebraic(group=tree:4)");
    lab_train_config finite = tiny("substring-search", "rope(values=on)");
    finite.train_samples = 70;
    assert_same_on_all(&problems, "problems");
    assert_same_on_all(&finite, "finite");
    assert_same_on_all(&text, "text");
    assert_same_on_all(&expressions, "expressions");
}

/* Labelled sequences of one's own. */
static void test_labels(void **state) {
    (void)state;
    char text[6000] = "";
    size_t used = 0;
    for (unsigned i = 0; i < 90; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "{\"input_text\": \"%s %s %s%s\", \"label\": \"%s\"}\n", i % 2 ? "a" : "b",
                                 i % 3 ? "c" : "d", i % 5 ? "e" : "f", i % 7 ? " g" : "", i % 2 ? "odd" : "even");
    }
    FILE *file = fopen(label_path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, used, file), used);
    assert_int_equal(fclose(file), 0);
    lab_train_config config = tiny("classify", "rope");
    config.data.path = label_path;
    config.train_samples = config.dev_samples = config.test_samples = 0;
    config.model.encoder_layers = 1;
    config.epochs = 3;
    config.steps = 0;
    assert_same_on_all(&config, "labels");
}

/* Killed and stopped, and gone on with by others: 1, 4, 2 and 8 ranks, and alone. */
static void test_elastic(void **state) {
    (void)state;
    lab_train_config config = words("algebraic(group=seq)");
    config.checkpoint_seconds = 0;
    config.steps = 25;
    training_plan plan = {.config = config, .name = "elastic-whole", .threads = 1};
    assert_int_equal(training_run(&plan), LOCUS_OK);
    plan.name = "elastic";
    plan.ranks = 1;
    plan.kill_at = 4;
    assert_int_equal(training_run(&plan), -1);
    plan.ranks = 4;
    plan.kill_at = 9;
    plan.kill_rank = 3;
    assert_int_equal(training_run(&plan), -1);
    plan.kill_at = 0;
    plan.stop_at = 13; /* as rank 1 asks */
    plan.kill_rank = 1;
    plan.ranks = 2;
    assert_int_equal(training_run(&plan), LOCUS_ERROR_INTERRUPTED);
    plan.ranks = 8;
    plan.stop_at = 17;
    assert_int_equal(training_run(&plan), LOCUS_ERROR_INTERRUPTED);
    plan.ranks = 0;
    plan.kill_rank = 0;
    plan.stop_at = 21;
    assert_int_equal(training_run(&plan), LOCUS_ERROR_INTERRUPTED);
    plan.stop_at = 0;
    plan.ranks = 2;
    assert_int_equal(training_run(&plan), LOCUS_OK);
    training_assert_same("elastic-whole", "elastic");
    assert_int_equal(training_run(&plan), LOCUS_OK);                /* it is done: rank 0 says so to all */
    plan.config.test_lengths[plan.config.test_length_count++] = 11; /* scored by rank 0 alone: the others have left */
    assert_int_equal(training_run(&plan), LOCUS_OK);
    training_remains remains = training_look("elastic");
    assert_true(training_final(&remains, "test:11", "loss") > 0);
    training_forget(&remains);
}

/* A scheduler's signal that reaches one rank while scores are made, after all steps: rank 0 is told whose it was. */
static void test_stopped_scoring(void **state) {
    (void)state;
    lab_train_config config = words("rope");
    config.steps = 5;
    config.batch = SHARDS;
    config.test_samples = 35; /* five batches: of two ranks the second has two */
    training_plan plan = {.config = config, .name = "scoring-whole", .threads = 1};
    assert_int_equal(training_run(&plan), LOCUS_OK);
    plan.name = "scoring";
    plan.ranks = 2;
    plan.kill_rank = 1;
    plan.stop_at = 5;
    plan.stop_phase = "test";
    assert_int_equal(training_run(&plan), TRAINING_QUEUE_AGAIN);
    training_remains stopped = training_look("scoring");
    assert_int_equal(stopped.run.state, LAB_RUN_STOPPED);
    assert_int_equal(stopped.run.steps_done, 5);
    training_forget(&stopped);
    plan.stop_at = 0;
    plan.ranks = 4;
    assert_int_equal(training_run(&plan), LOCUS_OK);
    training_assert_same("scoring-whole", "scoring");
}

/* Without dropout shards say the same as a whole batch: the mean's denominator, the norm and the scores are those. */
static void assert_near(lab_train_config config, const char *name) {
    char whole[64], dealt[64];
    snprintf(whole, sizeof whole, "%s-whole", name);
    snprintf(dealt, sizeof dealt, "%s-dealt", name);
    config.model.dropout = config.model.attention_dropout = config.model.stochastic_depth = 0.0;
    config.evaluate_every = 1;
    config.steps = 6;
    config.epochs = 0;
    config.optimizer.clip = 0.0;
    train(&config, dealt, 4);
    config.shards = 0;
    train(&config, whole, 0);
    training_remains a = training_look(whole), b = training_look(dealt);
    assert_true(a.run.tokens_seen == b.run.tokens_seen);
    for (size_t m = 0; m < 4; m++) {
        assert_int_equal(a.counts[m], 6);
        assert_int_equal(b.counts[m], 6);
        for (size_t i = 0; i < 6; i++)
            assert_true(fabs(a.metrics[m][i].value / b.metrics[m][i].value - 1.0) < 2e-5 * pow(4.0, (double)i));
    }
    training_forget(&a);
    training_forget(&b);
}

static void test_shards_change_sums_alone(void **state) {
    (void)state;
    assert_near(words("rope"), "near-words");
    if (IS_SANITIZED)
        return; /* numbers are nothing to it */
    assert_near(trees("algebraic(group=tree:2)"), "near-trees");
    assert_near(tiny("cifar10", "algebraic(group=grid:2)"), "near-images");
    assert_near(tiny("addition", "rope"), "near-problems");
    assert_near(tiny("listops", "algebraic(group=tree:4)"), "near-expressions");
}

/* A step that leaves what is not finite: all ranks say alike what it is, and what was learned is kept. */
static void test_not_finite(void **state) {
    (void)state;
    lab_train_config config = words("rope");
    config.rate_initial = config.rate_peak = 1e5;
    config.optimizer.clip = 0.0;
    config.steps = 200;
    training_plan plan = {.config = config, .name = "wild-1", .threads = 1};
    const int status = training_run(&plan);
    training_remains alone = training_look("wild-1");
    plan.name = "wild-4";
    plan.ranks = 4;
    assert_int_equal(training_run(&plan), status);
    training_remains shared = training_look("wild-4");
    assert_int_equal(alone.run.state, shared.run.state);
    assert_int_equal(alone.run.steps_done, shared.run.steps_done);
    assert_string_equal(alone.run.message, shared.run.message);
    training_forget(&alone);
    training_forget(&shared);
    plan.config.rate_initial = plan.config.rate_peak = 100;
    plan.config.encoding = "kerple";
    plan.says = "an encoding's parameter is not finite at step 1 (learning rate 100): lower --rate or set --clip; the "
                "last good checkpoint is kept";
    plan.name = "far-2";
    plan.ranks = 2;
    assert_int_equal(training_run(&plan), LOCUS_ERROR_NUMERIC);
    plan.name = "far-whole";
    plan.ranks = 0;
    plan.config.shards = 1;
    assert_int_equal(training_run(&plan), LOCUS_ERROR_NUMERIC);
}

static void test_refused(void **state) {
    (void)state;
    training_plan plan = {.config = words("rope"), .name = "refused", .threads = 1, .ranks = 3};
    static const struct {
        size_t ranks, shards;
        const char *says;
    } counts[] = {
        {3, 8, "--shards: 8 shards cannot be dealt to 3 ranks: their number must be a power of two, up to 8"},
        {16, 8, "--shards: 8 shards cannot be dealt to 16 ranks: their number must be a power of two, up to 8"},
        {4, 2, "--shards: 2 shards cannot be dealt to 4 ranks: their number must be a power of two, up to 2"},
        {2, 1,
         "--shards: 2 ranks need a batch that is dealt to shards: give --shards with a power of two of at least "
         "2"},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        plan.ranks = counts[i].ranks;
        plan.config.shards = counts[i].shards;
        plan.says = counts[i].says;
        assert_int_equal(training_run(&plan), LOCUS_ERROR_ARGUMENT);
    }
    plan.says = NULL;
    plan.ranks = 2;
    plan.config.shards = 0;
    assert_int_equal(training_run(&plan), LOCUS_ERROR_ARGUMENT); /* nothing to share */
    plan.config.shards = 3;
    assert_int_equal(training_run(&plan), LOCUS_ERROR_ARGUMENT);
    plan.config.shards = 32; /* the batch has 16 samples */
    assert_int_equal(training_run(&plan), LOCUS_ERROR_ARGUMENT);
    plan.config.shards = 8;
    plan.config.encoding = "learned(size=3)"; /* shorter than what is read */
    assert_int_equal(training_run(&plan), LOCUS_ERROR_POSITION);
    training_remains r = training_look("refused");
    assert_int_equal(r.run.id, 0);
    training_forget(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_two_shards),
        cmocka_unit_test(test_learned),
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_elastic),
        cmocka_unit_test(test_shards_change_sums_alone),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_stopped_scoring),
        cmocka_unit_test(test_lending),
        cmocka_unit_test(test_half),
    };
    return cmocka_run_group_tests(tests, setup, training_teardown);
}
