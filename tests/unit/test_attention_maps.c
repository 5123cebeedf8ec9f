/* SPDX-License-Identifier: MIT */
/* Attention weights of a model: as many maps as attentions, each row a distribution over what the query sees; looking
 * changes nothing; what makes no weights says so. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/architecture.h"
#include "model/attention_maps.h"
#include "model/model_parts.h"

enum { INPUT = 5, TARGET = 4, HEADS = 2, LAYERS = 2 };

static const int32_t input[INPUT] = {1, 2, 3, 1, 2}, target[TARGET] = {2, 1, 3, 2};
static const size_t inputs[] = {0, INPUT}, targets[] = {0, TARGET};

static lab_model_config small(const lab_architecture *architecture) {
    lab_model_config config = architecture == &lab_decoder ? lab_decoder.defaults : lab_encoder_decoder.defaults;
    config.vocabulary = 6;
    config.dim = 16;
    config.heads = HEADS;
    config.feed_forward = 16;
    config.encoder_layers = architecture == &lab_decoder ? 0 : LAYERS;
    config.decoder_layers = LAYERS;
    config.encoding = "rope";
    return config;
}

static lab_model *create(const lab_model_config *config) {
    lab_model *model = NULL;
    locus_error error = {0};
    if (lab_model_create(&model, config, 3, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return model;
}

/* Every row sums to 1, and of a causal attention nothing stands behind the query. */
static void check_rows(const lab_attention_map *map) {
    for (size_t row = 0; row < map->heads * map->queries; row++) {
        const size_t query = row % map->queries;
        double sum = 0;
        for (size_t key = 0; key < map->keys; key++) {
            const float weight = map->weights[row * map->keys + key];
            assert_true(weight >= 0 && weight <= 1);
            assert_true(weight == 0 || !map->decoder || map->cross || key <= query);
            sum += (double)weight;
        }
        assert_float_equal(sum, 1, 1e-5);
    }
}

static void three_attentions_of_a_pair(void **state) {
    (void)state;
    const lab_model_config config = small(&lab_encoder_decoder);
    lab_model *model = create(&config);
    const lab_batch batch = {
        .samples = 1, .input_offsets = inputs, .target_offsets = targets, .input = input, .target = target};
    lab_attention_maps maps;
    lab_score before = {0}, after = {0};
    locus_error error = {0};
    assert_int_equal(lab_model_evaluate(model, &batch, &before, &error), LOCUS_OK);
    assert_int_equal(lab_attention_maps_make(&maps, model, &batch, &error), LOCUS_OK);
    assert_int_equal(lab_model_evaluate(model, &batch, &after, &error), LOCUS_OK);
    assert_true(before.loss == after.loss);
    assert_int_equal(maps.count, 3 * LAYERS);
    assert_int_equal(maps.without, 0);
    size_t found[3] = {0};
    for (size_t i = 0; i < maps.count; i++) {
        const lab_attention_map *map = &maps.maps[i];
        const size_t kind = map->cross ? 2 : map->decoder;
        assert_int_equal(map->layer, found[kind]++);
        assert_int_equal(map->heads, HEADS);
        assert_int_equal(map->queries, map->decoder ? TARGET + 1 : INPUT);
        assert_int_equal(map->keys, map->decoder && !map->cross ? TARGET + 1 : INPUT);
        check_rows(map);
    }
    lab_attention_maps_free(&maps);
    lab_model_destroy(&model);
}

/* Other tokens, other weights: what is drawn is of this input. A decoder reads all but its last token. */
static void a_decoder_of_its_own_input(void **state) {
    (void)state;
    const lab_model_config config = small(&lab_decoder);
    lab_model *model = create(&config);
    const int32_t other[INPUT] = {1, 3, 3, 1, 2};
    lab_batch batch = {.samples = 1, .input_offsets = inputs, .input = input};
    lab_attention_maps maps, others;
    locus_error error = {0};
    assert_int_equal(lab_attention_maps_make(&maps, model, &batch, &error), LOCUS_OK);
    batch.input = other;
    assert_int_equal(lab_attention_maps_make(&others, model, &batch, &error), LOCUS_OK);
    assert_int_equal(maps.count, LAYERS);
    assert_int_equal(others.count, LAYERS);
    for (size_t i = 0; i < maps.count; i++) {
        assert_int_equal(maps.maps[i].queries, INPUT - 1);
        check_rows(&maps.maps[i]);
        assert_memory_not_equal(maps.maps[i].weights, others.maps[i].weights,
                                HEADS * (INPUT - 1) * (INPUT - 1) * sizeof(float));
    }
    lab_attention_maps_free(&maps);
    lab_attention_maps_free(&others);
    lab_model_destroy(&model);
}

/* Kinds without a weight for each pair are counted; where there are no others, that is said. */
static void what_makes_no_weights(void **state) {
    (void)state;
    lab_model_config config = small(&lab_encoder_decoder);
    const lab_batch batch = {
        .samples = 1, .input_offsets = inputs, .target_offsets = targets, .input = input, .target = target};
    lab_attention_maps maps;
    locus_error error = {0};
    assert_int_equal(lab_model_attention(&config, "soft(landmarks=2)", &error), LOCUS_OK);
    lab_model *model = create(&config);
    assert_int_equal(lab_attention_maps_make(&maps, model, &batch, &error), LOCUS_OK);
    assert_true(maps.count >= LAYERS && maps.without >= LAYERS);
    assert_int_equal(maps.count + maps.without, 3 * LAYERS);
    lab_attention_maps_free(&maps);
    lab_model_destroy(&model);
    /* What a decoder falls back to holds what it holds where it was asked for: in bfloat16, tensors of bfloat16. */
    config.precision = LAB_BF16;
    lab_model *soft = create(&config);
    assert_int_equal(lab_model_attention(&config, "softmax", &error), LOCUS_OK);
    model = create(&config);
    size_t fallen = 0;
    for (size_t s = 0; s < model->decoder.sublayer_count; s++) {
        const lab_sublayer *sublayer = &soft->decoder.sublayers[s];
        if (sublayer->kind == LAB_FEED_FORWARD || sublayer->attention != NULL)
            continue;
        assert_int_equal(sublayer->half, model->decoder.sublayers[s].half);
        fallen++;
    }
    assert_int_equal(fallen, LAYERS);
    lab_model_destroy(&soft);
    lab_model_destroy(&model);
    config = small(&lab_decoder);
    assert_int_equal(lab_model_attention(&config, "linear", &error), LOCUS_OK);
    model = create(&config);
    const lab_batch read = {.samples = 1, .input_offsets = inputs, .input = input};
    assert_int_equal(lab_attention_maps_make(&maps, model, &read, &error), LOCUS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "linear"));
    const size_t two[] = {0, 2, INPUT};
    const lab_batch many = {.samples = 2, .input_offsets = two, .input = input};
    assert_int_equal(lab_attention_maps_make(&maps, model, &many, &error), LOCUS_ERROR_ARGUMENT);
    lab_model_destroy(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_attentions_of_a_pair),
        cmocka_unit_test(a_decoder_of_its_own_input),
        cmocka_unit_test(what_makes_no_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
