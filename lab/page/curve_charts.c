/* SPDX-License-Identifier: MIT */
/* Learning curves: accuracy, or the loss of sequences, on the development set and training loss against steps, of
 * images against epochs. */
#include "page/section_charts.h"

#include "io/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_ROWS = LAB_CHART_MOST_ROWS, FEW_POINTS = 12 };

typedef struct curve {
    size_t count;
    double *x, *y, *low, *high; /* one block, from x */
} curve;

/* Mean, lowest and highest over the finished seeds of a row, at the steps of its first one. */
static locus_status gather_curve(curve *c, lab_store *store, const lab_summary_row *row, const char *metric,
                                 double factor, locus_error *error) {
    double *seeds = NULL;
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < row->run_count && status == LOCUS_OK; i++) {
        lab_metric *points = NULL;
        size_t count = 0;
        if (row->runs[i]->state != LAB_RUN_DONE)
            continue;
        status = lab_store_metrics(store, row->runs[i]->id, metric, &points, &count, error);
        if (status == LOCUS_OK && !c->x) {
            c->x = calloc(4 * count + 1, sizeof *c->x);
            seeds = calloc(count + 1, sizeof *seeds);
            if (!c->x || !seeds) {
                status = lab_fail_memory(error, "a learning curve");
                count = 0;
            }
            c->count = count;
            c->y = c->x + count;
            c->low = c->y + count;
            c->high = c->low + count;
        }
        for (size_t j = 0, at = 0; status == LOCUS_OK && j < count; j++) {
            double step = (double)points[j].step, value = factor * points[j].value;
            while (at < c->count && c->x[at] < step && seeds[at] > 0)
                at++;
            if (at < c->count && isfinite(value) && (seeds[at] == 0 || c->x[at] == step)) {
                c->low[at] = seeds[at] > 0 ? fmin(c->low[at], value) : value;
                c->high[at] = seeds[at] > 0 ? fmax(c->high[at], value) : value;
                c->x[at] = step;
                c->y[at] += value;
                seeds[at] += 1;
            }
        }
        free(points);
    }
    size_t kept = 0;
    for (size_t i = 0; i < c->count && status == LOCUS_OK; i++) {
        if (seeds[i] > 0) {
            c->x[kept] = c->x[i];
            c->y[kept] = c->y[i] / seeds[i];
            c->low[kept] = c->low[i];
            c->high[kept++] = c->high[i];
        }
    }
    c->count = kept;
    free(seeds);
    return status;
}

/* Steps or epochs from 0. */
static void fit_axes(lab_chart *chart) {
    for (size_t i = 0; i < chart->series_count; i++)
        chart->x_high = fmax(chart->x_high, chart->series[i].x[chart->series[i].count - 1]);
}

/* A straight line. */
typedef struct level {
    double x[2], y[2];
} level;

/* Where classes are told, what needs no training, grey. */
static void add_majority(lab_chart *chart, const lab_summary_section *section, level *line, lab_series *series) {
    if (section->majority > 0 && !chart->log_y) {
        *line = (level){{0, chart->x_high}, {100 * section->majority, 100 * section->majority}};
        series[chart->series_count++] =
            (lab_series){.name = "majority", .count = 2, .x = line->x, .y = line->y, .reference = true};
    }
}

typedef struct curve_job {
    const lab_summary_section *section;
    lab_store *store;
    lab_chart_taker *taker;
} curve_job;

static locus_status draw_curves(const curve_job *job, const lab_chart *frame, const char *metric, double factor,
                                locus_error *error) {
    const lab_summary_section *section = job->section;
    curve curves[MOST_ROWS] = {0};
    lab_series series[MOST_ROWS + 1];
    level majority;
    lab_chart chart = *frame;
    const double steps = section->epoch_steps > 0 ? (double)section->epoch_steps : 1; /* images: against epochs */
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < section->row_count && i < MOST_ROWS && status == LOCUS_OK; i++) {
        const lab_summary_row *row = &section->rows[i];
        status = gather_curve(&curves[i], job->store, row, metric, factor, error);
        for (size_t j = 0; j < curves[i].count; j++)
            curves[i].x[j] /= steps;
        if (status == LOCUS_OK && curves[i].count > 0) {
            series[chart.series_count++] = (lab_series){
                .name = row->encoding,
                .colour = row->colour,
                .mark = row->mark,
                .count = curves[i].count,
                .x = curves[i].x,
                .y = curves[i].y,
                .low = row->done > 1 ? curves[i].low : NULL,
                .high = row->done > 1 ? curves[i].high : NULL,
                .points = curves[i].count <= FEW_POINTS,
            };
        }
    }
    chart.series = series;
    if (status == LOCUS_OK && chart.series_count > 0) {
        fit_axes(&chart);
        add_majority(&chart, section, &majority, series);
        status = job->taker->take(job->taker, &chart, error);
    }
    for (size_t i = 0; i < MOST_ROWS; i++)
        free(curves[i].x);
    return status;
}

locus_status lab_section_curves(const lab_summary_section *section, lab_store *store, size_t number,
                                lab_chart_taker *taker, locus_error *error) {
    const curve_job job = {section, store, taker};
    const lab_curve_words *words = section->class->curves;
    const bool sequences = words->loss;
    char id[2][32];
    snprintf(id[0], sizeof id[0], "accuracy%zu", number);
    snprintf(id[1], sizeof id[1], "loss%zu", number);
    lab_chart chart = {.id = id[0],
                       .title = words->titles[0],
                       .x_label = words->x_label,
                       .y_label = words->y_labels[0],
                       .width = LAB_CHART_WIDTH,
                       .height = LAB_CHART_HEIGHT,
                       .y_high = sequences ? 0 : 100,
                       .log_y = sequences,
                       .whole_x = section->epoch_steps > 0};
    locus_status status =
        draw_curves(&job, &chart, sequences ? "dev.loss" : "dev.accuracy", sequences ? 1 : 100, error);
    chart.id = id[1];
    chart.title = words->titles[1];
    chart.y_label = words->y_labels[1];
    chart.y_high = 0;
    chart.log_y = true;
    return status == LOCUS_OK ? draw_curves(&job, &chart, "train.loss", 1, error) : status;
}
