/* SPDX-License-Identifier: MIT */
/* See portrait.h. */
#include "samples/portrait.h"

#include "io/fail.h"

#include <stdarg.h>
#include <stdlib.h>

locus_status lab_portrait_open(lab_portrait *portrait, locus_error *error) {
    *portrait = (lab_portrait){.json = cJSON_CreateObject()};
    portrait->lines = open_memstream(&portrait->text, &portrait->bytes);
    return portrait->lines != NULL ? LOCUS_OK : lab_fail_memory(error, "what is said of a set");
}

void lab_portrait_say(lab_portrait *portrait, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vfprintf(portrait->lines, format, list);
    va_end(list);
}

void lab_portrait_put(lab_portrait *portrait, const char *text, size_t bytes) {
    fwrite(text, 1, bytes, portrait->lines);
}

void lab_portrait_table(lab_portrait *portrait, lab_table *table) {
    fflush(portrait->lines); /* so that the bytes are known */
    portrait->tables[portrait->table_count].at = portrait->bytes;
    portrait->tables[portrait->table_count++].table = table;
}

locus_status lab_portrait_end(lab_portrait *portrait, locus_error *error) {
    const bool good = fflush(portrait->lines) == 0 && !ferror(portrait->lines);
    return good ? LOCUS_OK : lab_fail_memory(error, "what is said of a set");
}

void lab_portrait_free(lab_portrait *portrait) {
    if (portrait->lines != NULL)
        fclose(portrait->lines);
    free(portrait->text);
    for (size_t i = 0; i < portrait->table_count; i++)
        lab_table_free(portrait->tables[i].table);
    cJSON_Delete(portrait->json);
    *portrait = (lab_portrait){0};
}
