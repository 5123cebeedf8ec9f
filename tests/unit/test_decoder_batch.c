/* SPDX-License-Identifier: MIT */
/* What packing must not change, and what a decoder must not see: a packed batch is its sequences one by one, order is
 * nothing, later tokens are hidden from earlier predictions, threads don't change a bit, logits that are made slab by
 * slab give what those of smaller batches give; bad batches are refused. */
#include "decoder_case.h"
#include "threads_only.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const encodings[] = {"none",
                                        "sinusoidal",
                                        "learned(size=48)",
                                        "relative(window=6)",
                                        "rope",
                                        "roper",
                                        "alibi",
                                        "cope",
                                        "algebraic(group=seq, decay=0.98, values=on)",
                                        "t5(buckets=8, max=24, direction=causal)"};
enum { ENCODINGS = sizeof encodings / sizeof *encodings, V = DECODER_VOCABULARY };

static lab_model *model_of(size_t e) {
    const lab_model_config config = decoder_config(encodings[e], e % 2 ? LAB_NORM_AFTER : LAB_NORM_BEFORE);
    return decoder_make(&config);
}

static void a_packed_batch_is_its_sequences(void **state) {
    (void)state;
    for (size_t e = 0; e < ENCODINGS; ++e) {
        lab_model *model = model_of(e);
        decoder_sequences all, one;
        uint32_t right[DECODER_SAMPLES], alone_right;
        decoder_pack(&all, decoder_natural, DECODER_SAMPLES);
        lab_score together = {.sample_correct = right}, sum = {0};
        assert_int_equal(lab_model_evaluate(model, &all.batch, &together, NULL), LOCUS_OK);
        for (size_t s = 0; s < DECODER_SAMPLES; ++s) {
            decoder_pack(&one, &decoder_natural[s], 1);
            lab_score alone = {.sample_correct = &alone_right};
            assert_int_equal(lab_model_evaluate(model, &one.batch, &alone, NULL), LOCUS_OK);
            assert_int_equal(right[s], alone_right);
            sum.loss += alone.loss;
            sum.tokens += alone.tokens;
            sum.correct += alone.correct;
            sum.exact += alone.exact;
        }
        assert_int_equal(together.tokens, all.offsets[DECODER_SAMPLES] - DECODER_SAMPLES);
        assert_int_equal(together.samples, DECODER_SAMPLES);
        assert_int_equal(together.tokens, sum.tokens);
        assert_int_equal(together.correct, sum.correct);
        assert_int_equal(together.exact, sum.exact);
        assert_true(fabs(together.loss - sum.loss) < 2e-5 * sum.loss);
        lab_model_destroy(&model);
    }
}

static void the_order_of_sequences_is_nothing(void **state) {
    (void)state;
    static const size_t other[DECODER_SAMPLES] = {8, 3, 0, 5, 7, 1, 6, 4, 2};
    for (size_t e = 0; e < ENCODINGS; ++e) {
        lab_model *model = model_of(e);
        decoder_sequences first, second;
        decoder_pack(&first, decoder_natural, DECODER_SAMPLES);
        decoder_pack(&second, other, DECODER_SAMPLES);
        const lab_score a = decoder_evaluate(model, &first.batch), b = decoder_evaluate(model, &second.batch);
        assert_true(fabs(a.loss - b.loss) < 1e-5 * a.loss);
        assert_int_equal(a.correct, b.correct);
        lab_model_destroy(&model);
    }
}

/* Bit for bit; and what follows does feel the change. */
static void later_tokens_are_hidden(void **state) {
    (void)state;
    static const size_t sample = 3, changed = 25;
    for (size_t e = 0; e < ENCODINGS; ++e) {
        lab_model *model = model_of(e);
        decoder_sequences own;
        decoder_pack(&own, &sample, 1);
        const size_t rows = own.offsets[1] - 1;
        float *before = malloc(rows * V * sizeof *before);
        (void)decoder_evaluate(model, &own.batch);
        memcpy(before, model->step.logits, rows * V * sizeof *before);
        own.tokens[changed] = (own.tokens[changed] + 1) % V;
        (void)decoder_evaluate(model, &own.batch);
        assert_memory_equal(before, model->step.logits, changed * V * sizeof *before);
        for (size_t t = changed; t < rows; ++t)
            assert_memory_not_equal(before + t * V, model->step.logits + t * V, V * sizeof *before);
        free(before);
        lab_model_destroy(&model);
    }
}

