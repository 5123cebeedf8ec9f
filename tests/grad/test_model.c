/* SPDX-License-Identifier: MIT */
/* The encoder–decoder's gradients against central differences of its loss (model_differences.h). The rectifiers are
 * kept away from their kinks by biases of ±4 (tests/grad/test_nn_layers.c has them anywhere). Dropout is on: the
 * differences replay it. Norms before and after, both dropout sites of attention, every kind of encoding, encodings
 * that differ between layers, shared heads of keys and values, every kind of attention, GELU with label smoothing,
 * and trees, where encodings on paths and in the flat order stand side by side. */
#include "model/architecture.h"
#include "model_differences.h"

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
    lab_model_config config = lab_encoder_decoder.defaults;
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

/* Hidden units: half of them on, half off. */
static void check_config(lab_model_config config) {
    locus_error error;
    differences_subject subject = {.name = config.encoding, .batch = config.tree_arity > 0 ? &trees : &batch};
    if (lab_model_create(&subject.model, &config, 17, &error) != LOCUS_OK)
        fail_msg("%s: %s", config.encoding, error.message);
    for (size_t i = 0; i < lab_model_parameter_count(subject.model); ++i) {
        const lab_parameter *p = lab_model_parameter(subject.model, i);
        const bool hidden = strstr(p->name, "up.bias") != NULL;
        for (size_t j = 0; hidden && j < p->count; ++j)
            p->value[j] = j % 2 ? 4.0f : -4.0f;
    }
    differences_check(&subject);
    lab_model_destroy(&subject.model);
    assert_null(subject.model);
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
    static const char *const kinds[] = {"linear", "soft", "clustered"};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        lab_model_config config = config_make("rope(learned=on)", LAB_NORM_BEFORE);
        strcpy(config.attention, kinds[i]);
        config.encoder_layers = config.decoder_layers = 1;
        check_config(config);
    }
}

static void gradients_with_gelu_and_smoothing(void **state) {
    (void)state;
    lab_model_config config = config_make("rope", LAB_NORM_BEFORE);
    config.activation = LAB_GELU;
    config.label_smoothing = 0.2;
    config.encoder_layers = config.decoder_layers = 1;
    check_config(config);
}

/* What is added to tokens times sqrt(D), logits over sqrt(D). Sinusoids times sqrt(D) are read by a norm: as they are
 * they would saturate the attentions, and differences see what bends there. */
static void gradients_with_scales(void **state) {
    static const char *const encodings[] = {"learned(size=16)", "sinusoidal", "rope(learned=on)"};
    (void)state;
    for (int choice = 1; choice < 4; ++choice) {
        for (size_t i = 0; i < sizeof encodings / sizeof *encodings; ++i) {
            lab_model_config config =
                config_make(encodings[i], i == 0 && choice == 2 ? LAB_NORM_AFTER : LAB_NORM_BEFORE);
            config.encoder_layers = config.decoder_layers = 1;
            config.embedding_init = choice == 3 ? LAB_EMBEDDING_UNIT : LAB_EMBEDDING_SCALED;
            config.position_scale = choice & 1 ? LAB_POSITIONS_SQRT_DIM : LAB_POSITIONS_AS_THEY_ARE;
            config.logit_scale = choice & 2 ? LAB_LOGITS_INVERSE_SQRT_DIM : LAB_LOGITS_AS_THEY_ARE;
            check_config(config);
        }
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
        cmocka_unit_test(gradients_with_norm_before),
        cmocka_unit_test(gradients_with_norm_after),
        cmocka_unit_test(gradients_of_layers_that_differ),
        cmocka_unit_test(gradients_behind_the_encoder),
        cmocka_unit_test(gradients_of_shared_heads),
        cmocka_unit_test(gradients_of_attentions),
        cmocka_unit_test(gradients_with_gelu_and_smoothing),
        cmocka_unit_test(gradients_on_trees),
        cmocka_unit_test(gradients_with_scales),
    };
    if (locus_threads_set(1) != LOCUS_OK) /* thousands of tiny calls */
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
