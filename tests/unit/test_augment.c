/* SPDX-License-Identifier: MIT */
/* The augmentation of images: laws of its operations, of crop, flip and normalisation, and how often each is drawn.
 * Bytes are compared with Pillow's in tests/golden/test_golden_augment.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "task/images/augment.h"

#define MAX_SIDE 32
#define MAX_SIZE ((size_t)LAB_IMAGE_CHANNELS * MAX_SIDE * MAX_SIDE)
#define DRAWS 40000

static const locus_random key = {17, LOCUS_RANDOM_USER, 3};

static size_t size_of(size_t side) {
    return LAB_IMAGE_CHANNELS * side * side;
}

static void noise(uint8_t *pixels, size_t side, uint64_t seed) {
    const locus_random random = {seed, LOCUS_RANDOM_USER, 0};
    for (size_t i = 0; i < size_of(side); i++)
        pixels[i] = (uint8_t)locus_random_below(&random, i, 256);
}

/* ---- crop, flip, normalise ---- */

static void test_flip(void **state) {
    (void)state;
    for (size_t side = 1; side <= 9; side++) {
        uint8_t pixels[MAX_SIZE] = {0}, flipped[MAX_SIZE];
        noise(pixels, side, side);
        memcpy(flipped, pixels, size_of(side));
        lab_image_flip(flipped, side);
        for (size_t i = 0; i < size_of(side); i++)
            assert_int_equal(flipped[i], pixels[i / side * side + side - 1 - i % side]);
        lab_image_flip(flipped, side);
        assert_memory_equal(flipped, pixels, size_of(side));
    }
}

/* Every window, pixel by pixel: what lies outside of the image is 0. */
static void check_crop(size_t side, size_t across, size_t down) {
    uint8_t pixels[MAX_SIZE] = {0}, out[MAX_SIZE];
    noise(pixels, side, 10 + side);
    memset(out, 77, sizeof out);
    lab_image_crop(pixels, side, across, down, out);
    for (size_t i = 0; i < size_of(side); i++) {
        const long x = (long)(i % side + across) - LAB_AUGMENT_PADDING;
        const long y = (long)(i / side % side + down) - LAB_AUGMENT_PADDING;
        const bool inside = x >= 0 && y >= 0 && x < (long)side && y < (long)side;
        const size_t at = i / (side * side) * side * side + (size_t)(inside ? y * (long)side + x : 0);
        assert_int_equal(out[i], inside ? pixels[at] : 0);
    }
}

static void test_crop(void **state) {
    const size_t sides[] = {1, 3, 4, 8, 32};
    (void)state;
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (size_t place = 0; place < 81; place++)
            check_crop(sides[s], place % 9, place / 9);
}

static void test_normalise(void **state) {
    const double means[] = {0.4914, 0.4822, 0.4465}, deviations[] = {0.2470, 0.2435, 0.2616};
    uint8_t pixels[3 * 16 * 16];
    float out[3 * 16 * 16];
    (void)state;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i % 256);
    lab_image_normalise(pixels, 16, out);
    for (size_t i = 0; i < sizeof pixels; i++) {
        const size_t channel = i / 256;
        const float step = (float)pixels[i] / 255.0f - (float)means[channel]; /* rounded after each operation */
        assert_true(out[i] == step / (float)deviations[channel]);
        assert_true(fabs(out[i] - ((double)pixels[i] / 255.0 - means[channel]) / deviations[channel]) < 1e-6);
    }
}

/* ---- operations ---- */

static void operate(lab_image_operation operation, double value, const uint8_t *pixels, uint8_t *out) {
    lab_image_operate(operation, value, pixels, MAX_SIDE, out);
}

/* At the least magnitude nothing changes, but for what has none or begins with a change. */
static void test_least_magnitude(void **state) {
    uint8_t pixels[MAX_SIZE], out[MAX_SIZE];
    (void)state;
    noise(pixels, MAX_SIDE, 1);
    for (int i = LAB_SHEAR_X; i <= LAB_POSTERISE; i++) {
        const lab_image_operation operation = (lab_image_operation)i;
        operate(operation, lab_image_operation_value(operation, 0, MAX_SIDE), pixels, out);
        assert_memory_equal(out, pixels, MAX_SIZE);
    }
    operate(LAB_SOLARISE, 256.0, pixels, out);
    assert_memory_equal(out, pixels, MAX_SIZE);
}

