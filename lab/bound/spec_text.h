/* SPDX-License-Identifier: MIT */
/* The text of an encoding taken apart: terms with their options as written, for what rewrites a spec. Only
 * canonical texts are read, so an option that is missing has its default. */
#ifndef LAB_SPEC_TEXT_H
#define LAB_SPEC_TEXT_H

#include <locus/encoding.h>
#include <stdbool.h>

#define LAB_TERMS_MAX 8
#define LAB_TERM_OPTIONS_MAX 32

typedef struct lab_term {
    char *name;
    size_t count;
    struct {
        char *key, *value;
    } options[LAB_TERM_OPTIONS_MAX];
    unsigned sites; /* mask of locus_site */
} lab_term;

typedef struct lab_spec {
    size_t count;
    lab_term terms[LAB_TERMS_MAX];
} lab_spec;

/* Length of a text up to one of the characters of `ends` outside parentheses, or its end. */
size_t lab_spec_span(const char *text, const char *ends);

/* MEMORY, or UNSUPPORTED beyond the counts above. Close it in either case. */
locus_status lab_spec_open(lab_spec *spec, const locus_encoding *encoding, locus_error *error);
void lab_spec_close(lab_spec *spec);

/* The value of an option; `initial`, its default, if it is not written. */
const char *lab_term_option(const lab_term *term, const char *key, const char *initial);
bool lab_term_has(const lab_term *term, const char *key, const char *value, const char *initial);

/* Changes, adds or (value NULL) removes an option; renames the term. MEMORY. */
locus_status lab_term_set(lab_term *term, const char *key, const char *value, locus_error *error);
locus_status lab_term_rename(lab_term *term, const char *name, locus_error *error);
/* A term without options at the end of the spec, in *term. UNSUPPORTED where there is no room. */
locus_status lab_spec_append(lab_spec *spec, const char *name, lab_term **term, locus_error *error);

/* "name(key=value, …) + …", from malloc; NULL without memory. */
char *lab_spec_string(const lab_spec *spec);

#endif
