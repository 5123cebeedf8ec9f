/* SPDX-License-Identifier: MIT */
/* Every allocation of the laboratory's way from a data set to scores fails once, one after another: each failure is
 * told as MEMORY, nothing leaks (address sanitizer), and a model whose step failed takes the same step again. So do
 * those of a configuration that is read. */
#include "io/rope_file.h"
#include "model/architecture.h"
#include "model/attention_maps.h"
#include "ranks/ranks_threads.h"
#include "sanitized.h"
#include "task/listops/listops.h"
#include "task/problem.h"
#include "task/task_class.h"
#include "task/tree_task.h"
#include "train/configuration/config.h"
#include "train/feed/batch.h"
#include "train/feed/feed.h"
#include "train/feed/sequence_feed.h"
#include "train/feed/tree_groups.h"
#include "train/train.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_allocator.h"

typedef struct way {
    const char *encoding;
    const char *attention;
    lab_tree_paths paths;
} way;

/* A step; if memory fails in it, the same step again, when nothing fails any more. */
static locus_status step(lab_model *model, const lab_batch *batch, uint32_t number, locus_error *error) {
    lab_score score = {0};
    const locus_status status = lab_model_train(model, batch, 1, number, &score, error);
    assert_true(status != LOCUS_OK || score.tokens > 0);
    if (status == LOCUS_ERROR_MEMORY) {
        locus_error again;
        assert_int_equal(lab_model_train(model, batch, 1, number, &score, &again), LOCUS_OK);
    }
    return status;
}

enum { IMAGES = 5, SIDE = 14, PIXELS = IMAGES * 3 * SIDE * SIDE, CLASSES = 4 };
static uint8_t pixels[PIXELS], labels[IMAGES] = {0, 1, 2, 3, 1};

static locus_status images_step(lab_model *model, const lab_dataset *set, locus_error *error) {
    lab_train_config config = {.batch = 3, .seed = 4, .augment = LAB_AUGMENT_POLICY};
    lab_feed feed = {0};
    locus_status status = lab_feed_train(&feed, set, &config, error);
    for (uint32_t s = 0; s < 2 && status == LOCUS_OK; ++s) {
        const lab_batch *batch;
        status = lab_feed_step(&feed, s, &batch, error);
        if (status == LOCUS_OK)
            status = step(model, batch, s, error);
    }
    lab_feed_close(&feed);
    return status;
}

static locus_status images_way(const way *how, locus_error *error) {
    static float normalised[PIXELS], probabilities[IMAGES * CLASSES];
    const lab_dataset set = {.samples = IMAGES, .images = {IMAGES, 3, SIDE, CLASSES, pixels, labels, NULL}};
    const lab_scoring scoring = {.batch = 3, .phase = "dev"};
    lab_model_config config = lab_image_classifier.defaults;
    lab_model *model = NULL;
    lab_score score = {0};
    config.dim = 24, config.heads = 2, config.feed_forward = 16, config.encoder_layers = 3;
    config.image_side = SIDE, config.classes = CLASSES;
    config.stochastic_depth = 0.4;
    config.norm = LAB_NORM_AFTER;
    config.encoding = how->encoding;
    locus_status status = lab_model_create(&model, &config, 1, error);
    if (status == LOCUS_OK)
        status = images_step(model, &set, error);
    if (status == LOCUS_OK)
        status = lab_train_score(model, &set, &scoring, &score, NULL, error);
    assert_true(status != LOCUS_OK || score.samples == IMAGES);
    if (status == LOCUS_OK)
        status = lab_model_classify(model, &(lab_batch){.samples = IMAGES, .images = normalised}, probabilities, error);
    lab_model_destroy(&model);
    return status;
}

enum { TREES = SANITIZED(4, 5), DECODED = SANITIZED(2, 4) };

