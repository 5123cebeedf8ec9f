/* SPDX-License-Identifier: MIT */
/* Going on with prompts of different lengths, from caches, gives token for token what teacher forcing of every prefix
 * gives, and the same logits; limits and growths are kept; drawn tokens repeat with their seed and don't depend on the
 * rest of the batch. The models are trained a little first, so that their answers are not one symbol. */
#include "decoder_case.h"
#include "sanitized.h"
#include "threads_only.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 8, V = DECODER_VOCABULARY, MOST = 14, ROOM = 24, STEPS = 30 };

typedef struct prompts {
    size_t offsets[SAMPLES + 1], limits[SAMPLES], output_offsets[SAMPLES + 1], lengths[SAMPLES];
    int32_t tokens[SAMPLES * ROOM], output[SAMPLES * MOST];
    lab_batch batch;
} prompts;

static void prompts_make(prompts *own) {
    static const size_t lengths[SAMPLES] = {3, 1, 17, 7, 1, 9, 2, 5}, limits[SAMPLES] = {5, 14, 7, 0, 1, 10, 13, 9};
    const locus_random random = {21, LOCUS_RANDOM_USER, 0};
    own->offsets[0] = 0;
    for (size_t s = 0; s < SAMPLES; ++s) {
        const size_t first = (size_t)locus_random_below(&random, s, V);
        for (size_t t = 0; t < lengths[s]; ++t)
            own->tokens[own->offsets[s] + t] = (int32_t)((first + t * (1 + s % 4)) % V);
        own->offsets[s + 1] = own->offsets[s] + lengths[s];
        own->limits[s] = limits[s];
    }
    own->batch = (lab_batch){.samples = SAMPLES, .input_offsets = own->offsets, .input = own->tokens};
}

static lab_generation generation_of(prompts *own) {
    return (lab_generation){
        .limits = own->limits, .output = own->output, .output_offsets = own->output_offsets, .lengths = own->lengths};
}

static void generate(lab_model *model, const lab_batch *batch, const lab_generation *generation) {
    locus_error error;
    if (lab_model_generate(model, batch, generation, &error) != LOCUS_OK)
        fail_msg("%s: %s", lab_model_get_config(model)->encoding, error.message);
}

/* A prompt and what it got, as a batch of one sequence. */
typedef struct whole {
    size_t offsets[2];
    int32_t tokens[ROOM + MOST];
    lab_batch batch;
} whole;

static void whole_make(whole *all, const prompts *own, size_t s) {
    const size_t prompt = own->offsets[s + 1] - own->offsets[s];
    memcpy(all->tokens, own->tokens + own->offsets[s], prompt * sizeof(int32_t));
    memcpy(all->tokens + prompt, own->output + own->output_offsets[s], own->lengths[s] * sizeof(int32_t));
    all->offsets[0] = 0;
    all->offsets[1] = prompt + own->lengths[s];
    all->batch = (lab_batch){.samples = 1, .input_offsets = all->offsets, .input = all->tokens};
}

/* ---- tokens, and logits ---- */

/* Logits of each token that comes, as they stand in the model: samples are told of in rising order, step by step. */
typedef struct recorder {
    const lab_model *model;
    const prompts *own;
    size_t last, row, counts[SAMPLES];
    float logits[SAMPLES * MOST * V];
} recorder;

static bool record(void *context, size_t sample, int32_t token, int32_t *parent, int32_t *branch) {
    (void)parent, (void)branch;
    recorder *r = context;
    r->row = sample > r->last && r->last < SAMPLES ? r->row + 1 : 0;
    r->last = sample;
    const size_t count = r->counts[sample]++;
    assert_int_equal(r->own->lengths[sample], count + 1);
    assert_int_equal(r->own->output[r->own->output_offsets[sample] + count], token);
    memcpy(r->logits + (sample * MOST + count) * V, r->model->step.logits + r->row * V, V * sizeof(float));
    return true;
}

static void compare_logits(const lab_model *model, const float *got, const float *want, size_t count) {
    for (size_t i = 0; i < count * V; ++i)
        if (!(fabsf(got[i] - want[i]) <= 2e-5f * (1.0f + fabsf(want[i]))))
            fail_msg("%s: logit %zu of token %zu is %g from the cache, %g in a full pass",
                     lab_model_get_config(model)->encoding, i % V, i / V, (double)got[i], (double)want[i]);
}

