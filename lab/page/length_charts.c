/* SPDX-License-Identifier: MIT */
/* Scores against the size of test samples: the trained size, and those that were scored beside it. */
#include "page/section_charts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = LAB_CHART_MOST_ROWS };

static void move_point(lab_score_line *line, size_t to, size_t from) {
    line->x[to] = line->x[from];
    line->y[to] = line->y[from];
    line->low[to] = line->low[from];
    line->high[to] = line->high[from];
}

void lab_score_line_add(lab_score_line *line, double x, lab_measure measure, const lab_statistic *s) {
    const double scale = lab_measure_scale(measure);
    const bool share = scale == 100;
    size_t at = line->count;
    if (s->count == 0)
        return;
    for (; at > 0 && line->x[at - 1] > x; at--)
        move_point(line, at, at - 1);
    line->x[at] = x;
    line->y[at] = scale * s->mean;
    line->low[at] = scale * fmax(s->mean - s->deviation, 0);
    line->high[at] = scale * (share ? fmin(s->mean + s->deviation, 1) : s->mean + s->deviation);
    line->count++;
}

lab_series lab_score_series(const lab_summary_row *row, const lab_score_line *line) {
    return (lab_series){.name = row->encoding,
                        .colour = row->colour,
                        .mark = row->mark,
                        .count = line->count,
                        .x = line->x,
                        .y = line->y,
                        .low = row->done > 1 ? line->low : NULL,
                        .high = line->high,
                        .points = true};
}

/* The trained length counts as one of them, where a set of just that length was scored as well. */
static void gather(lab_score_line *line, const lab_summary_section *section, const lab_summary_row *row, size_t panel,
                   lab_measure measure) {
    const char *score = section->class->lengths->panels[panel].score;
    bool again = false;
    for (size_t j = 0; j < section->length_count; j++) {
        again = again ||
                ((double)section->lengths[j] == section->trained_length && row->drawn_at_length[panel][j].count > 0);
        lab_score_line_add(line, (double)section->lengths[j], measure, &row->drawn_at_length[panel][j]);
    }
    if (!again && !section->class->lengths->parts)
        lab_score_line_add(line, section->trained_length, measure, lab_summary_named(section, row, score));
}

/* Every panel's score is a column. */
static lab_measure measure_of(const lab_task_class *class, const char *score) {
    size_t c = 0;
    while (strcmp(class->columns[c].name, score) != 0)
        c++;
    return class->columns[c].measure;
}

bool lab_section_has_lengths(const lab_summary_section *section) {
    return section->class->lengths != NULL && section->length_count > 0 && section->trained_length > 0;
}

static locus_status draw_panel(const lab_summary_section *section, size_t panel, lab_chart *chart,
                               lab_chart_taker *taker, locus_error *error) {
    const lab_measure measure = measure_of(section->class, section->class->lengths->panels[panel].score);
    const size_t count = section->row_count < MOST_ROWS ? section->row_count : MOST_ROWS;
    lab_score_line lines[MOST_ROWS] = {0};
    lab_series series[MOST_ROWS];
    double last = 0;
    for (size_t i = 0; i < count; i++) {
        lab_score_line *line = &lines[i];
        gather(line, section, &section->rows[i], panel, measure);
        if (line->count == 0)
            continue;
        last = fmax(last, line->x[line->count - 1]);
        series[chart->series_count++] = lab_score_series(&section->rows[i], line);
    }
    if (chart->series_count == 0)
        return LOCUS_OK;
    const bool share = lab_measure_scale(measure) == 100;
    chart->y_high = share ? 104 : 0;
    chart->log_y = !share;
    chart->x_high = 1.06 * last;
    chart->series = series;
    return taker->take(taker, chart, error);
}

locus_status lab_section_lengths(const lab_summary_section *section, size_t number, lab_chart_taker *taker,
                                 locus_error *error) {
    const lab_length_axis *axis = section->class->lengths;
    locus_status status = LOCUS_OK;
    for (size_t panel = 0; panel < LAB_LENGTH_PANELS && status == LOCUS_OK; panel++) {
        char id[32];
        if (!lab_section_has_lengths(section) || axis->panels[panel].score == NULL)
            continue;
        snprintf(id, sizeof id, "lengths%zu_%zu", number, panel);
        lab_chart chart = {.id = id,
                           .title = axis->panels[panel].title,
                           .x_label = axis->label,
                           .y_label = axis->panels[panel].label,
                           .width = LAB_CHART_WIDTH,
                           .height = LAB_CHART_HEIGHT,
                           .trained = section->trained_length,
                           .dodge = true};
        status = draw_panel(section, panel, &chart, taker, error);
    }
    return status;
}
