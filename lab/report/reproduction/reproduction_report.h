/* SPDX-License-Identifier: MIT */
/* A measured table in words: fields as text, what the table says of the paper's claims, as Markdown and as JSON. The
 * same words on the terminal and in files. */
#ifndef LAB_REPRODUCTION_REPORT_H
#define LAB_REPRODUCTION_REPORT_H

#include "report/reproduction/claims.h"
#include "report/tables/shown.h"

#include <stdio.h>

typedef struct lab_reproduction_view {
    const lab_reproduction *table;
    const lab_result *result;
    const lab_findings *findings;
    const char *command; /* the exact command line; NULL: left out */
    const char *version; /* of the program that made the page; NULL: this one */
} lab_reproduction_view;

/* ---- fields (reproduction_text.c); each fills and returns `text` ---- */

/* A number of a measure: "99.70" of 0.997, "1.2345", of perplexities "3.44"; a mean with its deviation, if there is
 * one: "99.70 ±0.20", "1.2345 ±0.0102". */
char *lab_number_text(lab_measure measure, double value, char *text, size_t size);
char *lab_mean_text(lab_measure measure, const lab_statistic *score, char *text, size_t size);
/* The same, "–" for none, "" where a scheme makes no sense; fewer seeds than asked: "… [2 of 3]". */
char *lab_measured_text(const lab_field *field, const lab_statistic *score, lab_measure measure, char *text,
                        size_t size);
/* Of the field's score by its column's measure. */
char *lab_field_text(const lab_reproduction_view *view, size_t row, size_t column, char *text, size_t size);
/* "(99.06 ±0.1)", behind it "†" if the number is doubtful; "" for what is not published. */
char *lab_published_text(const lab_reproduction_view *view, size_t row, size_t column, char *text, size_t size);
/* What is published of a field, or NULL. */
const lab_published *lab_view_published(const lab_reproduction_view *view, size_t row, size_t column);
/* "+12.30 ±1.20", "+12.30 (one seed)", "–". */
char *lab_contrast_text(const lab_contrast *contrast, lab_measure measure, char *text, size_t size);
/* Of two rows of a column, the first with decay less the second without, with the interval that decides the claim on
 * decay (of a perplexity, which no claim is about, the one of 95 %); "" where a scheme makes no sense. */
char *lab_pair_text(const lab_reproduction_view *view, size_t first, size_t second, size_t column, char *text,
                    size_t size);
/* Whether anything is published of the table's fields. */
bool lab_view_has_published(const lab_reproduction_view *view);
/* Whether a row has a field in one of the columns that `chosen` takes. */
bool lab_view_row_is_in(const lab_reproduction_view *view, size_t row,
                        bool (*chosen)(const lab_reproduction_view *view, size_t column));
/* Whether a column has outputs that can be right as a whole: words and trees. */
bool lab_view_is_whole(const lab_reproduction_view *view, size_t column);
/* Whether two rows of a column are measured and not told apart, all pairs of its rows looked at together. */
bool lab_view_is_open(const lab_reproduction_view *view, size_t i, size_t j, size_t column);
/* Whether a field is the best of its column or not told from it; false where there is one seed. */
bool lab_view_is_best(const lab_reproduction_view *view, size_t row, size_t column);
/* The row that is row `with` without its decay, SIZE_MAX if there is none or `with` has no decay. */
size_t lab_view_without_decay(const lab_reproduction_view *view, size_t with);

/* ---- prose (reproduction_prose.c) ---- */

/* Claims with their verdicts and the numbers that decide; then what has not separated, and what is at chance. Plain
 * lines, or Markdown's lists. */
void lab_claims_write(const lab_reproduction_view *view, FILE *stream, bool markdown);
void lab_separation_write(const lab_reproduction_view *view, FILE *stream, bool markdown);
/* Where the budget's sizes are not the published ones, and what makes published numbers doubtful
 * (reproduction_setting.c, as what follows). */
void lab_deviations_write(const lab_reproduction_view *view, FILE *stream, bool markdown);
/* How to read the numbers: a few lines. */
void lab_legend_write(const lab_reproduction_view *view, FILE *stream);
/* Markdown: what each scale does, where some columns have one. Nothing else. */
void lab_factors_write(const lab_reproduction_view *view, FILE *stream);
/* Published numbers that belong to no row: of others, or measured otherwise. Nothing where there are none. */
void lab_others_write(const lab_reproduction_view *view, FILE *stream, bool markdown);
/* Who has a decay: "as published (the algebraic schemes have it)". */
const char *lab_decay_name(const lab_reproduction *table);

/* ---- files ---- */

/* The whole table as a Markdown file, written whole or not at all (reproduction_markdown.c). What somebody wrote into
 * the file below it, from a line that begins with LAB_OWN_PART on, stays. */
#define LAB_OWN_PART "## Conditions"
locus_status lab_reproduction_markdown(const lab_reproduction_view *view, const char *path, locus_error *error);
/* The same as a text, without what somebody wrote; from malloc, NULL: out of memory. */
char *lab_reproduction_markdown_text(const lab_reproduction_view *view);
/* Where such a part begins in a page, or its end. */
const char *lab_own_part(const char *page);

/* {"table": …, "columns": […], "rows": [{"scheme": …, "fields": […]}], "claims": […]}. NULL: out of memory. Release
 * with cJSON_Delete (reproduction_json.c). */
struct cJSON *lab_reproduction_json(const lab_reproduction_view *view);
/* For a terminal, a few columns at a time, then what the table says. Opens the shown. */
locus_status lab_reproduction_show(lab_shown *shown, const lab_reproduction_view *view, locus_error *error);

#endif
