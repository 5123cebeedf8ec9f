/* SPDX-License-Identifier: MIT */
/* The text classifier: what it refuses, that a packed batch is what its sequences are one by one, that nothing depends
 * on threads, what an evaluation gives, and the epsilon of its norms. */
#include "model/architecture.h"
#include "threads_only.h"
#include <locus/random.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VOCABULARY = 12, CLASSES = 4, SEQUENCES = 30, LONGEST = 40, TYPES = 2, DIM = 24, STEP = 3 };

static size_t offsets[SEQUENCES + 1];
static int32_t tokens[SEQUENCES * LONGEST], types[SEQUENCES * LONGEST], labels[SEQUENCES];

static lab_batch batch_whole(void) {
    return (lab_batch){
        .samples = SEQUENCES, .input_offsets = offsets, .input = tokens, .types = types, .labels = labels};
}

/* Sequence s alone; `own` gets its offsets. */
static lab_batch batch_single(size_t s, size_t own[2]) {
    own[0] = 0;
    own[1] = offsets[s + 1] - offsets[s];
    return (lab_batch){.samples = 1,
                       .input_offsets = own,
                       .input = tokens + offsets[s],
                       .types = types + offsets[s],
                       .labels = labels + s};
}

static lab_model_config config_make(lab_pool pool, lab_head head) {
    lab_model_config config = lab_text_classifier.defaults;
    config.vocabulary = VOCABULARY;
    config.dim = DIM;
    config.heads = 3;
    config.feed_forward = 40;
    config.encoder_layers = 2;
    config.dropout = config.attention_dropout = 0.0;
    config.classes = CLASSES;
    config.pool = pool;
    config.head = head;
    config.token_types = TYPES;
    config.embedding_norm = 1;
    config.encoding = "learned(size=40) + rope + chebyshev(size=64, site=output)";
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

/* ---- refusals ---- */

static void refuse(lab_model *model, const lab_batch *batch, const char *part) {
    lab_score score = {0};
    locus_error error = {0};
    assert_int_equal(lab_model_train(model, batch, 1, 0, &score, &error), LOCUS_ERROR_ARGUMENT);
    if (strstr(error.message, part) == NULL)
        fail_msg("refused with '%s', not with '%s'", error.message, part);
    assert_null(strchr(error.message, '\n'));
    assert_int_equal(lab_model_evaluate(model, batch, &score, &error), LOCUS_ERROR_ARGUMENT);
}

static void test_batches_refused(void **state) {
    (void)state;
    const lab_model_config config = config_make(LAB_POOL_FIRST, LAB_HEAD_LINEAR);
    lab_model *model = model_make(&config);
    const size_t own[] = {0, 2, 4}, empty[] = {0, 2, 2}, falling[] = {0, 3, 2}, late[] = {1, 2, 4};
    const int32_t good[] = {1, 2, 3, 4}, wrong[] = {1, 2, VOCABULARY, 4}, kinds[] = {0, 1, 1, TYPES};
    const int32_t classes[] = {1, CLASSES}, negative[] = {-1, 0};
    lab_batch batch = {.samples = 2, .input_offsets = own, .input = good, .labels = good};
    lab_score score = {0};
    locus_error error;
    assert_int_equal(lab_model_train(model, &batch, 1, 0, &score, &error), LOCUS_OK);
    batch.labels = NULL;
    refuse(model, &batch, "the batch has no labels");
    batch.labels = classes;
    refuse(model, &batch, "label 4 of sequence 1 is not below the 4 classes");
    batch.labels = negative;
    refuse(model, &batch, "label -1 of sequence 0");
    batch.labels = good;
    batch.input_offsets = empty;
    refuse(model, &batch, "sequence 1 is empty");
    batch.input_offsets = falling;
    refuse(model, &batch, "offsets fall from 3 to 2");
    batch.input_offsets = late;
    refuse(model, &batch, "begin with 1");
    batch.input_offsets = own;
    batch.input = wrong;
    refuse(model, &batch, "token 12 at place 2 is not below the vocabulary's 12");
    batch.input = good;
    batch.types = kinds;
    refuse(model, &batch, "type 2 of the token at place 3 is not below the 2 token types");
    batch.samples = 0;
    refuse(model, &batch, "the batch is empty");
    lab_model_destroy(&model);
}

/* Types for a model without them, more tokens than a learned table has rows. */
static void test_more_refusals(void **state) {
    (void)state;
    lab_model_config config = config_make(LAB_POOL_FIRST, LAB_HEAD_LINEAR);
    config.token_types = 0;
    lab_model *model = model_make(&config);
    lab_batch batch = batch_whole();
    refuse(model, &batch, "the batch has token types, but the model has none");
    lab_model_destroy(&model);
    config.encoding = "learned(size=8)";
    model = model_make(&config);
    batch.types = NULL;
    lab_score score = {0};
    locus_error error = {0};
    assert_int_not_equal(lab_model_evaluate(model, &batch, &score, &error), LOCUS_OK);
    assert_non_null(strstr(error.message, "8"));
    lab_model_destroy(&model);
}

static void test_calls_refused(void **state) {
    (void)state;
    lab_model_config words = lab_encoder_decoder.defaults;
    words.dim = 16;
    words.heads = 2;
    words.feed_forward = 8;
    lab_model *model = model_make(&words);
    const lab_batch batch = batch_whole();
    float out[SEQUENCES * CLASSES];
    locus_error error;
    assert_int_equal(lab_model_classify(model, &batch, out, &error), LOCUS_ERROR_UNSUPPORTED);
    assert_int_equal(lab_model_encode(model, &batch, NULL, out, &error), LOCUS_ERROR_UNSUPPORTED);
    lab_model_destroy(&model);
    const lab_model_config config = config_make(LAB_POOL_FIRST, LAB_HEAD_LINEAR);
    model = model_make(&config);
    assert_int_equal(lab_model_classify(model, &(lab_batch){.samples = 1, .images = out}, out, &error),
                     LOCUS_ERROR_ARGUMENT);
    assert_int_equal(lab_model_generate(model, &batch, &(lab_generation){0}, &error), LOCUS_ERROR_UNSUPPORTED);
    lab_model_destroy(&model);
}

/* ---- laws ---- */

/* The loss and the gradients of a packed batch are the means of its sequences'. */
static void check_packing(const lab_model_config *config) {
    lab_model *model = model_make(config);
    const size_t elements = lab_model_elements(model);
    const lab_batch whole = batch_whole();
    double *wanted = calloc(elements, sizeof *wanted), loss = 0.0;
    for (size_t s = 0; s < SEQUENCES; ++s) {
        size_t own[2];
        const lab_batch single = batch_single(s, own);
        loss += train(model, &single, STEP).loss;
        for (size_t j = 0; j < elements; ++j)
            wanted[j] += (double)lab_model_gradients(model)[j] / SEQUENCES;
    }
    const lab_score score = train(model, &whole, STEP);
    assert_int_equal(score.tokens, SEQUENCES);
    assert_int_equal(score.samples, SEQUENCES);
    assert_true(fabs(score.loss - loss) < 1e-6 * loss);
    for (size_t j = 0; j < elements; ++j)
        if (!(fabs((double)lab_model_gradients(model)[j] - wanted[j]) <= 2e-6 * (1.0 + fabs(wanted[j]))))
            fail_msg("gradient %zu: %g, of the sequences one by one %g", j, (double)lab_model_gradients(model)[j],
                     wanted[j]);
    free(wanted);
    lab_model_destroy(&model);
}

static void test_batch_is_its_sequences(void **state) {
    (void)state;
    for (int choice = 0; choice < 8; ++choice) {
        lab_model_config config =
            config_make(choice & 1 ? LAB_POOL_MEAN : LAB_POOL_FIRST, choice & 2 ? LAB_HEAD_POOLER : LAB_HEAD_LINEAR);
        config.norm = choice & 4 ? LAB_NORM_AFTER : LAB_NORM_BEFORE;
        config.activation = choice & 4 ? LAB_GELU : LAB_RELU;
        check_packing(&config);
    }
}

/* A batch without types is one whose types are all 0, to the bit; its types are nothing to the next batch. */
static void test_types_left_out(void **state) {
    (void)state;
    static const int32_t zeros[SEQUENCES * LONGEST];
    const lab_model_config config = config_make(LAB_POOL_MEAN, LAB_HEAD_LINEAR);
    lab_model *model = model_make(&config);
    const size_t bytes = lab_model_elements(model) * sizeof(float);
    float *kept = malloc(bytes);
    lab_batch batch = batch_whole();
    const double typed = train(model, &batch, STEP).loss;
    batch.types = NULL;
    const double left_out = train(model, &batch, STEP).loss;
    memcpy(kept, lab_model_gradients(model), bytes);
    batch.types = zeros;
    assert_true(train(model, &batch, STEP).loss == left_out && typed != left_out);
    assert_memory_equal(kept, lab_model_gradients(model), bytes);
    free(kept);
    lab_model_destroy(&model);
}

static void test_threads(void **state) {
    (void)state;
    for (int pool = LAB_POOL_FIRST; pool <= LAB_POOL_MEAN; ++pool) {
        lab_model_config config = config_make((lab_pool)pool, LAB_HEAD_POOLER);
        config.attention_dropout = config.dropout = 0.1;
        config.encoding = "learned(size=40) + algebraic(group=seq) + chebyshev(size=64, site=output)";
        lab_model *model = model_make(&config);
        const lab_batch batch = batch_whole();
        const size_t bytes = lab_model_elements(model) * sizeof(float);
        float *one = malloc(bytes), probabilities[2][SEQUENCES * CLASSES];
        locus_error error;
        assert_int_equal(locus_threads_set(1), LOCUS_OK);
        const double loss = train(model, &batch, STEP).loss;
        memcpy(one, lab_model_gradients(model), bytes);
        assert_int_equal(lab_model_classify(model, &batch, probabilities[0], &error), LOCUS_OK);
        for (size_t threads = 2; threads <= 4; ++threads) {
            assert_int_equal(locus_threads_set(threads), LOCUS_OK);
            assert_true(train(model, &batch, STEP).loss == loss);
            assert_memory_equal(one, lab_model_gradients(model), bytes);
            assert_int_equal(lab_model_classify(model, &batch, probabilities[1], &error), LOCUS_OK);
            assert_memory_equal(probabilities[0], probabilities[1], sizeof probabilities[0]);
        }
        assert_true(train(model, &batch, STEP + 1).loss != loss);
        free(one);
        lab_model_destroy(&model);
    }
    assert_int_equal(locus_threads_set(2), LOCUS_OK);
}

/* ---- what it gives ---- */

/* What is pooled is made of what is encoded, and probabilities of what is pooled; scores are those of probabilities. An
 * evaluation smooths and drops nothing. */
static void test_evaluation(void **state) {
    (void)state;
    for (int pool = LAB_POOL_FIRST; pool <= LAB_POOL_MEAN; ++pool) {
        lab_model_config config = config_make((lab_pool)pool, LAB_HEAD_LINEAR), plain = config;
        config.label_smoothing = 0.2;
        config.dropout = config.attention_dropout = 0.3;
        lab_model *model = model_make(&config), *whole = model_make(&plain);
        const lab_batch batch = batch_whole();
        uint32_t right[SEQUENCES];
        float probabilities[SEQUENCES * CLASSES], pooled[SEQUENCES * DIM];
        float *encoded = malloc(offsets[SEQUENCES] * DIM * sizeof *encoded);
        lab_score score = {.sample_correct = right};
        locus_error error;
        assert_int_equal(lab_model_evaluate(model, &batch, &score, &error), LOCUS_OK);
        assert_true(score.loss == train(whole, &batch, STEP).loss);
        assert_true(fabs(train(model, &batch, STEP).loss - score.loss) > 1e-3);
        assert_int_equal(lab_model_encode(model, &batch, encoded, pooled, &error), LOCUS_OK);
        assert_int_equal(lab_model_classify(model, &batch, probabilities, &error), LOCUS_OK);
        size_t correct = 0;
        double loss = 0.0;
        for (size_t s = 0; s < SEQUENCES; ++s) {
            const float *own = probabilities + s * CLASSES;
            const size_t rows = pool == LAB_POOL_MEAN ? offsets[s + 1] - offsets[s] : 1;
            for (size_t j = 0; j < DIM; ++j) {
                double sum = 0.0;
                for (size_t t = 0; t < rows; ++t)
                    sum += (double)encoded[(offsets[s] + t) * DIM + j];
                assert_true(fabs(sum / (double)rows - (double)pooled[s * DIM + j]) < 1e-6);
            }
            float total = 0.0f, top = 0.0f;
            for (size_t k = 0; k < CLASSES; ++k) {
                total += own[k];
                top = own[k] > top ? own[k] : top;
            }
            assert_true(fabsf(total - 1.0f) < 1e-6f);
            assert_int_equal(right[s], own[labels[s]] == top);
            correct += right[s];
            loss -= log((double)own[labels[s]]);
        }
        assert_true(fabs(loss - score.loss) < 1e-5 * loss);
        assert_int_equal(score.correct, correct);
        assert_int_equal(score.exact, correct);
        free(encoded);
        lab_model_destroy(&whole);
        lab_model_destroy(&model);
    }
}

/* Rows of an encoder whose last norm has gain 1 and shift 0: their variance is v/(v + ε), below 1 where ε is large.
 * The default is 1e-5. */
static void test_epsilon(void **state) {
    (void)state;
    double deviations[3];
    const double epsilons[] = {0.0, 1e-5, 0.9};
    float first[SEQUENCES * DIM];
    for (size_t i = 0; i < 3; ++i) {
        lab_model_config config = config_make(LAB_POOL_FIRST, LAB_HEAD_LINEAR);
        float pooled[SEQUENCES * DIM];
        config.encoding = "none";
        config.norm_epsilon = epsilons[i];
        lab_model *model = model_make(&config);
        const lab_batch batch = batch_whole();
        locus_error error;
        double sum = 0.0;
        assert_int_equal(lab_model_encode(model, &batch, NULL, pooled, &error), LOCUS_OK);
        for (size_t j = 0; j < SEQUENCES * DIM; ++j)
            sum += (double)pooled[j] * (double)pooled[j];
        deviations[i] = sqrt(sum / (SEQUENCES * DIM));
        if (i == 0)
            memcpy(first, pooled, sizeof first);
        else if (i == 1)
            assert_memory_equal(first, pooled, sizeof first);
        lab_model_destroy(&model);
    }
    assert_true(fabs(deviations[0] - 1.0) < 1e-3);
    assert_true(deviations[2] < 0.95);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_refused), cmocka_unit_test(test_more_refusals),
        cmocka_unit_test(test_calls_refused),   cmocka_unit_test(test_batch_is_its_sequences),
        cmocka_unit_test(test_types_left_out),  cmocka_unit_test(test_threads),
        cmocka_unit_test(test_evaluation),      cmocka_unit_test(test_epsilon)};
    threads_only("test_threads");
    for (size_t s = 0; s < SEQUENCES; ++s) {
        offsets[s + 1] = offsets[s] + 1 + s * 17 % LONGEST;
        labels[s] = (int32_t)(s * 7 % CLASSES);
    }
    const locus_random random = {3, LOCUS_RANDOM_USER, 0};
    for (size_t t = 0; t < offsets[SEQUENCES]; ++t) {
        tokens[t] = (int32_t)(fabs(locus_random_normal(&random, t)) * 1e4) % VOCABULARY;
        types[t] = (int32_t)(t * 5 % 3 % TYPES);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
