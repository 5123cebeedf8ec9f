/* SPDX-License-Identifier: MIT */
/* What packing must not change, and what a decoder must not see: a packed batch is its samples one by one, order is
 * nothing, later targets are hidden from earlier predictions, threads don't change a bit, bad batches are refused. */
#include "model/model_parts.h"
#include "threads_only.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 9, VOCABULARY = 14, MOST = 40 };

typedef struct packed {
    size_t input_offsets[SAMPLES + 1], target_offsets[SAMPLES + 1];
    int32_t input[SAMPLES * MOST], target[SAMPLES * MOST];
    lab_batch batch;
} packed;

static int32_t symbol(uint64_t index) {
    locus_random random = {77, LOCUS_RANDOM_USER, 0};
    return (int32_t)(1 + locus_random_below(&random, index, VOCABULARY - 2));
}

/* Samples `order[0 … count − 1]` laid end to end. */
static void pack(packed *p, const size_t *order, size_t count) {
    static const size_t inputs[SAMPLES] = {3, 1, 17, 40, 0, 8, 22, 5, 31},
                        targets[SAMPLES] = {4, 2, 30, 12, 5, 0, 40, 1, 7};
    p->input_offsets[0] = p->target_offsets[0] = 0;
    for (size_t i = 0; i < count; ++i) {
        size_t s = order[i], n = p->input_offsets[i], m = p->target_offsets[i];
        for (size_t t = 0; t < inputs[s]; ++t)
            p->input[n + t] = symbol(s * 1000 + t);
        for (size_t t = 0; t < targets[s]; ++t)
            p->target[m + t] = symbol(s * 1000 + 500 + t);
        p->input_offsets[i + 1] = n + inputs[s];
        p->target_offsets[i + 1] = m + targets[s];
    }
    p->batch = (lab_batch){.samples = count,
                           .input_offsets = p->input_offsets,
                           .target_offsets = p->target_offsets,
                           .input = p->input,
                           .target = p->target};
}

static const size_t natural[SAMPLES] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
static const char *const encodings[] = {"none", "sinusoidal", "relative(window=6)", "rope",
                                        "algebraic(group=seq, decay=0.98)"};
enum { ENCODINGS = sizeof encodings / sizeof *encodings };

static lab_model *model_make(const char *encoding, lab_norm_place norm) {
    lab_model_config config = lab_encoder_decoder.defaults;
    config.vocabulary = VOCABULARY;
    config.dim = 32;
    config.heads = 4;
    config.feed_forward = 56;
    config.norm = norm;
    config.encoding = encoding;
    lab_model *model;
    locus_error error;
    if (lab_model_create(&model, &config, 3, &error) != LOCUS_OK)
        fail_msg("%s: %s", encoding, error.message);
    return model;
}

