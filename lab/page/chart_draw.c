/* SPDX-License-Identifier: MIT */
/* Charts: see chart_draw.h. */
#include "page/chart_draw.h"

#include "io/fail.h"
#include "page/chart_data.h"
#include "page/chart_frame.h"
#include "page/chart_path.h"
#include "page/markup.h"

#include <math.h>
#include <stdlib.h>

/* Of lines whose points are many: so many markers, so many points. */
enum { MARKERS = 6, MOST_POINTS = 300, MOST_OF_BAND = 100, DESCRIBED = 16 };
#define TOLERANCE 0.2
#define DODGE 2.4

/* Five of the one and seven of the other: 35 series differ. */
static const char *const dashes[] = {"", "7 3", "2 2.5", "9 3 2 3", "14 4"};
static const char *const markers[] = {"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
                                      "m-2.7-2.7h5.4v5.4h-5.4z",
                                      "m0-3.5l3.3 5.7h-6.6z",
                                      "m0-3.9l3.9 3.9-3.9 3.9-3.9-3.9z",
                                      "m-3-3l6 6m0-6l-6 6",
                                      "m0 3.5l3.3-5.7h-6.6z",
                                      "m-3.6 0h7.2m-3.6-3.6v7.2"};
enum { DASHES = sizeof dashes / sizeof *dashes, SHAPES = sizeof markers / sizeof *markers };

/* A series where it stands in the picture; a value without a place is left out. One block, from points. */
typedef struct drawn {
    lab_point *points, *low, *high;
    unsigned char *room;
    size_t count;
    bool ranged; /* has low and high */
} drawn;

static locus_status place(drawn *d, const lab_frame *frame, const lab_series *s, double shift, locus_error *error) {
    *d = (drawn){.points = calloc(3 * s->count + 1, sizeof *d->points), .ranged = s->low != NULL};
    d->room = calloc(s->count + 1, 1);
    if (d->points == NULL || d->room == NULL)
        return lab_fail_memory(error, "a chart");
    d->low = d->points + s->count;
    d->high = d->low + s->count;
    for (size_t i = 0; i < s->count; i++) {
        if (!lab_frame_has(frame, s->y[i]) || !isfinite(s->x[i]))
            continue;
        const double x = lab_frame_x(frame, s->x[i]) + shift, y = lab_frame_y(frame, s->y[i]);
        const bool ends = d->ranged && isfinite(s->low[i]) && isfinite(s->high[i]);
        d->points[d->count] = (lab_point){x, y};
        d->low[d->count] = (lab_point){x, ends ? lab_frame_y(frame, fmax(s->low[i], frame->y_low)) : y};
        d->high[d->count++] = (lab_point){x, ends ? lab_frame_y(frame, fmax(s->high[i], frame->y_low)) : y};
    }
    return LOCUS_OK;
}

static void discard(drawn *d) {
    free(d->points);
    free(d->room);
}

/* ---- what is drawn ---- */

static void turn(lab_point *points, size_t count) {
    for (size_t i = 0; i < count / 2; i++) {
        const lab_point other = points[i];
        points[i] = points[count - 1 - i];
        points[count - 1 - i] = other;
    }
}

static void draw_band(drawn *d, FILE *page) {
    const size_t high = lab_path_simplify(d->high, d->count, TOLERANCE, MOST_OF_BAND, d->room);
    const size_t low = lab_path_simplify(d->low, d->count, TOLERANCE, MOST_OF_BAND, d->room);
    turn(d->low, low);
    fputs("<path class=\"band\" d=\"", page);
    lab_path_write(page, d->high, high, false);
    lab_path_write(page, d->low, low, true);
    fputs("z\"/>", page);
}

static void draw_bars(const drawn *d, FILE *page) {
    fputs("<path class=\"bars\" d=\"", page);
    for (size_t i = 0; i < d->count; i++)
        fprintf(page, "M%.1f %.1fh4m-2 0V%.1fm-2 0h4", d->points[i].x - 2, d->low[i].y, d->high[i].y);
    fputs("\"/>", page);
}

/* Of many points a few have one, at other places than those of the other series: `share` of the way to the next. */
static void draw_markers(const drawn *d, const lab_series *s, double share, FILE *page) {
    const double first = d->points[0].x, width = d->points[d->count - 1].x - first;
    fputs("<path class=\"marks\" d=\"", page);
    for (size_t i = 0, next = 0; i < d->count; i++) {
        const double at = first + width * ((double)next + share) / MARKERS;
        if (!s->points && (d->points[i].x < at || next >= MARKERS))
            continue;
        fprintf(page, "M%.1f %.1f%s", d->points[i].x, d->points[i].y, markers[s->mark % SHAPES]);
        while (next < MARKERS && d->points[i].x >= first + width * ((double)next + share) / MARKERS)
            next++;
    }
    fputs("\"/>", page);
}

