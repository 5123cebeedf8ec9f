/* SPDX-License-Identifier: MIT */
/* Axes of a chart: see chart_frame.h. Labels stand where they are read without turning the head: that of y above its
 * axis, that of x under the end of its own. */
#include "page/chart_frame.h"

#include "figures/axes.h"
#include "page/markup.h"

#include <math.h>
#include <string.h>

enum { LEFT = 50, RIGHT = 14, TOP = 28, BOTTOM = 42, NAME_LINE = 14, MOST_TICKS = 40 };

/* ---- ranges ---- */

static void widen(double *low, double *high, double value, bool positive) {
    if (isfinite(value) && (value > 0 || !positive)) {
        *low = fmin(*low, value);
        *high = fmax(*high, value);
    }
}

static void fit(const lab_chart *chart, lab_frame *frame) {
    double x[2] = {HUGE_VAL, -HUGE_VAL}, y[2] = {HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < chart->series_count; i++) {
        const lab_series *s = &chart->series[i];
        for (size_t j = 0; j < s->count; j++) {
            widen(&x[0], &x[1], s->x[j], false);
            widen(&y[0], &y[1], s->y[j], chart->log_y);
            widen(&y[0], &y[1], s->low != NULL ? s->low[j] : s->y[j], chart->log_y);
            widen(&y[0], &y[1], s->low != NULL ? s->high[j] : s->y[j], chart->log_y);
        }
    }
    if (!(frame->x_low < frame->x_high)) {
        frame->x_low = x[0] <= x[1] ? x[0] : 0;
        frame->x_high = x[0] < x[1] ? x[1] : frame->x_low + 1;
    }
    if (!(frame->y_low < frame->y_high)) {
        const double low = y[0] <= y[1] ? y[0] : 1, high = y[0] <= y[1] ? y[1] : 1;
        const double room = high > low ? 0.06 * (high - low) : 0.5;
        frame->y_low = chart->log_y ? low / 1.15 : low - room;
        frame->y_high = chart->log_y ? high * 1.15 : high + room;
    }
}

static bool is_tall(const lab_chart *chart) {
    for (size_t i = 0; chart->x_names != NULL && i < chart->x_name_count; i++)
        if (strchr(chart->x_names[i], '\n') != NULL)
            return true;
    return false;
}

lab_frame lab_frame_of(const lab_chart *chart) {
    lab_frame frame = {.left = LEFT,
                       .top = TOP,
                       .right = (double)chart->width - RIGHT,
                       .bottom = (double)chart->height - BOTTOM - (is_tall(chart) ? NAME_LINE : 0),
                       .x_low = chart->x_low,
                       .x_high = chart->x_high,
                       .y_low = chart->y_low,
                       .y_high = chart->y_high,
                       .log_y = chart->log_y};
    fit(chart, &frame);
    return frame;
}

/* ---- places ---- */

bool lab_frame_has(const lab_frame *frame, double y) {
    return isfinite(y) && (y > 0 || !frame->log_y);
}

double lab_frame_x(const lab_frame *frame, double x) {
    return frame->left + (x - frame->x_low) / (frame->x_high - frame->x_low) * (frame->right - frame->left);
}

double lab_frame_y(const lab_frame *frame, double y) {
    const double low = frame->log_y ? log(frame->y_low) : frame->y_low;
    const double high = frame->log_y ? log(frame->y_high) : frame->y_high;
    const double share = ((frame->log_y ? log(y) : y) - low) / (high - low);
    return frame->bottom - fmin(fmax(share, 0), 1) * (frame->bottom - frame->top);
}

/* ---- ticks ---- */

/* Multiples of a round step in a range. */
static size_t round_ticks(double low, double high, double wanted, bool whole, double *ticks) {
    double step = lab_round_step(high - low, wanted);
    step = whole && step < 1 ? 1 : step;
    size_t count = 0;
    // NOLINTNEXTLINE(cert-flp30-c): integers
    for (double at = ceil(low / step - 1e-9); at * step <= high + 1e-9 * step && count < MOST_TICKS; at++)
        ticks[count++] = at == 0 ? 0 : at * step;
    return count;
}

