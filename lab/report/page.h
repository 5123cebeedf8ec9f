/* SPDX-License-Identifier: MIT */
/* The parts of the page. Each writes HTML to `page` and escapes what it is given. */
#ifndef LAB_PAGE_H
#define LAB_PAGE_H

#include "report/report.h"

#include <stdio.h>

typedef struct lab_page {
    FILE *file;
    lab_store *store;
    const lab_report_options *options;
    const lab_summary *summary;
    size_t figures, tables; /* numbered as they come */
} lab_page;

void lab_page_text(lab_page *page, const char *text); /* escaped */
/* The style sheet, between <style> and </style>. */
void lab_page_style(lab_page *page);

/* page_tables.c */
void lab_page_setting(lab_page *page, const lab_summary_section *section); /* what was run */
void lab_page_findings(lab_page *page, const lab_summary_section *section);
void lab_page_scores(lab_page *page, const lab_summary_section *section);
void lab_page_costs(lab_page *page, const lab_summary_section *section);
void lab_page_unfinished(lab_page *page, const lab_summary_section *section);
void lab_page_runs(lab_page *page, const lab_summary_section *section);

/* page_figures.c; `number` is the section's */
locus_status lab_page_curves(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error);
locus_status lab_page_lengths(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error);
locus_status lab_page_kernels(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error);

/* Whether any seed of any row has been finished. */
bool lab_page_has_scores(const lab_summary_section *section);

#endif
