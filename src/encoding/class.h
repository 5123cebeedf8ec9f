/* SPDX-License-Identifier: MIT */
/* What an encoding has to say of itself. Each encoding is one file that defines one locus_encoding_class, and one line
 * in registry.c. Life of an encoding:
 *
 *   text ─parse→ term (options) ─bind (shape, parameters)→ bound state ─place (positions)→ what acts at each site
 *
 * Bound and placed states are allocated from a locus_owned that the caller releases: there is nothing to destroy. */
#ifndef LOCUS_ENCODING_CLASS_H
#define LOCUS_ENCODING_CLASS_H

#include "encoding/owned.h"
#include "encoding/placement.h"
#include "encoding/sites.h"

#include <locus/encoding.h>
#include <locus/random.h>
#include <stdatomic.h>

#define LOCUS_TERMS_MAX 8
#define LOCUS_OPTIONS_MAX 32
#define LOCUS_COORDINATES_MAX 32 /* of a group that operators act on */
#define LOCUS_LIST_MAX 32768     /* numbers of a list: half of the longest head dimension */
#define LOCUS_TERM_PARAMETERS_MAX (LOCUS_COORDINATES_MAX + 1)

/* ---- options ---- */

typedef enum locus_option_kind {
    LOCUS_OPTION_CHOICE = 1,        /* one of info.values, "a|b|c" (also on|off): `choice` is its index */
    LOCUS_OPTION_NUMBER = 2,        /* a number in (minimum, maximum] or [minimum, maximum] */
    LOCUS_OPTION_INTEGER = 3,       /* an integer in [minimum, maximum] */
    LOCUS_OPTION_OFF_OR_NUMBER = 4, /* `off` (choice 0) or a number (choice 1) */
    LOCUS_OPTION_ROTATE = 5,  /* not given (choice 0), an even integer (1), or proportional:f with f in (0, 1] (2) */
    LOCUS_OPTION_GROUP = 6,   /* a group */
    LOCUS_OPTION_LIST = 7,    /* not given (choice 0), or a:b:… of integers in [minimum, maximum] (1) */
    LOCUS_OPTION_NUMBERS = 8, /* the same of numbers in (minimum, maximum] or [minimum, maximum] */
    LOCUS_OPTION_DECAY = 9    /* off (choice 0), a number (1), or learned:number (2) */
} locus_option_kind;

typedef struct locus_option_rule {
    locus_option_kind kind;
    double minimum, maximum;
    bool open; /* the minimum itself is not allowed */
} locus_option_rule;

typedef struct locus_option_value {
    bool given;    /* in the text */
    size_t choice; /* see the kinds */
    double number;
    locus_group *group; /* owned; NULL: the default */
    size_t count;       /* of a list */
    double *list;       /* [count], owned */
} locus_option_value;

typedef struct locus_encoding_class locus_encoding_class;

#define LOCUS_LAWS_ALL (LOCUS_LAW_HOMOMORPHISM | LOCUS_LAW_ORTHOGONAL | LOCUS_LAW_RELATIVITY)

typedef struct locus_term {
    const locus_encoding_class *class;
    locus_option_value options[LOCUS_OPTIONS_MAX]; /* in the class's order, defaults filled in */
    locus_group *group; /* that follows from the options (class->group_text), owned; else NULL */
} locus_term;

/* ---- the embedding site ---- */

/* Rows that an embedding is asked for at a time, at most. */
#define LOCUS_EMBEDDING_ROWS 32

typedef struct locus_embedding_call {
    locus_dtype dtype;
    double sign; /* y = x + sign·e */
    size_t first, count;
    const void *x; /* rows of model_dim; y may be x */
    ptrdiff_t x_stride;
    void *y;
    ptrdiff_t y_stride;
    void *scratch; /* scratch_bytes, aligned */
} locus_embedding_call;

typedef struct locus_embedding locus_embedding;
typedef struct locus_embedding_class {
    size_t (*scratch_bytes)(const locus_embedding *embedding, locus_dtype dtype);
    void (*add)(const locus_embedding *embedding, const locus_embedding_call *call);
    /* The parameters' gradient falls into pieces that touch different elements; 0 pieces: nothing is learned. */
    size_t (*gradient_pieces)(const locus_embedding *embedding);
    void (*gradient)(const locus_embedding *embedding, size_t piece, double sign, const locus_tensor *gy,
                     const locus_tensor *parameters);
} locus_embedding_class;
struct locus_embedding {
    const locus_embedding_class *class;
};

/* ---- what acts where ---- */

/* Everything that one term puts at the sites of a plan; NULL and 0 where it does not act. */
typedef struct locus_placed {
    const locus_operator *query_key, *value;
    const locus_whole_operator *query_key_whole, *value_whole; /* instead, where operators share work between tokens */
    const locus_score_term *score;
    const locus_content_table *content;
    const locus_contextual_table *contextual;
    const locus_score_settings *settings;
    const locus_embedding *embedding; /* of LOCUS_ROLE_TOKEN */
    const locus_embedding *encoded;   /* of LOCUS_ROLE_ENCODED */
} locus_placed;

/* What initialise draws from: a stream of its own for each term. */
typedef struct locus_draw {
    const locus_shape *shape;
    locus_random random;
    double *const *values; /* [count] contiguous tensors, in the order of `parameters` */
} locus_draw;

/* A block of a head's dimensions whose operators are rotations in a basis; rotary NULL: they are not (a tree). */
typedef struct locus_normal_part {
    size_t first;      /* of the head's dimensions */
    size_t coordinate; /* of the group: the first that it follows */
    const struct locus_rotary *rotary;
} locus_normal_part;