static locus_status trees_score(lab_model *model, const lab_dataset *set, const lab_draw *draw, locus_error *error) {
    uint32_t correct[TREES];
    uint8_t decoded[TREES];
    lab_score score = {0};
    double greedy;
    const lab_scoring how = {.task = draw->task,
                             .options = draw->options,
                             .batch = 3,
                             .greedy_samples = DECODED,
                             .sample_correct = correct,
                             .sample_greedy = decoded,
                             .phase = "test"};
    locus_status status = lab_train_score(model, set, &how, &score, &greedy, error);
    if (status != LOCUS_OK)
        return status;
    const lab_sample_scores samples = {correct, decoded, DECODED};
    lab_tree_group *groups = NULL;
    size_t count;
    status = lab_tree_groups(set, &samples, &groups, &count, error);
    free(groups);
    return status;
}

static locus_status trees_step(lab_model *model, const lab_dataset *set, locus_error *error) {
    const lab_batch *batch;
    lab_feed feed = {0};
    locus_status status = lab_feed_score(&feed, set, 3, error);
    if (status == LOCUS_OK)
        status = lab_feed_slice(&feed, 0, 3, &batch, error);
    if (status == LOCUS_OK)
        status = step(model, batch, 0, error);
    lab_feed_close(&feed);
    return status;
}

static locus_status trees_way(const way *how, locus_error *error) {
    const lab_task *task = lab_task_find("tree-copy");
    lab_task_options options = lab_task_default(task);
    LAB_TREES(&options)->depth_mean = 2.0;
    const lab_draw draw = {task, &options, LAB_SET_TEST, TREES, 5};
    lab_model_config config = lab_encoder_decoder.defaults;
    lab_dataset set;
    lab_model *model = NULL;
    config.vocabulary = lab_task_vocabulary(task, &options);
    config.tree_arity = LAB_TREES(&options)->arity;
    config.tree_paths = how->paths;
    config.dim = 24, config.heads = 2, config.feed_forward = 16;
    config.encoding = how->encoding;
    strcpy(config.attention, how->attention ? how->attention : "");
    locus_status status = lab_dataset_generate(&set, &draw, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_model_create(&model, &config, 1, error);
    if (status == LOCUS_OK)
        status = trees_step(model, &set, error);
    if (status == LOCUS_OK)
        status = trees_score(model, &set, &draw, error);
    lab_model_destroy(&model);
    lab_dataset_destroy(&set);
    return status;
}

/* Pairs of problems, and a sequence; `encoding` is the task. */
static locus_status problems_way(const way *how, locus_error *error) {
    const lab_task *task = lab_task_find(how->encoding);
    const lab_task_options options = lab_task_default(task);
    const lab_draw draw = {task, &options, LAB_SET_TEST, 3, 5};
    int32_t tokens[1000];
    lab_dataset set;
    locus_status status = lab_dataset_generate(&set, &draw, error);
    if (status != LOCUS_OK)
        return status;
    lab_dataset_destroy(&set);
    status = lab_dataset_sequences(&set, &draw, error);
    if (status == LOCUS_OK && set.sequences.read(&set.sequences, 0, tokens) != LAB_PROBLEMS(&options)->sequence)
        status = LOCUS_ERROR_ARGUMENT;
    if (status == LOCUS_OK) {
        lab_sequence_feed *feed;
        const lab_batch *batch;
        status = lab_sequence_feed_create(&feed, &set, 2, 1, error);
        assert_true(status == LOCUS_OK || feed == NULL);
        if (status == LOCUS_OK) {
            status = lab_sequence_feed_slice(feed, 1, 2, &batch, error);
            assert_true(status == LOCUS_OK && batch->input_offsets[2] == 2 * LAB_PROBLEMS(&options)->sequence);
        }
        lab_sequence_feed_destroy(&feed);
    }
    lab_dataset_destroy(&set);
    return status;
}

/* A step, and prompts that are gone on with: drawn, from the library's caches or the model's own. */
static locus_status decoder_way(const way *how, locus_error *error) {
    static const size_t offsets[] = {0, 5, 7, 11}, limits[] = {3, 0, 2};
    static const int32_t tokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2};
    const lab_batch batch = {.samples = 3, .input_offsets = offsets, .input = tokens};
    const lab_sampling sampling = {.temperature = 1.0, .top_k = 5, .top_p = 0.9, .seed = 2};
    int32_t output[5];
    size_t output_offsets[4], lengths[3];
    const lab_generation generation = {.limits = limits,
                                       .output = output,
                                       .output_offsets = output_offsets,
                                       .lengths = lengths,
                                       .sampling = &sampling};
    lab_model_config config = lab_decoder.defaults;
    lab_model *model = NULL;
    config.vocabulary = 10;
    config.dim = 24, config.heads = 2, config.feed_forward = 16, config.decoder_layers = 2;
    config.encoding = how->encoding;
    strcpy(config.attention, how->attention ? how->attention : "");
    locus_status status = lab_model_create(&model, &config, 1, error);
    if (status == LOCUS_OK)
        status = step(model, &batch, 0, error);
    if (status == LOCUS_OK)
        status = lab_model_generate(model, &batch, &generation, error);
    lab_model_destroy(&model);
    return status;
}

