/* SPDX-License-Identifier: MIT */
/* Batches of sequences, endless or of so many, and of samples that have labels instead of targets. */
#include "train/feed/batch.h"
#include "train/feed/sequence_feed.h"
#include "train/train.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static size_t count_up(const lab_sequences *sequences, uint64_t index, int32_t *tokens) {
    const size_t length = index == 6 ? 3 : sequences->length; /* the last one of a text is shorter */
    for (size_t i = 0; i < length; i++)
        tokens[i] = (int32_t)(100 * index + i);
    return length;
}

static lab_dataset counting(size_t samples) {
    return (lab_dataset){.samples = samples, .sequences = {.count = UINT64_MAX, .length = 5, .read = count_up}};
}

static void test_endless(void **state) {
    (void)state;
    lab_dataset set = counting(0);
    lab_sequence_feed *feed;
    const lab_batch *batch;
    locus_error error;
    assert_int_equal(lab_sequence_feed_create(&feed, &set, 3, 7, &error), LOCUS_OK);
    static const uint64_t steps[] = {4, 0, 1000000, 3};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_int_equal(lab_sequence_feed_step(feed, steps[i], &batch, &error), LOCUS_OK);
        assert_int_equal(batch->samples, 3);
        assert_null(batch->target_offsets);
        assert_null(batch->labels);
        for (size_t s = 0; s < 3; s++)
            assert_int_equal(batch->input[batch->input_offsets[s]], 100 * (3 * steps[i] + s));
    }
    lab_sequence_feed_destroy(&feed);
    assert_null(feed);
}

static void test_finite(void **state) {
    (void)state;
    lab_dataset set = counting(7);
    lab_sequence_feed *straight, *jumping;
    locus_error error;
    assert_int_equal(lab_sequence_feed_create(&straight, &set, 3, 7, &error), LOCUS_OK);
    assert_int_equal(lab_sequence_feed_create(&jumping, &set, 3, 7, &error), LOCUS_OK);
    int32_t orders[2][7];
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        bool seen[7] = {false};
        size_t count = 0;
        for (uint64_t step = 3 * epoch; step < 3 * epoch + 3; step++) {
            const lab_batch *batch, *same;
            assert_int_equal(lab_sequence_feed_step(straight, step, &batch, &error), LOCUS_OK);
            assert_int_equal(lab_sequence_feed_step(jumping, 11 - step, &same, &error), LOCUS_OK);
            assert_int_equal(lab_sequence_feed_step(jumping, step, &same, &error), LOCUS_OK);
            assert_int_equal(batch->samples, step % 3 == 2 ? 1 : 3);
            assert_memory_equal(batch->input_offsets, same->input_offsets, (batch->samples + 1) * sizeof(size_t));
            assert_memory_equal(batch->input, same->input, batch->input_offsets[batch->samples] * sizeof(int32_t));
            for (size_t s = 0; s < batch->samples; s++) {
                const int32_t index = batch->input[batch->input_offsets[s]] / 100;
                assert_int_equal(batch->input_offsets[s + 1] - batch->input_offsets[s], index == 6 ? 3 : 5);
                assert_false(seen[index]);
                seen[index] = true;
                orders[epoch][count++] = index;
            }
        }
        assert_int_equal(count, 7);
    }
    assert_memory_not_equal(orders[0], orders[1], sizeof orders[0]);
    const lab_batch *batch;
    assert_int_equal(lab_sequence_feed_slice(straight, 5, 2, &batch, &error), LOCUS_OK);
    assert_int_equal(batch->input_offsets[2], 8);
    assert_int_equal(batch->input[5], 600);
    assert_int_equal(lab_sequence_feed_slice(straight, 5, 3, &batch, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(lab_sequence_feed_slice(straight, 0, 4, &batch, &error), LOCUS_ERROR_ARGUMENT);
    lab_sequence_feed_destroy(&straight);
    lab_sequence_feed_destroy(&jumping);
}

/* Parts of a step, one behind the other, are the step. */
static void test_parts(void **state) {
    (void)state;
    for (size_t samples = 0; samples <= 7; samples += 7) {
        lab_dataset set = counting(samples);
        lab_sequence_feed *whole, *part;
        const lab_batch *all, *some;
        assert_int_equal(lab_sequence_feed_create(&whole, &set, 4, 7, NULL), LOCUS_OK);
        assert_int_equal(lab_sequence_feed_create(&part, &set, 4, 7, NULL), LOCUS_OK);
        for (uint64_t step = 0; step < 4; step++) {
            assert_int_equal(lab_sequence_feed_step(whole, step, &all, NULL), LOCUS_OK);
            size_t at = 0;
            for (size_t i = 0; i < 8; i++) { /* more parts than samples: some are empty */
                assert_int_equal(lab_sequence_feed_cut(part, step, (lab_cut){i, 8}, &some, NULL), LOCUS_OK);
                const size_t tokens = some->input_offsets[some->samples];
                for (size_t s = 0; s < some->samples; s++)
                    assert_int_equal(some->input_offsets[s], all->input_offsets[at + s] - all->input_offsets[at]);
                assert_memory_equal(some->input, all->input + all->input_offsets[at], tokens * sizeof *some->input);
                at += some->samples;
            }
            assert_int_equal(at, all->samples);
        }
        lab_sequence_feed_destroy(&whole);
        lab_sequence_feed_destroy(&part);
    }
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        size_t samples, length, most;
        const char *says;
    } sets[] = {
        {7, 5, 0, "sequences of 5 tokens in batches of 0 give no batch"},
        {7, 1, 3, "sequences of 1 tokens in batches of 3 give no batch"},
        {7, 2, 1, NULL},
    };
    static const struct {
        size_t samples, most;
        uint64_t first;
        size_t count;
        const char *says;
    } slices[] = {
        {7, 3, 0, 0, "sequences 0 to 0 are no slice of 7 sequences in batches of 3"},
        {7, 3, 0, 4, "sequences 0 to 4 are no slice of 7 sequences in batches of 3"},
        {7, 3, 5, 3, "sequences 5 to 8 are no slice of 7 sequences in batches of 3"},
        {7, 10, 0, 8, "sequences 0 to 8 are no slice of 7 sequences in batches of 7"},
        {7, 10, 0, 7, NULL},
        {7, 3, 4, 3, NULL},
        {0, 3, 1000, 4, "sequences 1000 to 1004 are no slice of 0 sequences in batches of 3"},
        {0, 3, 1000, 3, NULL},
    };
    lab_sequence_feed *feed;
    locus_error error = {0};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        lab_dataset set = counting(sets[i].samples);
        set.sequences.length = sets[i].length;
        const locus_status status = lab_sequence_feed_create(&feed, &set, sets[i].most, 7, &error);
        assert_int_equal(status, sets[i].says != NULL ? LOCUS_ERROR_ARGUMENT : LOCUS_OK);
        assert_int_equal(feed != NULL, status == LOCUS_OK);
        if (sets[i].says != NULL)
            assert_string_equal(error.message, sets[i].says);
        lab_sequence_feed_destroy(&feed);
    }
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        const lab_dataset set = counting(slices[i].samples);
        const lab_batch *batch;
        assert_int_equal(lab_sequence_feed_create(&feed, &set, slices[i].most, 7, &error), LOCUS_OK);
        const locus_status status = lab_sequence_feed_slice(feed, slices[i].first, slices[i].count, &batch, &error);
        assert_int_equal(status, slices[i].says != NULL ? LOCUS_ERROR_ARGUMENT : LOCUS_OK);
        if (slices[i].says != NULL)
            assert_string_equal(error.message, slices[i].says);
        for (size_t s = 0; status == LOCUS_OK && s < slices[i].count; s++)
            assert_int_equal(batch->input[batch->input_offsets[s]], 100 * (slices[i].first + s));
        lab_sequence_feed_destroy(&feed);
    }
    lab_dataset none = counting(7);
    none.sequences.read = NULL;
    assert_int_equal(lab_sequence_feed_create(&feed, &none, 3, 7, &error), LOCUS_ERROR_ARGUMENT);
}

