/* SPDX-License-Identifier: MIT */
/* The charts of a section of results, for the page and for pictures that stand alone. */
#ifndef LAB_SECTION_CHARTS_H
#define LAB_SECTION_CHARTS_H

#include "page/chart_draw.h"
#include "report/tables/summary.h"

/* How large a chart of a section is, and how many of its encodings are drawn, the first ones. */
enum { LAB_CHART_WIDTH = 460, LAB_CHART_HEIGHT = 300, LAB_CHART_MOST_ROWS = 64 };

/* Scores of an encoding at places that ascend, in the units of their measure, with a deviation below and above. */
enum { LAB_LINE_POINTS = LAB_SUMMARY_MAX_BINS };
_Static_assert(LAB_LINE_POINTS > LAB_SUMMARY_MAX_LENGTHS, "a line has room for all lengths and the trained one");
typedef struct lab_score_line {
    double x[LAB_LINE_POINTS], y[LAB_LINE_POINTS], low[LAB_LINE_POINTS], high[LAB_LINE_POINTS];
    size_t count;
} lab_score_line;

/* length_charts.c: adds scores that any seed has, at their place among the others. */
void lab_score_line_add(lab_score_line *line, double x, lab_measure measure, const lab_statistic *s);
/* With bars, of several seeds. The line is borrowed. */
lab_series lab_score_series(const lab_summary_row *row, const lab_score_line *line);

/* Learning curves, curve_charts.c. `number` is the section's, for the charts' ids. */
locus_status lab_section_curves(const lab_summary_section *section, lab_store *store, size_t number,
                                lab_chart_taker *taker, locus_error *error);

/* Scores of test sets of other sizes, length_charts.c; nothing where there are none. */
bool lab_section_has_lengths(const lab_summary_section *section);
locus_status lab_section_lengths(const lab_summary_section *section, size_t number, lab_chart_taker *taker,
                                 locus_error *error);

#endif
