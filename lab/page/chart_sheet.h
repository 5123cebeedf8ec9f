/* SPDX-License-Identifier: MIT */
/* Charts of a page as one SVG that is complete in itself, on paper's white: the same code draws them, in the page's
 * colours in light. Out of memory is remembered, and told when the sheet is written. */
#ifndef LAB_CHART_SHEET_H
#define LAB_CHART_SHEET_H

#include "page/chart_draw.h"
#include "report/tables/summary.h"

typedef struct lab_sheet {
    lab_chart_taker taker; /* puts charts side by side, two in a row */
    FILE *body;            /* what is drawn so far, NULL: no memory */
    char *text;
    size_t bytes;
    double top; /* where the next part begins */
    size_t column;
} lab_sheet;

enum { LAB_SHEET_WIDTH = 992, LAB_SHEET_MARGIN = 24 };

locus_status lab_sheet_open(lab_sheet *sheet, locus_error *error);
void lab_sheet_close(lab_sheet *sheet);

/* A line that says what follows; the encodings with their lines. */
void lab_sheet_heading(lab_sheet *sheet, const lab_summary_section *section);
void lab_sheet_legend(lab_sheet *sheet, const lab_summary_section *section);
/* What each encoding costs: numbers, with bars below them. */
void lab_sheet_costs(lab_sheet *sheet, const lab_summary_section *section);
/* Ends a row of charts. */
void lab_sheet_break(lab_sheet *sheet);

/* As lab_svg_write does; `title` is what the picture is called by who reads it aloud. */
locus_status lab_sheet_write(lab_sheet *sheet, const char *title, const char *path, locus_error *error);

#endif
