/* SPDX-License-Identifier: MIT */
/* One comparison with planted numbers: each kind of claim supported, contradicted and open, each for its reason; that
 * better and worse are judged alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "report/reproduction/claims.h"
#include "report/tables/student.h"

#include <math.h>
#include <string.h>

/* A lead with its half width, of a subject and a rival that have learned what they can. */
typedef struct planted {
    double lead, half_width, margin;
    lab_claim claim;
    lab_side sides[4];
    size_t count;
} planted;

static planted plant(lab_claim_kind kind, double lead, double half_width, double margin) {
    return (planted){.lead = lead,
                     .half_width = half_width,
                     .margin = margin,
                     .claim = {.kind = kind},
                     .sides = {{.convergence = LAB_CONVERGED, .weight = 1, .row = 7, .column = 2},
                               {.convergence = LAB_CONVERGED, .weight = -1, .row = 8, .column = 2},
                               {.convergence = LAB_CONVERGED, .weight = -1, .row = 7, .column = 3},
                               {.convergence = LAB_CONVERGED, .weight = 1, .row = 8, .column = 3}},
                     .count = kind == LAB_CLAIM_CHANCE ? 1
                              : kind == LAB_CLAIM_LESS ? 4
                                                       : 2};
}

/* Four degrees: an error of half_width / t(4) has the interval of that width if it is judged alone. */
static lab_case make(const planted *from) {
    lab_case made = {.item = {.lead = from->lead, .margin = from->margin}, .side_count = from->count};
    made.item.contrast = (lab_contrast){
        .difference = from->lead, .error = from->half_width / lab_student(LAB_MISS, 4), .degrees = 4, .seeds = 3};
    memcpy(made.sides, from->sides, sizeof made.sides);
    return made;
}

static lab_claim_item judge(const planted *from) {
    lab_case made = make(from);
    lab_verdicts_decide(&made, 1, 1, &from->claim);
    assert_true(fabs(made.item.contrast.half_width - from->half_width) < 1e-12);
    return made.item;
}

static void is(const planted *from, lab_verdict verdict, lab_reason reason) {
    const lab_claim_item item = judge(from);
    if (item.verdict != verdict || item.reason != reason) {
        fail_msg("kind %d, %g ±%g: %s (%s)", (int)from->claim.kind, from->lead, from->half_width,
                 lab_verdict_name(item.verdict), lab_reason_name(item.reason));
    }
}

