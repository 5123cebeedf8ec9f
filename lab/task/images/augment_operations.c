/* SPDX-License-Identifier: MIT */
/* Image operations on bytes: see augment_operations.h. Pillow's arithmetic, where it decides a byte:
 *
 *   geometry       the pixel's middle is mapped with 16 binary places after the point, and cut
 *   grey           (19595 red + 38470 green + 7471 blue + 2^15) / 2^16, cut
 *   mean grey      its mean + 1/2, cut
 *   blend          degenerate + (1 + f)·(image − degenerate), in single precision, held within 0 … 255, cut
 *   smooth         sum / 13 + 1/2, cut
 *   auto-contrast  (v − low)·255 / (high − low) in double precision, cut; low and high: least and greatest of a channel
 *   equalise       ⌊(⌊s/2⌋ + pixels of the channel below v) / s⌋, at most 255; s = ⌊pixels below its greatest / 255⌋;
 *                  if that is 0 the channel stays as it is */
#include "task/images/augment_operations.h"

#include <math.h>
#include <string.h>

static const char *const names[LAB_IMAGE_OPERATIONS] = {
    "ShearX",   "ShearY",    "TranslateX", "TranslateY", "Rotate",       "Brightness", "Color",
    "Contrast", "Sharpness", "Posterize",  "Solarize",   "AutoContrast", "Equalize",   "Invert"};

const char *lab_image_operation_name(lab_image_operation operation) {
    return names[operation];
}

bool lab_image_operation_signed(lab_image_operation operation) {
    return operation <= LAB_SHARPNESS;
}

double lab_image_operation_value(lab_image_operation operation, int level, size_t side) {
    const double share = (double)level / (LAB_AUGMENT_LEVELS - 1);
    switch (operation) {
    case LAB_SHEAR_X:
    case LAB_SHEAR_Y:
        return 0.3 * share;
    case LAB_TRANSLATE_X:
    case LAB_TRANSLATE_Y:
        return trunc(150.0 / 331.0 * (double)side * share);
    case LAB_ROTATE:
        return 30.0 * share;
    case LAB_POSTERISE:
        return 8.0 - round(4.0 * share);
    case LAB_SOLARISE:
        return 255.0 * (1.0 - share);
    case LAB_BRIGHTNESS:
    case LAB_COLOUR:
    case LAB_CONTRAST:
    case LAB_SHARPNESS:
        return 0.9 * share;
    default:
        return 0.0;
    }
}

/* ---- geometry ---- */

/* Where the pixel (x, y) is taken from: (m[0]·x + m[1]·y + m[2], m[3]·x + m[4]·y + m[5]), at the pixels' middles. */
typedef struct mapping {
    double m[6];
} mapping;

static int64_t fixed(double value) {
    return (int64_t)floor(value * 65536.0 + 0.5);
}

static void map_pixels(const mapping *map, const uint8_t *pixels, size_t side, uint8_t *out) {
    const double *m = map->m;
    const int64_t end = (int64_t)side << 16;
    const size_t plane = side * side;
    int64_t row_x = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5), row_y = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
    memset(out, LAB_AUGMENT_FILL, LAB_IMAGE_CHANNELS * plane);
    for (size_t i = 0; i < plane; row_x += fixed(m[1]), row_y += fixed(m[4])) {
        int64_t x = row_x, y = row_y;
        for (const size_t stop = i + side; i < stop; i++, x += fixed(m[0]), y += fixed(m[3])) {
            if (x < 0 || y < 0 || x >= end || y >= end)
                continue;
            const uint8_t *source = pixels + (size_t)(y >> 16) * side + (size_t)(x >> 16);
            for (size_t channel = 0; channel < LAB_IMAGE_CHANNELS; channel++)
                out[channel * plane + i] = source[channel * plane];
        }
    }
}

static mapping rotation(double degrees, size_t side) {
    const double pi = 3.14159265358979323846, angle = degrees * pi / 180.0, middle = (double)side / 2.0;
    const double c = cos(angle), s = sin(angle);
    return (mapping){{c, -s, middle - c * middle + s * middle, s, c, middle - s * middle - c * middle}};
}

/* ---- tables: one new value for each value of a channel ---- */

static void look_up(const uint8_t table[256], const uint8_t *pixels, size_t count, uint8_t *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = table[pixels[i]];
}

static void table_contrast(const size_t counts[256], uint8_t table[256]) {
    int low = 0, high = 255;
    while (low < 255 && counts[low] == 0)
        low++;
    while (high > 0 && counts[high] == 0)
        high--;
    for (int v = 0; v < 256; v++) {
        table[v] = (uint8_t)v;
        if (high > low) {
            const double scale = 255.0 / (high - low), stretched = v * scale - low * scale;
            table[v] = (uint8_t)(stretched <= 0.0 ? 0.0 : stretched >= 255.0 ? 255.0 : stretched);
        }
    }
}

