/* SPDX-License-Identifier: MIT */
/* The decoder's gradients against central differences of its loss (model_differences.h): norms before and after, tied
 * and own outputs, every way to begin an embedding, every kind of encoding, shared heads, linear attention, GELU with
 * label smoothing. Dropout is on: the differences replay it. Sequences are of two tokens and more. */
#include "model/architecture.h"
#include "model_differences.h"

static const size_t offsets[] = {0, 7, 9, 18, 21};
static const int32_t tokens[] = {1, 5, 9, 2, 3, 8, 8, 0, 4, 6, 7, 2, 10, 3, 5, 11, 1, 6, 2, 9, 9};
static const lab_batch batch = {.samples = 4, .input_offsets = offsets, .input = tokens};

enum { VOCABULARY = 12 };

static lab_model_config config_make(const char *encoding, lab_norm_place norm) {
    lab_model_config config = lab_decoder.defaults;
    config.vocabulary = VOCABULARY;
    config.dim = 24;
    config.heads = 3;
    config.feed_forward = 16;
    config.decoder_layers = 1;
    config.norm = norm;
    config.output = norm == LAB_NORM_BEFORE ? LAB_OUTPUT_TIED : LAB_OUTPUT_OWN;
    if (norm == LAB_NORM_AFTER)
        config.attention_dropout_on = LOCUS_DROPOUT_LOGITS;
    config.encoding = encoding;
    return config;
}

/* Rectifiers are kept away from their kinks: half of the hidden units are on, half off. */
static void check_config(const lab_model_config *config) {
    locus_error error;
    differences_subject subject = {.name = config->encoding, .batch = &batch};
    if (lab_model_create(&subject.model, config, 17, &error) != LOCUS_OK)
        fail_msg("%s: %s", config->encoding, error.message);
    for (size_t i = 0; i < lab_model_parameter_count(subject.model); ++i) {
        const lab_parameter *p = lab_model_parameter(subject.model, i);
        const bool hidden = strstr(p->name, "up.bias") != NULL;
        for (size_t j = 0; hidden && j < p->count; ++j)
            p->value[j] = j % 2 ? 4.0f : -4.0f;
    }
    differences_check(&subject);
    lab_model_destroy(&subject.model);
}

static void check_encodings(const char *const *encodings, size_t count, lab_norm_place norm) {
    for (size_t i = 0; i < count; ++i) {
        const lab_model_config config = config_make(encodings[i], norm);
        check_config(&config);
    }
}

static void gradients_with_norm_before(void **state) {
    (void)state;
    static const char *const encodings[] = {"sinusoidal",
                                            "learned(size=16)",
                                            "rope",
                                            "roper",
                                            "algebraic(group=seq)",
                                            "algebraic(group=seq, values=on)",
                                            "relative(window=3, values=on)",
                                            "t5(buckets=4, max=8, direction=causal)",
                                            "rope + decay(learned=on)"};
    check_encodings(encodings, sizeof encodings / sizeof *encodings, LAB_NORM_BEFORE);
}

static void gradients_with_norm_after(void **state) {
    (void)state;
    static const char *const encodings[] = {"none", "learned(size=16) + alibi", "rope(learned=on)", "roper", "cope"};
    check_encodings(encodings, sizeof encodings / sizeof *encodings, LAB_NORM_AFTER);
}

static void gradients_of_layers_that_differ(void **state) {
    (void)state;
    lab_model_config config =
        config_make("learned(size=16) + rope(learned=on) / relative(window=3, values=on)", LAB_NORM_BEFORE);
    config.decoder_layers = 2;
    check_config(&config);
    config = config_make("roper / algebraic(group=seq, values=on)", LAB_NORM_AFTER);
    config.decoder_layers = 2;
    check_config(&config);
}

static void gradients_of_every_embedding(void **state) {
    (void)state;
    for (int init = LAB_EMBEDDING_SCALED; init <= LAB_EMBEDDING_PLAIN; ++init) {
        for (int output = LAB_OUTPUT_TIED; output <= LAB_OUTPUT_OWN; ++output) {
            lab_model_config config = config_make("rope", init % 2 ? LAB_NORM_AFTER : LAB_NORM_BEFORE);
            config.embedding_init = (lab_embedding_init)init;
            config.output = (lab_output_weight)output;
            check_config(&config);
        }
    }
}

static void gradients_with_scales(void **state) {
    (void)state;
    for (int norm = LAB_NORM_BEFORE; norm <= LAB_NORM_AFTER; ++norm) {
        lab_model_config config = config_make("learned(size=16)", (lab_norm_place)norm);
        config.output = LAB_OUTPUT_TIED;
        config.position_scale = LAB_POSITIONS_SQRT_DIM;
        config.logit_scale = LAB_LOGITS_INVERSE_SQRT_DIM;
        check_config(&config);
    }
}

static void gradients_with_gelu_and_smoothing(void **state) {
    (void)state;
    for (int norm = LAB_NORM_BEFORE; norm <= LAB_NORM_AFTER; ++norm) {
        lab_model_config config = config_make("roper", (lab_norm_place)norm);
        config.activation = LAB_GELU;
        config.label_smoothing = 0.2;
        check_config(&config);
    }
}

static void gradients_of_shared_heads_and_linear_attention(void **state) {
    (void)state;
    lab_model_config config = config_make("relative(window=3, values=on)", LAB_NORM_BEFORE);
    config.heads = 4;
    config.kv_heads = 2;
    check_config(&config);
    config = config_make("rope(learned=on)", LAB_NORM_BEFORE);
    strcpy(config.attention, "linear");
    check_config(&config);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_with_norm_before),
        cmocka_unit_test(gradients_with_norm_after),
        cmocka_unit_test(gradients_of_layers_that_differ),
        cmocka_unit_test(gradients_of_every_embedding),
        cmocka_unit_test(gradients_with_scales),
        cmocka_unit_test(gradients_with_gelu_and_smoothing),
        cmocka_unit_test(gradients_of_shared_heads_and_linear_attention),
    };
    if (locus_threads_set(1) != LOCUS_OK) /* thousands of tiny calls */
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
