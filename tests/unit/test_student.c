/* SPDX-License-Identifier: MIT */
/* Student's t at any level and any number of degrees: values of SciPy and of closed forms, the way there and back; the
 * contrasts that are made with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "report/tables/contrast.h"
#include "report/tables/student.h"

#include <math.h>

static void is_near(double value, double expected, double relative) {
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.15g, not %.15g", value, expected);
}

/* scipy.stats.t.isf(miss / 2, degrees). */
static void test_scipy(void **state) {
    (void)state;
    const struct {
        double miss, degrees, t;
    } known[] = {
        {0.05, 1, 12.7062047361747},         {0.05, 2, 4.30265272974946},   {0.05, 3, 3.18244630528371},
        {0.05, 10, 2.22813885198628},        {0.05, 30, 2.04227245630124},  {0.05, 1000, 1.96233908082641},
        {0.05, 1e6, 1.95996635681411},       {0.05, 0.5, 164.557673480488}, {0.01, 4, 4.60409487134999},
        {0.5, 2.5, 0.785013682992299},       {0.9, 7, 0.130292796591777},   {0.05 / 24, 2.3, 15.9911047077535},
        {0.05 / 32, 3.97, 7.72028857719074}, {0.001, 1, 636.61924876872},   {0.05 / 160, 2, 56.5552833795147},
        {1e-9, 2, 31622.7765779667},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        is_near(lab_student(known[i].miss, known[i].degrees), known[i].t, 1e-9);
        is_near(lab_student_tails(known[i].t, known[i].degrees), known[i].miss, 1e-9);
    }
    assert_true(isinf(lab_student(0.05, 0)) && isinf(lab_student(0.05, -1)) && isinf(lab_student(0.05, NAN)));
    is_near(lab_student_tails(-12.7062047361747, 1), 0.05, 1e-9); /* of either sign */
}

/* One degree: 1 − 2/π atan t. Two: 1 − t/√(2 + t²). */
static void test_closed_forms(void **state) {
    (void)state;
    double t = 0.01;
    for (int i = 0; i < 18; i++) { /* up to 140 */
        is_near(lab_student_tails(t, 1), 2 / acos(-1) * atan(1 / t), 1e-11);
        is_near(lab_student_tails(t, 2), 2 / ((2 + t * t) * (1 + t / sqrt(2 + t * t))), 1e-11);
        t *= 1.7;
    }
    is_near(lab_student_tails(0, 3), 1, 0);
    is_near(lab_student_tails(INFINITY, 3), 0, 0);
}

/* There and back; wider for surer, and for fewer degrees. */
static void test_order(void **state) {
    (void)state;
    double degrees = 0.7;
    for (int i = 0; i < 16; i++) { /* up to 190,000 */
        double last = 0, miss = 0.8;
        for (int j = 0; j < 15; j++) {
            const double t = lab_student(miss, degrees);
            is_near(lab_student_tails(t, degrees), miss, 1e-9);
            assert_true(t > last && t < lab_student(miss, degrees / 2));
            last = t;
            miss /= 3;
        }
        degrees *= 2.3;
    }
}

/* Values where a search begins, ends or first divides: not even the last bit is above what has just these tails. */
static void test_exact_tails(void **state) {
    (void)state;
    for (int degrees = 1; degrees <= 8; degrees++) {
        for (int i = -3; i <= 6; i++) {
            const double t = ldexp(1, i), between = 1.5 * t;
            assert_true(lab_student(lab_student_tails(t, degrees), degrees) <= t);
            assert_true(lab_student(lab_student_tails(between, degrees), degrees) <= between);
        }
    }
}

/* a = 1, 2, 3 and b = 2, 4, 6: s²/n is 1/3 and 4/3, ν = (25/9) / (1/18 + 16/18) = 2.94. Half widths as
 * scipy.stats.ttest_ind(a, b, equal_var=False).confidence_interval() has them, for one comparison and for 24. */
static void test_welch(void **state) {
    (void)state;
    const double a[] = {1, 2, 3}, b[] = {2, 4, 6};
    const lab_statistic one = lab_statistic_of(a, 3), other = lab_statistic_of(b, 3), single = lab_statistic_of(a, 1);
    const lab_statistic none = {0};
    lab_contrast contrast = lab_contrast_two(&one, &other, lab_contrast_miss(1));
    assert_true(fabs(contrast.difference + 2) < 1e-12);
    is_near(contrast.half_width, 4.1553995031825055, 1e-9);
    assert_int_equal(contrast.seeds, 3);
    assert_false(lab_contrast_separates(&contrast));
    contrast = lab_contrast_two(&one, &other, lab_contrast_miss(24));
    is_near(contrast.half_width, 13.390840355448404, 1e-9);
    contrast = lab_contrast_two(&one, &one, LAB_MISS); /* equal deviations: ν is that of both together, 4 */
    is_near(contrast.half_width, 2.7764451051977987 * sqrt(2.0 / 3), 1e-9);
    contrast = lab_contrast_one(&one, 1.5, LAB_MISS);
    assert_true(fabs(contrast.difference - 0.5) < 1e-12);
    is_near(contrast.half_width, 4.30265272974946 * sqrt(1.0 / 3), 1e-9);
    contrast = lab_contrast_two(&one, &single, LAB_MISS);
    assert_true(isinf(contrast.half_width) && !contrast.missing && contrast.seeds == 1);
    assert_false(lab_contrast_separates(&contrast));
    contrast = lab_contrast_two(&one, &none, LAB_MISS);
    assert_true(contrast.missing);
    assert_false(lab_contrast_separates(&contrast));
}