static void table_equalise(const size_t counts[256], uint8_t table[256]) {
    size_t others = 0, last = 0;
    for (size_t v = 0; v < 256; v++) {
        others += counts[v];
        last = counts[v] != 0 ? counts[v] : last;
    }
    const size_t step = (others - last) / 255;
    size_t below = step / 2;
    for (size_t v = 0; v < 256; v++) {
        const size_t level = step == 0 ? v : below / step;
        table[v] = (uint8_t)(level < 255 ? level : 255);
        below += counts[v];
    }
}

static void by_histogram(lab_image_operation operation, const uint8_t *pixels, size_t side, uint8_t *out) {
    const size_t plane = side * side;
    for (size_t first = 0; first < LAB_IMAGE_CHANNELS * plane; first += plane) {
        size_t counts[256] = {0};
        uint8_t table[256];
        for (size_t i = first; i < first + plane; i++)
            counts[pixels[i]]++;
        (operation == LAB_EQUALISE ? table_equalise : table_contrast)(counts, table);
        look_up(table, pixels + first, plane, out + first);
    }
}

static void by_value(lab_image_operation operation, double value, const uint8_t *pixels, size_t side, uint8_t *out) {
    uint8_t table[256];
    for (int v = 0; v < 256; v++)
        if (operation == LAB_POSTERISE)
            table[v] = (uint8_t)(v & ~((1 << (8 - (int)value)) - 1));
        else
            table[v] = (uint8_t)(operation == LAB_SOLARISE && v < value ? v : 255 - v);
    look_up(table, pixels, LAB_IMAGE_CHANNELS * side * side, out);
}

/* ---- blends with a degenerate image ---- */

static uint8_t blend(int degenerate, int value, float share) {
    const float mixed = (float)degenerate + share * (float)(value - degenerate);
    return (uint8_t)(mixed <= 0.0f ? 0.0f : mixed >= 255.0f ? 255.0f : mixed);
}

static int grey(const uint8_t *pixel, size_t plane) {
    return (19595 * pixel[0] + 38470 * pixel[plane] + 7471 * pixel[2 * plane] + 32768) >> 16;
}

static void blend_level(int level, float share, const uint8_t *pixels, size_t count, uint8_t *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = blend(level, pixels[i], share);
}

static int mean_grey(const uint8_t *pixels, size_t side) {
    const size_t plane = side * side;
    int64_t sum = 0;
    for (size_t i = 0; i < plane; i++)
        sum += grey(pixels + i, plane);
    return (int)((double)sum / (double)plane + 0.5);
}

static void blend_grey(float share, const uint8_t *pixels, size_t side, uint8_t *out) {
    const size_t plane = side * side;
    for (size_t i = 0; i < plane; i++) {
        const int level = grey(pixels + i, plane);
        for (size_t channel = 0; channel < LAB_IMAGE_CHANNELS; channel++)
            out[channel * plane + i] = blend(level, pixels[channel * plane + i], share);
    }
}

/* Whole numbers: the sum over 13 is never half-way between two, and a float's error cannot reach the cut. */
static int smooth(const uint8_t *middle, size_t side) {
    const uint8_t *above = middle - side, *below = middle + side;
    const int sum =
        above[-1] + above[0] + above[1] + middle[-1] + 5 * middle[0] + middle[1] + below[-1] + below[0] + below[1];
    return (2 * sum + 13) / 26;
}

static void blend_smooth(float share, const uint8_t *pixels, size_t side, uint8_t *out) {
    memcpy(out, pixels, LAB_IMAGE_CHANNELS * side * side);
    for (size_t row = 0; row < LAB_IMAGE_CHANNELS * side; row++) {
        if (row % side == 0 || row % side == side - 1)
            continue;
        for (size_t i = row * side + 1; i + 1 < (row + 1) * side; i++)
            out[i] = blend(smooth(pixels + i, side), pixels[i], share);
    }
}

void lab_image_operate(lab_image_operation operation, double value, const uint8_t *pixels, size_t side, uint8_t *out) {
    const float share = (float)(1.0 + value);
    const size_t count = LAB_IMAGE_CHANNELS * side * side;
    mapping map = {{1.0, 0.0, 0.0, 0.0, 1.0, 0.0}};
    switch (operation) {
    case LAB_SHEAR_X:
        map.m[1] = value;
        break;
    case LAB_SHEAR_Y:
        map.m[3] = value;
        break;
    case LAB_TRANSLATE_X:
        map.m[2] = -value;
        break;
    case LAB_TRANSLATE_Y:
        map.m[5] = -value;
        break;
    case LAB_ROTATE:
        map = rotation(value, side);
        break;
    case LAB_BRIGHTNESS:
        blend_level(0, share, pixels, count, out);
        return;
    case LAB_COLOUR:
        blend_grey(share, pixels, side, out);
        return;
    case LAB_CONTRAST:
        blend_level(mean_grey(pixels, side), share, pixels, count, out);
        return;
    case LAB_SHARPNESS:
        blend_smooth(share, pixels, side, out);
        return;
    case LAB_AUTO_CONTRAST:
    case LAB_EQUALISE:
        by_histogram(operation, pixels, side, out);
        return;
    default:
        by_value(operation, value, pixels, side, out);
        return;
    }
    map_pixels(&map, pixels, side, out);
}