/* The loss against softmax cross-entropies in double, of the logits that were made. */
static void the_score_is_that_of_the_logits(void **state) {
    (void)state;
    lab_model *model = model_of(4);
    decoder_sequences own;
    uint32_t right[DECODER_SAMPLES];
    decoder_pack(&own, decoder_natural, DECODER_SAMPLES);
    lab_score score = {.sample_correct = right};
    assert_int_equal(lab_model_evaluate(model, &own.batch, &score, NULL), LOCUS_OK);
    const float *row = model->step.logits;
    double loss = 0.0;
    size_t correct = 0, exact = 0;
    for (size_t s = 0; s < DECODER_SAMPLES; ++s) {
        const size_t before = correct, count = own.offsets[s + 1] - own.offsets[s] - 1;
        for (size_t t = own.offsets[s] + 1; t < own.offsets[s + 1]; ++t, row += V) {
            double sum = 0.0;
            size_t best = 0;
            for (size_t j = 0; j < V; ++j) {
                sum += exp((double)row[j]);
                best = row[j] > row[best] ? j : best;
            }
            loss += log(sum) - (double)row[own.tokens[t]];
            correct += best == (size_t)own.tokens[t];
        }
        assert_int_equal(right[s], correct - before);
        exact += correct - before == count;
    }
    assert_true(fabs(score.loss - loss) < 1e-6 * loss);
    assert_int_equal(score.correct, correct);
    assert_int_equal(score.exact, exact);
    lab_model_destroy(&model);
}

