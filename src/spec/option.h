/* SPDX-License-Identifier: MIT */
/* Typed option values of a spec: text to value and back. */
#ifndef LOCUS_OPTION_H
#define LOCUS_OPTION_H

#include <locus/encoding.h>
#include <stdbool.h>

#define LOCUS_OPTIONS_MAX 32
#define LOCUS_COORDINATES_MAX 32 /* of a group that operators act on */
#define LOCUS_LIST_MAX 32768     /* numbers of a list: half of the longest head dimension */

typedef struct locus_option_value {
    bool given;    /* in the text */
    size_t choice; /* CHOICE: its index; off, or not given: 0; a number: 1; proportional: and learned: 2 */
    double number;
    locus_group *group; /* owned; NULL: the default */
    size_t count;       /* of a list */
    double *list;       /* [count], owned */
} locus_option_value;

/* What may stand in a text as a name with options. */
typedef struct locus_signature {
    const char *name;                 /* NULL: there is none */
    const locus_option_info *options; /* [option_count] */
    size_t option_count;              /* at most LOCUS_OPTIONS_MAX */
    unsigned kept;   /* mask of the options that canonical texts repeat where they are given, be it their default */
    bool grids_only; /* of an option that is a group */
} locus_signature;

/* A piece of a spec: the value's text, and where it begins in the whole. */
typedef struct locus_option_text {
    const char *text;
    size_t length;
    ptrdiff_t offset;
} locus_option_text;

/* SPEC or UNSUPPORTED with the offending place; the value is changed on success only. */
locus_status locus_option_parse(const locus_signature *own, size_t option, locus_option_text text,
                                locus_option_value *value, locus_error *error);

/* The value that an option has where the text does not give it. */
locus_option_value locus_option_initial(const locus_signature *own, size_t option);

/* Whether a value, its group resolved, is the default, which canonical text leaves out. */
bool locus_option_is_initial(const locus_signature *own, size_t option, const locus_option_value *value);

/* Lets go of the value's group and list. */
void locus_option_release(locus_option_value *value);

/* Writes canonical text that parses to the same value; at most `size` bytes with the NUL. Returns the length. */
size_t locus_option_print(const locus_signature *own, size_t option, const locus_option_value *value, char *text,
                          size_t size);

/* Position of text among "a|b|c", or SIZE_MAX. */
size_t locus_choice_find(const char *choices, const char *text, size_t length);

/* Choice `index` of "a|b|c"; length 0 past the end. */
locus_option_text locus_choice_at(const char *choices, size_t index);

/* The choice that differs from text by the fewest edits, if it is near enough to be a slip of the pen; else length 0.
 * choices may be NULL. */
locus_option_text locus_choice_nearest(const char *choices, const char *text, size_t length);

#endif
