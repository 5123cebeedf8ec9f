/* SPDX-License-Identifier: MIT */
/* AutoAugment's policy for CIFAR-10, crop, flip, normalisation: see augment.h. An image has sixteen random numbers of
 * its own, blocks 16·sample … of the key's stream. */
#include "task/images/augment.h"

#include <string.h>

enum { DRAW_POLICY, DRAW_DONE, DRAW_MIRROR = DRAW_DONE + 2, DRAW_ACROSS = DRAW_MIRROR + 2, DRAW_DOWN, DRAW_FLIP };
#define DRAWS 16

const float lab_image_mean[LAB_IMAGE_CHANNELS] = {0.4914f, 0.4822f, 0.4465f};
const float lab_image_deviation[LAB_IMAGE_CHANNELS] = {0.2470f, 0.2435f, 0.2616f};

const lab_policy_step lab_policy[LAB_SUB_POLICIES][2] = {
    {{LAB_INVERT, 1, 7}, {LAB_CONTRAST, 2, 6}},           {{LAB_ROTATE, 7, 2}, {LAB_TRANSLATE_X, 3, 9}},
    {{LAB_SHARPNESS, 8, 1}, {LAB_SHARPNESS, 9, 3}},       {{LAB_SHEAR_Y, 5, 8}, {LAB_TRANSLATE_Y, 7, 9}},
    {{LAB_AUTO_CONTRAST, 5, 8}, {LAB_EQUALISE, 9, 2}},    {{LAB_SHEAR_Y, 2, 7}, {LAB_POSTERISE, 3, 7}},
    {{LAB_COLOUR, 4, 3}, {LAB_BRIGHTNESS, 6, 7}},         {{LAB_SHARPNESS, 3, 9}, {LAB_BRIGHTNESS, 7, 9}},
    {{LAB_EQUALISE, 6, 5}, {LAB_EQUALISE, 5, 1}},         {{LAB_CONTRAST, 6, 7}, {LAB_SHARPNESS, 6, 5}},
    {{LAB_COLOUR, 7, 7}, {LAB_TRANSLATE_X, 5, 8}},        {{LAB_EQUALISE, 3, 7}, {LAB_AUTO_CONTRAST, 4, 8}},
    {{LAB_TRANSLATE_Y, 4, 3}, {LAB_SHARPNESS, 2, 6}},     {{LAB_BRIGHTNESS, 9, 6}, {LAB_COLOUR, 2, 8}},
    {{LAB_SOLARISE, 5, 2}, {LAB_INVERT, 0, 3}},           {{LAB_EQUALISE, 2, 0}, {LAB_AUTO_CONTRAST, 6, 0}},
    {{LAB_EQUALISE, 2, 8}, {LAB_EQUALISE, 6, 4}},         {{LAB_COLOUR, 9, 9}, {LAB_EQUALISE, 6, 6}},
    {{LAB_AUTO_CONTRAST, 8, 4}, {LAB_SOLARISE, 2, 8}},    {{LAB_BRIGHTNESS, 1, 3}, {LAB_COLOUR, 7, 0}},
    {{LAB_SOLARISE, 4, 5}, {LAB_AUTO_CONTRAST, 9, 3}},    {{LAB_TRANSLATE_Y, 9, 9}, {LAB_TRANSLATE_Y, 7, 9}},
    {{LAB_AUTO_CONTRAST, 9, 2}, {LAB_SOLARISE, 8, 3}},    {{LAB_EQUALISE, 8, 8}, {LAB_INVERT, 1, 3}},
    {{LAB_TRANSLATE_Y, 7, 9}, {LAB_AUTO_CONTRAST, 9, 1}},
};

void lab_augment_draw_sample(lab_augment_draw *draw, const locus_random *key, uint64_t sample) {
    const uint64_t first = sample * DRAWS, places = 2 * LAB_AUGMENT_PADDING + 1;
    draw->sub_policy = (size_t)locus_random_below(key, first + DRAW_POLICY, LAB_SUB_POLICIES);
    for (size_t i = 0; i < 2; i++) {
        const int tenths = lab_policy[draw->sub_policy][i].tenths;
        draw->done[i] = locus_random_below(key, first + DRAW_DONE + i, 10) < (uint64_t)tenths;
        draw->mirrored[i] = locus_random_below(key, first + DRAW_MIRROR + i, 2) == 1;
    }
    draw->across = (size_t)locus_random_below(key, first + DRAW_ACROSS, places);
    draw->down = (size_t)locus_random_below(key, first + DRAW_DOWN, places);
    draw->flip = locus_random_below(key, first + DRAW_FLIP, 2) == 1;
}

void lab_image_crop(const uint8_t *pixels, size_t side, size_t across, size_t down, uint8_t *out) {
    const size_t padding = LAB_AUGMENT_PADDING;
    /* A row of the window: `left` zeros, `width` pixels of the image from `skipped` on, zeros. */
    const size_t left = across < padding ? padding - across : 0, skipped = across > padding ? across - padding : 0;
    const size_t width = left + skipped < side ? side - left - skipped : 0;
    memset(out, 0, LAB_IMAGE_CHANNELS * side * side);
    for (size_t row = 0; width > 0 && row < LAB_IMAGE_CHANNELS * side; row++) {
        const size_t at = row % side + down; /* in the padded image */
        if (at >= padding && at < side + padding)
            memcpy(out + row * side + left, pixels + (row - row % side + at - padding) * side + skipped, width);
    }
}

void lab_image_flip(uint8_t *pixels, size_t side) {
    for (size_t row = 0; row < LAB_IMAGE_CHANNELS * side; row++) {
        uint8_t *line = pixels + row * side;
        for (size_t x = 0; x < side / 2; x++) {
            const uint8_t kept = line[x];
            line[x] = line[side - 1 - x];
            line[side - 1 - x] = kept;
        }
    }
}

void lab_image_normalise(const uint8_t *pixels, size_t side, float *out) {
    for (size_t channel = 0; channel < LAB_IMAGE_CHANNELS; channel++) {
        const float mean = lab_image_mean[channel], deviation = lab_image_deviation[channel];
        const size_t first = channel * side * side;
        for (size_t i = first; i < first + side * side; i++)
            out[i] = ((float)pixels[i] / 255.0f - mean) / deviation;
    }
}

size_t lab_image_augment_scratch(size_t side) {
    return 2 * LAB_IMAGE_CHANNELS * side * side;
}

void lab_image_augment(const uint8_t *pixels, size_t side, const locus_random *key, uint64_t sample, uint8_t *scratch,
                       float *out) {
    lab_augment_draw draw;
    lab_augment_draw_sample(&draw, key, sample);
    uint8_t *free_half = scratch, *used_half = scratch + LAB_IMAGE_CHANNELS * side * side;
    const uint8_t *image = pixels;
    for (size_t i = 0; i < 2; i++) {
        const lab_policy_step *step = &lab_policy[draw.sub_policy][i];
        if (!draw.done[i])
            continue;
        double value = lab_image_operation_value(step->operation, step->level, side);
        if (draw.mirrored[i] && lab_image_operation_signed(step->operation))
            value = -value;
        lab_image_operate(step->operation, value, image, side, free_half);
        uint8_t *swapped = used_half;
        image = used_half = free_half;
        free_half = swapped;
    }
    lab_image_crop(image, side, draw.across, draw.down, free_half);
    if (draw.flip)
        lab_image_flip(free_half, side);
    lab_image_normalise(free_half, side, out);
}