static void test_intervals(void **state) {
    (void)state;
    const struct {
        lab_claim_kind kind;
        double lead, half_width;
        lab_verdict verdict;
    } cases[] = {
        {LAB_CLAIM_ABOVE, 0.03, 0.02, LAB_SUPPORTED},
        {LAB_CLAIM_ABOVE, -0.03, 0.02, LAB_CONTRADICTED},
        {LAB_CLAIM_ABOVE, 0.03, 0.04, LAB_OPEN},
        {LAB_CLAIM_ABOVE, 0, 0, LAB_OPEN},
        {LAB_CLAIM_LESS, 0.03, 0.02, LAB_SUPPORTED},
        {LAB_CLAIM_LESS, -0.03, 0.02, LAB_CONTRADICTED},
        {LAB_CLAIM_DECAY, 0.03, 0.02, LAB_SUPPORTED},
        {LAB_CLAIM_DECAY, -0.03, 0.02, LAB_CONTRADICTED},
        {LAB_CLAIM_CHANCE, 0.03, 0.02, LAB_SUPPORTED},
        {LAB_CLAIM_CHANCE, -0.03, 0.02, LAB_CONTRADICTED},
        {LAB_CLAIM_CHANCE, -0.01, 0.02, LAB_OPEN},
        {LAB_CLAIM_BEST, 0.03, 0.02, LAB_SUPPORTED},
        {LAB_CLAIM_BEST, -0.005, 0.004, LAB_SUPPORTED},
        {LAB_CLAIM_BEST, -0.005, 0.006, LAB_OPEN},
        {LAB_CLAIM_BEST, 0.03, 0.05, LAB_OPEN},
        {LAB_CLAIM_BEST, -0.03, 0.01, LAB_CONTRADICTED},
        {LAB_CLAIM_BEST, -0.015, 0.01, LAB_OPEN},
        {LAB_CLAIM_HARMLESS, 0.03, 0.02, LAB_SUPPORTED},
        {LAB_CLAIM_HARMLESS, -0.03, 0.01, LAB_CONTRADICTED},
        {LAB_CLAIM_HARMLESS, -0.01, 0.01, LAB_OPEN},
        {LAB_CLAIM_SIMILAR, 0.002, 0.004, LAB_SUPPORTED},
        {LAB_CLAIM_SIMILAR, -0.002, 0.004, LAB_SUPPORTED},
        {LAB_CLAIM_SIMILAR, 0.03, 0.01, LAB_CONTRADICTED},
        {LAB_CLAIM_SIMILAR, -0.03, 0.01, LAB_CONTRADICTED},
        {LAB_CLAIM_SIMILAR, 0.002, 0.02, LAB_OPEN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const planted one = plant(cases[i].kind, cases[i].lead, cases[i].half_width, 0.01);
        is(&one, cases[i].verdict, cases[i].verdict == LAB_OPEN ? LAB_REASON_INTERVAL : LAB_REASON_NONE);
    }
}

static void test_fields(void **state) {
    (void)state;
    const planted one = plant(LAB_CLAIM_ABOVE, 0.5, 0.1, 0);
    for (size_t seeds = 0; seeds <= 4; seeds++) {
        lab_case made = make(&one);
        made.item.contrast.seeds = seeds;
        made.item.contrast.missing = seeds == 0;
        lab_verdicts_decide(&made, 1, 1, &one.claim);
        assert_int_equal(made.item.verdict, seeds < 3 ? LAB_OPEN : LAB_SUPPORTED);
        assert_int_equal(made.item.reason, seeds == 0  ? LAB_REASON_MISSING
                                           : seeds < 3 ? LAB_REASON_SEEDS
                                                       : LAB_REASON_NONE);
        assert_true(seeds < 3 ? made.item.p >= 1 : made.item.p < 0.001);
    }
}

/* p of 0.001, 0.013, 0.02 and 0.04 among four: 0.0125, 0.0167, then 0.025 and 0.05. With 0.03 in the third's place it
 * is open, and so is what comes after it, by the same 0.025. */
static void test_holm(void **state) {
    (void)state;
    static const double sure[4] = {0.04, 0.001, 0.02, 0.013}, unsure[4] = {0.04, 0.001, 0.03, 0.013};
    static const double misses[4] = {0.05, 0.0125, 0.025, 0.05 / 3}, stopped[4] = {0.025, 0.0125, 0.025, 0.05 / 3};
    for (int open = 0; open < 2; open++) {
        lab_case cases[4];
        lab_claim claim = {.kind = LAB_CLAIM_ABOVE};
        for (size_t i = 0; i < 4; i++) {
            planted one = plant(LAB_CLAIM_ABOVE, 0.5, 0.1, 0);
            cases[i] = make(&one);
            cases[i].item.contrast.error = 0.5 / lab_student(open ? unsure[i] : sure[i], 4);
        }
        lab_verdicts_decide(cases, 4, 4, &claim);
        for (size_t i = 0; i < 4; i++) {
            const lab_claim_item *item = &cases[i].item;
            assert_true(fabs(item->p - (open ? unsure[i] : sure[i])) < 1e-9);
            assert_true(fabs(item->miss - (open ? stopped[i] : misses[i])) < 1e-12);
            assert_int_equal(item->verdict, open && i % 2 == 0 ? LAB_OPEN : LAB_SUPPORTED);
            /* The interval that is printed is the one that decides. */
            assert_true((item->lead > item->contrast.half_width) == (item->verdict == LAB_SUPPORTED));
        }
        /* Of a part of ten, each step is a smaller one. */
        lab_verdicts_decide(cases, 4, 10, &claim);
        assert_true(fabs(cases[1].item.miss - 0.005) < 1e-12 && cases[1].item.verdict == LAB_SUPPORTED);
        assert_true(fabs(cases[3].item.miss - 0.05 / 9) < 1e-12 && cases[3].item.verdict == LAB_OPEN);
    }
}

/* What cannot be decided stands behind all others, whatever its numbers. */
static void test_holm_last(void **state) {
    (void)state;
    const planted one = plant(LAB_CLAIM_ABOVE, 0.5, 0.3, 0);
    lab_case cases[2] = {make(&one), make(&one)};
    cases[0].item.contrast.error = 0.001;
    cases[0].item.contrast.seeds = 2;
    lab_verdicts_decide(cases, 2, 2, &one.claim);
    assert_int_equal(cases[0].item.reason, LAB_REASON_SEEDS);
    assert_true(fabs(cases[1].item.miss - 0.025) < 1e-12 && cases[1].item.verdict == LAB_SUPPORTED);
}

/* Who could still overturn the verdict keeps it open; who could only confirm it does not. */
static void test_learning(void **state) {
    (void)state;
    static const lab_reason reasons[] = {LAB_REASON_NO_CURVE, LAB_REASON_NONE, LAB_REASON_LEARNING,
                                         LAB_REASON_NOT_BEGUN};
    static const lab_claim_kind kinds[] = {LAB_CLAIM_ABOVE, LAB_CLAIM_BEST, LAB_CLAIM_HARMLESS, LAB_CLAIM_DECAY};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t i = 0; i < 4; i++) {
            for (int ahead = 0; ahead < 2; ahead++) {
                planted one = plant(kinds[k], ahead ? 0.5 : -0.5, 0.1, kinds[k] == LAB_CLAIM_ABOVE ? 0 : 0.01);
                const lab_verdict verdict = ahead ? LAB_SUPPORTED : LAB_CONTRADICTED;
                one.sides[ahead ? 0 : 1].convergence = (lab_convergence)i; /* who is ahead */
                is(&one, verdict, LAB_REASON_NONE);
                one.sides[ahead ? 1 : 0].convergence = (lab_convergence)i; /* who trails */
                is(&one, i == LAB_CONVERGED ? verdict : LAB_OPEN, reasons[i]);
                const lab_claim_item item = judge(&one);
                assert_int_equal(item.learner, i == LAB_CONVERGED ? 0 : ahead ? 8 : 7);
                assert_int_equal(item.learner_column, i == LAB_CONVERGED ? 0 : 2);
                one.claim.after_steps = true;
                is(&one, verdict, LAB_REASON_NONE);
            }
        }
    }
}

