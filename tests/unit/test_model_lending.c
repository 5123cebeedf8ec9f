/* SPDX-License-Identifier: MIT */
/* A backward that lends the memory of activations as it goes has the gradients of one that keeps it, to the bit; and it
 * does lend it. The models are large enough for that: only whole large pages go. */
#include "model/arena.h"
#include "model/model_parts.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 8, LENGTH = 72, VOCABULARY = 20, CLASSES = 4, SIDE = 32, PIXELS = 3 * SIDE * SIDE };

static size_t offsets[SAMPLES + 1];
static int32_t tokens[SAMPLES * LENGTH], labels[SAMPLES];
static float pixels[SAMPLES * PIXELS];

static int setup(void **state) {
    (void)state;
    const locus_random random = {7, LOCUS_RANDOM_USER, 0};
    for (size_t s = 0; s < SAMPLES; ++s) {
        offsets[s + 1] = (s + 1) * LENGTH;
        labels[s] = (int32_t)(s % CLASSES);
    }
    for (size_t t = 0; t < SAMPLES * LENGTH; ++t)
        tokens[t] = (int32_t)locus_random_below(&random, t, VOCABULARY - 4);
    for (size_t i = 0; i < SAMPLES * (size_t)PIXELS; ++i)
        pixels[i] = (float)locus_random_normal(&random, i);
    return 0;
}

static lab_batch batch_make(void) {
    return (lab_batch){.samples = SAMPLES,
                       .input_offsets = offsets,
                       .input = tokens,
                       .target_offsets = offsets,
                       .target = tokens,
                       .images = pixels,
                       .labels = labels};
}

static lab_model_config deep(void) {
    lab_model_config config = lab_image_classifier.defaults;
    config.stochastic_depth = 0.3;
    config.norm = LAB_NORM_AFTER;
    config.classes = CLASSES;
    return config;
}

static lab_model_config text(void) {
    lab_model_config config = lab_text_classifier.defaults;
    config.activation = LAB_GELU;
    config.classes = CLASSES;
    return config;
}

static lab_model_config other_norms(void) {
    lab_model_config config = lab_encoder_decoder.defaults;
    config.norm = config.norm == LAB_NORM_AFTER ? LAB_NORM_BEFORE : LAB_NORM_AFTER;
    return config;
}

static lab_model_config tied(void) {
    lab_model_config config = lab_decoder.defaults;
    config.output = LAB_OUTPUT_TIED;
    config.kv_heads = 2;
    return config;
}

static lab_model_config halved(void) {
    lab_model_config config = lab_decoder.defaults;
    config.precision = LAB_BF16;
    return config;
}

