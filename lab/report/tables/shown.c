/* SPDX-License-Identifier: MIT */
/* See shown.h. */
#include "report/tables/shown.h"

#include "io/fail.h"
#include "io/text_stream.h"

#include <stdarg.h>
#include <stdlib.h>

locus_status lab_shown_open(lab_shown *shown, locus_error *error) {
    *shown = (lab_shown){.bytes = 0};
    shown->lines = lab_text_stream(&shown->text, &shown->bytes);
    return shown->lines != NULL ? LOCUS_OK : lab_fail_memory(error, "what is shown");
}

void lab_shown_say(lab_shown *shown, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vfprintf(shown->lines, format, list);
    va_end(list);
}

void lab_shown_add(lab_shown *shown, lab_table *table, bool apart) {
    lab_shown_table *grown = realloc(shown->tables, (shown->table_count + 1) * sizeof *grown);
    fflush(shown->lines); /* so that the bytes are known */
    shown->lost = shown->lost || grown == NULL;
    shown->tables = grown != NULL ? grown : shown->tables;
    if (grown != NULL)
        grown[shown->table_count++] = (lab_shown_table){table, shown->bytes, apart};
    else
        lab_table_free(table);
}

locus_status lab_shown_end(lab_shown *shown, locus_error *error) {
    const bool good = fflush(shown->lines) == 0 && !ferror(shown->lines) && !shown->lost;
    return good ? LOCUS_OK : lab_fail_memory(error, "what is shown");
}

void lab_shown_free(lab_shown *shown) {
    if (shown->lines != NULL)
        fclose(shown->lines);
    free(shown->text);
    for (size_t i = 0; i < shown->table_count; i++)
        lab_table_free(shown->tables[i].table);
    free(shown->tables);
    *shown = (lab_shown){.bytes = 0};
}
