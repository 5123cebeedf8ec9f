/* SPDX-License-Identifier: MIT */
/* Where a text classifier's tokens stand, and what becomes of it.
 *
 * Trees: with an encoding of the tree alone, the order in which tokens are read does not matter, nor which of the
 * tokens at one node comes first; it does with one of the sequence.
 *
 * chebyshev(site=output), as published: added behind the encoder, of which only token 0 is read. There the vector is
 * (−1)^i whatever the input: the logits move by W (−1)^i, which the classifier's bias can be. No other token's vector
 * reaches the output. With the mean of all rows they do. */
#include "model/architecture.h"
#include <locus/random.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VOCABULARY = 12, CLASSES = 4, SEQUENCES = 12, LONGEST = 24, MOST = SEQUENCES * LONGEST, DIM = 24, ARITY = 3 };

static size_t offsets[SEQUENCES + 1];
static int32_t tokens[MOST], labels[SEQUENCES], parents[MOST], branches[MOST];

static lab_batch batch_make(void) {
    return (lab_batch){.samples = SEQUENCES,
                       .input_offsets = offsets,
                       .input = tokens,
                       .input_tree = {parents, branches},
                       .labels = labels};
}

static lab_model *model_make(const char *encoding, lab_pool pool, size_t arity) {
    lab_model_config config = lab_text_classifier.defaults;
    lab_model *model = NULL;
    locus_error error;
    config.vocabulary = VOCABULARY;
    config.dim = DIM;
    config.heads = 3;
    config.feed_forward = 40;
    config.encoder_layers = 2;
    config.dropout = config.attention_dropout = 0.0;
    config.classes = CLASSES;
    config.tree_arity = arity;
    config.pool = pool;
    config.encoding = encoding;
    if (lab_model_create(&model, &config, 5, &error) != LOCUS_OK)
        fail_msg("%s: %s", encoding, error.message);
    return model;
}

