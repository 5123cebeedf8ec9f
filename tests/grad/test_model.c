/* SPDX-License-Identifier: MIT */
/* The whole model's gradients against central differences of its loss, tensor by tensor: along the gradient itself,
 * and along a random direction. The forward pass is float, so the step moves a tensor by a thousandth of its norm and
 * more, and the tolerance is 1 % of the gradient's norm: any term that is missing or doubled shows far above that.
 * The rectifiers are kept away from their kinks by biases of ±4 (tests/grad/test_nn_layers.c has them anywhere).
 * Dropout is on: the differences replay it. Norms before and after, both dropout sites of attention, every kind
 * of encoding, encodings that differ between layers, shared heads of keys and values, every kind of attention, and
 * trees, where encodings on paths and in the flat order stand side by side. */
#include "model/model.h"
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
static const lab_batch batch = {
    .samples = 4, .input_offsets = input_offsets, .target_offsets = target_offsets, .input = input, .target = target};

/* Trees: inputs level by level, targets in depth order; a node alone, a path, and nodes with one child. */
static const int32_t input_parents[] = {-1, 0, 0, 2, -1, -1, 0, 0, 1, 1, 2, 2, -1, 0, 1},
                     input_branches[] = {0, 1, 2, 1, 0, 0, 1, 2, 1, 2, 1, 2, 0, 2, 2},
                     target_parents[] = {-1, 0, 1, 1, 0, -1, 0, -1, -1, 0, 1, 2, 1, 0},
                     target_branches[] = {0, 1, 1, 2, 2, 0, 2, 0, 0, 1, 1, 1, 2, 2};
static const lab_batch trees = {.samples = 4,
                                .input_offsets = input_offsets,
                                .target_offsets = target_offsets,
                                .input = input,
                                .target = target,
                                .input_tree = {input_parents, input_branches},
                                .target_tree = {target_parents, target_branches}};

enum { VOCABULARY = 12 };

static lab_model_config config_make(const char *encoding, lab_norm_place norm) {
    lab_model_config config = lab_model_default();
    config.vocabulary = VOCABULARY;
    config.dim = 24;
    config.heads = 3;
    config.feed_forward = 16;
    config.encoder_layers = 2;
    config.decoder_layers = 2;
    config.norm = norm;
    config.dropout = 0.1;
    config.attention_dropout = 0.1;
    if (norm == LAB_NORM_AFTER)
        config.attention_dropout_on = LOCUS_DROPOUT_LOGITS;
    config.encoding = encoding;
    return config;
}

static double loss_of(lab_model *model) {
    lab_score score = {0};
    locus_error error;
    const lab_batch *read = lab_model_get_config(model)->tree_arity > 0 ? &trees : &batch;
    if (lab_model_update(model, &error) != LOCUS_OK || lab_model_train(model, read, 5, 3, &score, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return score.loss / (double)score.tokens;
}

/* Loss at value + step · direction. */
static double loss_along(lab_model *model, const lab_parameter *p, const float *kept, const double *direction,
                         double step) {
    for (size_t i = 0; i < p->count; ++i)
        p->value[i] = (float)((double)kept[i] + step * direction[i]);
    double loss = loss_of(model);
    memcpy(p->value, kept, p->count * sizeof *kept);
    return loss;
}

static double norm_of(const double *x, size_t count) {
    double sum = 0.0;
    for (size_t i = 0; i < count; ++i)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static void check_direction(const char *encoding, lab_model *model, const lab_parameter *p, const float *kept,
                            const double *gradient, double *direction) {
    double length = norm_of(direction, p->count), wanted = 0.0, size = 0.0;
    if (length == 0.0)
        return;
    for (size_t i = 0; i < p->count; ++i) {
        direction[i] /= length;
        wanted += direction[i] * gradient[i];
        size += (double)kept[i] * (double)kept[i];
    }
    /* two steps, extrapolated: the error is of fourth order */
    double step = 0.001 * (1.0 + sqrt(size));
    double one =
        (loss_along(model, p, kept, direction, step) - loss_along(model, p, kept, direction, -step)) / (2 * step);
    double two = (loss_along(model, p, kept, direction, 2 * step) - loss_along(model, p, kept, direction, -2 * step)) /
                 (4 * step);
    double found = (4.0 * one - two) / 3.0, tolerance = 0.01 * norm_of(gradient, p->count) + 2e-4;
    if (fabs(found - wanted) > tolerance)
        fail_msg("%s: %s: gradient %g, differences %g (%g, %g)", encoding, p->name, wanted, found, one, two);
}

static void check_tensor(const char *encoding, lab_model *model, size_t index, const float *gradients) {
    const lab_parameter *p = lab_model_parameter(model, index);
    float *kept = malloc(p->count * sizeof *kept);
    double *gradient = malloc(p->count * sizeof *gradient), *direction = malloc(p->count * sizeof *direction);
    locus_random random = {41, LOCUS_RANDOM_USER, (uint32_t)index};
    memcpy(kept, p->value, p->count * sizeof *kept);
    const float *block = gradients + (p->gradient - lab_model_gradients(model));
    for (size_t i = 0; i < p->count; ++i)
        gradient[i] = direction[i] = (double)block[i];
    check_direction(encoding, model, p, kept, gradient, direction);
    for (size_t i = 0; i < p->count; ++i)
        direction[i] = locus_random_normal(&random, i);
    check_direction(encoding, model, p, kept, gradient, direction);
    free(kept);
    free(gradient);
    free(direction);
}

static void check_config(lab_model_config config) {
    const char *encoding = config.encoding;
    lab_model *model;
    locus_error error;
    if (lab_model_create(&model, &config, 17, &error) != LOCUS_OK)
        fail_msg("%s: %s", encoding, error.message);
    /* Hidden units: half of them on, half off. Gains, shifts and biases away from
     * 1 and 0, so that their places in the formulas count. */
    locus_random random = {29, LOCUS_RANDOM_USER, 0};
    float *values = lab_model_values(model);
    for (size_t i = 0; i < lab_model_parameter_count(model); ++i) {
        const lab_parameter *p = lab_model_parameter(model, i);
        bool hidden = strstr(p->name, "up.bias") != NULL;
        for (size_t j = 0; hidden && j < p->count; ++j)
            p->value[j] = j % 2 ? 4.0f : -4.0f;
        for (size_t j = 0; p->rank == 1 && j < p->count && strncmp(p->name, "position", 8) != 0; ++j)
            p->value[j] += (float)(0.2 * locus_random_normal(&random, (uint64_t)(p->value + j - values)));
    }
    (void)loss_of(model);
    size_t bytes = lab_model_elements(model) * sizeof(float);
    float *gradients = malloc(bytes);
    memcpy(gradients, lab_model_gradients(model), bytes);
    for (size_t i = 0; i < lab_model_parameter_count(model); ++i)
        check_tensor(encoding, model, i, gradients);
    free(gradients);
    lab_model_destroy(&model);
    assert_null(model);
}

/* Whole stacks for the first encoding; for the others two layers are enough that share what they learn. */
static void check_model(const char *encoding, lab_norm_place norm, bool first) {
    lab_model_config config = config_make(encoding, norm);
    config.encoder_layers = first ? config.encoder_layers : 1;
    check_config(config);
}

static void gradients_with_norm_before(void **state) {
    static const char *const encodings[] = {"none",
                                            "sinusoidal",
                                            "learned(size=16)",
                                            "relative(window=3)",
                                            "relative(window=3, values=on)",
                                            "rope",
                                            "roper",
                                            "alibi",
                                            "algebraic(group=seq)",
                                            "algebraic(group=seq, decay=0.98)"};
    (void)state;
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; ++i)
        check_model(encodings[i], LAB_NORM_BEFORE, i == 0);
}

static void gradients_with_norm_after(void **state) {
    static const char *const encodings[] = {"none", "learned(size=16) + alibi", "rope(learned=on)",
                                            "algebraic(group=seq, decay=0.98, values=on)"};
    (void)state;
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; ++i)
        check_model(encodings[i], LAB_NORM_AFTER, i == 0);
}

static void gradients_of_layers_that_differ(void **state) {
    (void)state;
    static const char *const encodings[] = {"rope(learned=on) / algebraic(group=seq)",
                                            "learned(size=16) + rope(learned=on) / relative(window=3, values=on)"};
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; ++i) {
        lab_model_config config = config_make(encodings[i], i % 2 ? LAB_NORM_AFTER : LAB_NORM_BEFORE);
        config.encoder_layers = 1;
        check_config(config);
    }
}

