/* SPDX-License-Identifier: MIT */
/* The parts of the page. Each writes HTML to `page` and escapes what it is given. */
#ifndef LAB_PAGE_H
#define LAB_PAGE_H

#include "model/model.h"
#include "page/section_charts.h"
#include "report/tables/summary.h"

#include <stdio.h>

typedef struct lab_report_options lab_report_options; /* report.h */

typedef struct lab_page {
    FILE *file;
    lab_store *store;
    const lab_report_options *options;
    const lab_summary *summary;
    size_t figures, tables; /* numbered as they come */
} lab_page;

/* page_parts.c */
void lab_page_text(lab_page *page, const char *text); /* escaped, and what is not printable as '?' */
/* Style, and what the browser is to take for style and script; the script, at the page's end. */
locus_status lab_page_policy(lab_page *page, locus_error *error);
void lab_page_run(lab_page *page);
/* Encodings and their lines; figures of scores draw the first so many, and say so above the legend. */
enum { LAB_PAGE_MOST_ROWS = LAB_CHART_MOST_ROWS, LAB_PAGE_LABEL = 32 };
void lab_page_legend(lab_page *page, const lab_summary_section *section);
/* Open a caption with the next number, "Figure 3. ": its id is figure3, table3. */
void lab_page_figure(lab_page *page);
void lab_page_table_number(lab_page *page, char label[LAB_PAGE_LABEL]);
/* Opens <div><table>, which can be sorted; `label` is the id of what names it. */
void lab_page_table(lab_page *page, const char *label);
/* Opens a table's row that an encoding heads; a cell of it: mean and deviation of a measure, marked as the best. */
void lab_page_row(lab_page *page, const char *encoding);
void lab_page_cell(lab_page *page, lab_measure measure, const lab_statistic *s, bool best);

/* page_data.c: the summary and every run with its scores, as JSON for the page's script and for who saves it */
locus_status lab_page_data(lab_page *page, locus_error *error);

/* page_setting.c: what was run; page_findings.c, page_scores.c, page_costs.c (the others) */
locus_status lab_page_setting(lab_page *page, const lab_summary_section *section, locus_error *error);
void lab_page_findings(lab_page *page, const lab_summary_section *section);
void lab_page_scores(lab_page *page, const lab_summary_section *section);
void lab_page_costs(lab_page *page, const lab_summary_section *section);
void lab_page_unfinished(lab_page *page, const lab_summary_section *section);
void lab_page_runs(lab_page *page, const lab_summary_section *section);

/* page_curves.c (two), page_figures.c; `number` is the section's */
locus_status lab_page_curves(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error);
locus_status lab_page_lengths(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error);
locus_status lab_page_kernels(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error);

/* page_bins.c: trees by depth and by number of nodes; page_angles.c: learned angles, of trees and images */
locus_status lab_page_bins(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error);
locus_status lab_page_angles(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error);

/* The trained model of the row's first finished run, with its configuration. */
locus_status lab_page_model(lab_page *page, const lab_summary_row *row, lab_model **model, locus_error *error);
/* Whether what failed may be there the next time: memory, or a checkpoint that the system could not read now. One that
 * is lost or spoilt costs its picture, not the page. */
bool lab_page_may_pass(locus_status status, const locus_error *reason);

#endif