/* At 1, 2, 5 of every decade; at powers of ten only where there are many, and closer ones where there are few. */
static size_t decade_ticks(double low, double high, double *ticks) {
    static const double wide[] = {1, 2, 5}, close[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
    const bool many = high > 300 * low, few = high < 5 * low;
    const double *factors = few ? close : wide;
    const size_t factor_count = many ? 1 : few ? sizeof close / sizeof *close : sizeof wide / sizeof *wide;
    size_t count = 0;
    // NOLINTNEXTLINE(cert-flp30-c,clang-analyzer-security.FloatLoopCounter): integers, some hundred at most
    for (double decade = floor(log10(low)); decade <= ceil(log10(high)); decade++) {
        for (size_t i = 0; i < factor_count && count < MOST_TICKS; i++) {
            const double tick = factors[i] * pow(10, decade);
            if (tick >= low && tick <= high)
                ticks[count++] = tick;
        }
    }
    return count;
}

/* "20k" of 20,000, "−0.5". */
static void put_tick(FILE *page, double value) {
    const double size = fabs(value);
    fprintf(page,
            size >= 1e6   ? "%s%gM"
            : size >= 1e4 ? "%s%gk"
                          : "%s%g",
            value < 0 ? "−" : "",
            size >= 1e6   ? size / 1e6
            : size >= 1e4 ? size / 1e3
                          : size);
}

static void draw_y(const lab_frame *frame, FILE *page) {
    double ticks[MOST_TICKS];
    const size_t count = frame->log_y ? decade_ticks(frame->y_low, frame->y_high, ticks)
                                      : round_ticks(frame->y_low, frame->y_high, 5, false, ticks);
    fputs("<path class=\"rule\" d=\"", page);
    for (size_t i = 0; i < count; i++)
        fprintf(page, "M%g %.1fH%g", frame->left, lab_frame_y(frame, ticks[i]), frame->right);
    fputs("\"/>", page);
    for (size_t i = 0; i < count; i++) {
        fprintf(page, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">", frame->left - 6,
                lab_frame_y(frame, ticks[i]) + 4);
        put_tick(page, ticks[i]);
        fputs("</text>", page);
    }
}

static void draw_name(const lab_frame *frame, const char *name, double x, FILE *page) {
    const char *line = strchr(name, '\n');
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(name, "\n"), name);
    fprintf(page, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">", x, frame->bottom + 16);
    lab_markup_text(page, first);
    if (line != NULL) {
        fprintf(page, "</text><text class=\"small\" x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">", x,
                frame->bottom + 16 + NAME_LINE);
        lab_markup_text(page, line + 1);
    }
    fputs("</text>", page);
}

static void draw_x(const lab_frame *frame, const lab_chart *chart, FILE *page) {
    double ticks[MOST_TICKS];
    const size_t count =
        chart->x_names != NULL ? 0 : round_ticks(frame->x_low, frame->x_high, 6, chart->whole_x, ticks);
    fprintf(page, "<path class=\"axis\" d=\"M%g %gH%g", frame->left, frame->bottom, frame->right);
    for (size_t i = 0; i < count; i++)
        fprintf(page, "M%.1f %gv4", lab_frame_x(frame, ticks[i]), frame->bottom);
    fputs("\"/>", page);
    for (size_t i = 0; i < count; i++) {
        fprintf(page, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">", lab_frame_x(frame, ticks[i]),
                frame->bottom + 16);
        put_tick(page, ticks[i]);
        fputs("</text>", page);
    }
    for (size_t i = 0; chart->x_names != NULL && i < chart->x_name_count; i++)
        draw_name(frame, chart->x_names[i], lab_frame_x(frame, (double)i), page);
}

/* Where training ended, and what lies beyond it; 0: nowhere, also where places are negative. */
static void draw_trained(const lab_frame *frame, double trained, FILE *page) {
    const double x = lab_frame_x(frame, trained), height = frame->bottom - frame->top;
    if (!(trained > fmax(frame->x_low, 0) && trained < frame->x_high))
        return;
    fprintf(page, "<rect class=\"beyond\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"%g\"/>", x, frame->top,
            frame->right - x, height);
    fprintf(page, "<path class=\"trained\" d=\"M%.1f %gv%g\"/>", x, frame->top, height);
    const bool near_end = frame->right - x < 60; /* the word stands above the curves, on the side with room */
    fprintf(page, "<text class=\"small\" x=\"%.1f\" y=\"%g\"%s>trained</text>", near_end ? x - 4 : x + 4,
            frame->top - 3, near_end ? " text-anchor=\"end\"" : "");
}

void lab_frame_draw(const lab_frame *frame, const lab_chart *chart, FILE *page) {
    fputs("<g aria-hidden=\"true\">", page);
    draw_trained(frame, chart->trained, page);
    draw_y(frame, page);
    draw_x(frame, chart, page);
    fputs("<text class=\"label\" x=\"2\" y=\"13\">", page);
    lab_markup_text(page, chart->y_label);
    fprintf(page, "</text><text class=\"label\" x=\"%g\" y=\"%zu\" text-anchor=\"end\">", frame->right,
            chart->height - 5);
    lab_markup_text(page, chart->x_label);
    fputs("</text></g>\n", page);
}
