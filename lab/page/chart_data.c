/* SPDX-License-Identifier: MIT */
/* A chart as JSON: see chart_data.h. */
#include "page/chart_data.h"

#include "page/markup.h"

#include <string.h>

enum { PLACE_DIGITS = 9, VALUE_DIGITS = 5, RANGE_DIGITS = 4, MOST_VALUES = 100000 };

typedef struct precision {
    int digits;
    size_t every; /* points that are written, counted from the last */
} precision;

static void put_text(FILE *page, const char *name, const char *text) {
    fprintf(page, ",\"%s\":", name);
    lab_markup_json_text(page, text);
}

static void put_numbers(FILE *page, const char *name, const double *values, size_t count, precision as) {
    fprintf(page, ",\"%s\":[", name);
    for (size_t i = count > 0 ? (count - 1) % as.every : 0; i < count; i += as.every) {
        fputs(i >= as.every ? "," : "", page);
        lab_markup_json_number(page, values[i], as.digits);
    }
    fputc(']', page);
}

static bool same_places(const lab_series *a, const lab_series *b) {
    return a->count == b->count && memcmp(a->x, b->x, a->count * sizeof *a->x) == 0;
}

/* How many points are left out, so that a page of many runs can still be sent. */
static size_t thin(const lab_chart *chart) {
    size_t values = 0;
    for (size_t i = 0; i < chart->series_count; i++)
        values += chart->series[i].count * (chart->series[i].low != NULL ? 3 : 1);
    return values / MOST_VALUES + 1;
}

static void put_series(FILE *page, const lab_chart *chart, size_t index, size_t every) {
    const lab_series *s = &chart->series[index];
    fputs(index > 0 ? ",\n{\"name\":" : "\n{\"name\":", page);
    lab_markup_json_text(page, s->name);
    if (!s->reference)
        fprintf(page, ",\"mark\":%zu,\"colour\":%zu", s->mark, s->colour);
    if (index == 0 || !same_places(s, s - 1))
        put_numbers(page, "x", s->x, s->count, (precision){PLACE_DIGITS, every});
    put_numbers(page, "y", s->y, s->count, (precision){VALUE_DIGITS, every});
    if (s->low != NULL) {
        put_numbers(page, "low", s->low, s->count, (precision){RANGE_DIGITS, every});
        put_numbers(page, "high", s->high, s->count, (precision){RANGE_DIGITS, every});
    }
    fputc('}', page);
}

static void put_names(FILE *page, const lab_chart *chart) {
    for (size_t i = 0; chart->x_names != NULL && i < chart->x_name_count; i++) {
        fputs(i > 0 ? "," : ",\"names\":[", page);
        lab_markup_json_text(page, chart->x_names[i]);
    }
    fputs(chart->x_names != NULL && chart->x_name_count > 0 ? "]" : "", page);
}

void lab_chart_data(const lab_chart *chart, const lab_frame *frame, FILE *page) {
    const double field[] = {frame->left, frame->top, frame->right, frame->bottom};
    const double range[] = {frame->x_low, frame->x_high, frame->y_low, frame->y_high};
    const precision whole = {PLACE_DIGITS, 1};
    const size_t every = thin(chart);
    fputs("{\"id\":", page);
    lab_markup_json_text(page, chart->id);
    put_text(page, "title", chart->title);
    put_text(page, "x", chart->x_label);
    put_text(page, "y", chart->y_label);
    put_numbers(page, "frame", field, 4, whole);
    put_numbers(page, "range", range, 4, whole);
    fprintf(page, ",\"log\":%s", frame->log_y ? "true" : "false");
    if (chart->trained > 0)
        fprintf(page, ",\"trained\":%.9g", chart->trained);
    if (every > 1)
        fprintf(page, ",\"every\":%zu", every);
    put_names(page, chart);
    fputs(",\"series\":[", page);
    for (size_t i = 0; i < chart->series_count; i++)
        put_series(page, chart, i, every);
    fputs("]}", page);
}