static void classify(lab_model *model, const lab_batch *batch, float *probabilities) {
    locus_error error;
    if (lab_model_classify(model, batch, probabilities, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
}

static float farthest(const float *a, const float *b, size_t count) {
    float most = 0.0f;
    for (size_t i = 0; i < count; ++i)
        most = fmaxf(most, fabsf(a[i] - b[i]));
    return most;
}

/* ---- trees ---- */

/* The same trees with their tokens in another order, each still behind its parent: of those whose parent has come, any
 * one is next. */
typedef struct shuffled {
    int32_t tokens[MOST], parents[MOST], branches[MOST];
} shuffled;

static void shuffle_sample(shuffled *to, size_t s, uint64_t *draws) {
    const locus_random random = {77, LOCUS_RANDOM_USER, 1};
    const size_t from = offsets[s], count = offsets[s + 1] - from;
    int32_t place[LONGEST];
    bool done[LONGEST] = {true};
    place[0] = 0;
    for (size_t t = 0; t < count; ++t) {
        size_t ready[LONGEST], ready_count = 0, next = 0;
        for (size_t i = 1; i < count; ++i)
            if (!done[i] && done[parents[from + i]])
                ready[ready_count++] = i;
        if (t > 0)
            next = ready[(size_t)(fabs(locus_random_normal(&random, (*draws)++)) * 1e6) % ready_count];
        done[next] = true;
        place[next] = (int32_t)t;
        to->tokens[from + t] = tokens[from + next];
        to->parents[from + t] = t == 0 ? -1 : place[parents[from + next]];
        to->branches[from + t] = branches[from + next];
    }
}

static float moved_by_order(const char *encoding, lab_pool pool) {
    static shuffled other;
    uint64_t draws = 0;
    float straight[SEQUENCES * CLASSES], moved[SEQUENCES * CLASSES];
    lab_model *model = model_make(encoding, pool, ARITY);
    lab_batch batch = batch_make();
    classify(model, &batch, straight);
    for (size_t s = 0; s < SEQUENCES; ++s)
        shuffle_sample(&other, s, &draws);
    batch.input = other.tokens;
    batch.input_tree = (lab_batch_tree){other.parents, other.branches};
    classify(model, &batch, moved);
    lab_model_destroy(&model);
    return farthest(straight, moved, SEQUENCES * CLASSES);
}

static void test_order_does_not_matter_on_trees(void **state) {
    static const char *const trees[] = {"algebraic(group=tree:3)", "algebraic(group=tree:3, decay=0.9)",
                                        "shiv-quirk(k=3, depth=4)", "algebraic(group=tree:3, values=on)"};
    static const char *const sequences[] = {"sinusoidal", "rope", "algebraic(group=seq*tree:3)"};
    (void)state;
    for (int pool = LAB_POOL_FIRST; pool <= LAB_POOL_MEAN; ++pool) {
        for (size_t i = 0; i < sizeof trees / sizeof *trees; ++i)
            if (!(moved_by_order(trees[i], (lab_pool)pool) < 1e-6f))
                fail_msg("%s looks at the order of tokens", trees[i]);
        for (size_t i = 0; i < sizeof sequences / sizeof *sequences; ++i)
            if (!(moved_by_order(sequences[i], (lab_pool)pool) > 1e-4f))
                fail_msg("%s does not look at the order of tokens", sequences[i]);
    }
}

/* Where tokens stand matters: another branch, or another node, for one leaf. And a token that shares its parent's node
 * is not where a child of it would be. */
static void test_places_matter(void **state) {
    (void)state;
    lab_model *model = model_make("algebraic(group=tree:3)", LAB_POOL_MEAN, ARITY);
    float straight[SEQUENCES * CLASSES], moved[SEQUENCES * CLASSES];
    int32_t kept[MOST];
    const lab_batch batch = batch_make();
    classify(model, &batch, straight);
    memcpy(kept, branches, sizeof kept);
    for (size_t s = 0; s < SEQUENCES; ++s) {
        const size_t last = offsets[s + 1] - 1;
        if (last > offsets[s])
            branches[last] = branches[last] == 0 ? ARITY : branches[last] % ARITY + 1;
    }
    classify(model, &batch, moved);
    memcpy(branches, kept, sizeof kept);
    for (size_t s = 0; s < SEQUENCES; ++s) {
        const float far = farthest(straight + s * CLASSES, moved + s * CLASSES, CLASSES);
        assert_true(offsets[s + 1] - offsets[s] > 1 ? far > 1e-5f : far < 1e-6f);
    }
    lab_model_destroy(&model);
}

static void test_trees_refused(void **state) {
    (void)state;
    lab_model *model = model_make("algebraic(group=tree:3)", LAB_POOL_FIRST, ARITY);
    lab_batch batch = batch_make();
    lab_score score = {0};
    locus_error error = {0};
    const size_t last = offsets[SEQUENCES] - 1;
    const int32_t kept = branches[last];
    branches[last] = ARITY + 1;
    assert_int_equal(lab_model_evaluate(model, &batch, &score, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "children are numbered from 1 to 3"));
    branches[last] = kept;
    assert_int_equal(lab_model_evaluate(model, &batch, &score, &error), LOCUS_OK);
    batch.input_tree = (lab_batch_tree){0};
    assert_int_equal(lab_model_evaluate(model, &batch, &score, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "are words"));
    lab_model_destroy(&model);
}

/* ---- chebyshev behind the encoder ---- */

#define PLAIN "learned(size=24)"
#define ADDED "learned(size=24) + chebyshev(size=32, site=output)"
#define ADDED_WIDER "learned(size=24) + chebyshev(size=99, site=output)"

static const lab_parameter *parameter_find(const lab_model *model, const char *name) {
    for (size_t i = 0; i < lab_model_parameter_count(model); ++i)
        if (strcmp(lab_model_parameter(model, i)->name, name) == 0)
            return lab_model_parameter(model, i);
    fail_msg("no parameter %s", name);
    return NULL;
}

/* The same weights under another encoding: chebyshev has none. */
static lab_model *model_like(const lab_model *from, const char *encoding) {
    locus_error error;
    lab_model *model = model_make(encoding, lab_model_get_config(from)->pool, 0);
    assert_int_equal(lab_model_elements(model), lab_model_elements(from));
    for (size_t i = 0; i < lab_model_parameter_count(from); ++i) {
        const lab_parameter *p = lab_model_parameter(from, i);
        memcpy(lab_model_parameter(model, i)->value, p->value, p->count * sizeof(float));
    }
    assert_int_equal(lab_model_update(model, &error), LOCUS_OK);
    return model;
}

/* W (−1)^i onto the bias. */
static void fold_constant(const lab_model *model) {
    const lab_parameter *weight = parameter_find(model, "classifier.weight");
    const lab_parameter *bias = parameter_find(model, "classifier.bias");
    for (size_t k = 0; k < CLASSES; ++k) {
        double shift = 0.0;
        for (size_t i = 0; i < DIM; ++i)
            shift += i % 2 == 0 ? (double)weight->value[k * DIM + i] : -(double)weight->value[k * DIM + i];
        assert_true(fabs(shift) > 0.05); /* it is something that the bias would have to learn */
        bias->value[k] = (float)((double)bias->value[k] + shift);
    }
}

static void test_first_token_gets_a_constant(void **state) {
    (void)state;
    lab_model *plain = model_make(PLAIN, LAB_POOL_FIRST, 0), *added = model_like(plain, ADDED);
    const lab_batch batch = batch_make();
    float without[SEQUENCES * DIM], with[SEQUENCES * DIM];
    float probabilities[2][SEQUENCES * CLASSES];
    locus_error error;
    assert_int_equal(lab_model_encode(plain, &batch, NULL, without, &error), LOCUS_OK);
    assert_int_equal(lab_model_encode(added, &batch, NULL, with, &error), LOCUS_OK);
    for (size_t s = 0; s < SEQUENCES; ++s)
        for (size_t i = 0; i < DIM; ++i)
            assert_true(fabsf(with[s * DIM + i] - without[s * DIM + i] - (i % 2 == 0 ? 1.0f : -1.0f)) < 1e-6f);
    classify(added, &batch, probabilities[0]);
    classify(plain, &batch, probabilities[1]);
    assert_true(farthest(probabilities[0], probabilities[1], SEQUENCES * CLASSES) > 0.01f);
    fold_constant(plain);
    classify(plain, &batch, probabilities[1]);
    assert_true(farthest(probabilities[0], probabilities[1], SEQUENCES * CLASSES) < 1e-6f);
    lab_model_destroy(&added);
    lab_model_destroy(&plain);
}

/* Training can't tell them apart, either: with the constant in the bias all gradients are the same, but the weight's,
 * by the constant times the bias's. */
static void test_training_sees_a_bias(void **state) {
    (void)state;
    lab_model *plain = model_make(PLAIN, LAB_POOL_FIRST, 0), *added = model_like(plain, ADDED);
    const lab_batch batch = batch_make();
    lab_score score = {0};
    locus_error error;
    fold_constant(plain);
    assert_int_equal(lab_model_train(plain, &batch, 1, 0, &score, &error), LOCUS_OK);
    const double loss = score.loss;
    assert_int_equal(lab_model_train(added, &batch, 1, 0, &score, &error), LOCUS_OK);
    assert_true(fabs(score.loss - loss) < 1e-5 * loss);
    const lab_parameter *bias = parameter_find(added, "classifier.bias");
    for (size_t p = 0; p < lab_model_parameter_count(plain); ++p) {
        const lab_parameter *a = lab_model_parameter(plain, p), *b = lab_model_parameter(added, p);
        const bool weight = strcmp(a->name, "classifier.weight") == 0;
        for (size_t j = 0; j < a->count; ++j) {
            const float sign = j % DIM % 2 == 0 ? 1.0f : -1.0f;
            const float more = weight ? sign * bias->gradient[j / DIM] : 0.0f;
            assert_true(fabsf(b->gradient[j] - a->gradient[j] - more) < 1e-5f);
        }
    }
    lab_model_destroy(&added);
    lab_model_destroy(&plain);
}

/* Another size moves every vector but that of token 0. */
static void test_other_tokens_reach_only_the_mean(void **state) {
    (void)state;
    for (int pool = LAB_POOL_FIRST; pool <= LAB_POOL_MEAN; ++pool) {
        lab_model *model = model_make(ADDED, (lab_pool)pool, 0), *wider = model_like(model, ADDED_WIDER);
        const lab_batch batch = batch_make();
        const size_t rows = offsets[SEQUENCES];
        float probabilities[2][SEQUENCES * CLASSES], *encoded = malloc(2 * rows * DIM * sizeof *encoded);
        locus_error error;
        classify(model, &batch, probabilities[0]);
        classify(wider, &batch, probabilities[1]);
        assert_int_equal(lab_model_encode(model, &batch, encoded, NULL, &error), LOCUS_OK);
        assert_int_equal(lab_model_encode(wider, &batch, encoded + rows * DIM, NULL, &error), LOCUS_OK);
        for (size_t s = 0; s < SEQUENCES; ++s)
            for (size_t t = offsets[s]; t < offsets[s + 1]; ++t) {
                const float far = farthest(encoded + t * DIM, encoded + (rows + t) * DIM, DIM);
                assert_true(t == offsets[s] ? far == 0.0f : far > 0.05f);
            }
        if (pool == LAB_POOL_FIRST)
            assert_memory_equal(probabilities[0], probabilities[1], sizeof *probabilities);
        else
            assert_true(farthest(probabilities[0], probabilities[1], SEQUENCES * CLASSES) > 0.01f);
        free(encoded);
        lab_model_destroy(&wider);
        lab_model_destroy(&model);
    }
}

/* Random trees: a token is a child of any earlier one that has room, or, as a closing bracket, stands at its node. */
static void draw_trees(void) {
    const locus_random random = {3, LOCUS_RANDOM_USER, 0};
    uint64_t draws = 0;
    for (size_t s = 0; s < SEQUENCES; ++s) {
        int32_t children[LONGEST] = {0};
        offsets[s + 1] = offsets[s] + 1 + s * 7 % LONGEST;
        labels[s] = (int32_t)(s * 7 % CLASSES);
        for (size_t t = offsets[s]; t < offsets[s + 1]; ++t) {
            const size_t own = t - offsets[s];
            tokens[t] = (int32_t)(fabs(locus_random_normal(&random, draws++)) * 1e4) % VOCABULARY;
            size_t parent = own > 0 ? (size_t)(fabs(locus_random_normal(&random, draws++)) * 1e6) % own : 0;
            while (own > 0 && children[parent] == ARITY)
                parent = (parent + 1) % own;
            const bool shares = own > 1 && own % 4 == 0;
            parents[t] = own > 0 ? (int32_t)parent : -1;
            branches[t] = own > 0 && !shares ? ++children[parent] : 0;
            children[own] = shares ? ARITY : 0; /* nothing hangs below a bracket */
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order_does_not_matter_on_trees),
                                       cmocka_unit_test(test_places_matter),
                                       cmocka_unit_test(test_trees_refused),
                                       cmocka_unit_test(test_first_token_gets_a_constant),
                                       cmocka_unit_test(test_training_sees_a_bias),
                                       cmocka_unit_test(test_other_tokens_reach_only_the_mean)};
    draw_trees();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