static void draw_line(drawn *d, const lab_series *s, FILE *page) {
    const size_t count = lab_path_simplify(d->points, d->count, TOLERANCE, MOST_POINTS, d->room);
    const char *dash = s->reference ? "3 4" : dashes[s->mark % DASHES];
    fputs("<path class=\"line\"", page);
    if (dash[0] != '\0')
        fprintf(page, " stroke-dasharray=\"%s\"", dash);
    fputs(" d=\"", page);
    lab_path_write(page, d->points, count, false);
    fputs("\"/>", page);
}

static void draw_series(drawn *d, const lab_series *s, double share, FILE *page) {
    if (s->reference)
        fputs("<g class=\"series reference\">", page);
    else
        fprintf(page, "<g class=\"series\" data-mark=\"%zu\" stroke=\"var(--c%zu)\" fill=\"var(--c%zu)\">", s->mark,
                s->colour, s->colour);
    if (d->ranged && s->points)
        draw_bars(d, page);
    else if (d->ranged && d->count > 1)
        draw_band(d, page);
    if (!s->reference && d->count > 0)
        draw_markers(d, s, share, page);
    draw_line(d, s, page);
    fputs("</g>\n", page);
}

/* Units by which a series stands aside from its place. */
static double shift_of(const lab_chart *chart, const lab_frame *frame, size_t index) {
    const double others = (double)chart->series_count - 1;
    double step = DODGE;
    if (chart->x_names != NULL && others > 0)
        step = 0.4 * (frame->right - frame->left) / (double)chart->x_name_count / others;
    return chart->dodge ? step * ((double)index - others / 2) : 0;
}

/* ---- words ---- */

/* "rope: 99.8 at 2500, the last of 50.": what a picture says to those who do not see it. */
static void describe(const lab_chart *chart, FILE *page) {
    fprintf(page, "<desc id=\"%s_d\">", chart->id);
    for (size_t i = 0; i < chart->series_count && i < DESCRIBED; i++) {
        const lab_series *s = &chart->series[i];
        if (s->count == 0)
            continue;
        lab_markup_text(page, s->name);
        fprintf(page, ": %.4g", s->y[s->count - 1]);
        if (chart->x_names == NULL)
            fprintf(page, " at %g", s->x[s->count - 1]);
        fprintf(page, ", the last of %zu. ", s->count);
    }
    fputs("</desc>\n", page);
}

static void open_picture(const lab_chart *chart, FILE *page) {
    fprintf(page,
            "<svg class=\"chart\" id=\"%s\" viewBox=\"0 0 %zu %zu\" role=\"img\" aria-describedby=\"%s_d\" "
            "aria-label=\"",
            chart->id, chart->width, chart->height, chart->id);
    lab_markup_text(page, chart->title);
    fputs("\">\n", page);
}

/* ---- the chart ---- */

locus_status lab_chart_content(const lab_chart *chart, const lab_frame *frame, FILE *page, locus_error *error) {
    locus_status status = LOCUS_OK;
    describe(chart, page);
    lab_frame_draw(frame, chart, page);
    for (size_t i = 0; i < chart->series_count && status == LOCUS_OK; i++) {
        drawn d;
        const double share = ((double)i + 0.5) / (double)chart->series_count;
        status = place(&d, frame, &chart->series[i], shift_of(chart, frame, i), error);
        if (status == LOCUS_OK)
            draw_series(&d, &chart->series[i], share, page);
        discard(&d);
    }
    return status;
}

locus_status lab_chart_draw(const lab_chart *chart, FILE *page, locus_error *error) {
    const lab_frame frame = lab_frame_of(chart);
    open_picture(chart, page);
    const locus_status status = lab_chart_content(chart, &frame, page, error);
    fputs("</svg>\n<script type=\"application/json\" class=\"data\">", page);
    lab_chart_data(chart, &frame, page);
    fputs("</script>\n", page);
    return status;
}

static const char swatch[] = "<svg class=\"swatch\" viewBox=\"0 0 36 10\" aria-hidden=\"true\">";

void lab_chart_sample(FILE *picture, size_t colour, size_t mark) {
    fprintf(picture,
            "<g class=\"series\" stroke=\"var(--c%zu)\" fill=\"var(--c%zu)\"><path class=\"line\" d=\"M0 5h36\" "
            "stroke-dasharray=\"%s\"/><path class=\"marks\" d=\"M18 5%s\"/></g>",
            colour, colour, dashes[mark % DASHES], markers[mark % SHAPES]);
}

void lab_chart_swatch(FILE *page, size_t colour, size_t mark) {
    fputs(swatch, page);
    lab_chart_sample(page, colour, mark);
    fputs("</svg>", page);
}

void lab_chart_reference_swatch(FILE *page) {
    fputs(swatch, page);
    fputs("<g class=\"series reference\"><path class=\"line\" d=\"M0 5h36\" stroke-dasharray=\"3 4\"/></g></svg>",
          page);
}
