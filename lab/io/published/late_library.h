/* SPDX-License-Identifier: MIT */
/* Functions of a shared library that few commands need, loaded when one of them does: what libcurl and libarchive bring
 * along takes longer to load than all else that a command starts with.
 *
 *   #define FUNCTIONS(each) each(curl_easy_init) each(curl_easy_perform)
 *   static LAB_LATE_FUNCTIONS(FUNCTIONS) curl;
 *   status = LAB_LATE_LOAD(LAB_CURL_FILE, FUNCTIONS, &curl, error);           curl.curl_easy_init() … */
#ifndef LAB_LATE_LIBRARY_H
#define LAB_LATE_LIBRARY_H

#include <locus/status.h>
#include <stddef.h>

#define LAB_LATE_FIELD(name) __typeof__(&name) name;
#define LAB_LATE_NAME(name) #name,

/* A struct of pointers to the functions, whose headers are included. */
#define LAB_LATE_FUNCTIONS(functions) \
    struct { \
        functions(LAB_LATE_FIELD) \
    }

/* Fills the struct in; from any thread. */
#define LAB_LATE_LOAD(file, functions, table, error) \
    lab_late_load(file, (const char *const[]){functions(LAB_LATE_NAME) NULL}, table, error)

/* `names` end with NULL; `table` has as many pointers to functions. UNSUPPORTED if the library, or one of them, is not
 * there; MEMORY. A library that was loaded stays. */
locus_status lab_late_load(const char *file, const char *const *names, void *table, locus_error *error);

#endif