/* Teacher forcing of the prompt and of what came: row t of the logits chose token t + 1. */
static void compare_sample(lab_model *model, const prompts *own, size_t s, const float *logits, size_t *symbols) {
    const size_t prompt = own->offsets[s + 1] - own->offsets[s];
    whole all;
    whole_make(&all, own, s);
    assert_int_equal(own->lengths[s], own->limits[s]);
    if (own->lengths[s] == 0)
        return;
    (void)decoder_evaluate(model, &all.batch);
    const float *rows = model->step.logits + (prompt - 1) * V;
    compare_logits(model, logits, rows, own->lengths[s]);
    for (size_t t = 0; t < own->lengths[s]; ++t) {
        size_t best = 0;
        for (size_t j = 0; j < V; ++j)
            best = rows[t * V + j] > rows[t * V + best] ? j : best;
        assert_int_equal(all.tokens[prompt + t], best);
        ++symbols[best];
    }
}

static void check(const lab_model_config *config) {
    static recorder r;
    static prompts own;
    lab_model *model = decoder_trained(config, SANITIZED(6, STEPS));
    prompts_make(&own);
    r = (recorder){.model = model, .own = &own, .last = SAMPLES};
    const lab_growth growth = {record, &r};
    lab_generation generation = generation_of(&own);
    generation.growth = &growth;
    generate(model, &own.batch, &generation);
    size_t symbols[V] = {0}, kinds = 0;
    for (size_t s = 0; s < SAMPLES; ++s)
        compare_sample(model, &own, s, r.logits + s * MOST * V, symbols);
    for (size_t j = 0; j < V; ++j)
        kinds += symbols[j] > 0;
    assert_true(kinds > SANITIZED(0, 4));
    lab_model_destroy(&model);
}

static void caches_give_what_a_full_pass_gives(void **state) {
    (void)state;
    static const char *const encodings[] = {"none",
                                            "sinusoidal",
                                            "learned(size=32)",
                                            "rope",
                                            "rope(learned=on)",
                                            "roper",
                                            "algebraic(group=seq)",
                                            "algebraic(group=seq, values=on)",
                                            "algebraic(group=seq, decay=0.98)",
                                            "alibi",
                                            "t5(buckets=8, max=24, direction=causal)",
                                            "rope + decay(rate=0.9)",
                                            "relative(window=4)",
                                            "relative(window=4, values=on)",
                                            "cope",
                                            "rope + relative(window=4)", /* not in the library's caches */
                                            "learned(size=32) + roper"};
    for (size_t e = 0; e < sizeof encodings / sizeof *encodings; ++e) {
        const lab_model_config config = decoder_config(encodings[e], e % 2 ? LAB_NORM_AFTER : LAB_NORM_BEFORE);
        check(&config);
    }
}

static void models_of_every_form_are_decoded(void **state) {
    (void)state;
    lab_model_config config = decoder_config("rope / relative(window=4, values=on)", LAB_NORM_BEFORE);
    config.kv_heads = 2;
    config.activation = LAB_GELU;
    check(&config);
    config = decoder_config("rope", LAB_NORM_BEFORE);
    strcpy(config.attention, "linear");
    config.embedding_init = LAB_EMBEDDING_PLAIN;
    config.output = LAB_OUTPUT_OWN;
    check(&config);
}

/* ---- who stops when ---- */

static bool stop_at_four(void *context, size_t sample, int32_t token, int32_t *parent, int32_t *branch) {
    (void)sample, (void)parent, (void)branch;
    ++*(size_t *)context;
    return token != 4;
}

static void growth_ends_sequences(void **state) {
    (void)state;
    const lab_model_config config = decoder_config("rope", LAB_NORM_BEFORE);
    lab_model *model = decoder_trained(&config, STEPS);
    prompts free_run, stopped;
    size_t told = 0, ended = 0, tokens = 0;
    prompts_make(&free_run);
    prompts_make(&stopped);
    lab_generation generation = generation_of(&free_run);
    generate(model, &free_run.batch, &generation);
    const lab_growth growth = {stop_at_four, &told};
    generation = generation_of(&stopped);
    generation.growth = &growth;
    generate(model, &stopped.batch, &generation);
    for (size_t s = 0; s < SAMPLES; ++s) {
        const int32_t *run = free_run.output + free_run.output_offsets[s];
        size_t length = 0;
        while (length < free_run.limits[s] && (length == 0 || run[length - 1] != 4))
            ++length;
        assert_int_equal(stopped.lengths[s], length);
        assert_memory_equal(stopped.output + stopped.output_offsets[s], run, length * sizeof *run);
        ended += length < free_run.limits[s];
        tokens += length;
    }
    assert_true(ended > 1);
    assert_int_equal(told, tokens); /* of the last one, too */
    lab_model_destroy(&model);
}

