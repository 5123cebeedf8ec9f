/* SPDX-License-Identifier: MIT */
/* Axes: see axes.h. */
#include "figures/axes.h"

#include <math.h>
#include <stdio.h>

#define TICK_SIZE 11.0
#define MOST_TICKS 1000

double lab_round_step(double range, double count) {
    double raw = range / count, power = pow(10, floor(log10(raw))), share = raw / power;
    return power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
}

lab_point lab_axes_point(const lab_axes *axes, double x, double y) {
    double low = axes->log_y ? log10(axes->y_low) : axes->y_low,
           high = axes->log_y ? log10(axes->y_high) : axes->y_high;
    double at = axes->log_y ? log10(y) : y;
    return (lab_point){axes->corner.x +
                           (x - axes->x_low) / (axes->x_high - axes->x_low) * (axes->opposite.x - axes->corner.x),
                       axes->opposite.y - (at - low) / (high - low) * (axes->opposite.y - axes->corner.y)};
}

/* "−0.5"; 0 is never "-0". */
static void format_tick(double value, double step, char *text, size_t size) {
    int digits = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
    value = fabs(value) < step / 2 ? 0 : value;
    snprintf(text, size, "%s%.*f", value < 0 ? "−" : "", digits, fabs(value));
}

/* 0.001 … 1000, else 10⁻⁴. */
static void format_power(int power, char *text, size_t size) {
    static const char *const digits[10] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    unsigned rest = (unsigned)(power < 0 ? -power : power) % 100;
    if (rest <= 3)
        snprintf(text, size, "%g", pow(10, power));
    else
        snprintf(text, size, "10%s%s%s", power < 0 ? "⁻" : "", rest > 9 ? digits[rest / 10] : "", digits[rest % 10]);
}

static void tick_x(const lab_axes *axes, lab_drawing *drawing, double x, const char *text) {
    lab_point at = lab_axes_point(axes, x, axes->y_low);
    lab_draw_segment(drawing, at, (lab_point){at.x, at.y + 4}, (lab_stroke){.colour = LAB_MUTED, .width = 1});
    lab_draw_text(drawing, (lab_point){at.x, at.y + 17},
                  (lab_label){.size = TICK_SIZE, .colour = LAB_MUTED, .anchor = LAB_MIDDLE}, text);
}

static void tick_y(const lab_axes *axes, lab_drawing *drawing, double y, const char *text) {
    lab_point at = lab_axes_point(axes, axes->x_low, y);
    lab_draw_segment(drawing, at, (lab_point){axes->opposite.x, at.y}, (lab_stroke){.colour = 0xeceef1, .width = 1});
    lab_draw_text(drawing, (lab_point){at.x - 7, at.y + 4},
                  (lab_label){.size = TICK_SIZE, .colour = LAB_MUTED, .anchor = LAB_END}, text);
}

typedef void draw_tick(const lab_axes *axes, lab_drawing *drawing, double at, const char *text);

/* At multiples of `step` from `low` to `high`, rounding aside: a sum of steps would stand still where a step is lost in
 * the rounding of large values. */
static void draw_multiples(const lab_axes *axes, lab_drawing *drawing, double low, double high, double step,
                           draw_tick *draw) {
    const double first = ceil(low / step - 1e-9), count = floor(high / step + 1e-9) - first + 1;
    for (int i = 0; i < count && count <= MOST_TICKS; i++) {
        char text[48];
        format_tick((first + i) * step, step, text, sizeof text);
        draw(axes, drawing, (first + i) * step, text);
    }
}

static void draw_ticks(const lab_axes *axes, lab_drawing *drawing) {
    const double wanted = (axes->opposite.x - axes->corner.x) / 70;
    if (axes->log_y) {
        char text[48];
        for (int power = (int)round(log10(axes->y_low)); power <= log10(axes->y_high) + 1e-9; power++) {
            format_power(power, text, sizeof text);
            tick_y(axes, drawing, pow(10, power), text);
        }
    } else {
        const double step = lab_round_step(axes->y_high - axes->y_low, 5);
        draw_multiples(axes, drawing, axes->y_low, axes->y_high, step, tick_y);
    }
    const double step = fmax(1, lab_round_step(axes->x_high - axes->x_low, wanted));
    draw_multiples(axes, drawing, axes->x_low, axes->x_high, step, tick_x);
}

void lab_axes_draw(const lab_axes *axes, lab_drawing *drawing) {
    const lab_stroke line = {.colour = LAB_MUTED, .width = 1};
    const double middle = (axes->corner.x + axes->opposite.x) / 2;
    draw_ticks(axes, drawing);
    lab_draw_segment(drawing, (lab_point){axes->corner.x, axes->opposite.y}, axes->opposite, line);
    lab_draw_segment(drawing, axes->corner, (lab_point){axes->corner.x, axes->opposite.y}, line);
    if (axes->title) {
        lab_draw_text(drawing, (lab_point){middle, axes->corner.y - 9},
                      (lab_label){.size = 13, .colour = LAB_INK, .anchor = LAB_MIDDLE, .bold = true}, axes->title);
    }
    if (axes->x_label) {
        lab_draw_text(drawing, (lab_point){middle, axes->opposite.y + 36},
                      (lab_label){.size = 12, .colour = LAB_INK, .anchor = LAB_MIDDLE}, axes->x_label);
    }
    if (axes->y_label) {
        lab_draw_text(drawing, (lab_point){axes->corner.x - 46, (axes->corner.y + axes->opposite.y) / 2},
                      (lab_label){.size = 12, .colour = LAB_INK, .anchor = LAB_MIDDLE, .upright = true}, axes->y_label);
    }
}