/* What attentions look at; where no memory is left the model has no watcher any more. */
static locus_status maps_way(const way *how, locus_error *error) {
    static const size_t inputs[] = {0, 4}, targets[] = {0, 2};
    static const int32_t input[] = {1, 2, 3, 4}, target[] = {2, 1};
    const lab_batch batch = {
        .samples = 1, .input_offsets = inputs, .target_offsets = targets, .input = input, .target = target};
    lab_model_config config = lab_encoder_decoder.defaults;
    lab_model *model = NULL;
    lab_attention_maps maps = {0};
    config.vocabulary = 6;
    config.dim = 8, config.heads = 2, config.feed_forward = 8, config.encoder_layers = config.decoder_layers = 1;
    config.encoding = how->encoding;
    locus_status status = lab_model_create(&model, &config, 1, error);
    if (status == LOCUS_OK) {
        status = lab_attention_maps_make(&maps, model, &batch, error);
        assert_int_equal(maps.count, status == LOCUS_OK ? 3 : 0);
        assert_int_equal(maps.without, 0);
    }
    for (size_t i = 0; i < maps.count; ++i) {
        float sum = 0.0f;
        for (size_t j = 0; j < maps.maps[i].keys; ++j)
            sum += maps.maps[i].weights[j];
        assert_true(fabsf(sum - 1.0f) < 1e-5f);
    }
    lab_attention_maps_free(&maps);
    if (status == LOCUS_ERROR_MEMORY && model) {
        lab_score score = {0};
        locus_error again;
        assert_int_equal(lab_model_evaluate(model, &batch, &score, &again), LOCUS_OK);
    }
    lab_model_destroy(&model);
    return status;
}

/* Expressions that are drawn, written, read, trained on and scored. */
static locus_status expressions_read(const lab_dataset *set, locus_error *error) {
    lab_dataset copy = {0};
    lab_listops_builder builder = {.set = &copy, .arguments = 3};
    locus_status status = LOCUS_OK;
    for (size_t s = 0; s < set->samples && status == LOCUS_OK; ++s) {
        const size_t start = set->input_offsets[s], n = set->input_offsets[s + 1] - start;
        char *text = lab_listops_string(n, set->input + start, set->input_tree.parents + start,
                                        set->input_tree.branches + start);
        status = text != NULL ? lab_listops_append(&builder, text, set->labels[s], error) : LOCUS_ERROR_MEMORY;
        if (text == NULL)
            strcpy(error->message, "the text");
        free(text);
    }
    lab_listops_reader_destroy(&builder.reader);
    lab_dataset_destroy(&copy);
    return status;
}

static locus_status expressions_step(lab_model *model, const lab_dataset *set, locus_error *error) {
    lab_batcher batcher = {0};
    const lab_batch *batch;
    locus_status status = lab_batcher_create(&batcher, set, 3, 4, error);
    for (uint32_t s = 0; s < 2 && status == LOCUS_OK; ++s) {
        status = lab_batcher_step(&batcher, s, &batch, error);
        if (status == LOCUS_OK)
            status = step(model, batch, s, error);
    }
    lab_batcher_destroy(&batcher);
    return status;
}

