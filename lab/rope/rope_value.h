/* SPDX-License-Identifier: MIT */
/* A model's configuration as plain values, whoever read it: the program from a file by cJSON (io/rope_file.c), the
 * Python package from what Python has. A tree of nodes that their maker owns; an object may say a key more than once,
 * as JSON may. */
#ifndef LAB_ROPE_VALUE_H
#define LAB_ROPE_VALUE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum lab_value_kind {
    LAB_VALUE_NULL = 0,
    LAB_VALUE_FALSE = 1,
    LAB_VALUE_TRUE = 2,
    LAB_VALUE_NUMBER = 3,
    LAB_VALUE_TEXT = 4,
    LAB_VALUE_LIST = 5,
    LAB_VALUE_OBJECT = 6
} lab_value_kind;

typedef struct lab_value {
    lab_value_kind kind;
    double number;           /* of a NUMBER */
    const char *text;        /* of a TEXT */
    const char *key;         /* of an object's members; else NULL */
    struct lab_value *next;  /* its fellow in the list or object, or NULL */
    struct lab_value *child; /* of a LIST or OBJECT: the first, or NULL */
} lab_value;

/* Whatever is asked of NULL, a value that is not there, is false, NULL or 0. */

static inline bool lab_value_is(const lab_value *value, lab_value_kind kind) {
    return value && value->kind == kind;
}

static inline bool lab_value_is_null(const lab_value *value) {
    return lab_value_is(value, LAB_VALUE_NULL);
}
static inline bool lab_value_is_true(const lab_value *value) {
    return lab_value_is(value, LAB_VALUE_TRUE);
}
static inline bool lab_value_is_false(const lab_value *value) {
    return lab_value_is(value, LAB_VALUE_FALSE);
}
static inline bool lab_value_is_bool(const lab_value *value) {
    return lab_value_is_true(value) || lab_value_is_false(value);
}
static inline bool lab_value_is_number(const lab_value *value) {
    return lab_value_is(value, LAB_VALUE_NUMBER);
}
static inline bool lab_value_is_list(const lab_value *value) {
    return lab_value_is(value, LAB_VALUE_LIST);
}
static inline bool lab_value_is_object(const lab_value *value) {
    return lab_value_is(value, LAB_VALUE_OBJECT);
}

/* A TEXT's; NULL of all else. */
static inline const char *lab_value_text(const lab_value *value) {
    return lab_value_is(value, LAB_VALUE_TEXT) ? value->text : NULL;
}

/* The first member of that key, NULL if an object has none. */
const lab_value *lab_value_member(const lab_value *object, const char *key);
/* Items of a list or members of an object. */
size_t lab_value_count(const lab_value *value);

/* Whether two values say the same: numbers to the last bit but one, members in any order. */
bool lab_value_same(const lab_value *a, const lab_value *b);

#define LAB_VALUE_SHOWN 48
/* As JSON writes it, cut behind some 40 bytes, with an ellipsis then. */
void lab_value_print(const lab_value *value, char text[LAB_VALUE_SHOWN]);

#endif
