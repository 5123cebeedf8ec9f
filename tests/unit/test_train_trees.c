/* SPDX-License-Identifier: MIT */
/* Trees through the training loop: packed batches, scores by depth and size, resume, what is refused. */
#include "io/fail.h"
#include "sanitized.h"
#include "task/growth.h"
#include "task/symbol_tree.h"
#include "task/task_class.h"
#include "task/tree_task.h"
#include "train/feed/batch.h"
#include "train/feed/cut_paths.h"
#include "train/feed/tree_groups.h"
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
#include <unistd.h>

#include <cmocka.h>

/* To a sanitizer one step is like another. */
enum { STEPS = SANITIZED(22, 40), STOP = SANITIZED(17, 30), SEEDS = SANITIZED(2, 12) };

/* 70 samples in batches of 8 end epochs in the middle of evaluations and with a smaller batch. */
static lab_train_config tiny(const char *task, const char *encoding) {
    lab_train_config config;
    locus_error error;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find(task), "smoke", LAB_SETUP_PAPER, &error), LOCUS_OK);
    config.encoding = encoding;
    config.budget = "custom";
    config.model.dim = 16;
    config.model.heads = 2;
    config.model.feed_forward = 32;
    config.model.encoder_layers = config.model.decoder_layers = 1;
    LAB_TREES(&config.data)->depth_mean = 2.0;
    LAB_TREES(&config.data)->order = LAB_ORDER_DEPTH;
    config.train_samples = 70;
    config.dev_samples = 20;
    config.test_samples = 40;
    config.greedy_samples = 15;
    config.batch = 8;
    config.steps = STEPS;
    config.evaluate_every = 7;
    config.checkpoint_seconds = 0; /* after every step */
    config.test_lengths[0] = 3;
    config.test_length_count = 1;
    return config;
}

/* ---- batches ---- */

static lab_dataset draw_set(const char *task, lab_order order, size_t samples) {
    lab_task_options options = lab_task_default(lab_task_find(task));
    lab_dataset set;
    locus_error error;
    LAB_TREES(&options)->depth_mean = 4.0;
    LAB_TREES(&options)->order = order;
    const lab_draw draw = {lab_task_find(task), &options, LAB_SET_TRAIN, samples, 3};
    assert_int_equal(lab_dataset_generate(&set, &draw, &error), LOCUS_OK);
    return set;
}

static void assert_side(const int32_t *tokens, const lab_batch_tree *tree, size_t at, const int32_t *from,
                        const lab_tree_nodes *nodes, const size_t *offsets) {
    size_t count = offsets[1] - offsets[0];
    assert_memory_equal(tokens + at, from + offsets[0], count * sizeof *tokens);
    assert_memory_equal(tree->parents + at, nodes->parents + offsets[0], count * sizeof *tokens);
    assert_memory_equal(tree->branches + at, nodes->branches + offsets[0], count * sizeof *tokens);
    assert_int_equal(tree->parents[at], -1);
}

/* Every sample comes once an epoch, with its own parents and branches. */
static void test_batches(void **state) {
    (void)state;
    lab_dataset set = draw_set("tree-ops", LAB_ORDER_DEPTH, 21);
    lab_batcher batcher;
    locus_error error;
    bool seen[21] = {false};
    assert_int_equal(lab_batcher_create(&batcher, &set, 4, 9, &error), LOCUS_OK);
    for (uint64_t step = 6; step < 12; step++) {
        const lab_batch *batch;
        assert_int_equal(lab_batcher_step(&batcher, step, &batch, &error), LOCUS_OK);
        for (size_t i = 0; i < batch->samples; i++) {
            size_t s = batcher.epochs.order[(step - 6) * 4 + i];
            seen[s] = true;
            assert_side(batch->input, &batch->input_tree, batch->input_offsets[i], set.input, &set.input_tree,
                        set.input_offsets + s);
            assert_side(batch->target, &batch->target_tree, batch->target_offsets[i], set.target, &set.target_tree,
                        set.target_offsets + s);
        }
    }
    for (size_t i = 0; i < 21; i++)
        assert_true(seen[i]);
    lab_batcher_destroy(&batcher);
    lab_dataset_destroy(&set);
}

/* ---- groups ---- */

static size_t tokens_of(const lab_batch *batch) {
    return batch->input_offsets[batch->samples] + batch->target_offsets[batch->samples];
}

