/* SPDX-License-Identifier: MIT */
/* The text of an encoding taken apart: terms with their options as written, for commands that rewrite a spec. Only
 * canonical texts are read, so an option that is missing has its default. */
#ifndef CLI_SPEC_TEXT_H
#define CLI_SPEC_TEXT_H

#include <locus/encoding.h>
#include <stdbool.h>

#define CLI_TERMS_MAX 8
#define CLI_TERM_OPTIONS_MAX 32

typedef struct cli_term {
    char *name;
    size_t count;
    struct {
        char *key, *value;
    } options[CLI_TERM_OPTIONS_MAX];
    unsigned sites; /* mask of locus_site */
} cli_term;

typedef struct cli_spec {
    size_t count;
    cli_term terms[CLI_TERMS_MAX];
} cli_spec;

/* 0 and filled, else the exit status after a line on standard error. Close it in either case. */
int cli_spec_open(cli_spec *spec, const locus_encoding *encoding);
void cli_spec_close(cli_spec *spec);

/* The value of an option; `initial`, its default, if it is not written. */
const char *cli_term_option(const cli_term *term, const char *key, const char *initial);
bool cli_term_has(const cli_term *term, const char *key, const char *value, const char *initial);

/* Changes, adds or (value NULL) removes an option. 0, or 1 after a line on standard error. */
int cli_term_set(cli_term *term, const char *key, const char *value);
int cli_term_rename(cli_term *term, const char *name);
/* A term without options at the end of the spec, in *term. */
int cli_spec_append(cli_spec *spec, const char *name, cli_term **term);

/* Writes "name(key=value, …) + …", cut to `size` bytes; returns the full length. */
size_t cli_spec_text(const cli_spec *spec, char *text, size_t size);

/* The same, as long as it is: from malloc; NULL after a line on standard error. */
char *cli_spec_string(const cli_spec *spec);

/* A parameter's name without its term, which *term receives: "2.angles" is "angles" of term 2; without a number the
 * term is 0. */
const char *cli_parameter_base(const char *name, size_t *term);

#endif