/* Expressions: labels and trees, no targets. */
static void test_labels(void **state) {
    (void)state;
    lab_train_config config;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find("listops"), "smoke", LAB_SETUP_PAPER, NULL),
                     LOCUS_OK);
    const lab_draw draw = {lab_task_find("listops"), &config.data, LAB_SET_TRAIN, 11, 0};
    lab_dataset set;
    lab_batcher batcher;
    const lab_batch *batch;
    locus_error error;
    assert_int_equal(lab_dataset_generate(&set, &draw, &error), LOCUS_OK);
    assert_int_equal(lab_batcher_create(&batcher, &set, 4, 1, &error), LOCUS_OK);
    for (uint64_t step = 0; step < 6; step++) {
        assert_int_equal(lab_batcher_step(&batcher, step, &batch, &error), LOCUS_OK);
        assert_null(batch->target_offsets);
        for (size_t s = 0; s < batch->samples; s++) {
            const size_t from = batcher.epochs.order[step % 3 * 4 + s], start = set.input_offsets[from];
            const size_t count = set.input_offsets[from + 1] - start, at = batch->input_offsets[s];
            assert_int_equal(batch->labels[s], set.labels[from]);
            assert_int_equal(batch->input_offsets[s + 1] - at, count);
            assert_memory_equal(batch->input + at, set.input + start, count * sizeof(int32_t));
            assert_memory_equal(batch->input_tree.branches + at, set.input_tree.branches + start,
                                count * sizeof(int32_t));
        }
    }
    assert_int_equal(lab_batcher_slice(&batcher, 0, 1, &batch, &error), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.message, "a batcher that has been shuffled gives no slices");
    lab_batcher_destroy(&batcher);
    lab_dataset_destroy(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endless), cmocka_unit_test(test_finite), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
