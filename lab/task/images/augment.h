/* SPDX-License-Identifier: MIT */
/* Training images: AutoAugment's policy for CIFAR-10, random crop, horizontal flip, normalisation, in this order, that
 * of the code that Table 3 was published with.
 *
 *   policy      one of 25 sub-policies, evenly; each of its two operations is done with a probability of its own; one
 *               that has a sign is mirrored with probability 1/2 (Cubuk, Zoph, Mané, Vasudevan, Le: AutoAugment,
 *               CVPR 2019, appendix: the policy found on CIFAR-10; magnitudes at ten levels)
 *   crop        a window of the image's size, evenly among the 81 places on the image with 4 pixels of zeros around it
 *   flip        left and right, with probability 1/2
 *   normalise   (x / 255 − mean) / deviation, channel by channel
 *
 * Images are bytes [3, side, side]: red, green, blue planes, row by row. Random numbers come from (key, sample) only.
 * Nothing here allocates, keeps state or fails. */
#ifndef LAB_AUGMENT_H
#define LAB_AUGMENT_H

#include <locus/random.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "task/images/augment_operations.h"

#define LAB_AUGMENT_PADDING 4
#define LAB_SUB_POLICIES 25

extern const float lab_image_mean[LAB_IMAGE_CHANNELS], lab_image_deviation[LAB_IMAGE_CHANNELS];

typedef struct lab_policy_step {
    lab_image_operation operation;
    int tenths; /* of its probability */
    int level;  /* 0 … 9, of its magnitude; operations without one don't look at it */
} lab_policy_step;
extern const lab_policy_step lab_policy[LAB_SUB_POLICIES][2];

/* What is drawn for one image. */
typedef struct lab_augment_draw {
    size_t sub_policy;
    bool done[2], mirrored[2]; /* mirrored: drawn for every operation, it speaks to those that have a sign */
    size_t across, down; /* left upper corner of the window in the padded image, 0 … 8; 4, 4: the image itself */
    bool flip;
} lab_augment_draw;
void lab_augment_draw_sample(lab_augment_draw *draw, const locus_random *key, uint64_t sample);

/* out [3, side, side] = the window at (across, down) of the zero-padded image. Out of place. */
void lab_image_crop(const uint8_t *pixels, size_t side, size_t across, size_t down, uint8_t *out);
/* In place. */
void lab_image_flip(uint8_t *pixels, size_t side);
/* out [3, side, side] floats, computed in single precision. */
void lab_image_normalise(const uint8_t *pixels, size_t side, float *out);

/* All of it. `scratch` has lab_image_augment_scratch(side) bytes; `out` [3, side, side]. */
size_t lab_image_augment_scratch(size_t side);
void lab_image_augment(const uint8_t *pixels, size_t side, const locus_random *key, uint64_t sample, uint8_t *scratch,
                       float *out);

#endif
