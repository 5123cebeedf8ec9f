/* SPDX-License-Identifier: MIT */
/* What is told of an encoding's costs, and how. */
#ifndef LAB_COST_COLUMNS_H
#define LAB_COST_COLUMNS_H

#include "report/tables/summary.h"

typedef struct lab_cost {
    const char *name, *unit;
    size_t offset; /* of its statistic in a row */
    void (*format)(char *text, size_t size, double value);
} lab_cost;

enum { LAB_COSTS = 4 };
extern const lab_cost lab_costs[LAB_COSTS];

const lab_statistic *lab_cost_of(const lab_summary_row *row, const lab_cost *cost);
/* The largest mean of a section: what a bar as wide as its column stands for. */
double lab_cost_most(const lab_summary_section *section, const lab_cost *cost);
/* The deviation over seeds in per cent of the mean; 0 where there is none that would be seen. */
double lab_cost_spread(const lab_statistic *s);

void lab_cost_time(char *text, size_t size, double seconds);
void lab_cost_memory(char *text, size_t size, double bytes);

#endif
