/* SPDX-License-Identifier: MIT */
/* A model's configuration: each default is the published one, each number may be as small and as large as it is said
 * and no more, parts that an architecture lacks are refused; what is wrong with a batch of tokens, told whole. */
#include "model/architecture.h"
#include "model/model_parts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* As tables here have them. */
static const lab_architecture *const all[] = {&lab_encoder_decoder, &lab_image_classifier, &lab_decoder,
                                              &lab_text_classifier};

/* Vocabulary, dimension, heads, feed-forward, layers of encoder and decoder, classes, side and channels of images. */
static void defaults_are_the_published_ones(void **state) {
    (void)state;
    static const size_t sizes[4][9] = {{22, 512, 8, 2048, 2, 2, 0, 0, 0},
                                       {0, 256, 4, 512, 7, 0, 10, 32, 3},
                                       {256, 512, 8, 2048, 0, 6, 0, 0, 0},
                                       {16, 512, 8, 1024, 6, 0, 10, 0, 0}};
    static const char *const names[] = {"encoder-decoder", "image-classifier", "decoder", "text-classifier"};
    assert_null(lab_architecture_at(COUNT(all)));
    for (size_t a = 0; a < COUNT(all); a++) {
        const lab_model_config c = all[a]->defaults;
        const size_t found[] = {c.vocabulary,     c.dim,     c.heads,      c.feed_forward,  c.encoder_layers,
                                c.decoder_layers, c.classes, c.image_side, c.image_channels};
        assert_memory_equal(found, sizes[a], sizeof found);
        assert_ptr_equal(c.architecture, all[a]);
        assert_ptr_equal(lab_architecture_at(a), all[a]);
        assert_string_equal(all[a]->name, names[a]);
        assert_int_equal(c.norm, all[a] == &lab_decoder ? LAB_NORM_AFTER : LAB_NORM_BEFORE);
        assert_true(fabs(c.attention_dropout - 0.1) < 1e-15);
        assert_int_equal(c.attention_dropout_on, LOCUS_DROPOUT_WEIGHTS);
        assert_string_equal(c.encoding, "none");
        assert_string_equal(c.attention, "");
        const bool images = all[a] == &lab_image_classifier;
        assert_true(fabs(c.dropout - (images ? 0 : 0.1)) < 1e-15);
        assert_true(fabs(c.stochastic_depth - (images ? 0.1 : 0)) < 1e-15);
        assert_true(fabs(c.label_smoothing - (images ? 0.1 : 0)) < 1e-15);
        assert_int_equal(c.activation, images ? LAB_GELU : LAB_RELU);
        assert_int_equal(c.survivors, LAB_SURVIVORS_RESCALED);
        assert_int_equal(c.embedding_init, LAB_EMBEDDING_SCALED);
        assert_int_equal(c.output, all[a] == &lab_decoder ? LAB_OUTPUT_OWN : LAB_OUTPUT_TIED);
        assert_true(c.pool == LAB_POOL_FIRST && c.head == LAB_HEAD_LINEAR && c.precision == LAB_FLOAT32);
        assert_true(c.kv_heads + c.tree_arity + c.token_types + c.embedding_norm == 0 && c.norm_epsilon == 0);
        assert_int_equal(lab_model_config_check(&c, NULL), LOCUS_OK);
    }
}

/* ---- numbers ---- */

static void expect(const lab_model_config *config, const char *argument, const char *format, ...) {
    char says[400];
    locus_error error = {0};
    va_list values;
    const locus_status status = lab_model_config_check(config, &error);
    if (format == NULL) {
        if (status != LOCUS_OK)
            fail_msg("%s", error.message);
        return;
    }
    va_start(values, format);
    vsnprintf(says, sizeof says, format, values);
    va_end(values);
    assert_string_equal(error.message, says);
    assert_string_equal(error.argument, argument);
    assert_int_equal(status, error.status);
}

static size_t *size_at(lab_model_config *config, size_t offset) {
    return (size_t *)(void *)((char *)config + offset);
}