/* Doing it twice is doing nothing (invert, solarise at 0), or doing it once. */
static void test_twice(void **state) {
    const struct {
        lab_image_operation operation;
        double value;
        bool involution;
    } cases[] = {{LAB_INVERT, 0.0, true},
                 {LAB_SOLARISE, 0.0, true},
                 {LAB_POSTERISE, 5.0, false},
                 {LAB_AUTO_CONTRAST, 0.0, false},
                 {LAB_COLOUR, -1.0, false}};
    uint8_t pixels[MAX_SIZE], once[MAX_SIZE], twice[MAX_SIZE];
    (void)state;
    noise(pixels, MAX_SIDE, 2);
    for (size_t i = 0; i < MAX_SIZE; i++)
        pixels[i] = (uint8_t)(20 + pixels[i] / 2);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        operate(cases[c].operation, cases[c].value, pixels, once);
        assert_memory_not_equal(once, pixels, MAX_SIZE);
        operate(cases[c].operation, cases[c].value, once, twice);
        assert_memory_equal(twice, cases[c].involution ? pixels : once, MAX_SIZE);
    }
}

/* All-grey images are fixed by what moves pixels: nothing but the fill comes in from outside. */
static void test_fill(void **state) {
    uint8_t pixels[MAX_SIZE], out[MAX_SIZE];
    (void)state;
    memset(pixels, LAB_AUGMENT_FILL, sizeof pixels);
    for (int i = LAB_SHEAR_X; i <= LAB_ROTATE; i++)
        for (int level = 0; level < LAB_AUGMENT_LEVELS; level++)
            for (int sign = -1; sign <= 1; sign += 2) {
                const lab_image_operation operation = (lab_image_operation)i;
                operate(operation, sign * lab_image_operation_value(operation, level, MAX_SIDE), pixels, out);
                assert_memory_equal(out, pixels, MAX_SIZE);
            }
}

static void test_translation(void **state) {
    uint8_t pixels[MAX_SIZE], right[MAX_SIZE], down[MAX_SIZE];
    (void)state;
    noise(pixels, MAX_SIDE, 3);
    for (long by = -14; by <= 14; by++) {
        operate(LAB_TRANSLATE_X, (double)by, pixels, right);
        operate(LAB_TRANSLATE_Y, (double)by, pixels, down);
        for (long i = 0; i < (long)MAX_SIZE; i++) {
            const long x = i % MAX_SIDE - by, y = i / MAX_SIDE % MAX_SIDE - by;
            assert_int_equal(right[i], x >= 0 && x < MAX_SIDE ? pixels[i - by] : LAB_AUGMENT_FILL);
            assert_int_equal(down[i], y >= 0 && y < MAX_SIDE ? pixels[i - by * MAX_SIDE] : LAB_AUGMENT_FILL);
        }
    }
}

/* A quarter turn counterclockwise moves the pixel at (x, y) to (y, side − 1 − x), and four of them move nothing. */
/* A shear moves rows along themselves, or columns, and nothing across, even by more than half a pixel. */
static void test_shears(void **state) {
    (void)state;
    uint8_t pixels[MAX_SIZE], out[MAX_SIZE];
    for (int down = 0; down < 2; down++) {
        size_t kept = 0;
        for (size_t i = 0; i < MAX_SIZE; i++)
            pixels[i] = (uint8_t)(1 + (down ? i % MAX_SIDE : i / MAX_SIDE % MAX_SIDE));
        operate(down ? LAB_SHEAR_Y : LAB_SHEAR_X, 0.75, pixels, out);
        for (size_t i = 0; i < MAX_SIZE; i++) {
            assert_true(out[i] == pixels[i] || out[i] == LAB_AUGMENT_FILL);
            kept += out[i] == pixels[i];
        }
        assert_true(kept > MAX_SIZE / 2 && kept < MAX_SIZE);
    }
}

static void test_quarter_turns(void **state) {
    uint8_t pixels[MAX_SIZE], turned[MAX_SIZE], other[MAX_SIZE];
    const size_t last = MAX_SIDE - 1;
    (void)state;
    noise(pixels, MAX_SIDE, 4);
    operate(LAB_ROTATE, 90.0, pixels, turned);
    for (size_t i = 0; i < MAX_SIZE; i++) {
        const size_t x = i % MAX_SIDE, y = i / MAX_SIDE % MAX_SIDE, plane = i - y * MAX_SIDE - x;
        assert_int_equal(turned[plane + (last - x) * MAX_SIDE + y], pixels[i]);
    }
    operate(LAB_ROTATE, 90.0, turned, other);
    operate(LAB_ROTATE, 180.0, other, turned);
    assert_memory_equal(turned, pixels, MAX_SIZE);
}