/* Loss and all gradients, bit for bit, with one thread and with three; another step draws another dropout. */
static void threads_do_not_change_bits(void **state) {
    (void)state;
    decoder_sequences own;
    decoder_pack(&own, decoder_natural, DECODER_SAMPLES);
    for (size_t e = 0; e < ENCODINGS; ++e) {
        float *kept = NULL;
        lab_score scores[3] = {0};
        for (size_t run = 0; run < 3; ++run) {
            assert_int_equal(locus_threads_set(run == 1 ? 3 : 1), LOCUS_OK);
            lab_model *model = model_of(e);
            const size_t bytes = lab_model_elements(model) * sizeof(float);
            assert_int_equal(lab_model_train(model, &own.batch, 9, run == 2 ? 8 : 7, &scores[run], NULL), LOCUS_OK);
            if (run == 0)
                kept = memcpy(malloc(bytes), lab_model_gradients(model), bytes);
            if (run == 1)
                assert_memory_equal(kept, lab_model_gradients(model), bytes);
            lab_model_destroy(&model);
        }
        assert_true(scores[0].loss == scores[1].loss);
        assert_true(scores[0].loss != scores[2].loss);
        free(kept);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

/* A second batch leaves nothing of the first: gradients are replaced, buffers are reused. */
static void gradients_are_replaced(void **state) {
    (void)state;
    for (size_t e = 8; e < ENCODINGS; ++e) { /* tied, and an output of its own */
        lab_model *model = model_of(e);
        static const size_t few[] = {2, 5};
        decoder_sequences big, small;
        decoder_pack(&big, decoder_natural, DECODER_SAMPLES);
        decoder_pack(&small, few, 2);
        lab_score score = {0};
        const size_t bytes = lab_model_elements(model) * sizeof(float);
        float *kept = malloc(bytes);
        assert_int_equal(lab_model_train(model, &small.batch, 1, 1, &score, NULL), LOCUS_OK);
        memcpy(kept, lab_model_gradients(model), bytes);
        assert_int_equal(lab_model_train(model, &big.batch, 1, 2, &score, NULL), LOCUS_OK);
        const size_t arena = lab_model_arena_bytes(model);
        assert_int_equal(lab_model_train(model, &small.batch, 1, 1, &score, NULL), LOCUS_OK);
        assert_memory_equal(kept, lab_model_gradients(model), bytes);
        assert_int_equal(lab_model_arena_bytes(model), arena);
        free(kept);
        lab_model_destroy(&model);
    }
}

/* ---- a vocabulary whose logits don't stand at once ---- */

enum { WORDS = 60000, LENGTH = 351, PAIR = 2 };

static void words_fill(int32_t *tokens) {
    const locus_random random = {11, LOCUS_RANDOM_USER, 0};
    for (size_t t = 0; t < PAIR * LENGTH; ++t)
        tokens[t] = (int32_t)locus_random_below(&random, t, WORDS);
}

static lab_score words_train(lab_model *model, const int32_t *tokens, size_t sequences) {
    const size_t offsets[] = {0, LENGTH, 2 * LENGTH};
    const lab_batch batch = {.samples = sequences, .input_offsets = offsets, .input = tokens};
    lab_score score = {0};
    assert_int_equal(lab_model_train(model, &batch, 1, 1, &score, NULL), LOCUS_OK);
    return score;
}

/* Two sequences' logits need two slabs, one sequence's stand at once: the gradient of both is the mean of the gradients
 * of each. With any number of threads, to the bit. */
static void slabs_and_threads_give_the_gradient_of_the_whole(void **state) {
    (void)state;
    static int32_t tokens[PAIR * LENGTH];
    lab_model_config config = decoder_config("rope", LAB_NORM_AFTER);
    config.vocabulary = WORDS;
    config.dim = 8, config.heads = 2, config.feed_forward = 8, config.decoder_layers = 1;
    config.dropout = config.attention_dropout = 0.0;
    words_fill(tokens);
    lab_model *model = decoder_make(&config);
    const size_t count = lab_model_elements(model), bytes = count * sizeof(float);
    assert_true(lab_slab_rows(model, PAIR * (LENGTH - 1)) < PAIR * (LENGTH - 1));
    assert_int_equal(lab_slab_rows(model, LENGTH - 1), LENGTH - 1);
    assert_int_equal(locus_threads_set(1), LOCUS_OK);
    const lab_score both = words_train(model, tokens, PAIR);
    float *whole = memcpy(malloc(bytes), lab_model_gradients(model), bytes);
    assert_int_equal(locus_threads_set(3), LOCUS_OK);
    const lab_score again = words_train(model, tokens, PAIR);
    assert_memory_equal(whole, lab_model_gradients(model), bytes);
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
    if (threads_alone()) {
        free(whole);
        lab_model_destroy(&model);
        return;
    }
    const lab_score first = words_train(model, tokens, 1);
    float *half = memcpy(malloc(bytes), lab_model_gradients(model), bytes);
    const lab_score second = words_train(model, tokens + LENGTH, 1);
    const float *other = lab_model_gradients(model);
    double difference = 0.0, size = 0.0;
    for (size_t i = 0; i < count; ++i) {
        const double wanted = 0.5 * ((double)half[i] + (double)other[i]);
        difference += ((double)whole[i] - wanted) * ((double)whole[i] - wanted);
        size += wanted * wanted;
    }
    assert_true(size > 0.0 && difference < 1e-10 * size);
    assert_true(both.loss == again.loss);
    assert_true(fabs(both.loss - first.loss - second.loss) < 1e-6 * both.loss);
    assert_int_equal(both.tokens, PAIR * (LENGTH - 1));
    assert_true(lab_model_arena_bytes(model) < (size_t)150 << 20); /* all logits would be 160 MiB */
    free(half);
    free(whole);
    lab_model_destroy(&model);
}

/* ---- what is refused ---- */

static void bad_batches_are_refused(void **state) {
    (void)state;
    lab_model *model = model_of(0);
    locus_error error;
    lab_score score = {0};
    decoder_sequences own;
    decoder_pack(&own, decoder_natural, DECODER_SAMPLES);
    own.tokens[4] = V;
    assert_int_equal(lab_model_train(model, &own.batch, 0, 0, &score, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "input token 13 at place 4"));
    own.tokens[4] = -1;
    assert_int_equal(lab_model_evaluate(model, &own.batch, &score, &error), LOCUS_ERROR_ARGUMENT);
    decoder_pack(&own, decoder_natural, DECODER_SAMPLES);
    own.offsets[1] = 6; /* leaves one token to sequence 1 */
    assert_int_equal(lab_model_train(model, &own.batch, 0, 0, &score, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "sequence 1 has 1 token: a decoder needs two or more"));
    own.offsets[1] = 7;
    assert_int_equal(lab_model_train(model, &own.batch, 0, 0, &score, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "sequence 1 has 0 tokens"));
    own.batch.samples = 0;
    assert_int_equal(lab_model_evaluate(model, &own.batch, &score, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "empty"));
    lab_model_destroy(&model);
}

static void what_a_decoder_cannot_have_is_refused(void **state) {
    (void)state;
    lab_model *model = NULL;
    locus_error error;
    lab_model_config config = decoder_config("chebyshev(site=output, size=64)", LAB_NORM_BEFORE);
    assert_int_equal(lab_model_create(&model, &config, 0, &error), LOCUS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "a decoder has no encoder"));
    config = decoder_config("rope", LAB_NORM_BEFORE);
    strcpy(config.attention, "clustered"); /* sees what follows */
    assert_int_equal(lab_model_create(&model, &config, 0, &error), LOCUS_ERROR_UNSUPPORTED);
    config = decoder_config("rope", LAB_NORM_BEFORE);
    config.encoder_layers = 1;
    assert_int_equal(lab_model_create(&model, &config, 0, &error), LOCUS_ERROR_ARGUMENT);
    assert_null(model);
}

static void a_position_outside_a_table_is_an_error(void **state) {
    (void)state;
    const lab_model_config config = decoder_config("learned(size=12)", LAB_NORM_BEFORE);
    lab_model *model = decoder_make(&config);
    lab_score score = {0};
    locus_error error;
    decoder_sequences own;
    decoder_pack(&own, decoder_natural, DECODER_SAMPLES);
    assert_int_equal(lab_model_train(model, &own.batch, 0, 0, &score, &error), LOCUS_ERROR_POSITION);
    assert_non_null(strstr(error.message, "12"));
    decoder_pack(&own, decoder_natural, 2);
    assert_int_equal(lab_model_train(model, &own.batch, 0, 0, &score, NULL), LOCUS_OK);
    lab_model_destroy(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_batch_is_its_sequences),
        cmocka_unit_test(the_order_of_sequences_is_nothing),
        cmocka_unit_test(later_tokens_are_hidden),
        cmocka_unit_test(the_score_is_that_of_the_logits),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(gradients_are_replaced),
        cmocka_unit_test(slabs_and_threads_give_the_gradient_of_the_whole),
        cmocka_unit_test(bad_batches_are_refused),
        cmocka_unit_test(what_a_decoder_cannot_have_is_refused),
        cmocka_unit_test(a_position_outside_a_table_is_an_error),
    };
    threads_only("threads_*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
