/* SPDX-License-Identifier: MIT */
/* The text classifier's gradients against central differences of its loss: every tensor, for what stands before and
 * behind its encoder, encodings at every site, norms on either side, dropout and label smoothing. Sequences have
 * different lengths, some end within a chunk of the encoder, and one is a single token. */
#include "model/architecture.h"
#include "model_differences.h"

enum { VOCABULARY = 9, CLASSES = 4, SEQUENCES = 6, TOKENS = 41, TYPES = 3 };

static const size_t offsets[SEQUENCES + 1] = {0, 7, 8, 17, 19, 31, TOKENS};
static const int32_t labels[SEQUENCES] = {1, 0, 3, 2, 1, 3};
static int32_t tokens[TOKENS], types[TOKENS];

static lab_batch batch_make(bool typed) {
    return (lab_batch){.samples = SEQUENCES,
                       .input_offsets = offsets,
                       .input = tokens,
                       .labels = labels,
                       .types = typed ? types : NULL};
}

static lab_model_config config_make(const char *encoding) {
    lab_model_config config = lab_text_classifier.defaults;
    config.vocabulary = VOCABULARY;
    config.dim = 24;
    config.heads = 3;
    config.feed_forward = 16;
    config.encoder_layers = 2;
    config.activation = LAB_GELU; /* smooth: differences see a rectifier's corners (its gradients: golden test) */
    config.dropout = config.attention_dropout = 0.0;
    config.classes = CLASSES;
    config.encoding = encoding;
    return config;
}

/* As BERT has them. */
static lab_model_config whole_make(const char *encoding) {
    lab_model_config config = config_make(encoding);
    config.norm = LAB_NORM_AFTER;
    config.embedding_init = LAB_EMBEDDING_SCALED;
    config.head = LAB_HEAD_POOLER;
    config.token_types = TYPES;
    config.embedding_norm = 1;
    config.norm_epsilon = 1e-3;
    return config;
}

static void check(const char *name, const lab_model_config *config, bool typed) {
    const lab_batch batch = batch_make(typed);
    locus_error error;
    differences_subject subject = {.name = name, .batch = &batch};
    if (lab_model_create(&subject.model, config, 17, &error) != LOCUS_OK)
        fail_msg("%s: %s", name, error.message);
    differences_check(&subject);
    lab_model_destroy(&subject.model);
}

static void gradients_of_encodings(void **state) {
    static const char *const encodings[] = {"none",
                                            "sinusoidal",
                                            "learned(size=12)",
                                            "rope(learned=on)",
                                            "relative(window=3, values=on)",
                                            "algebraic(group=seq, decay=0.98)",
                                            "algebraic(group=seq, values=on)"};
    (void)state;
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; ++i) {
        const lab_model_config config = config_make(encodings[i]);
        check(encodings[i], &config, false);
    }
}

/* Every pooling with every head, norms on either side. */
static void gradients_of_heads(void **state) {
    (void)state;
    for (int choice = 0; choice < 8; ++choice) {
        char name[64];
        lab_model_config config = config_make("learned(size=12) + chebyshev(size=16, site=output)");
        config.pool = choice & 1 ? LAB_POOL_MEAN : LAB_POOL_FIRST;
        config.head = choice & 2 ? LAB_HEAD_POOLER : LAB_HEAD_LINEAR;
        config.norm = choice & 4 ? LAB_NORM_AFTER : LAB_NORM_BEFORE;
        config.label_smoothing = 0.1;
        (void)snprintf(name, sizeof name, "pool %d, head %d, norm %d", config.pool, config.head, config.norm);
        check(name, &config, false);
    }
}

static void gradients_before_the_encoder(void **state) {
    (void)state;
    for (int choice = 0; choice < 4; ++choice) {
        lab_model_config config = whole_make("learned(size=12)");
        config.norm = choice & 1 ? LAB_NORM_BEFORE : LAB_NORM_AFTER;
        config.embedding_norm = (choice & 2) == 0;
        check(choice & 2 ? "token types" : "embedding norm", &config, true);
    }
    lab_model_config config = whole_make("learned(size=12)");
    check("no types given", &config, false);
    config.position_scale = LAB_POSITIONS_SQRT_DIM;
    check("scaled positions", &config, true);
}

static void gradients_with_dropout(void **state) {
    (void)state;
    for (int norm = LAB_NORM_BEFORE; norm <= LAB_NORM_AFTER; ++norm) {
        lab_model_config config = whole_make("rope(learned=on) / algebraic(group=seq)");
        config.norm = (lab_norm_place)norm;
        config.pool = LAB_POOL_MEAN;
        config.dropout = config.attention_dropout = 0.2;
        check("dropout", &config, true);
    }
}

static void gradients_of_shared_heads(void **state) {
    (void)state;
    lab_model_config config = whole_make("algebraic(group=seq, heads=shared)");
    config.heads = 6;
    config.kv_heads = 2;
    check("shared keys and values", &config, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_encodings),       cmocka_unit_test(gradients_of_heads),
        cmocka_unit_test(gradients_before_the_encoder), cmocka_unit_test(gradients_with_dropout),
        cmocka_unit_test(gradients_of_shared_heads),
    };
    if (locus_threads_set(1) != LOCUS_OK) /* thousands of tiny calls */
        return 1;
    for (size_t t = 0; t < TOKENS; ++t) {
        tokens[t] = (int32_t)(t * 5 % (VOCABULARY - 1));
        types[t] = (int32_t)(t * 7 % TYPES);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