/* Every channel of an auto-contrasted image reaches from 0 to 255; equalising keeps the order of values. */
static void test_histograms(void **state) {
    uint8_t pixels[MAX_SIZE], out[MAX_SIZE];
    const size_t plane = (size_t)MAX_SIDE * MAX_SIDE;
    (void)state;
    noise(pixels, MAX_SIDE, 5);
    for (size_t i = 0; i < MAX_SIZE; i++)
        pixels[i] = (uint8_t)(30 + 20 * (i / plane) + pixels[i] / 3);
    operate(LAB_AUTO_CONTRAST, 0.0, pixels, out);
    for (size_t channel = 0; channel < LAB_IMAGE_CHANNELS; channel++) {
        int low = 255, high = 0;
        for (size_t i = channel * plane; i < (channel + 1) * plane; i++) {
            low = out[i] < low ? out[i] : low;
            high = out[i] > high ? out[i] : high;
        }
        assert_int_equal(low, 0);
        assert_int_equal(high, 255);
    }
    operate(LAB_EQUALISE, 0.0, pixels, out);
    for (size_t i = 1; i < MAX_SIZE; i++)
        if (i % plane != 0) {
            assert_true((pixels[i] < pixels[i - 1]) <= (out[i] <= out[i - 1]));
            assert_true((pixels[i] == pixels[i - 1]) <= (out[i] == out[i - 1]));
        }
}

/* Half-way to the degenerate images of a single pixel's image they are known. */
static void test_blends(void **state) {
    uint8_t pixel[3] = {200, 100, 50}, out[3];
    const int grey = (19595 * 200 + 38470 * 100 + 7471 * 50 + 32768) / 65536;
    (void)state;
    lab_image_operate(LAB_BRIGHTNESS, -0.5, pixel, 1, out);
    for (int c = 0; c < 3; c++)
        assert_int_equal(out[c], pixel[c] / 2);
    lab_image_operate(LAB_BRIGHTNESS, 0.5, pixel, 1, out);
    for (int c = 0; c < 3; c++)
        assert_int_equal(out[c], pixel[c] * 3 / 2 < 255 ? pixel[c] * 3 / 2 : 255);
    lab_image_operation both[] = {LAB_COLOUR, LAB_CONTRAST};
    for (size_t i = 0; i < 2; i++) {
        lab_image_operate(both[i], -1.0, pixel, 1, out);
        for (int c = 0; c < 3; c++)
            assert_int_equal(out[c], grey);
    }
    lab_image_operate(LAB_SHARPNESS, 0.9, pixel, 1, out); /* all rim */
    assert_memory_equal(out, pixel, sizeof out);
}

/* ---- what is drawn ---- */

/* Six deviations: a right program fails once in 10⁹ such checks, and this one's numbers are fixed. */
static void check_share(size_t seen, size_t of, double probability, const char *what) {
    const double deviation = sqrt((double)of * probability * (1.0 - probability));
    if (fabs((double)seen - (double)of * probability) > 6.0 * deviation)
        fail_msg("%s: %zu of %zu, expected a share of %g", what, seen, of, probability);
}

static void test_policy_draws(void **state) {
    size_t chosen[LAB_SUB_POLICIES] = {0}, done[LAB_SUB_POLICIES][2] = {{0}}, both[LAB_SUB_POLICIES] = {0},
           mirrored = 0;
    (void)state;
    for (uint64_t i = 0; i < DRAWS; i++) {
        lab_augment_draw draw;
        lab_augment_draw_sample(&draw, &key, i);
        assert_true(draw.sub_policy < LAB_SUB_POLICIES);
        chosen[draw.sub_policy]++;
        done[draw.sub_policy][0] += draw.done[0];
        done[draw.sub_policy][1] += draw.done[1];
        both[draw.sub_policy] += draw.done[0] && draw.done[1];
        mirrored += draw.mirrored[0] != draw.mirrored[1];
    }
    for (size_t p = 0; p < LAB_SUB_POLICIES; p++) {
        const double first = lab_policy[p][0].tenths / 10.0, second = lab_policy[p][1].tenths / 10.0;
        check_share(chosen[p], DRAWS, 1.0 / LAB_SUB_POLICIES, "sub-policy");
        check_share(done[p][0], chosen[p], first, lab_image_operation_name(lab_policy[p][0].operation));
        check_share(done[p][1], chosen[p], second, lab_image_operation_name(lab_policy[p][1].operation));
        check_share(both[p], chosen[p], first * second, "both operations");
    }
    check_share(mirrored, DRAWS, 0.5, "different signs");
}

