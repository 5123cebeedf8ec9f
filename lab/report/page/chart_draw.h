/* SPDX-License-Identifier: MIT */
/* Charts of a page: an SVG that takes its colours from the page (--axis, --grid, --text, --c0 …), and the same numbers
 * as JSON for the page's script. */
#ifndef LAB_CHART_DRAW_H
#define LAB_CHART_DRAW_H

#include "report/page/chart.h"

#include <locus/status.h>
#include <stdio.h>

/* Draws into `page`, and the numbers behind it, unless there are none. MEMORY only. */
locus_status lab_chart_draw(const lab_chart *chart, FILE *page, locus_error *error);

/* A piece of line as series of a mark and a colour have it, for legends: an SVG. */
void lab_chart_swatch(FILE *page, size_t colour, size_t mark);
/* The same of a series for comparison. */
void lab_chart_reference_swatch(FILE *page);

#endif