/* Dealt plainly: the longest first (of equal ones the first), each to the part with the fewest tokens of those with
 * room (of equal ones the first). */
static void deal(size_t count, const size_t *tokens, size_t parts, size_t *part_of) {
    size_t held[64] = {0}, left[64];
    bool dealt[64] = {false};
    for (size_t p = 0; p < parts; p++)
        left[p] = lab_cut_samples((lab_cut){p, parts}, count);
    for (size_t i = 0; i < count; i++) {
        size_t longest = count, least = parts;
        for (size_t s = 0; s < count; s++)
            if (!dealt[s] && (longest == count || tokens[s] > tokens[longest]))
                longest = s;
        for (size_t p = 0; p < parts; p++)
            if (left[p] > 0 && (least == parts || held[p] < held[least]))
                least = p;
        dealt[longest] = true;
        part_of[longest] = least;
        held[least] += tokens[longest];
        left[least]--;
    }
}

/* The part has the whole batch's samples that were dealt to it, in their order. */
static void assert_part(const lab_batch *part, const lab_batch *whole, const size_t *part_of, size_t p) {
    size_t at = 0;
    for (size_t s = 0; s < whole->samples; s++) {
        const size_t from = whole->input_offsets[s], count = whole->input_offsets[s + 1] - from;
        const size_t first = whole->target_offsets[s], targets = whole->target_offsets[s + 1] - first;
        if (part_of[s] != p)
            continue;
        assert_true(at < part->samples && part->input_offsets[at + 1] - part->input_offsets[at] == count);
        assert_int_equal(part->target_offsets[at + 1] - part->target_offsets[at], targets);
        assert_memory_equal(part->input + part->input_offsets[at], whole->input + from, count * sizeof(int32_t));
        assert_memory_equal(part->target + part->target_offsets[at], whole->target + first, targets * sizeof(int32_t));
        at++;
    }
    assert_int_equal(at, part->samples);
}

static void test_dealt(void **state) {
    (void)state;
    enum { SAMPLES = 150, BATCH = 64 };
    lab_dataset set = draw_set("tree-copy", LAB_ORDER_DEPTH, SAMPLES); /* of which many are as large as others */
    lab_batcher batcher, whole_batcher;
    const lab_batch *batch, *whole;
    assert_int_equal(lab_batcher_create(&batcher, &set, BATCH, 3, NULL), LOCUS_OK);
    assert_int_equal(lab_batcher_create(&whole_batcher, &set, BATCH, 3, NULL), LOCUS_OK);
    for (uint64_t step = 0; step < 4; step++) {
        for (size_t parts = 2; parts <= 64; parts *= 2) {
            size_t tokens[BATCH], part_of[BATCH];
            assert_int_equal(lab_batcher_step(&whole_batcher, step, &whole, NULL), LOCUS_OK);
            for (size_t s = 0; s < whole->samples; s++)
                tokens[s] = whole->input_offsets[s + 1] - whole->input_offsets[s] + whole->target_offsets[s + 1] -
                            whole->target_offsets[s];
            deal(whole->samples, tokens, parts, part_of);
            for (size_t p = parts; p > 0; p--) {
                assert_int_equal(lab_batcher_cut(&batcher, step, (lab_cut){p - 1, parts}, &batch, NULL), LOCUS_OK);
                assert_part(batch, whole, part_of, p - 1);
            }
        }
    }
    lab_batcher_destroy(&batcher);
    lab_batcher_destroy(&whole_batcher);
    lab_dataset_destroy(&set);
}

/* A batch in parts: every sample once, as many in each as a cut says, and no part much longer than the mean, although
 * trees are of all sizes. */
