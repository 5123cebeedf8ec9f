/* SPDX-License-Identifier: MIT */
/* What a plan does, as data: a list of forms, each a kind and named arrays from which its effect can be computed with
 * plain array operations, on another device or in another language. docs/forms.md has the formulae; tests/forms
 * rebuilds every encoding's attention from forms alone.
 *
 *   locus_plan_forms_create → locus_plan_form_at, locus_plan_form_array / _find → locus_plan_forms_destroy
 *
 * Arrays are read-only, contiguous in C order, on the host. Where the plan keeps such an array, the form shows the
 * plan's own memory. Arrays that the plan makes only while it executes are made when forms are created, and belong to
 * the forms. Forms retain their plan: everything read from them stays until their last owner lets go. Entries of tokens
 * in gaps between sequences mean nothing. */
#ifndef LOCUS_FORM_H
#define LOCUS_FORM_H

#include <locus/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are pinned; later versions may add kinds, and arrays to a kind. What a kind has: docs/forms.md. */
typedef enum locus_form_kind {
    LOCUS_FORM_TURN = 1,     /* pairs of coordinates turn by angles, perhaps in a basis */
    LOCUS_FORM_PATHS = 2,    /* products of generators along the paths of a trie */
    LOCUS_FORM_MATRICES = 3, /* a matrix for each distinct position */
    LOCUS_FORM_CELLS = 4,    /* scores: a table over query cell + key cell */
    LOCUS_FORM_NETWORK = 5,  /* scores: a small network of a distance and a query's reach (`fire`) */
    LOCUS_FORM_CONTENT = 6,  /* scores, outputs: tables by clipped difference that queries are multiplied with */
    LOCUS_FORM_CONTEXT = 7,  /* scores: a table by contextual position (`cope`) */
    LOCUS_FORM_VECTORS = 8,  /* vectors that are added to tokens */
    LOCUS_FORM_SETTINGS = 9  /* settings of all scores: scale, cap, window, chunk, sinks */
} locus_form_kind;

typedef struct locus_form {
    locus_form_kind kind;
    size_t term;         /* of the encoding's sum */
    unsigned roles;      /* mask of 1u << locus_role: the tensors that it acts on; 0: it acts on scores */
    size_t first, count; /* and of their last dimension, elements first … first + count − 1; 0, 0 of scores */
    bool multiplies;     /* CELLS: scores are multiplied by the values; else values are added */
    const char *law;     /* how its arrays follow from what is learned ("skew", "power", …; docs/forms.md), or "" */
    size_t array_count;
} locus_form;

typedef enum locus_form_type {
    LOCUS_FORM_FLOAT64 = 1, /* double */
    LOCUS_FORM_INT64 = 2,   /* int64_t */
    LOCUS_FORM_UINT32 = 3   /* uint32_t */
} locus_form_type;

#define LOCUS_FORM_MAX_RANK 5
#define LOCUS_FORM_FIXED ((size_t)-1)

typedef struct locus_form_array {
    const char *name;
    const void *data;
    locus_form_type type;
    size_t rank; /* 0: one number */
    int64_t shape[LOCUS_FORM_MAX_RANK];
    /* If it is not LOCUS_FORM_FIXED, the array holds the values of this parameter of the encoding: all its elements, in
     * order, or, of a parameter [tables, n, …], those of numbers parameter_first … parameter_first + shape[1] − 1 of
     * its second dimension. */
    size_t parameter, parameter_first;
} locus_form_array;

typedef struct locus_plan_forms locus_plan_forms; /* opaque, immutable, counted; may be shared by threads */

/* Start from locus_plan_forms_options_default(). */
typedef struct locus_plan_forms_options {
    size_t size;  /* sizeof(locus_plan_forms_options): the struct may grow at its end */
    size_t bytes; /* that may be made beside what the plan keeps, at most: 2^30. A table over pairs of a query and a key
                     has one number for each pair where no smaller table is known */
    const locus_execution *execution; /* how they are made; its workspace is not used */
} locus_plan_forms_options;
LOCUS_API locus_plan_forms_options locus_plan_forms_options_default(void);

/* `options` NULL: the defaults. ARGUMENT for a plan of a cache, whose arrays change with the cache. MEMORY where more
 * bytes would have to be made than the options let. */
LOCUS_API LOCUS_MUST_USE locus_status locus_plan_forms_create(locus_plan_forms **forms, const locus_plan *plan,
                                                              const locus_plan_forms_options *options,
                                                              locus_error *error);
/* One more owner; from any thread. Returns its argument. */
LOCUS_API locus_plan_forms *locus_plan_forms_retain(const locus_plan_forms *forms);
/* Lets go of one owner's share. Accepts NULL; nulls the pointer. */
LOCUS_API void locus_plan_forms_destroy(locus_plan_forms **forms);

/* In the order in which they act: operators and vectors as the terms stand; of scores: content, then all that
 * multiplies, then all that adds. */
LOCUS_API size_t locus_plan_form_count(const locus_plan_forms *forms);
/* Form `index`, its array number `array`, or its array of this name; NULL if there is none. They live as long as the
 * forms. */
LOCUS_API const locus_form *locus_plan_form_at(const locus_plan_forms *forms, size_t index);
LOCUS_API const locus_form_array *locus_plan_form_array(const locus_plan_forms *forms, size_t index, size_t array);
LOCUS_API const locus_form_array *locus_plan_form_find(const locus_plan_forms *forms, size_t index, const char *name);

#ifdef __cplusplus
}
#endif
#endif
