/* SPDX-License-Identifier: MIT */
/* Lines and tables in an order: what a terminal shows. Other forms have the tables alone. */
#ifndef LAB_SHOWN_H
#define LAB_SHOWN_H

#include "report/tables/table.h"

typedef struct lab_shown_table {
    lab_table *table;
    size_t at;  /* so many bytes of the text stand before it */
    bool apart; /* in forms other than a terminal's alone: there its numbers stand in the lines */
} lab_shown_table;

/* Zeros are an empty one, to be freed alone. */
typedef struct lab_shown {
    FILE *lines; /* more may be written to it */
    char *text;
    size_t bytes;
    lab_shown_table *tables;
    size_t table_count;
    bool lost; /* a table, for want of memory */
} lab_shown;

locus_status lab_shown_open(lab_shown *shown, locus_error *error);
/* Adds to the lines. */
LAB_TABLE_PRINTF(2, 3) void lab_shown_say(lab_shown *shown, const char *format, ...);
/* Takes a table over, which stands where the lines end now. */
void lab_shown_add(lab_shown *shown, lab_table *table, bool apart);
/* All is there. MEMORY if anything is missing. */
locus_status lab_shown_end(lab_shown *shown, locus_error *error);
void lab_shown_free(lab_shown *shown);

#endif
