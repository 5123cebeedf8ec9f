/* SPDX-License-Identifier: MIT */
/* Laws of drawing tokens: frequencies are the probabilities of the sharpened and cut distribution, computed here by
 * sorting; what is cut never comes; a draw depends on its seed, sample and number alone. */
#include "model/decode/sampling.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 64, DRAWS = 40000 };

static void logits_make(float *logits, size_t count) {
    const locus_random random = {3, LOCUS_RANDOM_USER, 0};
    for (size_t j = 0; j < count; ++j)
        logits[j] = (float)(1.5 * locus_random_normal(&random, j));
}

static size_t choose(const lab_sampling *sampling, size_t sample, size_t token, const float *logits, size_t count) {
    float copy[MOST];
    uint32_t order[MOST];
    memcpy(copy, logits, count * sizeof *copy);
    return lab_sampling_choose(sampling, &(lab_sampling_place){sample, token}, count, copy, order);
}

/* Probabilities by definition: repeatedly the greatest that is left, the first of equal ones. */
static void expected(const lab_sampling *sampling, const float *logits, size_t count, double *probabilities) {
    size_t ranks[MOST];
    double weights[MOST], total = 0.0, mass = 0.0;
    bool taken[MOST] = {false};
    for (size_t i = 0; i < count; ++i) {
        size_t best = count;
        for (size_t j = 0; j < count; ++j)
            if (!taken[j] && (best == count || logits[j] > logits[best]))
                best = j;
        taken[best] = true;
        ranks[i] = best;
        weights[i] = exp(((double)logits[best] - (double)logits[ranks[0]]) / sampling->temperature);
        probabilities[best] = 0.0;
    }
    const size_t most = sampling->top_k > 0 && sampling->top_k < count ? sampling->top_k : count;
    for (size_t i = 0; i < most; ++i)
        total += weights[i];
    size_t kept = 0;
    while (kept < most && (kept == 0 || mass < sampling->top_p * total))
        mass += weights[kept++];
    for (size_t i = 0; i < kept; ++i)
        probabilities[ranks[i]] = weights[i] / mass;
}

/* Pearson's χ² of the tokens that have at least five expected draws; the bound is some six deviations up. */
static void check_frequencies(const lab_sampling *sampling, size_t count) {
    float logits[MOST];
    double probabilities[MOST], square = 0.0, freedom = 0.0;
    size_t counts[MOST] = {0};
    logits_make(logits, count);
    expected(sampling, logits, count, probabilities);
    for (size_t i = 0; i < DRAWS; ++i)
        ++counts[choose(sampling, i % 7, i / 7, logits, count)];
    for (size_t j = 0; j < count; ++j) {
        const double wanted = DRAWS * probabilities[j], difference = (double)counts[j] - wanted;
        if (probabilities[j] <= 0.0)
            assert_int_equal(counts[j], 0);
        if (wanted < 5.0)
            continue;
        square += difference * difference / wanted;
        freedom += 1.0;
    }
    if (square > freedom + 6.0 * sqrt(2.0 * freedom) + 6.0)
        fail_msg("temperature %g, top %zu, %g: χ² is %g with %g tokens", sampling->temperature, sampling->top_k,
                 sampling->top_p, square, freedom);
}

static void frequencies_are_probabilities(void **state) {
    (void)state;
    static const lab_sampling samplings[] = {
        {.temperature = 1.0, .top_p = 1.0, .seed = 1},
        {.temperature = 0.5, .top_p = 1.0, .seed = 2},
        {.temperature = 2.0, .top_p = 1.0, .seed = 3},
        {.temperature = 1.0, .top_k = 5, .top_p = 1.0, .seed = 4},
        {.temperature = 1.0, .top_p = 0.7, .seed = 5},
        {.temperature = 1.3, .top_k = 9, .top_p = 0.8, .seed = 6},
        {.temperature = 1.0, .top_k = 1000, .top_p = 1.0, .seed = 7},
        {.temperature = 1.0, .top_k = 2, .top_p = 0.999999, .seed = 8},
    };
    for (size_t i = 0; i < sizeof samplings / sizeof *samplings; ++i) {
        check_frequencies(&samplings[i], 23);
        check_frequencies(&samplings[i], MOST);
        check_frequencies(&samplings[i], 2);
    }
}