static void test_crop_and_flip_draws(void **state) {
    size_t places[81] = {0}, flips = 0, flipped_left = 0, left = 0;
    (void)state;
    for (uint64_t i = 0; i < DRAWS; i++) {
        lab_augment_draw draw;
        lab_augment_draw_sample(&draw, &key, i);
        assert_true(draw.across <= 8 && draw.down <= 8);
        places[9 * draw.down + draw.across]++;
        flips += draw.flip;
        left += draw.across < 4;
        flipped_left += draw.flip && draw.across < 4;
    }
    for (size_t p = 0; p < 81; p++)
        check_share(places[p], DRAWS, 1.0 / 81.0, "place");
    check_share(flips, DRAWS, 0.5, "flip");
    check_share(flipped_left, left, 0.5, "flip, given the place");
}

/* A function of (key, sample) only; other samples, steps and seeds draw otherwise. */
static void test_determinism(void **state) {
    static float one[MAX_SIZE], two[MAX_SIZE];
    uint8_t pixels[MAX_SIZE], scratch[2 * MAX_SIZE];
    const locus_random others[] = {{17, LOCUS_RANDOM_USER, 4}, {18, LOCUS_RANDOM_USER, 3}, key};
    size_t same[3] = {0};
    (void)state;
    assert_int_equal(lab_image_augment_scratch(MAX_SIDE), sizeof scratch);
    noise(pixels, MAX_SIDE, 6);
    for (uint64_t sample = 0; sample < 200; sample++) {
        memset(scratch, (int)sample, sizeof scratch);
        lab_image_augment(pixels, MAX_SIDE, &key, sample, scratch, one);
        memset(scratch, 0, sizeof scratch);
        lab_image_augment(pixels, MAX_SIDE, &key, sample, scratch, two);
        assert_memory_equal(one, two, sizeof one);
        for (size_t o = 0; o < 3; o++) {
            lab_image_augment(pixels, MAX_SIDE, &others[o], sample + (o == 2), scratch, two);
            same[o] += memcmp(one, two, sizeof one) == 0;
        }
    }
    for (size_t o = 0; o < 3; o++)
        assert_true(same[o] <= 8);
}

/* The whole is its parts in their order: policy, crop, flip, normalise. */
static void test_order(void **state) {
    static float want[MAX_SIZE], got[MAX_SIZE];
    uint8_t pixels[MAX_SIZE], now[MAX_SIZE], next[MAX_SIZE], scratch[2 * MAX_SIZE];
    (void)state;
    noise(pixels, MAX_SIDE, 7);
    for (uint64_t sample = 0; sample < 300; sample++) {
        lab_augment_draw draw;
        lab_augment_draw_sample(&draw, &key, sample);
        memcpy(now, pixels, sizeof now);
        for (size_t i = 0; i < 2; i++) {
            const lab_policy_step *step = &lab_policy[draw.sub_policy][i];
            const double value = lab_image_operation_value(step->operation, step->level, MAX_SIDE);
            const double sign = draw.mirrored[i] && lab_image_operation_signed(step->operation) ? -1.0 : 1.0;
            if (draw.done[i]) {
                operate(step->operation, sign * value, now, next);
                memcpy(now, next, sizeof now);
            }
        }
        lab_image_crop(now, MAX_SIDE, draw.across, draw.down, next);
        if (draw.flip)
            lab_image_flip(next, MAX_SIDE);
        lab_image_normalise(next, MAX_SIDE, want);
        lab_image_augment(pixels, MAX_SIDE, &key, sample, scratch, got);
        assert_memory_equal(got, want, sizeof want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flip),
        cmocka_unit_test(test_crop),
        cmocka_unit_test(test_normalise),
        cmocka_unit_test(test_least_magnitude),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_translation),
        cmocka_unit_test(test_quarter_turns),
        cmocka_unit_test(test_shears),
        cmocka_unit_test(test_histograms),
        cmocka_unit_test(test_blends),
        cmocka_unit_test(test_policy_draws),
        cmocka_unit_test(test_crop_and_flip_draws),
        cmocka_unit_test(test_determinism),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