/* Where nobody may get a token nothing is computed, and nobody is told. */
static void no_room_is_no_token(void **state) {
    (void)state;
    const lab_model_config config = decoder_config("relative(window=4)", LAB_NORM_BEFORE);
    lab_model *model = decoder_make(&config);
    prompts own;
    size_t told = 0;
    prompts_make(&own);
    const lab_growth growth = {stop_at_four, &told};
    lab_generation generation = generation_of(&own);
    generation.growth = &growth;
    for (size_t s = 0; s < SAMPLES; ++s) {
        own.limits[s] = 0;
        own.lengths[s] = 99;
    }
    generate(model, &own.batch, &generation);
    assert_int_equal(told, 0);
    for (size_t s = 0; s < SAMPLES; ++s)
        assert_int_equal(own.lengths[s] + own.output_offsets[s + 1], 0);
    lab_model_destroy(&model);
}

/* ---- drawing ---- */

static void draw(lab_model *model, prompts *own, const lab_sampling *sampling) {
    prompts_make(own);
    lab_generation generation = generation_of(own);
    generation.sampling = sampling;
    generate(model, &own->batch, &generation);
}

static bool same(const prompts *a, const prompts *b) {
    return memcmp(a->output, b->output, a->output_offsets[SAMPLES] * sizeof *a->output) == 0;
}

static void draws_repeat_with_their_seed(void **state) {
    (void)state;
    const lab_model_config config = decoder_config("roper", LAB_NORM_AFTER);
    lab_model *model = decoder_trained(&config, STEPS);
    prompts greedy, cold, one, first, again, other, alone;
    draw(model, &greedy, NULL);
    draw(model, &cold, &(lab_sampling){.temperature = 0.0, .top_p = 1.0, .seed = 4});
    draw(model, &one, &(lab_sampling){.temperature = 2.0, .top_k = 1, .top_p = 1.0, .seed = 4});
    assert_true(same(&greedy, &cold) && same(&greedy, &one));
    lab_sampling sampling = {.temperature = 1.5, .top_k = 8, .top_p = 0.95, .seed = 4};
    draw(model, &first, &sampling);
    assert_int_equal(locus_threads_set(3), LOCUS_OK);
    draw(model, &again, &sampling);
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
    assert_true(same(&first, &again) && !same(&first, &greedy));
    sampling.seed = 5;
    draw(model, &other, &sampling);
    assert_false(same(&first, &other));
    sampling.seed = 4; /* some samples without the others */
    prompts_make(&alone);
    alone.limits[0] = alone.limits[1] = alone.limits[5] = 0;
    lab_generation generation = generation_of(&alone);
    generation.sampling = &sampling;
    generate(model, &alone.batch, &generation);
    for (size_t s = 0; s < SAMPLES; ++s)
        assert_memory_equal(first.output + first.output_offsets[s], alone.output + alone.output_offsets[s],
                            alone.lengths[s] * sizeof *alone.output);
    assert_true(alone.output_offsets[SAMPLES] > 20);
    lab_model_destroy(&model);
}

/* ---- what is refused ---- */

static void bad_prompts_are_refused(void **state) {
    (void)state;
    lab_model_config config = decoder_config("learned(size=20)", LAB_NORM_BEFORE);
    lab_model *model = decoder_make(&config);
    locus_error error;
    prompts own;
    prompts_make(&own); /* sample 2 would go to position 22 */
    const lab_generation generation = generation_of(&own);
    assert_int_equal(lab_model_generate(model, &own.batch, &generation, &error), LOCUS_ERROR_POSITION);
    assert_non_null(strstr(error.message, "20"));
    own.limits[2] = 4; /* reads positions 0 to 19 */
    assert_int_equal(lab_model_generate(model, &own.batch, &generation, &error), LOCUS_OK);
    own.tokens[0] = V;
    assert_int_equal(lab_model_generate(model, &own.batch, &generation, &error), LOCUS_ERROR_ARGUMENT);
    own.tokens[0] = 0;
    own.offsets[1] = own.offsets[2] = 3;
    assert_int_equal(lab_model_generate(model, &own.batch, &generation, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "prompt 1 is empty"));
    prompts_make(&own);
    lab_generation drawn = generation_of(&own);
    drawn.sampling = &(lab_sampling){.temperature = -1.0, .top_p = 1.0};
    assert_int_equal(lab_model_generate(model, &own.batch, &drawn, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "temperature is -1"));
    drawn.sampling = &(lab_sampling){.temperature = 1.0, .top_p = 1.5};
    assert_int_equal(lab_model_generate(model, &own.batch, &drawn, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "top_p is 1.5"));
    own.batch.samples = 0;
    assert_int_equal(lab_model_generate(model, &own.batch, &generation, &error), LOCUS_ERROR_ARGUMENT);
    lab_model_destroy(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_give_what_a_full_pass_gives),
        cmocka_unit_test(models_of_every_form_are_decoded),
        cmocka_unit_test(growth_ends_sequences),
        cmocka_unit_test(no_room_is_no_token),
        cmocka_unit_test(draws_repeat_with_their_seed),
        cmocka_unit_test(bad_prompts_are_refused),
    };
    threads_only("draws_repeat_with_their_seed");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
