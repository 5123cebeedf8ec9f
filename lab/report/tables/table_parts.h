/* SPDX-License-Identifier: MIT */
/* A table's data, shared by table.c and table_formats.c only. */
#ifndef LAB_TABLE_PARTS_H
#define LAB_TABLE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct lab_table lab_table; /* report/tables/table.h */

typedef struct lab_table_field {
    char *text;                       /* what the terminal shows */
    double value, deviation;          /* NaN: it is a text; there is none */
    int decimals, deviation_decimals; /* below 0: as many as it takes */
    bool none;
} lab_table_field;

typedef struct lab_table_column {
    char *head, *unit; /* "": none */
    bool right;
    bool numbers, deviations; /* it has some */
} lab_table_column;

struct lab_table {
    size_t column_count, count, capacity; /* count: of cells */
    lab_table_column *columns;
    lab_table_field *cells;
    char *title; /* NULL: none */
    bool lost;   /* something is missing for want of memory */
};

/* The whole rows, by row and column. */
static inline size_t lab_table_whole_rows(const lab_table *table) {
    return table->column_count > 0 ? table->count / table->column_count : 0;
}
static inline const lab_table_field *lab_table_at(const lab_table *table, size_t row, size_t column) {
    return &table->cells[row * table->column_count + column];
}

/* Writers; false: out of memory. */
bool lab_table_write_json(const lab_table *table, FILE *stream);
bool lab_table_write_csv(const lab_table *table, FILE *stream);
bool lab_table_write_latex(const lab_table *table, FILE *stream);
bool lab_table_write_markdown(const lab_table *table, FILE *stream);

#endif
