/* SPDX-License-Identifier: MIT */
/* Layers with encodings of their own, shared heads of keys and values, vectors behind the encoder, kinds of attention:
 * each against a plain model that must compute the same, and what is refused. */
#include "model/architecture.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const size_t input_offsets[] = {0, 4, 5, 12, 15}, target_offsets[] = {0, 5, 7, 8, 14};
static const int32_t input[] = {1, 5, 9, 2, 3, 8, 8, 1, 4, 6, 7, 2, 10, 3, 5};
static const int32_t target[] = {2, 4, 6, 8, 10, 1, 1, 9, 5, 3, 7, 2, 6, 4};
static const lab_batch words = {
    .samples = 4, .input_offsets = input_offsets, .target_offsets = target_offsets, .input = input, .target = target};

static lab_model_config config_make(const char *encoding, size_t layers) {
    lab_model_config config = lab_encoder_decoder.defaults;
    config.vocabulary = 12;
    config.dim = 32;
    config.heads = 4;
    config.feed_forward = 40;
    config.encoder_layers = config.decoder_layers = layers;
    config.dropout = config.attention_dropout = 0;
    config.encoding = encoding;
    return config;
}

static lab_model *make(const lab_model_config *config) {
    lab_model *model;
    locus_error error;
    if (lab_model_create(&model, config, 3, &error) != LOCUS_OK)
        fail_msg("%s: %s", config->encoding, error.message);
    return model;
}

