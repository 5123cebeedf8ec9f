/* SPDX-License-Identifier: MIT */
/* Columns of costs, with the field of a summary that each reads and how its numbers are written. */
#include "page/cost_columns.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

static void format_large(char *text, size_t size, double value) {
    const char *unit = value >= 1e6 ? " M" : value >= 1e4 ? " k" : "";
    double scaled = value >= 1e6 ? value / 1e6 : value >= 1e4 ? value / 1e3 : value;
    snprintf(text, size, "%.*f%s", *unit ? (scaled < 10 ? 2 : 1) : 0, scaled, unit);
}

void lab_cost_time(char *text, size_t size, double value) {
    if (value < 100)
        snprintf(text, size, "%.1f s", value);
    else if (value < 6000)
        snprintf(text, size, "%.1f min", value / 60);
    else
        snprintf(text, size, "%.1f h", value / 3600);
}

void lab_cost_memory(char *text, size_t size, double value) {
    if (value < 0x1p30)
        snprintf(text, size, "%.0f MiB", value / 0x1p20);
    else
        snprintf(text, size, "%.2f GiB", value / 0x1p30);
}

const lab_cost lab_costs[LAB_COSTS] = {
    {"training speed", "tokens a second", offsetof(lab_summary_row, tokens_per_second), format_large},
    {"time", "of a run", offsetof(lab_summary_row, wall_seconds), lab_cost_time},
    {"peak memory", "of the process", offsetof(lab_summary_row, peak_bytes), lab_cost_memory},
    {"parameters", "learned", offsetof(lab_summary_row, parameters), format_large},
};

const lab_statistic *lab_cost_of(const lab_summary_row *row, const lab_cost *cost) {
    return (const lab_statistic *)(const void *)((const char *)row + cost->offset);
}

double lab_cost_most(const lab_summary_section *section, const lab_cost *cost) {
    double most = 0;
    for (size_t i = 0; i < section->row_count; i++)
        most = fmax(most, lab_cost_of(&section->rows[i], cost)->mean);
    return most;
}

double lab_cost_spread(const lab_statistic *s) {
    return s->count > 1 && s->deviation > 0.0005 * s->mean ? 100 * s->deviation / s->mean : 0;
}
