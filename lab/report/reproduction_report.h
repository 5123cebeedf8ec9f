/* SPDX-License-Identifier: MIT */
/* A measured table in words: fields as text, what the table says of the paper's claims, as Markdown and as JSON. The
 * same words on the terminal and in files. */
#ifndef LAB_REPRODUCTION_REPORT_H
#define LAB_REPRODUCTION_REPORT_H

#include "report/claims.h"

#include <stdio.h>

typedef struct lab_reproduction_view {
    const lab_reproduction *table;
    const lab_result *result;
    const lab_findings *findings;
    const char *command; /* the exact command line; NULL: left out */
} lab_reproduction_view;

/* ---- fields (reproduction_text.c); each fills and returns `text` ---- */

/* In percent, "99.70 ±0.20"; without deviation for one seed, "–" for none; fewer seeds than asked: "… [2 of 3]". */
char *lab_measured_text(const lab_field *field, const lab_statistic *share, char *text, size_t size);
/* "(99.06 ±0.1)", behind it "†" if the number is doubtful; "" for what is not published. */
char *lab_published_text(const lab_reproduction_view *view, size_t row, size_t column, char *text, size_t size);
/* "+12.30 ±1.20", "+12.30 (one seed)", "–". */
char *lab_contrast_text(const lab_contrast *contrast, char *text, size_t size);
/* Whether any field of the table has this score. */
bool lab_view_has_exact(const lab_reproduction_view *view);
/* The row that is row `with` without its decay, SIZE_MAX if there is none or `with` has no decay. */
size_t lab_view_without_decay(const lab_reproduction_view *view, size_t with);

/* ---- prose (reproduction_prose.c) ---- */

/* Claims with their verdicts and the numbers that decide; then what has not separated, and what is at chance. Plain
 * lines, or Markdown's lists. */
void lab_claims_write(const lab_reproduction_view *view, FILE *stream, bool markdown);
void lab_separation_write(const lab_reproduction_view *view, FILE *stream, bool markdown);
/* Where the budget's sizes are not the published ones, and what makes published numbers doubtful. */
void lab_deviations_write(const lab_reproduction_view *view, FILE *stream, bool markdown);
/* How to read the numbers: two or three lines. */
void lab_legend_write(const lab_reproduction_view *view, FILE *stream);
/* "as published", … */
const char *lab_decay_name(lab_decay_choice decay);

/* ---- files ---- */

/* The whole table as a Markdown file, written whole or not at all (reproduction_markdown.c). */
locus_status lab_reproduction_markdown(const lab_reproduction_view *view, const char *path, locus_error *error);

/* {"table": …, "columns": […], "rows": [{"scheme": …, "fields": […]}], "claims": […]}. NULL: out of memory. Release
 * with cJSON_Delete (reproduction_json.c). */
struct cJSON *lab_reproduction_json(const lab_reproduction_view *view);

#endif