/* Not behind by more than the margin, but the rival is still learning: it may yet be ahead. */
static void test_learning_rival(void **state) {
    (void)state;
    planted one = plant(LAB_CLAIM_BEST, -0.005, 0.001, 0.01);
    one.sides[0].convergence = LAB_STILL_LEARNING;
    is(&one, LAB_SUPPORTED, LAB_REASON_NONE);
    one.sides[1].convergence = LAB_STILL_LEARNING;
    is(&one, LAB_OPEN, LAB_REASON_LEARNING);
}

/* Alike is overturned from both sides, unlike only by who trails. */
static void test_learning_similar(void **state) {
    (void)state;
    for (size_t side = 0; side < 2; side++) {
        planted alike = plant(LAB_CLAIM_SIMILAR, 0.001, 0.002, 0.01);
        alike.sides[side].convergence = LAB_STILL_LEARNING;
        is(&alike, LAB_OPEN, LAB_REASON_LEARNING);
        for (int ahead = 0; ahead < 2; ahead++) {
            planted unlike = plant(LAB_CLAIM_SIMILAR, ahead ? 0.5 : -0.5, 0.1, 0.01);
            unlike.sides[side].convergence = LAB_STILL_LEARNING;
            const bool trails = side == (ahead ? 1U : 0U);
            is(&unlike, trails ? LAB_OPEN : LAB_CONTRADICTED, trails ? LAB_REASON_LEARNING : LAB_REASON_NONE);
        }
    }
}

/* Subject and rival of the order that costs, then of the other: each could overturn one of the verdicts. */
static void test_learning_less(void **state) {
    (void)state;
    static const bool shrinks[4] = {false, true, true, false};
    for (size_t side = 0; side < 4; side++) {
        for (int ahead = 0; ahead < 2; ahead++) {
            planted one = plant(LAB_CLAIM_LESS, ahead ? 0.5 : -0.5, 0.1, 0);
            one.sides[side].convergence = LAB_STILL_LEARNING;
            const bool open = shrinks[side] == (ahead == 1);
            is(&one,
               open    ? LAB_OPEN
               : ahead ? LAB_SUPPORTED
                       : LAB_CONTRADICTED,
               open ? LAB_REASON_LEARNING : LAB_REASON_NONE);
            if (open)
                assert_int_equal(judge(&one).learner_column, side < 2 ? 2 : 3);
        }
    }
}

/* At chance, and rising: it may leave it. Above it, it will not come back. */
static void test_learning_chance(void **state) {
    (void)state;
    planted one = plant(LAB_CLAIM_CHANCE, 0.5, 0.1, 0);
    one.sides[0].weight = -1;
    is(&one, LAB_SUPPORTED, LAB_REASON_NONE);
    one.sides[0].convergence = LAB_STILL_LEARNING;
    is(&one, LAB_OPEN, LAB_REASON_LEARNING);
    one.lead = -0.5;
    is(&one, LAB_CONTRADICTED, LAB_REASON_NONE);
}

static void test_both_at_chance(void **state) {
    (void)state;
    planted one = plant(LAB_CLAIM_ABOVE, 0.5, 0.1, 0);
    one.claim.after_steps = true;
    one.sides[0].at_chance = true;
    is(&one, LAB_SUPPORTED, LAB_REASON_NONE);
    one.sides[1].at_chance = true;
    is(&one, LAB_OPEN, LAB_REASON_CHANCE);
    planted less = plant(LAB_CLAIM_LESS, 0.5, 0.1, 0);
    less.sides[1].at_chance = less.sides[2].at_chance = true; /* of different orders */
    is(&less, LAB_SUPPORTED, LAB_REASON_NONE);
    less.sides[3].at_chance = true;
    is(&less, LAB_OPEN, LAB_REASON_CHANCE);
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(lab_verdict_name(LAB_CONTRADICTED), "CONTRADICTED");
    for (int i = LAB_REASON_MISSING; i <= LAB_REASON_SUBJECT; i++) {
        assert_true(strlen(lab_reason_name((lab_reason)i)) > 3);
        assert_string_not_equal(lab_reason_name((lab_reason)i), "unknown");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_holm),
        cmocka_unit_test(test_holm_last),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_learning_rival),
        cmocka_unit_test(test_learning_similar),
        cmocka_unit_test(test_learning_less),
        cmocka_unit_test(test_learning_chance),
        cmocka_unit_test(test_both_at_chance),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
