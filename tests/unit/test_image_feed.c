/* SPDX-License-Identifier: MIT */
/* The feed of image batches: every batch has the bits that its images have one by one, in the order of the epoch,
 * wherever a run starts and whatever is asked for in between; it can be destroyed at any moment. Runs under the thread
 * sanitizer: the feed's worker comes from pthread_create. */
#define _GNU_SOURCE 1 /* pthread_setattr_default_np */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "task/images/augment.h"
#include "train/feed/image_feed.h"
#include "train/feed/shuffle.h"
#include <locus/locus.h>

#define SIDE 16
#define SIZE ((size_t)LAB_IMAGE_CHANNELS * SIDE * SIDE)
#define IMAGES 53
#define BATCH 8
#define STEPS_OF_EPOCH 7 /* six of 8 and one of 5 */
#define SEED 41

static uint8_t pixels[IMAGES * SIZE], labels[IMAGES];
static lab_images images = {
    .count = IMAGES, .channels = 3, .side = SIDE, .classes = IMAGES, .pixels = pixels, .labels = labels};

/* Each image is its own class, so that a label names the image. */
static int fill_images(void **state) {
    const locus_random random = {5, LOCUS_RANDOM_USER, 0};
    (void)state;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)locus_random_below(&random, i, 256);
    for (size_t i = 0; i < IMAGES; i++)
        labels[i] = (uint8_t)i;
    return 0;
}