static locus_status expressions_way(const way *how, locus_error *error) {
    const lab_task *task = lab_task_find("listops");
    const lab_task_options options = lab_task_with(
        lab_task_find("listops"), &(lab_expression_options){.depth = 3, .arguments = 3, .shortest = 0, .longest = 20});
    const lab_draw draw = {task, &options, LAB_SET_TRAIN, 5, 2};
    const lab_scoring scoring = {.task = task, .options = &options, .batch = 3, .phase = "dev"};
    lab_model_config config = lab_text_classifier.defaults;
    lab_model *model = NULL;
    lab_score score = {0};
    lab_dataset set;
    config.dim = 24, config.heads = 2, config.feed_forward = 16, config.encoder_layers = 2;
    config.tree_arity = LAB_EXPRESSIONS(&options)->arguments;
    config.encoding = how->encoding;
    locus_status status = lab_dataset_generate(&set, &draw, error);
    if (status != LOCUS_OK)
        return status;
    status = expressions_read(&set, error);
    if (status == LOCUS_OK)
        status = lab_model_create(&model, &config, 1, error);
    if (status == LOCUS_OK)
        status = expressions_step(model, &set, error);
    if (status == LOCUS_OK)
        status = lab_train_score(model, &set, &scoring, &score, NULL, error);
    lab_model_destroy(&model);
    lab_dataset_destroy(&set);
    return status;
}

/* What follows from an encoding's text: nothing else follows for want of memory. */
static locus_status text_way(const way *how, locus_error *error) {
    lab_train_config config = {.encoding = how->encoding, .model.position_scale = LAB_POSITIONS_SQRT_DIM};
    size_t least;
    locus_status status = lab_config_settle(&config, error);
    if (status == LOCUS_OK) {
        assert_int_equal(config.model.position_scale, LAB_POSITIONS_AS_THEY_ARE);
        status = lab_spec_least(how->encoding, "rope", "original", &least, error);
    }
    if (status == LOCUS_OK)
        assert_int_equal(least, 7);
    return status;
}

/* ---- one failure after another ---- */

typedef locus_status way_function(const way *how, locus_error *error);

/* One allocation in `stride`. A failed allocation may be made up for (a worker thread that cannot start); it is never
 * told as anything but MEMORY. */
static void failures(way_function *function, const way *how, long stride) {
    enum { MOST = 20000 };
    long told = 0, point = 0;
    for (bool failed = true; failed && point < MOST; point += stride) {
        locus_error error = {0};
        allocator_arm(point);
        const locus_status status = function(how, &error);
        failed = allocator_disarm();
        if (status != LOCUS_OK && (status != LOCUS_ERROR_MEMORY || error.message[0] == '\0' ||
                                   strstr(error.message, "the workspace has"))) /* room that did not come is not lent */
            fail_msg("%s, allocation %ld: status %d, \"%s\"", how->encoding, point, (int)status, error.message);
        told += status == LOCUS_ERROR_MEMORY;
    }
    assert_true(point < MOST && told * stride > point / 2);
}

/* Under a sanitizer one in three. */
static void every_failure(way_function *function, const way *how) {
    failures(function, how, SANITIZED(3, 1));
}

/* Of a way that has most of its allocations in common with another: under a sanitizer one in seven. */
static void more_failures(way_function *function, const way *how) {
    failures(function, how, SANITIZED(7, 1));
}

static void test_images(void **state) {
    (void)state;
    for (size_t i = 0; i < PIXELS; ++i)
        pixels[i] = (uint8_t)(i * 37);
    every_failure(images_way, &(way){.encoding = "algebraic(group=grid:2) / none"});
}

static void test_trees(void **state) {
    (void)state;
    every_failure(trees_way, &(way){.encoding = "algebraic(group=tree:2)"});
    more_failures(trees_way, &(way){.encoding = "shiv-quirk(k=2, depth=2) / none"});
    more_failures(trees_way,
                  &(way){.encoding = "algebraic(group=seq*tree:2)", .attention = "linear", .paths = LAB_PATHS_NEXT});
}