/* Loss of a training step, so that gradients are there, too. */
static double step(lab_model *model, const lab_batch *batch) {
    lab_score score = {0};
    locus_error error;
    if (lab_model_update(model, &error) != LOCUS_OK || lab_model_train(model, batch, 1, 1, &score, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return score.loss;
}

static double loss_of(const char *encoding, size_t layers) {
    lab_model_config config = config_make(encoding, layers);
    lab_model *model = make(&config);
    double loss = step(model, &words);
    lab_model_destroy(&model);
    return loss;
}

static const lab_parameter *find(const lab_model *model, const char *name) {
    for (size_t i = 0; i < lab_model_parameter_count(model); ++i)
        if (strcmp(lab_model_parameter(model, i)->name, name) == 0)
            return lab_model_parameter(model, i);
    return NULL;
}

static void same(double a, double b) {
    if (memcmp(&a, &b, sizeof a) != 0)
        fail_msg("%.17g and %.17g are not the same", a, b);
}

/* Encodings without parameters, so that all models start alike. */
static void layers_have_their_own(void **state) {
    (void)state;
    same(loss_of("alibi / none", 1), loss_of("alibi", 1));
    same(loss_of("none / alibi", 1), loss_of("none", 1));
    same(loss_of("2*alibi / none", 2), loss_of("alibi", 2));
    same(loss_of("alibi / rope / none", 2), loss_of("alibi / rope", 2));
    const double mixed[] = {loss_of("alibi / none", 2), loss_of("none / alibi", 2), loss_of("alibi", 2),
                            loss_of("none", 2)};
    for (size_t i = 0; i < 4; ++i)
        for (size_t j = 0; j < i; ++j)
            assert_true(fabs(mixed[i] - mixed[j]) > 1e-4);
}

static void parameters_have_names_of_their_own(void **state) {
    (void)state;
    lab_model_config config = config_make("rope(learned=on) / none / decay(learned=on) + alibi", 4);
    lab_model *model = make(&config);
    assert_int_equal(lab_model_encoding_count(model), 3);
    assert_non_null(find(model, "position.0.frequencies"));
    assert_non_null(find(model, "position.2.0.rate"));
    assert_null(find(model, "position.frequencies"));
    assert_ptr_equal(lab_model_binding(model), lab_model_binding_of(model, 0));
    assert_null(lab_model_binding_of(model, 3));
    lab_model_destroy(&model);
    config.encoding = "2*rope(learned=on)"; /* one item, and one encoding */
    model = make(&config);
    assert_non_null(find(model, "position.frequencies"));
    lab_model_destroy(&model);
    config.encoding = "none / rope(learned=on)"; /* which the only layer has not */
    config.encoder_layers = config.decoder_layers = 1;
    model = make(&config);
    assert_int_equal(lab_model_encoding_count(model), 1);
    assert_null(find(model, "position.1.frequencies"));
    lab_model_destroy(&model);
}

/* Encodings of one kind do not start alike. */
static void encodings_draw_their_own(void **state) {
    (void)state;
    lab_model_config config = config_make("algebraic(group=seq) / algebraic(group=seq, values=on)", 2);
    lab_model *model = make(&config);
    const lab_parameter *a = find(model, "position.0.generators"), *b = find(model, "position.1.generators");
    assert_true(a && b && a->count == b->count);
    assert_memory_not_equal(a->value, b->value, a->count * sizeof(float));
    lab_model_destroy(&model);
}

/* Of one layer and of several: another step drops other activations, the same step the same, and nothing is dropped
 * where a model is scored. */
static void few_layers_drop_as_well(void **state) {
    (void)state;
    static const int32_t labels[] = {1, 0, 3, 2};
    for (size_t layers = 1; layers <= 2; ++layers)
        for (unsigned kind = 0; kind < 2; ++kind) {
            lab_model_config config = kind == 0 ? lab_decoder.defaults : lab_text_classifier.defaults;
            lab_batch batch = {.samples = 3, .input = input + 5, .labels = labels};
            static const size_t offsets[] = {0, 4, 7, 10};
            batch.input_offsets = offsets;
            config.vocabulary = 12;
            config.dim = 32;
            config.heads = 4;
            config.feed_forward = 40;
            config.encoder_layers = kind == 0 ? 0 : layers;
            config.decoder_layers = kind == 0 ? layers : 0;
            config.classes = kind == 0 ? 0 : 4;
            config.dropout = 0.5;
            config.attention_dropout = 0;
            lab_model *model = make(&config);
            double losses[4];
            for (uint32_t s = 0; s < 4; ++s) {
                lab_score score = {0};
                const locus_status status = s == 3 ? lab_model_evaluate(model, &batch, &score, NULL)
                                                   : lab_model_train(model, &batch, 1, 1 + s % 2, &score, NULL);
                assert_int_equal(status, LOCUS_OK);
                losses[s] = score.loss;
            }
            same(losses[0], losses[2]);
            assert_true(fabs(losses[0] - losses[1]) > 1e-4 && fabs(losses[0] - losses[3]) > 1e-4);
            lab_model_destroy(&model);
            config.dropout = 0;
            model = make(&config);
            lab_score score = {0};
            assert_int_equal(lab_model_train(model, &batch, 1, 1, &score, NULL), LOCUS_OK);
            assert_true(fabs(score.loss - losses[3]) < 1e-5);
            lab_model_destroy(&model);
        }
}

/* ---- shared heads ---- */

enum { DIM = 32, HEAD_DIM = 8 };

/* A tensor of the model with shared heads, given to every head of its group: of weights [K, D] or biases [K]. */
static void spread(const lab_parameter *from, const lab_parameter *to, size_t group) {
    const size_t block = HEAD_DIM * (from->rank == 2 ? DIM : 1);
    assert_int_equal(to->count, from->count * group);
    for (size_t h = 0; h < to->count / block; ++h)
        memcpy(to->value + h * block, from->value + h / group * block, block * sizeof(float));
}

/* The gradient of what is shared is the sum over the heads of its group. */
static void compare_gradients(const lab_parameter *shared, const lab_parameter *own, size_t group) {
    const size_t block = shared->count == own->count ? shared->count : HEAD_DIM * (shared->rank == 2 ? DIM : 1);
    group = shared->count == own->count ? 1 : group;
    double largest = 0, apart = 0;
    for (size_t i = 0; i < shared->count; ++i) {
        double sum = 0;
        for (size_t g = 0; g < group; ++g)
            sum += (double)own->gradient[(i / block * group + g) * block + i % block];
        largest = fmax(largest, fabs(sum));
        apart = fmax(apart, fabs(sum - (double)shared->gradient[i]));
    }
    if (!(apart <= 2e-5 * (largest + 1e-3)))
        fail_msg("%s: gradients up to %g differ by %g", shared->name, largest, apart);
}

static void shared_heads_are_equal_heads(void **state) {
    (void)state;
    static const char *const encodings[] = {"none", "rope(learned=on)", "relative(window=3, values=on) / alibi"};
    for (size_t e = 0; e < 3; ++e)
        for (size_t kv_heads = 1; kv_heads <= 4; kv_heads *= 2) {
            lab_model_config config = config_make(encodings[e], 2);
            lab_model *own = make(&config);
            config.kv_heads = kv_heads;
            lab_model *shared = make(&config);
            assert_int_equal(lab_model_parameter_count(own), lab_model_parameter_count(shared));
            for (size_t i = 0; i < lab_model_parameter_count(own); ++i)
                assert_string_equal(lab_model_parameter(own, i)->name, lab_model_parameter(shared, i)->name);
            for (size_t i = 0; i < lab_model_parameter_count(own); ++i) {
                const lab_parameter *from = lab_model_parameter(shared, i), *to = lab_model_parameter(own, i);
                if (from->count == to->count)
                    memcpy(to->value, from->value, to->count * sizeof(float));
                else
                    spread(from, to, 4 / kv_heads);
            }
            const double a = step(shared, &words), b = step(own, &words);
            assert_true(fabs(a - b) < 1e-4);
            for (size_t i = 0; i < lab_model_parameter_count(own); ++i)
                compare_gradients(lab_model_parameter(shared, i), lab_model_parameter(own, i), 4 / kv_heads);
            lab_model_destroy(&own);
            lab_model_destroy(&shared);
        }
}

/* ---- behind the encoder ---- */

/* At position 0 T_i(−1) = (−1)^i is added, which the bias of the encoder's last norm can do as well. */
static void chebyshev_behind_the_encoder(void **state) {
    (void)state;
    static const size_t ones[] = {0, 1, 2, 3};
    const lab_batch letters = {
        .samples = 3, .input_offsets = ones, .target_offsets = target_offsets, .input = input, .target = target};
    lab_model_config config = config_make("chebyshev(site=output)", 2);
    lab_model *added = make(&config);
    config.encoding = "none";
    lab_model *plain = make(&config);
    const double without = step(plain, &letters);
    const lab_parameter *bias = find(plain, "encoder.norm.bias");
    for (size_t i = 0; i < DIM; ++i)
        bias->value[i] += i % 2 ? -1.0f : 1.0f;
    const double a = step(added, &letters), b = step(plain, &letters);
    assert_true(fabs(a - b) < 1e-4 && fabs(a - without) > 1e-2);
    for (size_t i = 0; i < lab_model_parameter_count(plain); ++i)
        compare_gradients(lab_model_parameter(added, i), lab_model_parameter(plain, i), 1);
    /* longer words have other places */
    assert_true(fabs(step(added, &words) - step(plain, &words)) > 1e-3);
    lab_model_destroy(&added);
    lab_model_destroy(&plain);
}

/* ---- kinds of attention ---- */

static void kinds_differ(void **state) {
    (void)state;
    static const char *const kinds[] = {"", "linear", "soft", "clustered"};
    double losses[4];
    for (size_t kind = 0; kind < 4; ++kind) {
        lab_model_config config = config_make("rope", 2);
        strcpy(config.attention, kinds[kind]);
        config.attention_dropout = 0.1; /* linear and soft have nothing to drop */
        lab_model *model = make(&config);
        lab_score score = {0};
        locus_error error;
        assert_int_equal(lab_model_evaluate(model, &words, &score, &error), LOCUS_OK);
        losses[kind] = score.loss;
        assert_true(isfinite(step(model, &words)));
        lab_model_destroy(&model);
    }
    assert_true(fabs(losses[1] - losses[0]) > 1e-4);
    assert_true(fabs(losses[2] - losses[0]) > 1e-4);
    /* as many clusters as queries: each query is its own centroid */
    assert_true(fabs(losses[3] - losses[0]) < 1e-3);
}

static void refuse(const lab_model_config *config, const char *words_of_it) {
    lab_model *model;
    locus_error error = {0};
    assert_int_not_equal(lab_model_create(&model, config, 0, &error), LOCUS_OK);
    assert_null(model);
    if (!strstr(error.message, words_of_it))
        fail_msg("'%s' does not say %s", error.message, words_of_it);
    assert_null(strchr(error.message, '\n'));
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    lab_model_config config = config_make("rope", 2);
    config.kv_heads = 3;
    refuse(&config, "4 heads cannot share 3 key and value heads: kv_heads must divide heads");
    config.kv_heads = 8;
    refuse(&config, "kv_heads");
    config = config_make("rope / sinusoidal", 2);
    refuse(&config, "only the first encoding");
    config = config_make("none / algebraic(group=tree:2)", 2);
    refuse(&config, "tree:2");
}

static void kinds_refuse_scores(void **state) {
    (void)state;
    lab_model_config config = config_make("alibi", 2);
    strcpy(config.attention, "linear");
    refuse(&config, "linear");
    strcpy(config.attention, "soft");
    refuse(&config, "soft");
    config.encoding = "rope / rope + decay"; /* of the second layer */
    refuse(&config, "soft");
    config.encoder_layers = 1; /* where only the decoder has it, it stays with softmax */
    lab_model *model = make(&config);
    assert_true(isfinite(step(model, &words)));
    lab_model_destroy(&model);
    strcpy(config.attention, "nine");
    refuse(&config, "attention");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_their_own),
        cmocka_unit_test(parameters_have_names_of_their_own),
        cmocka_unit_test(encodings_draw_their_own),
        cmocka_unit_test(few_layers_drop_as_well),
        cmocka_unit_test(shared_heads_are_equal_heads),
        cmocka_unit_test(chebyshev_behind_the_encoder),
        cmocka_unit_test(kinds_differ),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(kinds_refuse_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
