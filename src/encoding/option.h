/* SPDX-License-Identifier: MIT */
/* Typed option values of a spec: text to value and back. */
#ifndef LOCUS_OPTION_H
#define LOCUS_OPTION_H

#include "encoding/class.h"

/* A piece of a spec: the value's text, and where it begins in the whole. */
typedef struct locus_option_text {
    const char *text;
    size_t length;
    ptrdiff_t offset;
} locus_option_text;

/* SPEC or UNSUPPORTED with the offending place; the value is changed on success only. */
locus_status locus_option_parse(const locus_encoding_class *class, size_t option, locus_option_text text,
                                locus_option_value *value, locus_error *error);

/* The value that an option has where the text does not give it. */
locus_option_value locus_option_initial(const locus_encoding_class *class, size_t option);

/* Whether a value, its group resolved, is the default, which canonical text leaves out. */
bool locus_option_is_initial(const locus_encoding_class *class, size_t option, const locus_option_value *value);

/* Lets go of the value's group and list. */
void locus_option_release(locus_option_value *value);

/* Writes canonical text that parses to the same value; at most `size` bytes with the NUL. Returns the length. */
size_t locus_option_print(const locus_encoding_class *class, size_t option, const locus_option_value *value, char *text,
                          size_t size);

/* Position of text among "a|b|c", or SIZE_MAX. */
size_t locus_choice_find(const char *choices, const char *text, size_t length);

/* Choice `index` of "a|b|c"; length 0 past the end. */
locus_option_text locus_choice_at(const char *choices, size_t index);

/* The choice that differs from text by the fewest edits, if it is near enough to be a slip of the pen; else length 0.
 * choices may be NULL. */
locus_option_text locus_choice_nearest(const char *choices, const char *text, size_t length);

#endif
