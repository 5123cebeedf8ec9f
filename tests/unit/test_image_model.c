/* SPDX-License-Identifier: MIT */
/* The image classifier: what it refuses, that nothing depends on threads, and stochastic depth: how much it leaves out,
 * that what is left out is the identity and never computed, and that a batch is what its images are one by one. */
#include "model/model_parts.h"
#include "threads_only.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { IMAGES = 30, SIDE = 11, PIXELS = 3 * SIDE * SIDE, CLASSES = 4, STEP = 3 };

static float pixels[IMAGES * PIXELS];
static int32_t labels[IMAGES];

static lab_batch batch_of(size_t first, size_t count) {
    return (lab_batch){.samples = count, .images = pixels + first * PIXELS, .labels = labels + first};
}

static lab_model_config config_make(double depth) {
    lab_model_config config = lab_image_classifier.defaults;
    config.dim = 24;
    config.heads = 3;
    config.feed_forward = 40;
    config.encoder_layers = 2;
    config.attention_dropout = 0.0;
    config.stochastic_depth = depth;
    config.label_smoothing = 0.0;
    config.classes = CLASSES;
    config.image_side = SIDE;
    config.encoding = "algebraic(group=grid:2, decay=0.98)";
    return config;
}

static lab_model *model_make(const lab_model_config *config) {
    lab_model *model = NULL;
    locus_error error;
    if (lab_model_create(&model, config, 5, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return model;
}

static lab_score train(lab_model *model, const lab_batch *batch, uint32_t step) {
    lab_score score = {0};
    locus_error error;
    if (lab_model_train(model, batch, 9, step, &score, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return score;
}

static const lab_parameter *parameter_find(const lab_model *model, const char *name) {
    for (size_t i = 0; i < lab_model_parameter_count(model); ++i)
        if (strcmp(lab_model_parameter(model, i)->name, name) == 0)
            return lab_model_parameter(model, i);
    fail_msg("no parameter %s", name);
    return NULL;
}

static void test_refusals(void **state) {
    (void)state;
    enum { CASES = 11 };
    lab_model_config configs[CASES];
    static const char *const parts[CASES] = {"classes is 1",
                                             "image_side is 4",
                                             "image_channels is 0",
                                             "vocabulary is 22",
                                             "decoder_layers is 2",
                                             "tree_arity is 2",
                                             "stochastic_depth is 1.5",
                                             "label_smoothing is 1",
                                             "'tree:2'",
                                             "'grid:3'",
                                             "size"};
    for (size_t i = 0; i < CASES; ++i)
        configs[i] = config_make(0.1);
    configs[0].classes = 1;
    configs[1].image_side = 4;
    configs[2].image_channels = 0;
    configs[3].vocabulary = 22;
    configs[4].decoder_layers = 2;
    configs[5].tree_arity = 2;
    configs[6].stochastic_depth = 1.5;
    configs[7].label_smoothing = 1.0;
    configs[8].encoding = "algebraic(group=tree:2)";
    configs[9].encoding = "algebraic(group=grid:3)";
    configs[10].encoding = "learned(size=8)"; /* of nine tokens */
    for (size_t i = 0; i < CASES; ++i) {
        lab_model *model = NULL;
        locus_error error = {0};
        if (lab_model_create(&model, &configs[i], 5, &error) == LOCUS_OK)
            fail_msg("case %zu is not refused", i);
        assert_null(model);
        if (strstr(error.message, parts[i]) == NULL)
            fail_msg("case %zu is refused with '%s'", i, error.message);
    }
    lab_model_config words = lab_encoder_decoder.defaults;
    words.stochastic_depth = 0.1;
    lab_model *model = NULL;
    assert_int_equal(lab_model_create(&model, &words, 5, NULL), LOCUS_ERROR_UNSUPPORTED);
}

static void test_calls_refused(void **state) {
    (void)state;
    const lab_model_config config = config_make(0.0);
    lab_model *model = model_make(&config), *words = NULL;
    lab_model_config other = lab_encoder_decoder.defaults;
    other.dim = 16;
    other.heads = 2;
    other.feed_forward = 8;
    lab_score score = {0};
    locus_error error;
    float probabilities[CLASSES];
    int32_t wrong[] = {0, CLASSES};
    lab_batch batch = batch_of(0, 2);
    batch.labels = wrong;
    assert_int_equal(lab_model_train(model, &batch, 1, 0, &score, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "label 4 of image 1"));
    batch.labels = NULL;
    assert_int_equal(lab_model_evaluate(model, &batch, &score, &error), LOCUS_ERROR_ARGUMENT);
    batch = batch_of(0, 0);
    assert_int_equal(lab_model_evaluate(model, &batch, &score, &error), LOCUS_ERROR_ARGUMENT);
    batch = (lab_batch){.samples = 1, .labels = labels};
    assert_int_equal(lab_model_evaluate(model, &batch, &score, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(lab_model_generate(model, &batch, &(lab_generation){0}, &error), LOCUS_ERROR_UNSUPPORTED);
    assert_int_equal(lab_model_create(&words, &other, 5, &error), LOCUS_OK);
    assert_int_equal(lab_model_classify(words, &batch, probabilities, &error), LOCUS_ERROR_UNSUPPORTED);
    lab_model_destroy(&words);
    lab_model_destroy(&model);
}

/* A convolution that is not a number anywhere is told: the rectifier and the pooling don't turn it into zeros. */
static void test_not_a_number_is_noticed(void **state) {
    (void)state;
    const lab_model_config config = config_make(0.0);
    const lab_batch batch = batch_of(0, 2);
    for (size_t tap = 0; tap < LAB_CONVOLUTION_TAPS; ++tap) {
        lab_model *model = model_make(&config);
        lab_score score = {0};
        locus_error error;
        parameter_find(model, "convolution.weight")->value[tap] = NAN;
        assert_int_equal(lab_model_train(model, &batch, 9, STEP, &score, &error), LOCUS_ERROR_NUMERIC);
        assert_int_equal(lab_model_evaluate(model, &batch, &score, &error), LOCUS_ERROR_NUMERIC);
        lab_model_destroy(&model);
    }
}

/* The same bits with one thread and with two, dropout and stochastic depth on. */
static void test_threads(void **state) {
    (void)state;
    lab_model_config config = config_make(0.4);
    config.attention_dropout = config.dropout = 0.1;
    config.encoder_layers = 3;
    lab_model *model = model_make(&config);
    const lab_batch batch = batch_of(0, IMAGES);
    const size_t bytes = lab_model_elements(model) * sizeof(float);
    float *one = malloc(bytes);
    assert_int_equal(locus_threads_set(1), LOCUS_OK);
    const double loss = train(model, &batch, STEP).loss;
    memcpy(one, lab_model_gradients(model), bytes);
    assert_int_equal(locus_threads_set(2), LOCUS_OK);
    assert_true(train(model, &batch, STEP).loss == loss);
    assert_memory_equal(one, lab_model_gradients(model), bytes);
    assert_true(train(model, &batch, STEP + 1).loss != loss);
    free(one);
    lab_model_destroy(&model);
}

/* Everything behind the first layer left out: the stack is its first layer. The weights there hold not-a-number: what
 * is left out is not computed, and gets no gradient. */
static void test_left_out_is_identity(void **state) {
    (void)state;
    lab_model_config config = config_make(1.0), single = config_make(0.0);
    config.encoder_layers = 3;
    single.encoder_layers = 1;
    lab_model *model = model_make(&config), *first = model_make(&single);
    const lab_batch batch = batch_of(0, IMAGES);
    for (size_t i = 0; i < lab_model_parameter_count(model); ++i) {
        const lab_parameter *p = lab_model_parameter(model, i);
        const bool out = strncmp(p->name, "encoder.1", 9) == 0 || strncmp(p->name, "encoder.2", 9) == 0;
        for (size_t j = 0; j < p->count; ++j)
            p->value[j] = out ? NAN : parameter_find(first, p->name)->value[j];
    }
    locus_error error;
    assert_int_equal(lab_model_update(model, &error), LOCUS_OK);
    assert_true(train(model, &batch, STEP).loss == train(first, &batch, STEP).loss);
    for (size_t i = 0; i < lab_model_parameter_count(model); ++i) {
        const lab_parameter *p = lab_model_parameter(model, i);
        const bool out = strncmp(p->name, "encoder.1", 9) == 0 || strncmp(p->name, "encoder.2", 9) == 0;
        for (size_t j = 0; j < p->count; ++j)
            assert_true(p->gradient[j] == (out ? 0.0f : parameter_find(first, p->name)->gradient[j]));
    }
    lab_model_destroy(&first);
    lab_model_destroy(&model);
}

/* The published rates: every branch of layer l stays in a share 1 − l / 10 of the samples, each by itself. */
static void test_survivors(void **state) {
    (void)state;
    enum { LAYERS = 7, SAMPLES = 20000 };
    static lab_sublayer sublayers[2 * LAYERS];
    static size_t before[2 * LAYERS * (SAMPLES + 1)];
    lab_stack stack = {
        .sublayer_count = 2 * LAYERS, .sublayers = sublayers, .tokens = SAMPLES, .sample_tokens = 1, .before = before};
    const lab_depth depth = {0.1, true, {7, LAB_PURPOSE_DEPTH, 1}};
    lab_depth_draw(&stack, &depth);
    for (size_t s = 0; s < 2 * LAYERS; ++s) {
        const double stays = 1.0 - 0.1 * (double)(s / 2);
        const size_t count = lab_sublayer_tokens(&stack, &sublayers[s]);
        const double deviation = sqrt(stays * (1.0 - stays) / SAMPLES);
        assert_true(fabs((double)count / SAMPLES - stays) <= 4.0 * deviation);
        assert_true((s < 2) == (sublayers[s].before == NULL));
        assert_true(s < 2 ? sublayers[s].branch_scale == 0.0f
                          : fabs((double)sublayers[s].branch_scale * stays - 1.0) < 1e-6);
    }
    /* the two branches of a layer are drawn apart: both stay in a share of the square */
    const size_t *one = sublayers[12].before, *two = sublayers[13].before;
    double both = 0.0;
    for (size_t i = 0; i < SAMPLES; ++i)
        both += one[i + 1] > one[i] && two[i + 1] > two[i];
    assert_true(fabs(both / SAMPLES - 0.16) < 4.0 * sqrt(0.16 * 0.84 / SAMPLES));
}

/* What a sample has of the second layer's two branches: 0, or what branches that stay are multiplied by. */
typedef struct sample_branches {
    float attention, feed_forward;
} sample_branches;

static sample_branches branches_of(const lab_stack *stack, size_t sample, float stays) {
    float scale[2];
    for (size_t s = 0; s < 2; ++s) {
        const size_t *before = stack->sublayers[2 + s].before;
        scale[s] = before && before[sample + 1] == before[sample] ? 0.0f : stays;
    }
    return (sample_branches){scale[0], scale[1]};
}

static float scale_of(const char *name, sample_branches branches) {
    if (strncmp(name, "encoder.1.self_attention.output", 31) == 0)
        return branches.attention;
    return strncmp(name, "encoder.1.feed_forward.down", 27) == 0 ? branches.feed_forward : 1.0f;
}

/* Loss and gradients of one image in a model without stochastic depth, whose last projections have been multiplied. */
static double add_image(lab_model *plain, const float *values, size_t image, sample_branches branches,
                        double *gradients) {
    const lab_batch batch = batch_of(image, 1);
    for (size_t i = 0; i < lab_model_parameter_count(plain); ++i) {
        const lab_parameter *p = lab_model_parameter(plain, i);
        const size_t at = (size_t)(p->value - lab_model_values(plain));
        for (size_t j = 0; j < p->count; ++j)
            p->value[j] = values[at + j] * scale_of(p->name, branches);
    }
    const double loss = train(plain, &batch, STEP).loss;
    for (size_t i = 0; i < lab_model_parameter_count(plain); ++i) {
        const lab_parameter *p = lab_model_parameter(plain, i);
        const size_t at = (size_t)(p->value - lab_model_values(plain));
        for (size_t j = 0; j < p->count; ++j)
            gradients[at + j] += (double)(p->gradient[j] * scale_of(p->name, branches)) / IMAGES;
    }
    return loss;
}

static void check_batch(lab_survivors survivors, lab_norm_place norm) {
    lab_model_config config = config_make(0.5), whole = config_make(0.0);
    const float stays = survivors == LAB_SURVIVORS_RESCALED ? 2.0f : 1.0f;
    config.survivors = survivors;
    config.norm = whole.norm = norm;
    lab_model *model = model_make(&config), *plain = model_make(&whole);
    const lab_batch batch = batch_of(0, IMAGES);
    const size_t elements = lab_model_elements(model);
    const double loss = train(model, &batch, STEP).loss;
    double *wanted = calloc(elements, sizeof *wanted), sum = 0.0;
    size_t kinds[4] = {0};
    for (size_t i = 0; i < IMAGES; ++i) {
        const sample_branches own = branches_of(&model->encoder, i, stays);
        ++kinds[(own.attention > 0.0f) + 2 * (own.feed_forward > 0.0f)];
        sum += add_image(plain, lab_model_values(model), i, own, wanted);
    }
    for (size_t k = 0; k < 4; ++k)
        assert_true(kinds[k] > 0);
    assert_true(fabs(sum - loss) < 1e-5 * sum);
    for (size_t j = 0; j < elements; ++j)
        if (fabs((double)lab_model_gradients(model)[j] - wanted[j]) > 2e-6 * (1.0 + fabs(wanted[j])))
            fail_msg("gradient %zu: %g, of the images one by one %g", j, (double)lab_model_gradients(model)[j],
                     wanted[j]);
    free(wanted);
    lab_model_destroy(&plain);
    lab_model_destroy(&model);
}

static void test_batch_is_its_images(void **state) {
    (void)state;
    check_batch(LAB_SURVIVORS_RESCALED, LAB_NORM_BEFORE);
    check_batch(LAB_SURVIVORS_AS_THEY_ARE, LAB_NORM_BEFORE);
    check_batch(LAB_SURVIVORS_RESCALED, LAB_NORM_AFTER);
    check_batch(LAB_SURVIVORS_AS_THEY_ARE, LAB_NORM_AFTER);
}

/* An evaluation leaves nothing out, smooths nothing, keeps little, and does not depend on how images are batched. */
static void test_evaluation(void **state) {
    (void)state;
    lab_model_config config = config_make(0.5), whole = config_make(0.0);
    config.label_smoothing = 0.2;
    config.attention_dropout = 0.3;
    lab_model *model = model_make(&config), *plain = model_make(&whole);
    const lab_batch batch = batch_of(0, IMAGES);
    uint32_t right[IMAGES];
    float all[IMAGES * CLASSES], one[CLASSES];
    lab_score score = {.sample_correct = right};
    locus_error error;
    assert_int_equal(lab_model_evaluate(model, &batch, &score, &error), LOCUS_OK);
    const size_t bytes = lab_model_arena_bytes(model);
    assert_true(score.loss == train(plain, &batch, STEP).loss);
    assert_true(lab_model_arena_bytes(plain) > 2 * bytes);
    assert_int_equal(lab_model_classify(model, &batch, all, &error), LOCUS_OK);
    double loss = 0.0;
    size_t correct = 0;
    for (size_t i = 0; i < IMAGES; ++i) {
        const float *own = all + i * CLASSES;
        const size_t label = (size_t)labels[i];
        assert_int_equal(
            lab_model_classify(model, &(lab_batch){.samples = 1, .images = pixels + i * PIXELS}, one, &error),
            LOCUS_OK);
        float total = 0.0f, top = 0.0f;
        for (size_t j = 0; j < CLASSES; ++j) {
            total += own[j];
            top = own[j] > top ? own[j] : top;
            assert_true(fabsf(own[j] - one[j]) < 1e-6f);
        }
        assert_true(fabsf(total - 1.0f) < 1e-6f);
        assert_int_equal(right[i], own[label] == top);
        correct += right[i];
        loss -= log((double)own[label]);
    }
    assert_true(fabs(loss - score.loss) < 1e-5 * loss);
    assert_int_equal(score.correct, correct);
    assert_int_equal(score.exact, correct);
    assert_int_equal(score.tokens, IMAGES);
    lab_model_destroy(&plain);
    lab_model_destroy(&model);
}

/* A sample stays unless (w + 1/2) / 2³² lies below p: just there it stays, half a word further it does not. */
static void test_edge_of_a_draw(void **state) {
    (void)state;
    lab_depth depth = {.key = {.seed = 7}};
    locus_random key = depth.key;
    uint32_t words[4];
    key.purpose += 4 * 2; /* of the second layer's first sublayer; the first layer loses nothing */
    locus_random_blocks(&key, 0, 1, words);
    for (int past = 0; past < 2; past++) {
        lab_sublayer sublayers[3] = {0};
        size_t before[6];
        lab_stack stack = {
            .sublayers = sublayers, .sublayer_count = 3, .tokens = 5, .sample_tokens = 5, .before = before};
        depth.rate = ((double)words[0] + 0.5 * (1 + past)) / 4294967296.0;
        lab_depth_draw(&stack, &depth);
        assert_true(sublayers[0].before == NULL && sublayers[1].before == NULL);
        assert_true(past ? sublayers[2].before == before + 4 && before[5] == 0 : sublayers[2].before == NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_calls_refused),
        cmocka_unit_test(test_threads),       cmocka_unit_test(test_left_out_is_identity),
        cmocka_unit_test(test_survivors),     cmocka_unit_test(test_batch_is_its_images),
        cmocka_unit_test(test_evaluation),    cmocka_unit_test(test_not_a_number_is_noticed),
        cmocka_unit_test(test_edge_of_a_draw)};
    threads_only("test_threads");
    const locus_random random = {3, LOCUS_RANDOM_USER, 0};
    for (size_t i = 0; i < IMAGES * PIXELS; ++i)
        pixels[i] = (float)locus_random_normal(&random, i);
    for (size_t i = 0; i < IMAGES; ++i)
        labels[i] = (int32_t)(i * 7 % CLASSES);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