static void nothing_to_draw_is_the_greatest(void **state) {
    (void)state;
    float logits[MOST];
    logits_make(logits, MOST);
    size_t best = 0;
    for (size_t j = 0; j < MOST; ++j)
        best = logits[j] > logits[best] ? j : best;
    const lab_sampling cold = {.temperature = 0.0, .top_p = 1.0}, one = {.temperature = 3.0, .top_k = 1, .top_p = 1.0},
                       narrow = {.temperature = 1.0, .top_p = 1e-9};
    for (size_t t = 0; t < 200; ++t) {
        assert_int_equal(choose(NULL, 0, t, logits, MOST), best);
        assert_int_equal(choose(&cold, 0, t, logits, MOST), best);
        assert_int_equal(choose(&one, 0, t, logits, MOST), best);
        assert_int_equal(choose(&narrow, 0, t, logits, MOST), best);
    }
    logits[best / 2] = logits[best]; /* of equal ones the first */
    assert_int_equal(choose(&one, 0, 0, logits, MOST), best / 2);
    assert_int_equal(choose(&narrow, 0, 0, logits, MOST), best / 2);
}

static void equal_logits_are_equally_likely(void **state) {
    (void)state;
    const float logits[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const lab_sampling all = {.temperature = 0.1, .top_p = 1.0, .seed = 9},
                       half = {.temperature = 0.1, .top_p = 0.5, .seed = 9};
    size_t counts[2][8] = {{0}};
    for (size_t t = 0; t < 8000; ++t) {
        ++counts[0][choose(&all, 0, t, logits, 8)];
        ++counts[1][choose(&half, 0, t, logits, 8)];
    }
    for (size_t j = 0; j < 8; ++j) {
        assert_true(counts[0][j] > 800 && counts[0][j] < 1200);
        assert_true(j < 4 ? counts[1][j] > 1750 && counts[1][j] < 2250 : counts[1][j] == 0);
    }
}

static void a_draw_is_of_its_seed_sample_and_number(void **state) {
    (void)state;
    float logits[MOST];
    logits_make(logits, MOST);
    lab_sampling sampling = {.temperature = 2.0, .top_p = 1.0, .seed = 11}, other = sampling;
    other.seed = 12;
    size_t seeds = 0, samples = 0, tokens = 0;
    for (size_t t = 0; t < 500; ++t) {
        const size_t own = choose(&sampling, 3, t, logits, MOST);
        assert_int_equal(own, choose(&sampling, 3, t, logits, MOST));
        seeds += own == choose(&other, 3, t, logits, MOST);
        samples += own == choose(&sampling, 4, t, logits, MOST);
        tokens += own == choose(&sampling, 3, t + 500, logits, MOST);
    }
    assert_true(seeds < 150 && samples < 150 && tokens < 150); /* they agree by chance alone */
}

/* Weights that vanish in float, and those that are the only ones. */
static void extremes_are_drawn(void **state) {
    (void)state;
    float logits[MOST];
    for (size_t j = 0; j < MOST; ++j)
        logits[j] = j == 41 ? 500.0f : -500.0f;
    for (size_t t = 0; t < 100; ++t) {
        assert_int_equal(choose(&(lab_sampling){.temperature = 1.0, .top_p = 1.0}, 0, t, logits, MOST), 41);
        assert_int_equal(choose(&(lab_sampling){.temperature = 1.0, .top_k = 7, .top_p = 0.9}, 0, t, logits, MOST), 41);
        assert_int_equal(choose(&(lab_sampling){.temperature = 1e-300, .top_p = 1.0}, 0, t, logits, MOST), 41);
        assert_int_equal(choose(&(lab_sampling){.temperature = 1.0, .top_p = 1.0}, 0, t, logits, 1), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies_are_probabilities),
        cmocka_unit_test(nothing_to_draw_is_the_greatest),
        cmocka_unit_test(equal_logits_are_equally_likely),
        cmocka_unit_test(a_draw_is_of_its_seed_sample_and_number),
        cmocka_unit_test(extremes_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
