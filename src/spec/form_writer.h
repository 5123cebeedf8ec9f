/* SPDX-License-Identifier: MIT */
/* How a placed object writes down what it does, as data (<locus/form.h>, docs/forms.md): it begins a form and adds
 * named arrays, pointers to the memory that executors read or to what is made for forms alone. After a refusal all
 * that follows is refused too, and `status` says so once: only memory that was taken has to be looked at.
 *
 *   locus_form_begin(writer, LOCUS_FORM_CELLS, 0, "slope");
 *   locus_form_add(writer, "distance", LOCUS_FORM_FLOAT64, distance, LOCUS_FORM_SHAPE(cells));
 *   locus_form_learned(writer, 0, 0);                                the array just added is the term's parameter 0
 *
 * Not thread-safe. */
#ifndef LOCUS_FORM_WRITER_H
#define LOCUS_FORM_WRITER_H

#include "spec/distinct.h"
#include "spec/placement.h"

#include <locus/form.h>

/* Shape of an array: its rank and its numbers. */
#define LOCUS_FORM_SHAPE(...) \
    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]) { \
        __VA_ARGS__ \
    }

typedef struct locus_form_entry locus_form_entry;
typedef struct locus_form_item locus_form_item;

struct locus_form_item {
    locus_form_array array;
    locus_form_item *next;
};

struct locus_form_entry {
    locus_form form;
    locus_form_item *items, *last;
    locus_form_entry *next;
};

struct locus_form_writer {
    locus_owned *memory; /* of the list, and of what is made */
    size_t bytes;        /* that may still be made */
    const locus_places *places;
    size_t heads, kv_heads;
    /* of the term at hand */
    size_t term, parameters; /* its number, where its parameters begin */
    const double *values;    /* of its parameters, one behind the other */
    unsigned roles;          /* where the object acts */
    size_t first;            /* of the dimensions of a head: a part of a product begins there */
    locus_form_entry *entries, *last;
    size_t count;
    locus_status status;
    locus_error *error;
};

/* `dims`: how many elements of a head (or token) it acts on, from writer->first on. `law` is static text. */
void locus_form_begin(locus_form_writer *writer, locus_form_kind kind, size_t dims, const char *law);

/* Of the form begun last: acts in these roles only (a mask), of those that the site has. */
void locus_form_limit(locus_form_writer *writer, unsigned roles);

/* Scores are multiplied. */
void locus_form_multiplies(locus_form_writer *writer);

/* An array of the form begun last. `name` is static text or from locus_form_name, `data` lives as long as the plan or
 * comes from locus_form_take. NULL adds nothing. */
void locus_form_add(locus_form_writer *writer, const char *name, locus_form_type type, const void *data, size_t rank,
                    const int64_t *shape);
void locus_form_number(locus_form_writer *writer, const char *name, double value);
void locus_form_whole(locus_form_writer *writer, const char *name, int64_t value);

/* The array added last holds the term's parameter of this number, in full, or of its second dimension from number
 * `first` on. */
void locus_form_learned(locus_form_writer *writer, size_t parameter, size_t first);

/* Memory for what is made, within the limit: `count` zeroed elements. NULL: refused. */
void *locus_form_take(locus_form_writer *writer, size_t count, size_t size);

/* "name.axis" */
const char *locus_form_name(locus_form_writer *writer, const char *name, size_t axis);

/* Where tokens stand on a coordinate, [tokens]: "query_position.axis" and "key_position.axis", whole or real. */
void locus_form_positions(locus_form_writer *writer, size_t axis, const locus_placement *placement);

/* A failure other than of memory; `status` is it unless there was one before. */
void locus_form_fail(locus_form_writer *writer, locus_status status);

/* Positions, for what is made once for each. False if it was refused. */
bool locus_form_distinguish(locus_form_writer *writer, locus_distinct_positions *distinct);

/* How many of them are of queries: they stand first. */
static inline size_t locus_form_query_positions(const locus_distinct_positions *distinct) {
    size_t count = 0;
    while (count < distinct->count && distinct->query.first[count] < distinct->query.first[count + 1])
        count++;
    return count;
}

#endif