static void sizes_have_bounds(void **state) {
    (void)state;
    enum { MOST = 1 << 24 };
#define SIZE(member) #member, offsetof(lab_model_config, member)
    static const struct {
        const lab_architecture *of;
        const char *name;
        size_t at, least, most;
    } sizes[] = {
        {&lab_encoder_decoder, SIZE(vocabulary), 2, MOST},
        {&lab_encoder_decoder, SIZE(encoder_layers), 1, 1024},
        {&lab_encoder_decoder, SIZE(decoder_layers), 1, 1024},
        {&lab_encoder_decoder, SIZE(tree_arity), 0, MOST},
        {&lab_encoder_decoder, SIZE(feed_forward), 1, MOST},
        {&lab_encoder_decoder, SIZE(heads), 1, 512},
        {&lab_encoder_decoder, SIZE(kv_heads), 0, 8},
        {&lab_encoder_decoder, SIZE(dim), 8, MOST},
        {&lab_image_classifier, SIZE(image_side), 5, 1024},
        {&lab_image_classifier, SIZE(image_channels), 1, 64},
        {&lab_image_classifier, SIZE(classes), 2, MOST},
        {&lab_image_classifier, SIZE(encoder_layers), 1, 1024},
        {&lab_decoder, SIZE(vocabulary), 2, MOST},
        {&lab_decoder, SIZE(decoder_layers), 1, 1024},
        {&lab_text_classifier, SIZE(vocabulary), 2, MOST},
        {&lab_text_classifier, SIZE(encoder_layers), 1, 1024},
        {&lab_text_classifier, SIZE(classes), 2, MOST},
        {&lab_text_classifier, SIZE(tree_arity), 0, MOST},
        {&lab_text_classifier, SIZE(token_types), 0, MOST},
        {&lab_text_classifier, SIZE(embedding_norm), 0, 1},
    };
#undef SIZE
    for (size_t i = 0; i < COUNT(sizes); i++) {
        lab_model_config config = sizes[i].of->defaults;
        size_t *value = size_at(&config, sizes[i].at);
        *value = sizes[i].least;
        expect(&config, "", NULL);
        *value = sizes[i].most;
        expect(&config, "", NULL);
        *value = sizes[i].most + 1;
        expect(&config, sizes[i].name, "%s is %zu: it must be between %zu and %zu", sizes[i].name, *value,
               strcmp(sizes[i].name, "dim") == 0 ? (size_t)1 : sizes[i].least, sizes[i].most);
        if (sizes[i].least == 0 || strcmp(sizes[i].name, "dim") == 0)
            continue;
        *value = sizes[i].least - 1;
        expect(&config, sizes[i].name, "%s is %zu: it must be between %zu and %zu", sizes[i].name, *value,
               sizes[i].least, sizes[i].most);
    }
    lab_model_config config = lab_encoder_decoder.defaults;
    config.dim = config.heads = 1;
    expect(&config, "", NULL);
    config.dim = 0;
    expect(&config, "dim", "dim is 0: it must be between 1 and 16777216");
    config.dim = 12;
    config.heads = 5;
    expect(&config, "heads", "dim 12 is not divisible by 5 heads: choose another number of heads");
    config.heads = 6;
    config.kv_heads = 4;
    expect(&config, "kv_heads", "6 heads cannot share 4 key and value heads: kv_heads must divide heads");
    config.kv_heads = 3;
    expect(&config, "", NULL);
    config.encoding = NULL;
    expect(&config, "encoding", "no encoding is given: use \"none\" for none");
}

