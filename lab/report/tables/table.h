/* SPDX-License-Identifier: MIT */
/* A table as data, and what it is written as: for a terminal, or as JSON, CSV, LaTeX, Markdown. Commands fill cells; no
 * command prints one. A table without memory takes no more cells and says so when it is written. */
#ifndef LAB_TABLE_H
#define LAB_TABLE_H

#include <locus/status.h>
#include <stdbool.h>
#include <stdio.h>

#if defined(__GNUC__)
#define LAB_TABLE_PRINTF(text, rest) __attribute__((format(printf, text, rest)))
#else
#define LAB_TABLE_PRINTF(text, rest)
#endif

typedef enum lab_table_format {
    LAB_TABLE_TEXT = 0,  /* columns of a terminal, which has no more than the cells show */
    LAB_TABLE_JSON = 1,  /* an array of objects, a member for each head: numbers, texts, null */
    LAB_TABLE_CSV = 2,   /* RFC 4180; numbers with all their digits, a column of its own for deviations */
    LAB_TABLE_LATEX = 3, /* a tabular with booktabs' rules; columns of numbers are siunitx's S */
    LAB_TABLE_MARKDOWN = 4
} lab_table_format;

typedef struct lab_table lab_table;

/* Heads like "encoding", ">accuracy", ">time|s": a leading '>' aligns the column to the right; behind '|' stands the
 * unit of its numbers, which the terminal's cells show themselves and all other formats in the head. */
lab_table *lab_table_create(const char *const *heads, size_t columns);
/* The head of a column as it stands, whatever signs are in it. */
void lab_table_name(lab_table *table, size_t column, const char *head);
void lab_table_free(lab_table *table);
/* What the table is about: a first column "section" of CSV and JSON, a comment in LaTeX, a heading in Markdown; the
 * terminal has its own lines above the table. */
void lab_table_title(lab_table *table, const char *format, ...) LAB_TABLE_PRINTF(2, 3);

/* Cells are filled row by row; what is longer than 1,000 characters ends in '…'. A text: */
void lab_table_cell(lab_table *table, const char *format, ...) LAB_TABLE_PRINTF(2, 3);
/* A number, in the unit of its column, that the terminal shows as the text says. Not finite: there is none. */
void lab_table_number(lab_table *table, double value, const char *format, ...) LAB_TABLE_PRINTF(3, 4);
/* A mean with `decimals` and, unless it is not finite, with its deviation: "99.98 ±0.02". */
void lab_table_mean(lab_table *table, double mean, int decimals, double deviation, int deviation_decimals);
/* There is no number: "–". */
void lab_table_none(lab_table *table);
/* A cell could not be made for want of memory: writing the table fails. */
void lab_table_lose(lab_table *table);

/* MEMORY if anything is missing for want of it; write errors show in the stream. `bold`: heads of the terminal's form.
 * */
locus_status lab_table_write(const lab_table *table, lab_table_format format, bool bold, FILE *stream,
                             locus_error *error);

/* Columns that UTF-8 text takes on a terminal. */
size_t lab_text_width(const char *text);

#endif
