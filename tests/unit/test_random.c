/* SPDX-License-Identifier: MIT */
/* Philox against the published known answers (Random123, tests/kat_vectors), distributions by their moments and by
 * counting. */
#include <locus/random.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct known_answer {
    uint32_t counter[4], key[2], words[4];
} known_answer;

static const known_answer published[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void blocks_match_the_published_answers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const known_answer *a = &published[i];
        locus_random random = {
            .seed = (uint64_t)a->key[1] << 32 | a->key[0], .purpose = a->counter[3], .step = a->counter[2]};
        uint32_t words[4];
        locus_random_block(&random, (uint64_t)a->counter[1] << 32 | a->counter[0], words);
        assert_memory_equal(words, a->words, sizeof words);
    }
}

static void numbers_depend_on_every_part_of_the_key(void **state) {
    (void)state;
    const locus_random keys[] = {{1, 2, 3}, {1ull << 32 | 1, 2, 3}, {2, 2, 3}, {1, 3, 3}, {1, 2, 4}};
    uint32_t first[4], other[4];
    locus_random_block(&keys[0], 5, first);
    for (size_t i = 1; i < sizeof keys / sizeof *keys; i++) {
        locus_random_block(&keys[i], 5, other);
        assert_memory_not_equal(first, other, sizeof first);
    }
    const uint64_t indices[] = {4, 6, 5ull + (1ull << 32)};
    for (size_t i = 0; i < 3; i++) {
        locus_random_block(&keys[0], indices[i], other);
        assert_memory_not_equal(first, other, sizeof first);
    }
}

/* Both are documented to the bit in random.c. */
static void numbers_are_made_of_the_block_as_documented(void **state) {
    (void)state;
    locus_random random = {.seed = 99, .purpose = LOCUS_RANDOM_USER, .step = 4};
    for (uint64_t i = 0; i < 1000; i++) {
        uint32_t w[4];
        locus_random_block(&random, i, w);
        double u = ldexp((double)(((uint64_t)w[1] << 32 | w[0]) >> 11), -53);
        double v = ldexp((double)(((uint64_t)w[3] << 32 | w[2]) >> 11), -53);
        assert_true(locus_random_uniform(&random, i) == u);
        assert_true(fabs(locus_random_normal(&random, i) - sqrt(-2 * log1p(-u)) * cos(8 * atan(1) * v)) < 1e-12);
        assert_int_equal(locus_random_below(&random, i, 1ull << 32), w[1]);
        assert_int_equal(locus_random_below(&random, i, 2), w[1] >> 31);
    }
}

/* Moments of n numbers deviate by about 1/sqrt(n): bounds are five deviations. The seed is fixed, so this cannot
 * flicker. */
static void uniform_and_normal_have_their_moments(void **state) {
    (void)state;
    enum { n = 200000 };
    locus_random random = {.seed = 7, .purpose = LOCUS_RANDOM_USER};
    double u1 = 0, u2 = 0, z1 = 0, z2 = 0, z3 = 0, z4 = 0, lag = 0, before = 0;
    for (uint64_t i = 0; i < n; i++) {
        double u = locus_random_uniform(&random, i), z = locus_random_normal(&random, i);
        assert_true(u >= 0.0 && u < 1.0 && isfinite(z));
        u1 += u / n;
        u2 += u * u / n;
        z1 += z / n;
        z2 += z * z / n;
        z3 += z * z * z / n;
        z4 += z * z * z * z / n;
        lag += z * before / n;
        before = z;
    }
    double five = 5 / sqrt(n);
    assert_true(fabs(u1 - 0.5) < five * sqrt(1.0 / 12) && fabs(u2 - 1.0 / 3) < five * sqrt(4.0 / 45));
    assert_true(fabs(z1) < five && fabs(z2 - 1) < five * sqrt(2) && fabs(lag) < five);
    assert_true(fabs(z3) < five * sqrt(15) && fabs(z4 - 3) < five * sqrt(96));
}

static void below_is_even(void **state) {
    (void)state;
    locus_random random = {.seed = 3, .purpose = LOCUS_RANDOM_USER};
    enum { n = 120000, most = 13 };
    for (uint64_t bound = 1; bound <= most; bound++) {
        size_t counts[most] = {0};
        for (uint64_t i = 0; i < n; i++) {
            uint64_t number = locus_random_below(&random, i, bound);
            assert_true(number < bound);
            counts[number]++;
        }
        double chi = 0, expected = (double)n / (double)bound;
        for (uint64_t k = 0; k < bound; k++)
            chi += ((double)counts[k] - expected) * ((double)counts[k] - expected) / expected;
        assert_true(chi < (double)bound - 1 + 5 * sqrt(2 * (double)bound));
    }
    assert_int_equal(locus_random_below(&random, 0, 0), 0);
}

/* Bounds just above 2^63 reject almost half of all words: every way through the loop is taken, and the mean must
 * hold. */
static void below_rejects_where_it_must(void **state) {
    (void)state;
    locus_random random = {.seed = 11, .purpose = LOCUS_RANDOM_USER};
    const uint64_t bounds[] = {(1ull << 63) + 1, (3ull << 62) + 5, UINT64_MAX, (1ull << 40) - 87};
    for (size_t b = 0; b < 4; b++) {
        enum { n = 50000 };
        double mean = 0;
        for (uint64_t i = 0; i < n; i++) {
            uint64_t number = locus_random_below(&random, i, bounds[b]);
            assert_true(number < bounds[b]);
            mean += (double)number / (double)bounds[b] / n;
        }
        assert_true(fabs(mean - 0.5) < 5 * sqrt(1.0 / 12 / n));
    }
}

/* x·3/4 of neighbouring words x falls on multiples of 3 twice as often as on other numbers, were it not for the
 * rejection. */
static void below_has_no_multiplication_bias(void **state) {
    (void)state;
    locus_random random = {.seed = 12, .purpose = LOCUS_RANDOM_USER};
    enum { n = 90000 };
    double counts[3] = {0};
    for (uint64_t i = 0; i < n; i++)
        counts[locus_random_below(&random, i, 3ull << 62) % 3]++;
    for (int k = 0; k < 3; k++)
        assert_true(fabs(counts[k] - n / 3.0) < 5 * sqrt(n * 2.0 / 9));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_match_the_published_answers),
        cmocka_unit_test(numbers_depend_on_every_part_of_the_key),
        cmocka_unit_test(numbers_are_made_of_the_block_as_documented),
        cmocka_unit_test(uniform_and_normal_have_their_moments),
        cmocka_unit_test(below_is_even),
        cmocka_unit_test(below_rejects_where_it_must),
        cmocka_unit_test(below_has_no_multiplication_bias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