static void test_parts(void **state) {
    (void)state;
    enum { SAMPLES = 300, BATCH = 64, MOST_PARTS = 64 };
    lab_dataset set = draw_set("tree-ops", LAB_ORDER_DEPTH, SAMPLES);
    lab_batcher batcher;
    const lab_batch *batch;
    locus_error error;
    assert_int_equal(lab_batcher_create(&batcher, &set, BATCH, 3, &error), LOCUS_OK);
    for (uint64_t step = 0; step < 5; step++) {
        for (size_t parts = 1; parts <= MOST_PARTS; parts *= 2) {
            int64_t sum = 0, whole_sum = 0;
            size_t samples = 0, longest = 0, total = 0;
            for (size_t p = 0; p < parts; p++) {
                const lab_cut cut = {p, parts};
                const size_t count = step == 4 ? SAMPLES - 4 * BATCH : BATCH; /* the last one is smaller */
                assert_int_equal(lab_batcher_cut(&batcher, step, cut, &batch, &error), LOCUS_OK);
                assert_int_equal(batch->samples, lab_cut_samples(cut, count));
                samples += batch->samples;
                total += tokens_of(batch);
                longest = tokens_of(batch) > longest ? tokens_of(batch) : longest;
                for (size_t t = 0; t < batch->input_offsets[batch->samples]; t++)
                    sum += (int64_t)batch->input[t] * batch->input[t];
            }
            assert_int_equal(lab_batcher_step(&batcher, step, &batch, &error), LOCUS_OK);
            assert_int_equal(samples, batch->samples);
            assert_int_equal(total, tokens_of(batch));
            for (size_t t = 0; t < batch->input_offsets[batch->samples]; t++)
                whole_sum += (int64_t)batch->input[t] * batch->input[t];
            assert_true(sum == whole_sum);
            if (step < 4 && parts <= 4)
                assert_true((double)longest < 1.03 * (double)total / (double)parts);
        }
    }
    lab_batcher_destroy(&batcher);
    lab_dataset_destroy(&set);
}

/* Groups by depth, and those by nodes, add up to the whole, and their names say who is in them. */
static void test_groups(void **state) {
    (void)state;
    enum { SAMPLES = 300, DECODED = 50 };
    lab_dataset set = draw_set("tree-copy", LAB_ORDER_BREADTH, SAMPLES);
    uint32_t correct[SAMPLES];
    uint8_t greedy[DECODED];
    size_t tokens = 0, right = 0, exact = 0, decoded = 0;
    for (size_t s = 0; s < SAMPLES; s++) {
        size_t length = set.target_offsets[s + 1] - set.target_offsets[s];
        correct[s] = (uint32_t)(s % 3 == 0 ? length : s % length);
        tokens += length;
        right += correct[s];
        exact += correct[s] == length;
        if (s < DECODED) {
            greedy[s] = s % 5 == 0;
            decoded += greedy[s];
        }
    }
    const lab_sample_scores scores = {correct, greedy, DECODED};
    lab_tree_group *groups;
    size_t count;
    locus_error error;
    assert_int_equal(lab_tree_groups(&set, &scores, &groups, &count, &error), LOCUS_OK);
    lab_tree_group sums[2] = {0};
    for (size_t i = 0; i < count; i++) {
        size_t least, most;
        bool depth = sscanf(groups[i].set, "depth:%zu", &least) == 1;
        lab_tree_group *sum = &sums[depth];
        assert_true(groups[i].samples > 0);
        sum->samples += groups[i].samples;
        sum->tokens += groups[i].tokens;
        sum->correct += groups[i].correct;
        sum->exact += groups[i].exact;
        sum->decoded += groups[i].decoded;
        sum->greedy += groups[i].greedy;
        int bounds = depth ? 0 : sscanf(groups[i].set, "nodes:%zu-%zu", &least, &most);
        most = bounds == 1 ? least : most;
        size_t expected = 0;
        for (size_t s = 0; s < SAMPLES; s++) {
            size_t nodes = set.input_offsets[s + 1] - set.input_offsets[s];
            size_t deep = lab_tree_order_depth(nodes, set.input_tree.parents + set.input_offsets[s]);
            expected += depth ? deep == least : nodes >= least && nodes <= most;
        }
        assert_int_equal(groups[i].samples, expected);
    }
    for (size_t k = 0; k < 2; k++) {
        assert_int_equal(sums[k].samples, SAMPLES);
        assert_int_equal(sums[k].tokens, tokens);
        assert_int_equal(sums[k].correct, right);
        assert_int_equal(sums[k].exact, exact);
        assert_int_equal(sums[k].decoded, DECODED);
        assert_int_equal(sums[k].greedy, decoded);
    }
    free(groups);
    lab_dataset_destroy(&set);
}

/* ---- trainings ---- */

