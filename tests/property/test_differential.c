/* SPDX-License-Identifier: MIT */
/* Random specs, shapes, positions, types, layouts, masks, kinds, instruction sets and numbers of threads, forward and
 * backward, against the plain dense double reference (tests/reference). Prints its seed; LOCUS_SEED and LOCUS_CASES
 * (a number of cases) come from the environment. A failure names its case: LOCUS_SEED and LOCUS_CASE run it alone. */
#include "reference/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* About ten seconds, and as many where every access is watched. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CASES = 150 };
#else
enum { CASES = 1100 }; /* some 40 partial derivatives by score terms, kerple's among them */
#endif
enum { NAMES = 64, ALL_NAMES = 700 }; /* from so many cases on every encoding must have come */

typedef struct tally {
    size_t cases, refused_worlds, refused_calls, compared, backward;
    double worst;
    char worst_of[1400];
    size_t terms[NAMES]; /* compared, of each encoding */
} tally;

static unsigned long long setting(const char *name, unsigned long long otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void count_terms(tally *sums, const drawn_world *world) {
    for (size_t i = 0; i < locus_encoding_registry_size() && i < NAMES; i++)
        for (size_t t = 0; t < locus_encoding_term_count(world->spec.encoding); t++)
            sums->terms[i] += locus_encoding_term(world->spec.encoding, t) == locus_encoding_registry_at(i);
}

static void run_case(tally *sums, uint64_t seed, uint64_t number) {
    static const drawn_limits limits = {.longest = 150, .threads = true};
    chooser choices = chooser_of_seed(seed * 0x2545f4914f6cdd1du + number);
    drawn_world world;
    trial result = {.state = TRIAL_REFUSED};
    char text[1400];
    sums->cases++;
    if (!drawn_world_make(&world, &choices, &limits)) {
        sums->refused_worlds++;
        drawn_world_free(&world);
        return;
    }
    drawn_world_text(&world, text, sizeof text);
    if (choose_chance(&choices, 70))
        trial_attention(&world, &choices, NULL, &result);
    else
        trial_apply(&world, &choices, NULL, &result);
    if (result.state == TRIAL_FAILED)
        fail_msg("LOCUS_SEED=%llu LOCUS_CASE=%llu: %s: %s", (unsigned long long)seed, (unsigned long long)number, text,
                 result.message);
    sums->refused_calls += result.state == TRIAL_REFUSED;
    sums->compared += result.compared;
    sums->backward += result.backward;
    if (result.compared)
        count_terms(sums, &world);
    if (result.worst > sums->worst) {
        sums->worst = result.worst;
        (void)snprintf(sums->worst_of, sizeof sums->worst_of, "%s of case %llu, %.900s", result.where,
                       (unsigned long long)number, text);
    }
    drawn_world_free(&world);
}

static void test_random_cases_agree_with_the_reference(void **state) {
    (void)state;
    const uint64_t seed = setting("LOCUS_SEED", 1), only = setting("LOCUS_CASE", UINT64_MAX);
    const uint64_t cases = setting("LOCUS_CASES", CASES);
    tally sums = {0};
    for (uint64_t number = 0; number < cases && only == UINT64_MAX; number++)
        run_case(&sums, seed, number);
    if (only != UINT64_MAX)
        run_case(&sums, seed, only);
    print_message("LOCUS_SEED=%llu: %zu cases, %zu compared (%zu with gradients), %zu specs and %zu calls refused\n",
                  (unsigned long long)seed, sums.cases, sums.compared, sums.backward, sums.refused_worlds,
                  sums.refused_calls);
    print_message("worst: %.3g of its tolerance, %s\n", sums.worst, sums.worst_of);
    if (cases < CASES || only != UINT64_MAX)
        return;
    assert_true(sums.compared > cases / 2); /* drawn, not refused */
    assert_true(sums.backward > cases / 5);
    for (size_t i = 0; i < locus_encoding_registry_size() && cases >= ALL_NAMES; i++)
        if (sums.terms[i] == 0)
            fail_msg("no case of '%s' was compared", locus_encoding_registry_at(i)->name);
}

static void test_reference_knows_every_encoding_and_option(void **state) {
    (void)state;
    const char *missing = reference_untaught();
    if (missing)
        fail_msg("tests/reference does not know '%s': say there what it computes, so that it is drawn and compared",
                 missing);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_cases_agree_with_the_reference),
        cmocka_unit_test(test_reference_knows_every_encoding_and_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