/* Vectors that are added to what the encoder gives, with norms that stand before and after. */
static void gradients_behind_the_encoder(void **state) {
    (void)state;
    for (int norm = LAB_NORM_BEFORE; norm <= LAB_NORM_AFTER; ++norm) {
        lab_model_config config =
            config_make("chebyshev(size=16, site=output) + rope(learned=on)", (lab_norm_place)norm);
        config.encoder_layers = config.decoder_layers = 1;
        check_config(config);
    }
}

static void gradients_of_shared_heads(void **state) {
    static const char *const encodings[] = {"relative(window=3, values=on)", "algebraic(group=seq, values=on)",
                                            "rope(learned=on) / decay(learned=on)"};
    (void)state;
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; ++i) {
        lab_model_config config = config_make(encodings[i], i % 2 ? LAB_NORM_AFTER : LAB_NORM_BEFORE);
        config.heads = 4;
        config.kv_heads = 1 + i % 2;
        config.encoder_layers = 1;
        config.decoder_layers = i == 2 ? 2 : 1;
        check_config(config);
    }
}

static void gradients_of_attentions(void **state) {
    static const locus_attention_kind kinds[] = {LOCUS_ATTENTION_LINEAR, LOCUS_ATTENTION_SOFT,
                                                 LOCUS_ATTENTION_CLUSTERED};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        lab_model_config config = config_make("rope(learned=on)", LAB_NORM_BEFORE);
        config.attention = kinds[i];
        config.encoder_layers = config.decoder_layers = 1;
        check_config(config);
    }
}

static void gradients_on_trees(void **state) {
    static const char *const encodings[] = {"none",
                                            "sinusoidal",
                                            "shiv-quirk(k=2, depth=3)",
                                            "algebraic(group=seq, decay=0.98)",
                                            "algebraic(group=tree:2, decay=0.98)",
                                            "shiv-quirk(k=2, depth=2) + alibi(group=tree:2)",
                                            "algebraic(group=tree:3) / decay(group=tree:3, learned=on)",
                                            "algebraic(group=seq*tree:2, values=on)"};
    (void)state;
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; ++i) {
        lab_model_config config = config_make(encodings[i], i % 2 ? LAB_NORM_AFTER : LAB_NORM_BEFORE);
        config.tree_arity = 2;
        config.encoder_layers = 1;
        check_config(config);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_with_norm_before),      cmocka_unit_test(gradients_with_norm_after),
        cmocka_unit_test(gradients_of_layers_that_differ), cmocka_unit_test(gradients_behind_the_encoder),
        cmocka_unit_test(gradients_of_shared_heads),       cmocka_unit_test(gradients_of_attentions),
        cmocka_unit_test(gradients_on_trees),
    };
    if (locus_threads_set(1) != LOCUS_OK) /* thousands of tiny calls */
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
