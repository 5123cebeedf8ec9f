/* SPDX-License-Identifier: MIT */
/* The image operations of AutoAugment's CIFAR-10 policy, on bytes [3, side, side] in red, green and blue planes, with
 * the rounding of the Pillow imaging library, so that they can be compared with it byte by byte.
 *
 * Each has a value:
 *   shear x, y       s: the pixel at (x, y) is taken from (x + s·y, y), or (x, y + s·x)
 *   translate x, y   pixels, to the right, or down
 *   rotate           degrees, counterclockwise, around the middle
 *   brightness, colour, contrast, sharpness
 *                    f: what lies at 1 + f on the line from a degenerate image (0) to this one (1): black; its grey
 *                    image; its mean grey; it smoothed with (1 1 1; 1 5 1; 1 1 1) / 13, but for the rim
 *   posterise        bits that are kept
 *   solarise         threshold: what is not below it is inverted
 *   auto-contrast, equalise, invert: none
 * Geometry takes the nearest pixel; what comes from outside is grey, 128. */
#ifndef LAB_AUGMENT_OPERATIONS_H
#define LAB_AUGMENT_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAB_IMAGE_CHANNELS 3
#define LAB_AUGMENT_LEVELS 10
#define LAB_AUGMENT_FILL 128

typedef enum lab_image_operation {
    LAB_SHEAR_X,
    LAB_SHEAR_Y,
    LAB_TRANSLATE_X,
    LAB_TRANSLATE_Y,
    LAB_ROTATE,
    LAB_BRIGHTNESS,
    LAB_COLOUR,
    LAB_CONTRAST,
    LAB_SHARPNESS,
    LAB_POSTERISE,
    LAB_SOLARISE,
    LAB_AUTO_CONTRAST,
    LAB_EQUALISE,
    LAB_INVERT,
    LAB_IMAGE_OPERATIONS
} lab_image_operation;

/* "ShearX", "Color", …: the names of the paper. */
const char *lab_image_operation_name(lab_image_operation operation);
/* Whether the policy mirrors it: its value is taken with either sign. */
bool lab_image_operation_signed(lab_image_operation operation);
/* Its value at a level, 0 … 9, without sign: shear up to 0.3, translation up to 150/331 of the side, cut to whole
 * pixels, rotation up to 30, f up to 0.9, bits from 8 down to 4, threshold from 255 down to 0. */
double lab_image_operation_value(lab_image_operation operation, int level, size_t side);

/* Out of place; side below 16384. */
void lab_image_operate(lab_image_operation operation, double value, const uint8_t *pixels, size_t side, uint8_t *out);

#endif