static void shares_have_bounds(void **state) {
    (void)state;
#define SHARE(member) #member, offsetof(lab_model_config, member)
    static const struct {
        const char *name;
        size_t at;
        double below; /* what it must be below */
        const char *says;
    } shares[] = {
        {SHARE(dropout), 1, "dropout is %g: a probability must be at least 0 and below 1"},
        {SHARE(attention_dropout), 1, "attention_dropout is %g: a probability must be at least 0 and below 1"},
        {SHARE(label_smoothing), 1, "label_smoothing is %g: a probability must be at least 0 and below 1"},
        {SHARE(norm_epsilon), 1, "norm_epsilon is %g: it must be between 0 and 1"},
        {SHARE(stochastic_depth), 1.5, "stochastic_depth is %g: it must be between 0 and 1"}};
#undef SHARE
    for (size_t i = 0; i < COUNT(shares); i++) {
        lab_model_config config = lab_image_classifier.defaults;
        double *value = (double *)(void *)((char *)&config + shares[i].at);
        const double good[] = {0, 0.99, nextafter(1, 0)}, bad[] = {-1e-9, shares[i].below, (double)NAN};
        for (size_t v = 0; v < 3; v++) {
            *value = good[v];
            expect(&config, "", NULL);
            *value = bad[v];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            expect(&config, shares[i].name, shares[i].says, *value);
#pragma GCC diagnostic pop
        }
    }
    lab_model_config config = lab_image_classifier.defaults;
    config.stochastic_depth = 1;
    expect(&config, "", NULL);
}

static void named_values_have_bounds(void **state) {
    (void)state;
#define CHOICE(member) #member, offsetof(lab_model_config, member)
    static const struct {
        const char *name;
        size_t at;
        unsigned last;
    } choices[] = {{CHOICE(norm), 1},       {CHOICE(embedding_init), 2}, {CHOICE(activation), 1},
                   {CHOICE(tree_paths), 2}, {CHOICE(output), 1},         {CHOICE(pool), 1},
                   {CHOICE(head), 1},       {CHOICE(position_scale), 1}, {CHOICE(logit_scale), 1},
                   {CHOICE(precision), 1}};
#undef CHOICE
    for (size_t i = 0; i < COUNT(choices); i++) {
        lab_model_config config = lab_encoder_decoder.defaults;
        config.tree_arity = 2;
        unsigned *value = (unsigned *)(void *)((char *)&config + choices[i].at);
        *value = choices[i].last;
        expect(&config, "", NULL);
        *value = choices[i].last + 1;
        expect(&config, choices[i].name, "%s is %u: the last that is known is %u", choices[i].name, *value,
               choices[i].last);
    }
}

/* ---- parts ---- */

static void parts_that_an_architecture_lacks(void **state) {
    (void)state;
#define PART(member) #member, offsetof(lab_model_config, member), sizeof(((lab_model_config *)0)->member)
    static const struct {
        const char *name;
        size_t at, size;
        bool there[4]; /* encoder–decoder, images, decoder, text classifier */
    } parts[] = {
        {PART(vocabulary), {true, false, true, true}},     {PART(decoder_layers), {true, false, true, false}},
        {PART(encoder_layers), {true, true, false, true}}, {PART(tree_arity), {true, false, false, true}},
        {PART(tree_paths), {true, false, false, false}},   {PART(classes), {false, true, false, true}},
        {PART(token_types), {false, false, false, true}},  {PART(embedding_norm), {false, false, false, true}},
        {PART(position_scale), {true, false, true, true}}, {PART(logit_scale), {true, false, true, false}},
    };
#undef PART
    static const char *const phrases[] = {"an encoder–decoder", "an image classifier", "a decoder",
                                          "a text classifier"};
    for (size_t a = 0; a < COUNT(all); a++) {
        for (size_t i = 0; i < COUNT(parts); i++) {
            lab_model_config config = all[a]->defaults;
            if (all[a] == &lab_encoder_decoder && strcmp(parts[i].name, "tree_paths") == 0)
                config.tree_arity = 2;
            if (all[a] == &lab_decoder)
                config.output = LAB_OUTPUT_TIED; /* which alone is scaled */
            void *at = (char *)&config + parts[i].at;
            if (parts[i].size == sizeof(size_t))
                *(size_t *)at = *(size_t *)at > 0 ? *(size_t *)at : 1;
            else
                *(unsigned *)at = 1;
            if (strcmp(parts[i].name, "classes") == 0 && !parts[i].there[a])
                config.classes = 1;
            if (parts[i].there[a])
                expect(&config, "", NULL);
            else
                expect(&config, parts[i].name, "%s is 1, but %s has none: set it to 0", parts[i].name, phrases[a]);
        }
        lab_model_config config = all[a]->defaults;
        config.stochastic_depth = 0.25;
        if (all[a] == &lab_image_classifier)
            expect(&config, "", NULL);
        else
            expect(&config, "stochastic_depth", "stochastic_depth is 0.25, but %s has none: set it to 0", phrases[a]);
    }
    lab_model_config config = lab_encoder_decoder.defaults;
    config.tree_paths = LAB_PATHS_NEXT; /* of words */
    expect(&config, "tree_paths", "tree_paths is 1, but an encoder–decoder has none: set it to 0");
    config = lab_decoder.defaults;
    config.logit_scale = LAB_LOGITS_INVERSE_SQRT_DIM;
    expect(&config, "logit_scale",
           "logit_scale is of logits that the embedding makes: an output of its own is not scaled");
}

