/* SPDX-License-Identifier: MIT */
/* Charts of a page: an SVG that takes its colours from the page (--axis, --grid, --text, --c0 …), and the same numbers
 * as JSON for the page's script. */
#ifndef LAB_CHART_DRAW_H
#define LAB_CHART_DRAW_H

#include "page/chart_frame.h"

#include <locus/status.h>
#include <stdio.h>

/* Draws into `page`, and the numbers behind it, unless there are none. MEMORY only. */
locus_status lab_chart_draw(const lab_chart *chart, FILE *page, locus_error *error);

/* The picture alone, without the <svg> around it. */
locus_status lab_chart_content(const lab_chart *chart, const lab_frame *frame, FILE *picture, locus_error *error);

/* Who takes charts as they are made: a page, a picture that stands alone (chart_sheet.h). */
typedef struct lab_chart_taker {
    locus_status (*take)(struct lab_chart_taker *self, const lab_chart *chart, locus_error *error);
} lab_chart_taker;

/* What a swatch shows, at (0, 5) to (36, 5). */
void lab_chart_sample(FILE *picture, size_t colour, size_t mark);
/* A piece of line as series of a mark and a colour have it, for legends: an SVG. */
void lab_chart_swatch(FILE *page, size_t colour, size_t mark);
/* The same of a series for comparison. */
void lab_chart_reference_swatch(FILE *page);

#endif