static lab_model *model_make(lab_model_config config) {
    lab_model *model = NULL;
    locus_error error;
    config.dim = 256;
    config.heads = 4;
    config.feed_forward = 768;
    config.vocabulary = config.architecture == &lab_image_classifier ? 0 : VOCABULARY;
    config.encoder_layers = config.encoder_layers > 0 ? 4 : 0;
    config.decoder_layers = config.decoder_layers > 0 ? 4 : 0;
    config.encoding = config.architecture == &lab_image_classifier ? "rope(axes=2)" : "rope";
    if (lab_model_create(&model, &config, 5, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return model;
}

static void train(lab_model *model, bool lends) {
    const lab_batch batch = batch_make();
    const lab_shard_key key = {.seed = 3, .step = 1, .shard = 1, .lends = lends};
    lab_score score = {0};
    locus_error error;
    if (lab_model_train_shard(model, &batch, &key, &score, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
}

static void give_back(lab_model *model) {
    locus_error error;
    assert_int_equal(lab_model_gradients_return(model, &error), LOCUS_OK);
}

/* Large pages of a block that have nothing but zeros. */
static size_t empty_pages(const void *block, size_t bytes) {
    size_t count = 0;
    const unsigned char *from = block;
    const size_t before = (uintptr_t)block % LAB_LARGE_PAGE, first = before > 0 ? LAB_LARGE_PAGE - before : 0;
    for (size_t at = first; at + LAB_LARGE_PAGE <= bytes; at += LAB_LARGE_PAGE)
        count += from[at] == 0 && memcmp(from + at, from + at + 1, LAB_LARGE_PAGE - 1) == 0;
    return count;
}

static size_t empty(const lab_model *model) {
    return empty_pages(model->arena.block, model->arena.used);
}

/* Whether this system moves pages. */
static bool pages_move(void) {
    enum { ONE = LAB_LARGE_PAGE };
    unsigned char *one = lab_block_allocate(ONE), *other = lab_block_allocate(ONE);
    lab_lending lending;
    assert_true(one != NULL && other != NULL);
    lab_lending_begin(&lending, ONE);
    assert_true(lab_lending_give(&lending, lab_room_of(one, one + ONE), lab_room_of(other, other + ONE)));
    free(one);
    free(other);
    return lending.count > 0;
}

static size_t pages_lent(const lab_model *model) {
    size_t bytes = 0;
    for (size_t i = 0; i < model->lending.count; ++i)
        bytes += model->lending.loans[i].bytes;
    return bytes / LAB_LARGE_PAGE;
}

static void check(lab_model_config config) {
    lab_model *model = model_make(config);
    const size_t bytes = lab_model_elements(model) * sizeof(float);
    float *kept = malloc(bytes);
    assert_non_null(kept);
    train(model, false);
    const size_t never = empty(model);
    memcpy(kept, lab_model_gradients(model), bytes);
    for (int round = 0; round < 2; ++round) {
        give_back(model);
        train(model, true);
        assert_memory_equal(lab_model_gradients(model), kept, bytes);
        assert_true(empty(model) >= never + 2);
    }
    const size_t away = empty(model) - never, lent = pages_lent(model);
    assert_int_equal(lent > 0, pages_move());
    give_back(model);
    assert_int_equal(empty(model) - never, away - lent);
    const size_t pages = bytes / LAB_LARGE_PAGE;
    assert_int_equal(empty_pages(model->gradients, bytes), 2 * lent > pages ? lent : pages);
    lab_model_activations_release(model);
    train(model, false);
    assert_memory_equal(lab_model_gradients(model), kept, bytes);
    assert_int_equal(empty(model), never);
    free(kept);
    lab_model_destroy(&model);
}

/* ---- blocks ---- */

enum { PAGES = 6, BYTES = PAGES * LAB_LARGE_PAGE, INSIDE = 4096 };

typedef struct blocks {
    unsigned char *one, *other;
} blocks;

static blocks blocks_make(void) {
    blocks made = {lab_block_allocate(BYTES), lab_block_allocate(BYTES)};
    assert_true(made.one != NULL && made.other != NULL);
    for (size_t i = 0; i < BYTES; ++i)
        made.one[i] = (unsigned char)(1 + i / LAB_LARGE_PAGE);
    memset(made.other, 100, BYTES);
    return made;
}

static void blocks_free(blocks made) {
    free(made.one);
    free(made.other);
}

static unsigned char *at(unsigned char *block, size_t page) {
    return block + page * LAB_LARGE_PAGE;
}

static void give(lab_lending *lending, void *from, void *end, void *needed, void *needed_end) {
    assert_true(lab_lending_give(lending, lab_room_of(from, end), lab_room_of(needed, needed_end)));
}

static void check_pages(const unsigned char *block, const unsigned char *pages) {
    for (size_t i = 0; i < BYTES; i += INSIDE)
        assert_int_equal(block[i], pages[i / LAB_LARGE_PAGE]);
}

/* Falling rooms that are no whole pages: of the first, pages 4 and 5 go to 2 and 3; of the second, which reaches into
 * the first, 2 and 3 go to 0 and 1; the third finds nothing left. */
static void test_blocks(void **state) {
    (void)state;
    static const unsigned char lent[PAGES] = {3, 4, 5, 6, 100, 100}, rest[PAGES] = {1, 2, 0, 0, 0, 0},
                               back[PAGES] = {1, 2, 50, 50, 50, 50}, left[PAGES] = {0, 0, 0, 0, 50, 50};
    const blocks b = blocks_make();
    lab_lending lending;
    lab_lending_begin(&lending, 4 * LAB_LARGE_PAGE + INSIDE);
    give(&lending, at(b.one, 4) - INSIDE, at(b.one, PAGES), b.other, at(b.other, 4) + INSIDE);
    if (lending.count == 0) { /* pages can't be moved here */
        blocks_free(b);
        skip();
    }
    give(&lending, at(b.one, 1), at(b.one, 5), b.other, at(b.other, 3));
    give(&lending, b.one, at(b.one, 4), b.other, at(b.other, 4));
    check_pages(b.one, rest);
    check_pages(b.other, lent);
    memset(b.other, 50, BYTES);
    assert_true(lab_lending_return(&lending));
    check_pages(b.one, back);
    check_pages(b.other, left);
    blocks_free(b);
}

/* What finds no room goes to the system: here three pages of four. */
static void test_no_room(void **state) {
    (void)state;
    static const unsigned char rest[PAGES] = {1, 2, 0, 0, 0, 0}, back[PAGES] = {1, 2, 0, 0, 0, 50};
    const blocks b = blocks_make();
    lab_lending lending;
    lab_lending_begin(&lending, 4 * LAB_LARGE_PAGE);
    give(&lending, at(b.one, 1), at(b.one, PAGES), at(b.other, 1), at(b.other, 2));
    check_pages(b.one, rest);
    memset(b.other, 50, BYTES);
    const bool moved = lending.count > 0;
    assert_true(lab_lending_return(&lending));
    check_pages(b.one, moved ? back : rest);
    blocks_free(b);
}

static void test_pair(void **state) {
    (void)state;
    check(lab_encoder_decoder.defaults);
    check(other_norms());
}

static void test_decoder(void **state) {
    (void)state;
    check(lab_decoder.defaults);
    check(tied());
    check(halved());
}

static void test_images(void **state) {
    (void)state;
    check(lab_image_classifier.defaults);
    check(deep());
}

static void test_text(void **state) {
    (void)state;
    check(text());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),  cmocka_unit_test(test_no_room), cmocka_unit_test(test_pair),
        cmocka_unit_test(test_decoder), cmocka_unit_test(test_images),  cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