/* Stopped and killed in the middle of an epoch: the same bits, with encodings that learn and with paths. */
static void test_resume(void **state) {
    (void)state;
    static const char *const specs[] = {"algebraic(group=tree:2, decay=0.98)", "shiv-quirk(k=2, depth=3)"};
    for (size_t i = 0; i < 2; i++) {
        const char *const names[2][2] = {{"whole-0", "parts-0"}, {"whole-1", "parts-1"}};
        training_plan whole = {.config = tiny("tree-ops", specs[i]), .name = names[i][0], .threads = 1}, parts = whole;
        parts.name = names[i][1];
        parts.threads = 2;
        assert_int_equal(training_run(&whole), LOCUS_OK);
        parts.kill_at = 13;
        assert_int_equal(training_run(&parts), -1);
        parts.kill_at = 0;
        parts.stop_at = STOP;
        assert_int_equal(training_run(&parts), LOCUS_ERROR_INTERRUPTED);
        parts.stop_at = 0;
        assert_int_equal(training_run(&parts), LOCUS_OK);
        training_assert_same(names[i][0], names[i][1]);
    }
}

/* What the store holds of a run of trees. */
static void test_finals(void **state) {
    (void)state;
    training_plan p = {.config = tiny("tree-copy", "rope"), .name = "finals", .threads = 1};
    assert_int_equal(training_run(&p), LOCUS_OK);
    training_remains r = training_look("finals");
    double exact = 0, samples = 0, greedy = 0;
    for (size_t i = 0; i < r.final_count; i++) {
        const lab_final *f = &r.finals[i];
        if (strncmp(f->set, "depth:", 6) == 0 && strcmp(f->name, "samples") == 0) {
            samples += f->value;
            exact += f->value * training_final(&r, f->set, "exact");
            greedy += training_final(&r, f->set, "greedy_exact") >= 0;
        }
    }
    assert_int_equal(lround(samples), 40);
    assert_true(fabs(exact / samples - training_final(&r, "test", "exact")) < 1e-12);
    assert_true(greedy > 0);
    assert_true(training_final(&r, "test", "accuracy") > 0 && training_final(&r, "test", "greedy_exact") >= 0);
    assert_true(training_final(&r, "test:3", "accuracy") > 0);
    assert_true(training_final(&r, "dev", "best_step") >= 7);
    assert_true(training_final(&r, "nodes:2-4", "samples") > 0 && training_final(&r, "nodes:2-4", "accuracy") >= 0);
    training_forget(&r);
}

/* Greedy decoding of trees agrees with teacher forcing where it can: a sample whose every token is right under teacher
 * forcing is decoded right, and the other way round. */
static void test_greedy(void **state) {
    (void)state;
    lab_train_config config = tiny("tree-c3", "sinusoidal");
    lab_dataset set;
    lab_model *model;
    locus_error error;
    const lab_task *task = lab_task_find("tree-c3");
    config.model.encoding = config.encoding;
    LAB_TREES(&config.data)->depth_mean = 1.0; /* outputs of one or a few nodes: some are right by chance */
    const lab_draw draw = {task, &config.data, LAB_SET_TEST, 200, 0};
    assert_int_equal(lab_dataset_generate(&set, &draw, &error), LOCUS_OK);
    uint32_t correct[200];
    uint8_t decoded[200];
    size_t whole = 0;
    const lab_scoring how = {.task = task,
                             .options = &config.data,
                             .batch = 64,
                             .greedy_samples = 200,
                             .sample_correct = correct,
                             .sample_greedy = decoded};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        lab_score score;
        double greedy;
        size_t both = 0;
        assert_int_equal(lab_model_create(&model, &config.model, seed, &error), LOCUS_OK);
        assert_int_equal(lab_train_score(model, &set, &how, &score, &greedy, &error), LOCUS_OK);
        for (size_t s = 0; s < 200; s++) {
            bool forced = correct[s] == set.target_offsets[s + 1] - set.target_offsets[s];
            assert_int_equal(forced, decoded[s]);
            both += forced;
        }
        assert_int_equal(score.tokens, set.target_offsets[200]); /* no end tokens */
        assert_int_equal(score.exact, both);
        assert_true(fabs(greedy * 200 - (double)both) < 1e-9);
        whole += both;
        lab_model_destroy(&model);
    }
    assert_true(SANITIZED(true, whole > 0) && whole < SEEDS * 200);
    lab_dataset_destroy(&set);
}

/* ---- what is refused, and told ---- */