static lab_score evaluate(lab_model *model, const lab_batch *batch) {
    lab_score score = {0};
    locus_error error;
    if (lab_model_evaluate(model, batch, &score, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return score;
}

static void a_packed_batch_is_its_samples(void **state) {
    (void)state;
    for (size_t e = 0; e < ENCODINGS; ++e) {
        lab_model *model = model_make(encodings[e], e % 2 ? LAB_NORM_AFTER : LAB_NORM_BEFORE);
        packed all, one;
        pack(&all, natural, SAMPLES);
        lab_score together = evaluate(model, &all.batch), sum = {0};
        for (size_t s = 0; s < SAMPLES; ++s) {
            pack(&one, &natural[s], 1);
            lab_score alone = evaluate(model, &one.batch);
            sum.loss += alone.loss;
            sum.tokens += alone.tokens;
            sum.correct += alone.correct;
            sum.exact += alone.exact;
        }
        assert_int_equal(together.tokens, all.target_offsets[SAMPLES] + SAMPLES);
        assert_int_equal(together.tokens, sum.tokens);
        assert_int_equal(together.correct, sum.correct);
        assert_int_equal(together.exact, sum.exact);
        assert_true(fabs(together.loss - sum.loss) < 2e-5 * sum.loss);
        lab_model_destroy(&model);
    }
}

static void the_order_of_samples_is_nothing(void **state) {
    (void)state;
    static const size_t other[SAMPLES] = {8, 3, 0, 5, 7, 1, 6, 4, 2};
    for (size_t e = 0; e < ENCODINGS; ++e) {
        lab_model *model = model_make(encodings[e], LAB_NORM_BEFORE);
        packed first, second;
        pack(&first, natural, SAMPLES);
        pack(&second, other, SAMPLES);
        lab_score a = evaluate(model, &first.batch), b = evaluate(model, &second.batch);
        assert_true(fabs(a.loss - b.loss) < 1e-5 * a.loss);
        assert_int_equal(a.correct, b.correct);
        lab_model_destroy(&model);
    }
}

static void later_targets_are_hidden(void **state) {
    (void)state;
    for (size_t e = 0; e < ENCODINGS; ++e) {
        lab_model *model = model_make(encodings[e], LAB_NORM_BEFORE);
        static const size_t sample = 6;
        packed p;
        pack(&p, &sample, 1);
        size_t count = p.target_offsets[1], changed = 25;
        float *before = malloc((count + 1) * VOCABULARY * sizeof(float));
        (void)evaluate(model, &p.batch);
        memcpy(before, model->step.logits, (count + 1) * VOCABULARY * sizeof(float));
        p.target[changed] = p.target[changed] % (VOCABULARY - 2) + 1; /* read at changed + 1 */
        (void)evaluate(model, &p.batch);
        assert_memory_equal(before, model->step.logits, (changed + 1) * VOCABULARY * sizeof(float));
        for (size_t t = changed + 1; t <= count; ++t)
            assert_memory_not_equal(before + t * VOCABULARY, model->step.logits + t * VOCABULARY,
                                    VOCABULARY * sizeof(float));
        free(before);
        lab_model_destroy(&model);
    }
}

/* Loss and all gradients, bit for bit, with one thread and with three; another step draws another dropout. */
static void threads_do_not_change_bits(void **state) {
    (void)state;
    for (size_t e = 0; e < ENCODINGS; ++e) {
        packed p;
        pack(&p, natural, SAMPLES);
        float *kept = NULL;
        lab_score scores[3] = {0};
        for (size_t run = 0; run < 3; ++run) {
            assert_int_equal(locus_threads_set(run == 1 ? 3 : 1), LOCUS_OK);
            lab_model *model = model_make(encodings[e], e % 2 ? LAB_NORM_BEFORE : LAB_NORM_AFTER);
            size_t bytes = lab_model_elements(model) * sizeof(float);
            assert_int_equal(lab_model_train(model, &p.batch, 9, run == 2 ? 8 : 7, &scores[run], NULL), LOCUS_OK);
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
    lab_model *model = model_make("algebraic(group=seq)", LAB_NORM_BEFORE);
    packed big, small;
    static const size_t few[] = {2, 5};
    pack(&big, natural, SAMPLES);
    pack(&small, few, 2);
    lab_score score = {0};
    size_t bytes = lab_model_elements(model) * sizeof(float);
    float *kept = malloc(bytes);
    assert_int_equal(lab_model_train(model, &small.batch, 1, 1, &score, NULL), LOCUS_OK);
    memcpy(kept, lab_model_gradients(model), bytes);
    assert_int_equal(lab_model_train(model, &big.batch, 1, 2, &score, NULL), LOCUS_OK);
    size_t arena = lab_model_arena_bytes(model);
    assert_int_equal(lab_model_train(model, &small.batch, 1, 1, &score, NULL), LOCUS_OK);
    assert_memory_equal(kept, lab_model_gradients(model), bytes);
    assert_int_equal(lab_model_arena_bytes(model), arena);
    free(kept);
    lab_model_destroy(&model);
}

static void bad_batches_are_refused(void **state) {
    (void)state;
    lab_model *model = model_make("none", LAB_NORM_BEFORE);
    locus_error error;
    lab_score score = {0};
    packed p;
    pack(&p, natural, SAMPLES);
    p.input[2] = VOCABULARY;
    assert_int_equal(lab_model_evaluate(model, &p.batch, &score, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "14"));
    p.input[2] = 1;
    p.target[0] = -1;
    assert_int_equal(lab_model_train(model, &p.batch, 0, 0, &score, &error), LOCUS_ERROR_ARGUMENT);
    p.target[0] = 1;
    p.target_offsets[1] = 1000;
    assert_int_equal(lab_model_evaluate(model, &p.batch, &score, &error), LOCUS_ERROR_ARGUMENT);
    p.batch.samples = 0;
    assert_int_equal(lab_model_evaluate(model, &p.batch, &score, &error), LOCUS_ERROR_ARGUMENT);
    lab_model_destroy(&model);
}

static void a_loss_that_is_not_finite_is_reported(void **state) {
    (void)state;
    lab_model *model = model_make("none", LAB_NORM_BEFORE);
    locus_error error;
    lab_score score = {0};
    packed p;
    pack(&p, natural, SAMPLES);
    lab_model_values(model)[3 * 32 + 5] = NAN; /* of the embedding of symbol 3 */
    assert_int_equal(lab_model_train(model, &p.batch, 0, 0, &score, &error), LOCUS_ERROR_NUMERIC);
    assert_non_null(strstr(error.message, "not finite"));
    lab_model_destroy(&model);
}

static void a_position_outside_a_table_is_an_error(void **state) {
    (void)state;
    lab_model *model = model_make("learned(size=12)", LAB_NORM_BEFORE);
    lab_score score = {0};
    packed p;
    pack(&p, natural, SAMPLES);
    assert_int_equal(lab_model_train(model, &p.batch, 0, 0, &score, NULL), LOCUS_ERROR_POSITION);
    pack(&p, natural, 2);
    assert_int_equal(lab_model_train(model, &p.batch, 0, 0, &score, NULL), LOCUS_OK);
    lab_model_destroy(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_batch_is_its_samples),
        cmocka_unit_test(the_order_of_samples_is_nothing),
        cmocka_unit_test(later_targets_are_hidden),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(gradients_are_replaced),
        cmocka_unit_test(bad_batches_are_refused),
        cmocka_unit_test(a_loss_that_is_not_finite_is_reported),
        cmocka_unit_test(a_position_outside_a_table_is_an_error),
    };
    threads_only("threads_do_not_change_bits");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
