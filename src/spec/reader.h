/* SPDX-License-Identifier: MIT */
/* A name with options, as it stands in texts: `soft(landmarks=32)`, or a term of a sum. What names there are, and what
 * options each has, a table of signatures says. Every failure points into the text and says what was expected there.
 *
 *   entry := name [ "(" key "=" value ("," key "=" value)* ")" ]
 *
 * Blanks may stand between any two tokens. A value reaches to the next ',' or ')' outside of its own parentheses, so
 * groups such as (seq*tree:2) need no quotes. */
#ifndef LOCUS_READER_H
#define LOCUS_READER_H

#include "spec/option.h"

typedef struct locus_name_table {
    const char *noun, *article;          /* of what is named: "encoding", "an" */
    locus_signature (*at)(size_t index); /* name NULL past the end */
} locus_name_table;

typedef struct locus_spec_reader {
    const char *text;
    size_t at;
    locus_error *error;
    const locus_name_table *table;
    locus_option_text given[LOCUS_OPTIONS_MAX]; /* key=value of the options of the last entry, where they are given */
} locus_spec_reader;

/* The next character that is no blank, which the reader then stands at; 0 at the end. */
char locus_spec_peek(locus_spec_reader *reader);

/* SPEC: `expected` was expected here, and what stands here instead. */
locus_status locus_spec_expected(locus_spec_reader *reader, const char *expected);

/* Reads a name of the table and gives its index. */
LOCUS_MUST_USE locus_status locus_spec_name(locus_spec_reader *reader, size_t *index, locus_option_text *name);

/* Fills in all values of `own`, defaults first, and reads those that stand in parentheses, if there are any. The values
 * are to be released whatever is returned. */
LOCUS_MUST_USE locus_status locus_spec_options(locus_spec_reader *reader, const locus_signature *own,
                                               locus_option_value *values);

/* ---- back to text ---- */

typedef struct locus_spec_writer {
    char *text;          /* may be NULL if size is 0 */
    size_t size, length; /* of the text, and of what was written or left out for want of room */
} locus_spec_writer;

void locus_spec_write(locus_spec_writer *writer, const char *text);
void locus_spec_write_value(locus_spec_writer *writer, const locus_signature *own, const locus_option_value *values,
                            size_t option);
/* An entry: options that differ from their defaults, and those that its signature keeps. */
void locus_spec_write_entry(locus_spec_writer *writer, const locus_signature *own, const locus_option_value *values);
/* Ends the text with a NUL, cutting it if need be; returns its full length. */
size_t locus_spec_write_end(const locus_spec_writer *writer);

#endif