/* Neither a row nor a folder is left by what can't be trained: refused with the model, and at the first step. */
static void test_refused(void **state) {
    (void)state;
    static const char *const specs[] = {"algebraic(group=grid:2)", "learned(size=2)"};
    for (size_t i = 0; i < 2; i++) {
        training_plan p = {.config = tiny("tree-copy", specs[i]), .name = "refused", .threads = 1};
        assert_int_not_equal(training_run(&p), LOCUS_OK);
        training_remains r = training_look("refused");
        assert_int_equal(r.run.id, 0);
        training_forget(&r);
        char path[160];
        struct stat there;
        snprintf(path, sizeof path, "%s/refused", training_folder());
        assert_int_not_equal(stat(path, &there), 0);
    }
    training_plan p = {.config = tiny("tree-copy", "rope"), .name = "refused", .threads = 1};
    assert_int_equal(training_run(&p), LOCUS_OK); /* the name is free */
}

/* A chain of a thousand nodes: nearly all of their paths are cut, which is told as a number that can be read. */
static void test_cut_chain(void **state) {
    (void)state;
    enum { NODES = 1000 };
    int32_t tokens[NODES] = {0}, parents[NODES], branches[NODES];
    size_t offsets[] = {0, NODES};
    char note[256];
    for (int32_t i = 0; i < NODES; i++) {
        parents[i] = i - 1;
        branches[i] = i > 0;
    }
    const lab_tree_nodes tree = {parents, branches};
    const lab_dataset set = {.samples = 1,
                             .input_offsets = offsets,
                             .target_offsets = offsets,
                             .input = tokens,
                             .target = tokens,
                             .input_tree = tree,
                             .target_tree = tree};
    const lab_train_config config = tiny("tree-copy", "shiv-quirk(k=2, depth=3)");
    assert_true(lab_cut_paths_note(&config, &set, note, sizeof note));
    assert_non_null(strstr(note, "the paths of 99.6 % of the nodes are cut"));

    size_t five[] = {0, 5}, nothing[] = {0, 0}; /* a single path that is cut is told, too */
    lab_dataset one = set;
    one.input_offsets = five;
    one.target_offsets = nothing;
    assert_true(lab_cut_paths_note(&config, &one, note, sizeof note));
    assert_non_null(strstr(note, "the paths of 20 % of the nodes are cut"));
    five[1] = 4;
    assert_false(lab_cut_paths_note(&config, &one, note, sizeof note));
}

static void test_cut_paths(void **state) {
    (void)state;
    lab_dataset set = draw_set("tree-copy", LAB_ORDER_DEPTH, 100);
    char note[256];
    size_t deepest = 0;
    for (size_t s = 0; s < set.samples; s++) {
        size_t depth = lab_tree_order_depth(set.input_offsets[s + 1] - set.input_offsets[s],
                                            set.input_tree.parents + set.input_offsets[s]);
        deepest = depth > deepest ? depth : deepest;
    }
    lab_train_config config = tiny("tree-copy", "shiv-quirk(k=2, depth=3)");
    assert_true(lab_cut_paths_note(&config, &set, note, sizeof note));
    char expected[64];
    snprintf(expected, sizeof expected, "go down %zu steps", deepest);
    assert_non_null(strstr(note, expected));
    assert_non_null(strstr(note, "depth=3"));
    config.encoding = "shiv-quirk(k=2)"; /* depth 16 */
    assert_false(lab_cut_paths_note(&config, &set, note, sizeof note));
    config.encoding = "rope + alibi";
    assert_false(lab_cut_paths_note(&config, &set, note, sizeof note));
    lab_dataset_destroy(&set);

    training_plan p = {.config = tiny("tree-copy", "shiv-quirk(k=2, depth=1)"), .name = "cut", .threads = 1};
    p.stop_at = 10;
    assert_int_equal(training_run(&p), LOCUS_ERROR_INTERRUPTED);
    p.stop_at = 0;
    assert_int_equal(training_run(&p), LOCUS_OK);
    training_remains r = training_look("cut");
    const char *first = strstr(r.run.message, "shiv-quirk keeps the last 1 of a path");
    assert_non_null(first);
    assert_null(strstr(first + 1, "shiv-quirk")); /* once */
    training_forget(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches), cmocka_unit_test(test_parts),     cmocka_unit_test(test_dealt),
        cmocka_unit_test(test_groups),  cmocka_unit_test(test_resume),    cmocka_unit_test(test_finals),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_cut_paths), cmocka_unit_test(test_cut_chain),
        cmocka_unit_test(test_greedy), /* starts threads of its own: last */
    };
    return cmocka_run_group_tests(tests, training_setup, training_teardown);
}
