/* SPDX-License-Identifier: MIT */
/* The parameter table: names, shapes, one contiguous block, first values; configurations that are refused. */
#include "model/architecture.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static lab_model *make(const lab_model_config *config, uint64_t seed) {
    lab_model *model;
    locus_error error;
    if (lab_model_create(&model, config, seed, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return model;
}

static const lab_parameter *find(const lab_model *model, const char *name) {
    for (size_t i = 0; i < lab_model_parameter_count(model); ++i)
        if (strcmp(lab_model_parameter(model, i)->name, name) == 0)
            return lab_model_parameter(model, i);
    return NULL;
}

static lab_model_config small(lab_norm_place norm, const char *encoding) {
    lab_model_config config = lab_encoder_decoder.defaults;
    config.dim = 48;
    config.heads = 4;
    config.feed_forward = 80;
    config.encoder_layers = 1;
    config.norm = norm;
    config.encoding = encoding;
    return config;
}

static void tensors_follow_each_other(void **state) {
    (void)state;
    lab_model_config config = small(LAB_NORM_BEFORE, "algebraic(group=seq)");
    lab_model *model = make(&config, 1);
    size_t at = 0;
    for (size_t i = 0; i < lab_model_parameter_count(model); ++i) {
        const lab_parameter *p = lab_model_parameter(model, i);
        size_t count = 1;
        for (size_t r = 0; r < p->rank; ++r)
            count *= (size_t)p->shape[r];
        assert_int_equal(p->count, count);
        assert_ptr_equal(p->value, lab_model_values(model) + at);
        assert_ptr_equal(p->gradient, lab_model_gradients(model) + at);
        at += count;
        for (size_t other = 0; other < i; ++other)
            assert_string_not_equal(p->name, lab_model_parameter(model, other)->name);
    }
    assert_int_equal(at, lab_model_elements(model));
    for (size_t i = 0; i < at; ++i)
        assert_true(lab_model_gradients(model)[i] == 0.0f);
    lab_model_destroy(&model);
}

static void names_are_the_documented_ones(void **state) {
    (void)state;
    static const char *const both[] = {"embedding.weight",
                                       "encoder.0.norm1.weight",
                                       "encoder.0.self_attention.query.weight",
                                       "encoder.0.self_attention.key.bias",
                                       "encoder.0.self_attention.output.bias",
                                       "encoder.0.norm2.bias",
                                       "encoder.0.feed_forward.up.weight",
                                       "encoder.0.feed_forward.down.bias",
                                       "decoder.1.norm1.weight",
                                       "decoder.1.self_attention.value.weight",
                                       "decoder.1.norm2.weight",
                                       "decoder.1.cross_attention.query.bias",
                                       "decoder.1.cross_attention.key.weight",
                                       "decoder.1.cross_attention.value.bias",
                                       "decoder.1.cross_attention.output.weight",
                                       "decoder.1.norm3.weight",
                                       "decoder.1.feed_forward.down.weight",
                                       "position.generators"};
    for (int norm = LAB_NORM_BEFORE; norm <= LAB_NORM_AFTER; ++norm) {
        lab_model_config config = small((lab_norm_place)norm, "algebraic(group=seq)");
        lab_model *model = make(&config, 1);
        for (size_t i = 0; i < sizeof both / sizeof *both; ++i)
            if (!find(model, both[i]))
                fail_msg("there is no %s", both[i]);
        assert_true((find(model, "encoder.norm.weight") != NULL) == (norm == LAB_NORM_BEFORE));
        assert_true((find(model, "decoder.norm.bias") != NULL) == (norm == LAB_NORM_BEFORE));
        assert_null(find(model, "encoder.1.norm1.weight"));
        const lab_parameter *up = find(model, "encoder.0.feed_forward.up.weight");
        assert_true(up->rank == 2 && up->shape[0] == 80 && up->shape[1] == 48);
        const lab_parameter *generators = find(model, "position.generators");
        assert_true(generators->rank == 4 && generators->shape[0] == 4 && generators->shape[3] == 12);
        lab_model_destroy(&model);
    }
}

static void the_published_model_has_its_size(void **state) {
    (void)state;
    lab_model_config config = lab_encoder_decoder.defaults;
    lab_model *model = make(&config, 0);
    size_t D = 512, F = 2048, block = D * F + F + F * D + D, attention = 4 * (D * D + D), norm = 2 * D;
    assert_int_equal(lab_model_elements(model),
                     22 * D + 2 * (attention + block + 2 * norm) + 2 * (2 * attention + block + 3 * norm) + 2 * norm);
    lab_model_destroy(&model);
}

static double deviation(const lab_parameter *p) {
    double sum = 0.0, square = 0.0;
    for (size_t i = 0; i < p->count; ++i) {
        sum += (double)p->value[i];
        square += (double)p->value[i] * (double)p->value[i];
    }
    double mean = sum / (double)p->count;
    return sqrt(square / (double)p->count - mean * mean);
}

static void first_values_are_drawn_as_documented(void **state) {
    (void)state;
    lab_model_config config = small(LAB_NORM_BEFORE, "none");
    config.vocabulary = 60;
    lab_model *model = make(&config, 4), *same = make(&config, 4), *other = make(&config, 5);
    size_t bytes = lab_model_elements(model) * sizeof(float);
    assert_memory_equal(lab_model_values(model), lab_model_values(same), bytes);
    assert_memory_not_equal(lab_model_values(model), lab_model_values(other), bytes);
    const lab_parameter *query = find(model, "decoder.0.cross_attention.query.weight");
    double bound = sqrt(6.0 / 96.0);
    for (size_t i = 0; i < query->count; ++i)
        assert_true(fabs((double)query->value[i]) <= bound);
    assert_true(fabs(deviation(query) / (bound / sqrt(3.0)) - 1.0) < 0.05);
    const lab_parameter *key = find(model, "decoder.0.cross_attention.key.weight");
    assert_memory_not_equal(query->value, key->value, 64);
    assert_true(fabs(deviation(find(model, "embedding.weight")) * sqrt(48.0) - 1.0) < 0.06);
    assert_true(find(model, "encoder.norm.weight")->value[7] == 1.0f &&
                find(model, "encoder.norm.bias")->value[7] == 0.0f);
    assert_true(find(model, "encoder.0.feed_forward.up.bias")->value[3] == 0.0f);
    lab_model_destroy(&model);
    lab_model_destroy(&same);
    lab_model_destroy(&other);
    config.embedding_init = LAB_EMBEDDING_UNIT;
    model = make(&config, 4);
    assert_true(fabs(deviation(find(model, "embedding.weight")) - 1.0) < 0.06);
    lab_model_destroy(&model);
    config = lab_text_classifier.defaults;
    config.classes = 2;
    config.vocabulary = config.token_types = 60;
    model = make(&config, 4);
    assert_true(fabs(deviation(find(model, "types.weight")) / 0.02 - 1.0) < 0.06);
    lab_model_destroy(&model);
}

static void the_encoding_is_kept_as_a_copy(void **state) {
    (void)state;
    char text[] = "rope";
    lab_model_config config = small(LAB_NORM_BEFORE, text);
    lab_model *model = make(&config, 4);
    text[0] = 'x';
    assert_string_equal(lab_model_get_config(model)->encoding, "rope");
    assert_non_null(lab_model_binding(model));
    lab_model_destroy(&model);
    lab_model_destroy(&model);
    lab_model_destroy(NULL);
}

static void refuse(lab_model_config config, locus_status wanted, const char *word) {
    lab_model *model;
    locus_error error = {0};
    assert_int_equal(lab_model_create(&model, &config, 0, &error), wanted);
    assert_null(model);
    if (!strstr(error.message, word))
        fail_msg("'%s' does not name %s", error.message, word);
}

static void bad_configurations_are_refused(void **state) {
    (void)state;
    lab_model_config config = small(LAB_NORM_BEFORE, "none");
    config.heads = 5;
    refuse(config, LOCUS_ERROR_ARGUMENT, "5 heads");
    config = small(LAB_NORM_BEFORE, "none");
    config.vocabulary = 1;
    refuse(config, LOCUS_ERROR_ARGUMENT, "vocabulary");
    config = small(LAB_NORM_BEFORE, "none");
    config.dropout = 1.0;
    refuse(config, LOCUS_ERROR_ARGUMENT, "dropout");
    config = small(LAB_NORM_BEFORE, "none");
    config.attention_dropout = NAN;
    refuse(config, LOCUS_ERROR_ARGUMENT, "attention_dropout");
    config = small(LAB_NORM_BEFORE, "none");
    config.decoder_layers = 0;
    refuse(config, LOCUS_ERROR_ARGUMENT, "decoder_layers");
    config = small(LAB_NORM_BEFORE, "none");
    config.embedding_init = (lab_embedding_init)(LAB_EMBEDDING_PLAIN + 1);
    refuse(config, LOCUS_ERROR_ARGUMENT, "embedding_init is 3");
    config = small(LAB_NORM_BEFORE, "none");
    config.architecture = NULL;
    refuse(config, LOCUS_ERROR_ARGUMENT, "architecture");
    refuse(small(LAB_NORM_BEFORE, "rop"), LOCUS_ERROR_SPEC, "rope");
    config = small(LAB_NORM_BEFORE, "rope");
    config.heads = 16; /* head dimension 3 */
    refuse(config, LOCUS_ERROR_SHAPE, "3");
    refuse(small(LAB_NORM_BEFORE, NULL), LOCUS_ERROR_ARGUMENT, "encoding");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_follow_each_other),        cmocka_unit_test(names_are_the_documented_ones),
        cmocka_unit_test(the_published_model_has_its_size), cmocka_unit_test(first_values_are_drawn_as_documented),
        cmocka_unit_test(the_encoding_is_kept_as_a_copy),   cmocka_unit_test(bad_configurations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