static lab_image_feed *open_feed(size_t batch, bool augment) {
    lab_image_feed *feed = NULL;
    locus_error error = {0};
    if (lab_image_feed_create(&feed, &images, batch, SEED, augment, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return feed;
}

static const lab_batch *ask_step(lab_image_feed *feed, uint64_t step) {
    const lab_batch *batch = NULL;
    assert_int_equal(lab_image_feed_step(feed, step, &batch, NULL), LOCUS_OK);
    assert_null(batch->input);
    assert_null(batch->input_offsets);
    return batch;
}

static const lab_batch *ask_slice(lab_image_feed *feed, size_t first, size_t count) {
    const lab_batch *batch = NULL;
    assert_int_equal(lab_image_feed_slice(feed, first, count, &batch, NULL), LOCUS_OK);
    return batch;
}

/* Made here, one image after the other, on this thread. */
static void check_step(const lab_batch *batch, uint64_t step, bool augment) {
    const uint64_t epoch = step / STEPS_OF_EPOCH;
    const size_t first = (size_t)(step % STEPS_OF_EPOCH) * BATCH;
    const locus_random key = {SEED, LOCUS_RANDOM_USER + 0x3000u, (uint32_t)epoch};
    size_t order[IMAGES];
    uint8_t scratch[2 * SIZE];
    float want[SIZE];
    lab_shuffle_epoch(order, IMAGES, SEED, epoch);
    assert_int_equal(batch->samples, IMAGES - first < BATCH ? IMAGES - first : BATCH);
    for (size_t i = 0; i < batch->samples; i++) {
        const size_t sample = order[first + i];
        if (augment)
            lab_image_augment(pixels + sample * SIZE, SIDE, &key, sample, scratch, want);
        else
            lab_image_normalise(pixels + sample * SIZE, SIDE, want);
        assert_int_equal(batch->labels[i], labels[sample]);
        assert_memory_equal(batch->images + i * SIZE, want, sizeof want);
    }
}

static void check_slice(const lab_batch *batch, size_t first, size_t count) {
    float want[SIZE];
    assert_int_equal(batch->samples, count);
    for (size_t i = 0; i < count; i++) {
        lab_image_normalise(pixels + (first + i) * SIZE, SIDE, want);
        assert_int_equal(batch->labels[i], labels[first + i]);
        assert_memory_equal(batch->images + i * SIZE, want, sizeof want);
    }
}

static void test_steps(void **state) {
    (void)state;
    for (int augment = 0; augment < 2; augment++) {
        lab_image_feed *feed = open_feed(BATCH, augment == 1);
        for (uint64_t step = 0; step < 3 * STEPS_OF_EPOCH; step++)
            check_step(ask_step(feed, step), step, augment == 1);
        lab_image_feed_destroy(&feed);
        assert_null(feed);
    }
}

static void test_epoch_covers(void **state) {
    lab_image_feed *feed = open_feed(BATCH, true);
    (void)state;
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        int seen[IMAGES] = {0};
        for (uint64_t k = 0; k < STEPS_OF_EPOCH; k++) {
            const lab_batch *batch = ask_step(feed, epoch * STEPS_OF_EPOCH + k);
            for (size_t i = 0; i < batch->samples; i++)
                seen[batch->labels[i]]++;
        }
        for (size_t i = 0; i < IMAGES; i++)
            assert_int_equal(seen[i], 1);
    }
    lab_image_feed_destroy(&feed);
}

/* A sample is augmented anew in each epoch. */
static void test_epochs_differ(void **state) {
    lab_image_feed *feed = open_feed(IMAGES, true);
    float *kept = malloc(IMAGES * SIZE * sizeof *kept);
    size_t same = 0;
    (void)state;
    assert_non_null(kept);
    const lab_batch *batch = ask_step(feed, 0);
    for (size_t i = 0; i < IMAGES; i++)
        memcpy(kept + (size_t)batch->labels[i] * SIZE, batch->images + i * SIZE, SIZE * sizeof *kept);
    batch = ask_step(feed, 1);
    for (size_t i = 0; i < IMAGES; i++)
        same += memcmp(kept + (size_t)batch->labels[i] * SIZE, batch->images + i * SIZE, SIZE * sizeof *kept) == 0;
    assert_true(same <= 2); /* two draws are the same with probability below 1/81 */
    free(kept);
    lab_image_feed_destroy(&feed);
}

static void test_restart_anywhere(void **state) {
    (void)state;
    for (uint64_t start = 0; start < 2 * STEPS_OF_EPOCH; start++) {
        lab_image_feed *feed = open_feed(BATCH, true);
        for (uint64_t step = start; step < start + 3; step++)
            check_step(ask_step(feed, step), step, true);
        lab_image_feed_destroy(&feed);
    }
}

/* Steps and slices in any order, over epochs, with and without time for the worker to be ready. */
static void test_jumps(void **state) {
    const locus_random random = {8, LOCUS_RANDOM_USER, 1};
    lab_image_feed *feed = open_feed(BATCH, true);
    uint64_t step = 0;
    (void)state;
    for (uint64_t i = 0; i < 400; i++) {
        const uint64_t what = locus_random_below(&random, 4 * i, 5);
        if (what == 0) {
            const size_t first = (size_t)locus_random_below(&random, 4 * i + 1, IMAGES);
            const size_t most = IMAGES - first < BATCH ? IMAGES - first : BATCH;
            const size_t count = 1 + (size_t)locus_random_below(&random, 4 * i + 2, most);
            check_slice(ask_slice(feed, first, count), first, count);
        } else {
            step = what == 1 ? locus_random_below(&random, 4 * i + 1, 5 * STEPS_OF_EPOCH) : step + (what != 2);
            check_step(ask_step(feed, step), step, true);
        }
        if (i % 16 == 0)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    lab_image_feed_destroy(&feed);
}

static void test_slices(void **state) {
    lab_image_feed *feed = open_feed(BATCH, true);
    (void)state;
    for (int round = 0; round < 3; round++)
        for (size_t first = 0; first < IMAGES; first += BATCH) {
            const size_t count = IMAGES - first < BATCH ? IMAGES - first : BATCH;
            check_slice(ask_slice(feed, first, count), first, count);
        }
    check_slice(ask_slice(feed, IMAGES - 1, 1), IMAGES - 1, 1);
    lab_image_feed_destroy(&feed);
}

/* What was lent stays as it is while the worker prepares the next. */
static void test_lent_is_left_alone(void **state) {
    lab_image_feed *feed = open_feed(BATCH, true);
    (void)state;
    for (uint64_t step = 0; step < 10; step++) {
        const lab_batch *batch = ask_step(feed, step);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        check_step(batch, step, true);
    }
    lab_image_feed_destroy(&feed);
}

static void test_destroy(void **state) {
    lab_image_feed *none = NULL;
    (void)state;
    lab_image_feed_destroy(&none);
    for (long wait = 0; wait < 60; wait++) {
        lab_image_feed *feed = open_feed(IMAGES, true);
        for (uint64_t step = 0; step < (uint64_t)wait % 3; step++)
            (void)ask_step(feed, step);
        if (wait % 2 == 1)
            nanosleep(&(struct timespec){0, 20000 * wait}, NULL);
        lab_image_feed_destroy(&feed);
    }
}

/* Where no thread can be started, batches are made by who asks. */
static void test_no_worker(void **state) {
    (void)state;
#ifdef __GLIBC__
    pthread_attr_t before, vast;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_init(&vast), 0);
    assert_int_equal(pthread_attr_setstacksize(&vast, SIZE_MAX / 4), 0); /* more than there are addresses */
    assert_int_equal(pthread_setattr_default_np(&vast), 0);
    lab_image_feed *feed = open_feed(BATCH, true);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    for (uint64_t step = 0; step < STEPS_OF_EPOCH + 2; step++)
        check_step(ask_step(feed, step), step, true);
    for (size_t first = 0; first < IMAGES; first += BATCH)
        check_slice(ask_slice(feed, first, 3), first, 3);
    check_step(ask_step(feed, 1), 1, true);
    lab_image_feed_destroy(&feed);
    assert_null(feed);
    pthread_attr_destroy(&before);
    pthread_attr_destroy(&vast);
#endif
}

static void test_large_batch(void **state) {
    lab_image_feed *feed = open_feed(1000, false);
    (void)state;
    assert_int_equal(ask_step(feed, 3)->samples, IMAGES);
    check_slice(ask_slice(feed, 0, IMAGES), 0, IMAGES);
    lab_image_feed_destroy(&feed);
}

static void test_refusals(void **state) {
    lab_image_feed *feed = NULL;
    locus_error error = {0};
    const lab_batch *batch = NULL;
    (void)state;
    static const size_t sets[][4] = {{0, 3, SIDE, BATCH}, {5, 4, SIDE, BATCH}, {5, 3, 0, BATCH}, {5, 3, SIDE, 0}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char says[160];
        lab_images some = images;
        some.count = sets[i][0], some.channels = sets[i][1], some.side = sets[i][2];
        snprintf(says, sizeof says,
                 "%zu images of %zu channels and side %zu in batches of %zu give no batch: at least one image of 3 "
                 "channels is needed",
                 sets[i][0], sets[i][1], sets[i][2], sets[i][3]);
        assert_int_equal(lab_image_feed_create(&feed, &some, sets[i][3], 0, true, &error), LOCUS_ERROR_ARGUMENT);
        assert_string_equal(error.message, says);
        assert_null(feed);
    }
    feed = open_feed(BATCH, true);
    static const size_t slices[][2] = {{0, 0}, {0, BATCH + 1}, {IMAGES - 2, 3}, {IMAGES, 1}};
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        char says[128];
        snprintf(says, sizeof says, "images %zu to %zu are no slice of %d images in batches of %d", slices[i][0],
                 slices[i][0] + slices[i][1], (int)IMAGES, (int)BATCH);
        assert_int_equal(lab_image_feed_slice(feed, slices[i][0], slices[i][1], &batch, &error), LOCUS_ERROR_ARGUMENT);
        assert_string_equal(error.message, says);
    }
    assert_null(batch);
    check_slice(ask_slice(feed, 1, 2), 1, 2);
    lab_image_feed_destroy(&feed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),         cmocka_unit_test(test_epoch_covers),
        cmocka_unit_test(test_epochs_differ), cmocka_unit_test(test_restart_anywhere),
        cmocka_unit_test(test_jumps),         cmocka_unit_test(test_slices),
        cmocka_unit_test(test_destroy),       cmocka_unit_test(test_lent_is_left_alone),
        cmocka_unit_test(test_large_batch),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_worker),
    };
    return cmocka_run_group_tests(tests, fill_images, NULL);
}