struct locus_encoding_class {
    locus_encoding_info info;
    const locus_option_rule *rules; /* [info.option_count] */
    unsigned kept;   /* mask of the options that canonical texts repeat where they are given, be it their default */
    bool angles;     /* place needs the placement's two-level positions */
    unsigned laws;   /* mask of locus_law; an option `side` that is one-sided takes LOCUS_LAW_RELATIVITY away */
    bool reals;      /* takes real-valued positions */
    bool any_group;  /* positions of every group will do; others without an option `group` act on seq */
    bool grids_only; /* of the option `group` */
    /* The group, as text, of a class whose group follows from other options (axes=3: grid:3); cut to `size` bytes.
     * NULL, or an empty text: the option `group` says it, or it is seq. */
    void (*group_text)(const locus_term *term, char *text, size_t size);
    /* NULL: all of info.sites. */
    unsigned (*sites)(const locus_term *term);
    /* NULL: `laws`, of all terms. */
    unsigned (*laws_of)(const locus_term *term);
    /* A contradiction between options: returns its text and which option to point at; NULL if there is none. May be
     * NULL. */
    const char *(*conflict)(const locus_term *term, size_t *option);
    /* Checks the shape and lists the learned tensors (names without prefix). */
    locus_status (*parameters)(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error);
    /* NULL if nothing is ever learned. */
    locus_status (*initialise)(const locus_term *term, const locus_draw *draw, locus_error *error);
    /* `values` are the parameters in double. NULL if there is no state. */
    locus_status (*bind)(const locus_term *term, const locus_shape *shape, const double *const *values,
                         locus_owned *memory, void **bound, locus_error *error);
    /* first_parameter: the term's place in the plan's list. NULL if nothing acts. */
    locus_status (*place)(const void *bound, const locus_places *places, size_t first_parameter, locus_owned *memory,
                          locus_placed *placed, locus_error *error);
    /* The rotations that the operator on queries and keys is made of (fold.h), side by side over the head's dimensions;
     * returns their number. NULL: it is not made of rotations. */
    size_t (*normal)(const void *bound, locus_normal_part parts[LOCUS_COORDINATES_MAX]);
};

extern const locus_encoding_class locus_chebyshev_class, locus_shiv_quirk_class;
extern const locus_encoding_class locus_none_class, locus_sinusoidal_class, locus_learned_class, locus_relative_class,
    locus_rope_class, locus_roper_class, locus_alibi_class, locus_decay_class, locus_algebraic_class, locus_mixed_class,
    locus_string_class, locus_liere_class, locus_t5_class, locus_kerple_class, locus_fire_class, locus_cope_class,
    locus_temperature_class, locus_scores_class;

/* ---- the registry ---- */

const locus_encoding_class *locus_class_at(size_t index); /* NULL past the end */

/* ---- the parsed spec ---- */

struct locus_encoding {
    atomic_size_t owners;
    locus_group *group; /* that positions must be of, owned; NULL: any */
    size_t term_count;
    locus_term terms[LOCUS_TERMS_MAX];
};

unsigned locus_term_sites(const locus_term *term);

/* The group that a term's positions are of, borrowed; NULL: any. */
const locus_group *locus_term_group(const locus_term *term);

/* Encodings are immutable, so bindings keep them by counting owners: one more owner, one more locus_encoding_destroy.
 * Safe from any thread. Returns its argument, whose contents stay read-only. */
locus_encoding *locus_encoding_share(const locus_encoding *encoding);

/* All learned tensors of an encoding with their full names; count is at most
 * LOCUS_TERMS_MAX·LOCUS_TERM_PARAMETERS_MAX. */
typedef struct locus_parameter_list {
    size_t count;
    size_t first[LOCUS_TERMS_MAX + 1]; /* where each term's begin */
    locus_parameter items[LOCUS_TERMS_MAX * LOCUS_TERM_PARAMETERS_MAX];
} locus_parameter_list;
locus_status locus_parameter_list_get(const locus_encoding *encoding, const locus_shape *shape,
                                      locus_parameter_list *list, locus_error *error);

/* Elements of a parameter. */
size_t locus_parameter_elements(const locus_parameter *parameter);

/* The tensors that a caller hands in must be these, contiguous, of one of both dtypes. `what` is "parameters" or
 * "gradients". */
locus_status locus_parameter_list_check(const locus_parameter_list *list, const locus_tensor *tensors, size_t count,
                                        const char *what, locus_error *error);

/* tensor[index] += value, for a contiguous tensor of either dtype. */
static inline void locus_tensor_add(const locus_tensor *tensor, size_t index, double value) {
    if (tensor->dtype == LOCUS_FLOAT64)
        ((double *)tensor->data)[index] += value;
    else
        ((float *)tensor->data)[index] = (float)((double)((float *)tensor->data)[index] + value);
}

/* Fails with SHAPE unless the shape has heads and a head dimension; `name` is the encoding. */
locus_status locus_shape_need_heads(const locus_shape *shape, const char *name, locus_error *error);
locus_status locus_shape_need_model(const locus_shape *shape, const char *name, locus_error *error);

/* The shape as a term sees it: `heads` are those that its parameters are for, of keys and values where it has
 * operators. */
locus_shape locus_term_shape(const locus_term *term, const locus_shape *shape);

/* kv_heads, or heads where it is 0. */
static inline size_t locus_shape_kv_heads(const locus_shape *shape) {
    return shape->kv_heads ? shape->kv_heads : shape->heads;
}

/* value_dim, or head_dim where it is 0. */
static inline size_t locus_shape_value_dim(const locus_shape *shape) {
    return shape->value_dim ? shape->value_dim : shape->head_dim;
}

#endif