/* ---- batches of tokens ---- */

enum { SYMBOLS = 9 };

static lab_model *model_of(const lab_architecture *architecture, size_t arity) {
    lab_model *model;
    locus_error error = {0};
    lab_model_config config = architecture->defaults;
    config.vocabulary = config.vocabulary > 0 ? SYMBOLS : 0;
    config.dim = config.feed_forward = 8;
    config.heads = 2;
    config.encoder_layers = config.encoder_layers > 0;
    config.decoder_layers = config.decoder_layers > 0;
    config.tree_arity = arity;
    if (lab_model_create(&model, &config, 1, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return model;
}

/* Tokens that are read beside those that are predicted: of pairs the inputs, of images and classified texts all places
 * but one a sample, of what is predicted token by token none. */
static void tokens_that_are_only_read(void **state) {
    (void)state;
    static const size_t offsets[] = {0, 3, 5, 9}, expected[] = {9, 3 * (10 * 10 - 1), 0, 6};
    static const int32_t tokens[9], labels[3];
    static const float images[3 * 3 * 32 * 32];
    const lab_batch batch = {.samples = 3,
                             .input_offsets = offsets,
                             .target_offsets = offsets,
                             .input = tokens,
                             .target = tokens,
                             .images = images,
                             .labels = labels};
    for (size_t a = 0; a < COUNT(all); a++) {
        lab_model *model = model_of(all[a], 0);
        lab_score score = {0};
        assert_int_equal(lab_model_evaluate(model, &batch, &score, NULL), LOCUS_OK);
        assert_int_equal(score.read_only, expected[a]);
        lab_model_destroy(&model);
        /* what a model does follows from its class alone */
        lab_architecture own = *all[a];
        lab_score again = {0};
        own.defaults.architecture = &own;
        model = model_of(&own, 0);
        assert_int_equal(lab_model_train(model, &batch, 1, 0, &again, NULL), LOCUS_OK);
        assert_int_equal(lab_model_evaluate(model, &batch, &again, NULL), LOCUS_OK);
        assert_true(again.loss == score.loss && again.tokens == score.tokens);
        lab_model_destroy(&model);
    }
}

static void expect_batch(lab_model *model, const lab_batch *batch, const char *argument, const char *says) {
    lab_score score = {0};
    locus_error error = {0};
    const locus_status status = lab_model_evaluate(model, batch, &score, &error);
    assert_int_equal(status, says == NULL ? LOCUS_OK : LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.message, says == NULL ? "" : says);
    assert_string_equal(error.argument, argument);
}

static void batches_of_words(void **state) {
    (void)state;
    size_t inputs[] = {0, 2, 3}, targets[] = {0, 0, 3};
    int32_t input[] = {1, 8, 0}, target[] = {0, 8, 3};
    const lab_batch good = {
        .samples = 2, .input_offsets = inputs, .target_offsets = targets, .input = input, .target = target};
    lab_model *model = model_of(&lab_encoder_decoder, 0);
    expect_batch(model, &good, "", NULL);
    lab_batch batch = good;
    batch.samples = 0;
    expect_batch(model, &batch, "batch", "the batch is empty");
    batch = good;
    batch.input_offsets = NULL;
    expect_batch(model, &batch, "input", "the batch has no inputs");
    batch = good;
    batch.target_offsets = NULL;
    expect_batch(model, &batch, "target", "the batch has no targets");
    inputs[1] = 4;
    expect_batch(model, &good, "input", "input offsets fall from 4 to 3 at sample 1");
    inputs[1] = 2;
    targets[0] = 1;
    expect_batch(model, &good, "target", "target offsets fall from 1 to 0 at sample 0");
    targets[1] = 1;
    expect_batch(model, &good, "target", "target offsets begin with 1: a batch begins at 0");
    targets[0] = targets[1] = 0;
    input[1] = 9;
    expect_batch(model, &good, "input", "input token 9 at place 1 is not below the vocabulary's 9");
    input[1] = -1;
    expect_batch(model, &good, "input", "input token -1 at place 1 is not below the vocabulary's 9");
    input[1] = 8;
    target[2] = 10;
    expect_batch(model, &good, "target", "target token 10 at place 2 is not below the vocabulary's 9");
    target[2] = 3;
    input[0] = target[0] = 9; /* the first of all, and the last */
    expect_batch(model, &good, "input", "input token 9 at place 0 is not below the vocabulary's 9");
    input[0] = 1;
    expect_batch(model, &good, "target", "target token 9 at place 0 is not below the vocabulary's 9");
    target[0] = 0;
    input[2] = -2147483647 - 1;
    expect_batch(model, &good, "input", "input token -2147483648 at place 2 is not below the vocabulary's 9");
    input[2] = 0;
    expect_batch(model, &good, "", NULL);
    lab_model_destroy(&model);
}

static void batches_of_trees(void **state) {
    (void)state;
    size_t offsets[] = {0, 1, 4};
    int32_t tokens[] = {1, 2, 3, 4}, parents[] = {-1, -1, 0, 0}, branches[] = {0, 0, 1, 2}, up[] = {-1, -1, 0, 0},
            down[] = {0, 0, 1, 2};
    const lab_batch good = {.samples = 2,
                            .input_offsets = offsets,
                            .target_offsets = offsets,
                            .input = tokens,
                            .target = tokens,
                            .input_tree = {parents, branches},
                            .target_tree = {up, down}};
    lab_model *model = model_of(&lab_encoder_decoder, 2);
    expect_batch(model, &good, "", NULL);
#define ORDER ": the root comes first (parent -1), and every other node behind its parent"
    parents[1] = 0;
    expect_batch(model, &good, "input", "token 0 of input 1 has parent 0" ORDER);
    parents[1] = -1;
    up[3] = 2;
    expect_batch(model, &good, "target", "token 2 of target 1 has parent 2" ORDER);
    up[3] = -1;
    expect_batch(model, &good, "target", "token 2 of target 1 has parent -1" ORDER);
    up[3] = 1;
    down[3] = 1;
    expect_batch(model, &good, "", NULL);
    up[3] = 0;
    down[3] = 3;
    expect_batch(model, &good, "target",
                 "token 2 of target 1 is child 3 of its parent: children are numbered from 1 to 2");
    down[3] = 0;
    expect_batch(model, &good, "target",
                 "token 2 of target 1 is child 0 of its parent: children are numbered from 1 to 2");
    down[3] = 2;
    offsets[1] = 0;
    expect_batch(model, &good, "input", "input 0 is empty: a tree has a root");
    lab_model_destroy(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_that_are_only_read), cmocka_unit_test(defaults_are_the_published_ones),
        cmocka_unit_test(sizes_have_bounds),         cmocka_unit_test(shares_have_bounds),
        cmocka_unit_test(named_values_have_bounds),  cmocka_unit_test(parts_that_an_architecture_lacks),
        cmocka_unit_test(batches_of_words),          cmocka_unit_test(batches_of_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