/* No spread at all: any difference is one, none is none. */
static void test_no_spread(void **state) {
    (void)state;
    const double low[] = {0.5, 0.5, 0.5}, high[] = {0.625, 0.625, 0.625};
    const lab_statistic still = lab_statistic_of(low, 3), higher = lab_statistic_of(high, 3);
    lab_contrast contrast = lab_contrast_two(&higher, &still, LAB_MISS);
    assert_true(contrast.half_width <= 0 && lab_contrast_separates(&contrast));
    contrast = lab_contrast_two(&still, &still, LAB_MISS);
    assert_false(lab_contrast_separates(&contrast));
}

static lab_statistic planted[5];

static const lab_statistic *planted_at(const void *context, size_t row) {
    (void)context;
    return planted[row].mean < 0 ? NULL : &planted[row];
}

static bool tells(size_t count, size_t i, size_t j) {
    return lab_contrast_tells(planted_at, NULL, count, i, j);
}

/* Means 1, 1.5 and what follows, deviations 0.1, three seeds: 0.5 lies 6.1 standard errors apart, p = 0.0036. */
static void test_tells(void **state) {
    (void)state;
    static const double apart[5] = {1, 1.5, 3, 5, 5.4};
    for (size_t i = 0; i < 5; i++) {
        const double values[3] = {apart[i] - 0.1, apart[i], apart[i] + 0.1};
        planted[i] = lab_statistic_of(values, 3);
    }
    assert_true(tells(2, 0, 1) && tells(2, 1, 0));
    /* Of ten pairs 0 – 1 is the last but one, 3 – 4 (p = 0.008) the last: all are told apart, step by step. */
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++)
            assert_true(tells(5, i, j) == (i != j));
    /* Two pairs that are not stand before it: 0 – 1 would need 0.05 / 3, has it; as near as 0.2 it has not. */
    const double nearer[3] = {1.1, 1.2, 1.3};
    planted[1] = lab_statistic_of(nearer, 3);
    assert_false(tells(5, 0, 1));
    assert_true(tells(5, 3, 4));
    /* Rows that are none take no part; one seed is told from nothing. */
    planted[4].mean = -1;
    assert_true(tells(5, 0, 2));
    planted[0].count = 1;
    assert_false(tells(5, 0, 2));
    assert_true(tells(5, 1, 2));
}

static const lab_statistic *of_many(const void *context, size_t row) {
    const lab_statistic *rows = context;
    return rows[row].count == 0 ? NULL : &rows[row];
}

/* Step by step where pairs are 2016 or fewer, of 64 rows; of 65 each must do with 0.05 / 2080. Rows that are none, of
 * which there are as many, do not count. */
static void test_many(void **state) {
    (void)state;
    enum { MOST = 65 };
    static lab_statistic rows[2 * MOST];
    for (size_t i = 0; i < 2 * MOST; i++) {
        /* Rows are 100 apart; the last two 2: 24.5 standard errors, p = 1.6e-5. */
        const double at = 100 * (double)(i / 2) - (i / 2 == MOST - 1 ? 98 : 0);
        const double values[3] = {at - 0.1, at, at + 0.1};
        rows[i] = i % 2 == 1 ? (lab_statistic){0} : lab_statistic_of(values, 3);
    }
    const size_t last = 2 * (MOST - 1);
    assert_true(lab_contrast_tells(of_many, rows, last + 2, last, last - 2));
    assert_true(lab_contrast_tells(of_many, rows, last + 2, 0, last));
    const double nearer[3] = {100 * (MOST - 2) + 0.4, 100 * (MOST - 2) + 0.5, 100 * (MOST - 2) + 0.6};
    rows[last] = lab_statistic_of(nearer, 3); /* p = 0.0036 */
    assert_false(lab_contrast_tells(of_many, rows, last + 2, last, last - 2));
    assert_true(lab_contrast_tells(of_many, rows, last + 2, 0, last));
    rows[0].count = 0; /* 64 are left, and the nearest two are the last pair */
    assert_true(lab_contrast_tells(of_many, rows, last + 2, last, last - 2));
}

/* Best is the highest mean, of equal ones the first, and what is not told from it. */
static void test_best(void **state) {
    (void)state;
    const double values[3][3] = {{0.5, 1, 1.5}, {1, 1, 1}, {0.5, 0.5, 0.5}};
    lab_statistic rows[3];
    for (size_t i = 0; i < 3; i++)
        rows[i] = lab_statistic_of(values[i], 3);
    assert_true(lab_contrast_is_best(of_many, rows, 3, 0, 1) && lab_contrast_is_best(of_many, rows, 3, 1, 1));
    assert_true(lab_contrast_is_best(of_many, rows, 3, 2, 1)); /* p = 0.23; of the second it is told: no spread */
    assert_true(lab_contrast_is_best(of_many, rows, 3, 2, -1));
    assert_false(lab_contrast_is_best(of_many, rows, 3, 1, -1));
    rows[0].count = 0;
    assert_false(lab_contrast_is_best(of_many, rows, 3, 2, 1));
    rows[1].count = 1; /* one seed is never best, nor is what has no rival */
    assert_false(lab_contrast_is_best(of_many, rows, 3, 1, 1) || lab_contrast_is_best(of_many, rows, 3, 2, -1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scipy),       cmocka_unit_test(test_closed_forms), cmocka_unit_test(test_order),
        cmocka_unit_test(test_exact_tails), cmocka_unit_test(test_welch),        cmocka_unit_test(test_no_spread),
        cmocka_unit_test(test_tells),       cmocka_unit_test(test_many),         cmocka_unit_test(test_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
