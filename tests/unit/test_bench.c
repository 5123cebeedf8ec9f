/* SPDX-License-Identifier: MIT */
/* What is timed in process: times are there and in order, what cannot be timed says why, and of either nothing stays
 * behind (address sanitizer). */
#include "bench/bench.h"
#include "bound/bound.h"
#include "train/configuration/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const lab_bench two_heads = {.shape = {.model_dim = 16, .heads = 2, .head_dim = 8}, .least = 1};

static void test_attention(void **state) {
    (void)state;
    lab_timing timings[2] = {{0}};
    size_t workspace = 0;
    locus_error error = {0};
    if (lab_bench_attention(&two_heads, "rope", 48, timings, &workspace, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    for (size_t pass = 0; pass < 2; pass++)
        assert_true(timings[pass].best > 0 && timings[pass].median >= timings[pass].best);
    assert_true(workspace > 0);
}

/* The workspace is that of a backward pass over so many tokens under a causal mask. */
static void test_workspace(void **state) {
    (void)state;
    const size_t offsets[2] = {0, 48};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    locus_attention_options options = locus_attention_default();
    options.mask = LOCUS_MASK_CAUSAL;
    lab_timing timings[2];
    size_t workspace = 0;
    lab_bound bound;
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    locus_error error = {0};
    assert_int_equal(lab_bench_attention(&two_heads, "relative", 48, timings, &workspace, &error), LOCUS_OK);
    assert_int_equal(lab_bound_parse(&bound, "relative", &error), LOCUS_OK);
    assert_int_equal(lab_bound_open(&bound, &two_heads.shape, NULL, 0, &error), LOCUS_OK);
    assert_int_equal(locus_positions_create(&positions, NULL, &packing, NULL, &error), LOCUS_OK);
    assert_int_equal(lab_bound_plan(&bound, positions, NULL, NULL, &plan, &error), LOCUS_OK);
    assert_int_equal(workspace, locus_attention_workspace(plan, &options, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD, NULL));
    assert_int_not_equal(workspace, locus_attention_workspace(plan, &options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL));
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    lab_bound_close(&bound);
}

/* What turns nothing is not timed; the floor is of any encoding, or of none. */
static void test_apply(void **state) {
    (void)state;
    lab_timing timing = {1, 1};
    locus_error error = {0};
    assert_int_equal(lab_bench_apply(&two_heads, "alibi", 48, &timing, &error), LOCUS_OK);
    assert_true(timing.best == 0 && timing.median == 0);
    assert_int_equal(lab_bench_apply(&two_heads, "rope", 48, &timing, &error), LOCUS_OK);
    assert_true(timing.best > 0 && timing.median >= timing.best);
    timing = (lab_timing){0};
    assert_int_equal(lab_bench_negation(&two_heads, 5000, &timing, &error), LOCUS_OK);
    assert_true(timing.best > 0 && timing.median >= timing.best);
}

/* A step of a batch: tokens are those of the set that it draws, with an end for each target. */
static void test_step(void **state) {
    (void)state;
    lab_train_config config;
    lab_bench_step_facts facts = {{0}, 0, 0};
    lab_dataset set;
    lab_model *model = NULL;
    locus_error error = {0};
    assert_int_equal(lab_train_config_budget(&config, lab_task_find("copy"), "smoke", LAB_SETUP_PAPER, &error),
                     LOCUS_OK);
    config.model.dim = config.model.feed_forward = 16;
    config.model.heads = 2;
    config.model.encoder_layers = config.model.decoder_layers = 1;
    config.batch = 5;
    assert_int_equal(lab_bench_step(&two_heads, "rope", &config, &facts, &error), LOCUS_OK);
    const lab_draw draw = {config.task, &config.data, LAB_SET_TRAIN, 5, 0};
    assert_int_equal(lab_dataset_generate(&set, &draw, &error), LOCUS_OK);
    assert_int_equal(facts.tokens, set.input_offsets[5] + set.target_offsets[5] + 5);
    assert_true(facts.timing.best > 0 && facts.timing.median >= facts.timing.best);
    config.model.encoding = "rope";
    assert_int_equal(lab_model_create(&model, &config.model, 0, &error), LOCUS_OK);
    lab_score score = {0};
    const lab_batch batch = {.samples = 5,
                             .input_offsets = set.input_offsets,
                             .target_offsets = set.target_offsets,
                             .input = set.input,
                             .target = set.target};
    assert_int_equal(lab_model_train(model, &batch, 0, 0, &score, &error), LOCUS_OK);
    assert_int_equal(facts.arena_bytes, lab_model_arena_bytes(model));
    lab_model_destroy(&model);
    lab_dataset_destroy(&set);
}

/* A table of 16 rows has none for token 16. */
static void test_refused(void **state) {
    (void)state;
    static const char *const specs[] = {"nosuch", "learned(size=16)"};
    static const char *const says[] = {"nosuch", "16"};
    for (size_t i = 0; i < 2; i++) {
        lab_timing timings[2];
        size_t workspace;
        locus_error error = {0};
        assert_int_not_equal(lab_bench_check(&two_heads, specs[i], 17, &error), LOCUS_OK);
        assert_non_null(strstr(error.message, says[i]));
        assert_int_not_equal(lab_bench_attention(&two_heads, specs[i], 17, timings, &workspace, &error), LOCUS_OK);
    }
    assert_int_equal(lab_bench_check(&two_heads, specs[1], 16, NULL), LOCUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_attention), cmocka_unit_test(test_workspace),
                                       cmocka_unit_test(test_apply), cmocka_unit_test(test_step),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