static void test_problems(void **state) {
    (void)state;
    every_failure(problems_way, &(way){.encoding = "addition"});
    every_failure(problems_way, &(way){.encoding = "substring-search"});
}

static void test_decoders(void **state) {
    (void)state;
    every_failure(decoder_way, &(way){.encoding = "learned(size=8) + rope"});
    every_failure(decoder_way, &(way){.encoding = "rope", .attention = "linear"});
}

static void test_maps(void **state) {
    (void)state;
    every_failure(maps_way, &(way){.encoding = "rope"});
}

static void test_expressions(void **state) {
    (void)state;
    every_failure(expressions_way, &(way){.encoding = "algebraic(group=seq*tree:3)"});
    more_failures(expressions_way, &(way){.encoding = "shiv-quirk(k=3, depth=3)"});
}

/* A configuration is read whole, or told to the letter for what there was no memory. */
static void test_configurations(void **state) {
    (void)state;
    static const char path[] = LOCUS_SOURCE_DIR "/tests/cli/configs/gemma3-4b.json";
    lab_rope_config whole, config;
    locus_error error = {0};
    size_t told = 0;
    assert_int_equal(lab_rope_file_read(&whole, path, &error), LOCUS_OK);
    bool failed = true;
    for (long point = 0; failed; point++) {
        error = (locus_error){0};
        allocator_arm(point);
        const locus_status status = lab_rope_file_read(&config, path, &error);
        failed = allocator_disarm();
        if (status == LOCUS_OK) {
            assert_string_equal(config.spec, whole.spec);
            assert_string_equal(config.attention, whole.attention);
            assert_int_equal(config.note_count, whole.note_count);
        } else if (status != LOCUS_ERROR_MEMORY || strncmp(error.message, "out of memory for ", 18) != 0) {
            fail_msg("allocation %ld: status %d, \"%s\"", point, (int)status, error.message);
        }
        told += strcmp(error.message, "out of memory for a spec") == 0;
        lab_rope_config_free(&config);
    }
    assert_true(told >= 4); /* two texts that grow, and the canonical form of each */
    lab_rope_config_free(&whole);
}

static void test_texts(void **state) {
    (void)state;
    every_failure(
        text_way,
        &(way){.encoding = "rope(scaling=yarn, factor=4, original=9) / rope(scaling=yarn, factor=4, original=7)"});
}

static void close_rank(lab_ranks **ranks, void *context) {
    atomic_fetch_add((atomic_int *)context, 1);
    lab_ranks_close(ranks);
}

/* All of them run, or none. */
static void test_ranks(void **state) {
    (void)state;
    bool failed = true;
    for (long point = 0; failed; point++) {
        locus_error error = {0};
        atomic_int ran = 0;
        allocator_arm(point);
        const locus_status status = lab_ranks_threads(4, close_rank, &ran, &error);
        failed = allocator_disarm();
        assert_int_equal(status, failed ? LOCUS_ERROR_MEMORY : LOCUS_OK);
        assert_int_equal(ran, failed ? 0 : 4);
        assert_true(point < 100);
    }
}

/* A chance of 0 says nothing of memory: the most common of many tokens is counted without any. */
static void test_chance(void **state) {
    (void)state;
    int32_t target[] = {7, 1300, 1300, 511, 512, 1300, 7};
    size_t offsets[] = {0, 4, 7};
    const lab_dataset set = {.samples = 2, .target = target, .target_offsets = offsets};
    allocator_arm(0);
    const double chance = lab_dataset_chance(&set, 1301), without = lab_dataset_chance(&set, 1300);
    allocator_disarm();
    assert_true(chance == 3.0 / 9.0 && without == 2.0 / 9.0); /* words have an end token each */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_decoders),    cmocka_unit_test(test_images),
                                       cmocka_unit_test(test_trees),       cmocka_unit_test(test_problems),
                                       cmocka_unit_test(test_expressions), cmocka_unit_test(test_texts),
                                       cmocka_unit_test(test_chance),      cmocka_unit_test(test_maps),
                                       cmocka_unit_test(test_ranks),       cmocka_unit_test(test_configurations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
