/* SPDX-License-Identifier: MIT */
/* What an encoding has to say of itself. Each encoding is one file that defines one locus_encoding_class, and one line
 * in registry.c. Life of an encoding:
 *
 *   text ─parse→ term (options) ─bind (shape, parameters)→ bound state ─place (positions)→ what acts at each site
 *
 * Bound and placed states are allocated from a locus_owned that the caller releases: there is nothing to destroy. */
#ifndef LOCUS_ENCODING_CLASS_H
#define LOCUS_ENCODING_CLASS_H

#include "kernels/half_rows.h"
#include "spec/option.h"
#include "spec/owned.h"
#include "spec/placement.h"
#include "spec/sites.h"

#include <locus/encoding.h>
#include <locus/random.h>
#include <stdatomic.h>

#define LOCUS_TERMS_MAX 8
#define LOCUS_TERM_PARAMETERS_MAX (LOCUS_COORDINATES_MAX + 1)

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

/* dL/dy of all tokens, float32 or float64. */
typedef struct locus_embedding_rows {
    locus_dtype dtype;
    locus_token_rows rows;
    const locus_token_side *side;
} locus_embedding_rows;

typedef struct locus_embedding locus_embedding;
typedef struct locus_embedding_class {
    size_t (*scratch_bytes)(const locus_embedding *embedding, locus_dtype dtype); /* or NULL: 0 */
    void (*add)(const locus_embedding *embedding, const locus_embedding_call *call);
    /* The parameters' gradient falls into pieces that touch different elements; 0 pieces: nothing is learned. */
    size_t (*gradient_pieces)(const locus_embedding *embedding);
    void (*gradient)(const locus_embedding *embedding, size_t piece, double sign, const locus_embedding_rows *gy,
                     const locus_tensor *parameters);
    void (*form)(const locus_embedding *embedding, locus_form_writer *writer); /* or NULL */
} locus_embedding_class;
struct locus_embedding {
    const locus_embedding_class *class;
};

/* ---- what acts where ---- */

/* Everything that one term puts at the sites of a plan; NULL and 0 where it does not act. */
typedef struct locus_placed {
    void *own;              /* [placed_bytes] of the class, zeroed */
    size_t first_parameter; /* of the term, in the plan's list */
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
    double *const *values; /* [count] contiguous tensors, zeroed, in the order of `parameters` */
} locus_draw;

/* Where a normal form is written (<locus/fold.h>): arrays of one head, NULL where they are not wanted, and the number
 * of the block's first pair and first unpaired column among the head's. */
typedef struct locus_normal_target {
    size_t head_dim, all_pairs, pair, alone;
    double *basis, *angles, *signs;
} locus_normal_target;

/* A block of a head's dimensions whose operators are rotations in a basis. */
typedef struct locus_normal_part {
    const char *refused; /* why they are not, as it follows "has no normal form: "; NULL: they are */
    size_t first, count; /* of the head's dimensions */
    size_t coordinate;   /* of the group: the first that it follows */
    size_t pairs;
    const void *own;
    /* Writes what is wanted over arrays of 0 (signs: of 1). */
    void (*write)(const struct locus_normal_part *part, size_t head, const locus_normal_target *target);
} locus_normal_part;

/* How keys that are turned already can move: ⌈a + p⌉ = ⌈a⌉⌈p⌉ / factor on the first `turning` dimensions of a head. */
typedef struct locus_moving {
    const char *refused; /* why they cannot, as it follows the encoding's name; NULL: they can */
    double factor;
    size_t turning;
} locus_moving;

/* What parts of a shape a class needs, as a mask. */
enum { LOCUS_NEEDS_HEADS = 1, LOCUS_NEEDS_HEAD_DIM = 2, LOCUS_NEEDS_MODEL_DIM = 4 };

struct locus_encoding_class {
    locus_encoding_info info;
    unsigned shape;      /* mask of LOCUS_NEEDS_…, which a shape must give */
    size_t bound_bytes;  /* of what is bound; 0: there is no state */
    size_t placed_bytes; /* of what is placed beside what is shared (locus_placed.own) */
    unsigned kept;       /* mask of the options that canonical texts repeat where they are given, be it their default */
    unsigned laws;       /* mask of locus_law; an option `side` that is one-sided takes LOCUS_LAW_RELATIVITY away */
    bool reals;          /* takes real-valued positions */
    bool any_group;      /* positions of every group will do; others without an option `group` act on seq */
    bool grids_only;     /* of the option `group` */
    /* What only one term of a sum can do, as it follows "both ": equal claims do not go together. NULL: none. */
    const char *claim;
    /* The group, as text, of a class whose group follows from other options (axes=3: grid:3); cut to `size` bytes.
     * NULL, or an empty text: the option `group` says it, or it is seq. */
    void (*group_text)(const locus_term *term, char *text, size_t size);
    /* NULL: all of info.sites. */
    unsigned (*sites)(const locus_term *term);
    /* NULL: `laws`, of all terms. */
    unsigned (*laws_of)(const locus_term *term);
    /* NULL: whatever can be drawn (initialise) is learned, by all terms. */
    bool (*learns)(const locus_term *term);
    /* Of LOCUS_TRAIT_LENGTH and LOCUS_TRAIT_CAUSAL; NULL: neither. */
    unsigned (*needs)(const locus_term *term);
    bool registered; /* it is not the library's */
    bool multiplies; /* scores have products of the query, before any operator, with a table */
    /* Whether a cache has to place it anew with every token, at whole or real positions. NULL: trees alone. */
    bool (*follows)(const locus_term *term, bool reals);
    /* A contradiction between options: returns its text and which option to point at; NULL if there is none. May be
     * NULL. */
    const char *(*conflict)(const locus_term *term, size_t *option);
    /* Checks the shape further and lists the learned tensors (names without prefix). NULL: there are none. */
    locus_status (*parameters)(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error);
    /* NULL if nothing is ever learned. */
    locus_status (*initialise)(const locus_term *term, const locus_draw *draw, locus_error *error);
    /* `values` are the parameters in double, which live as long as what is bound: [bound_bytes], zeroed. NULL if there
     * is no state. */
    locus_status (*bind)(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error);
    /* Called for each plan and each refresh: what follows from positions alone comes from places->tables (tables.h), so
     * that it is made once. NULL if nothing acts. */
    locus_status (*place)(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error);
    /* The rotations that the operator on queries and keys is made of (fold.h), side by side over the head's dimensions;
     * returns their number. NULL: it is not made of rotations. */
    size_t (*normal)(const void *bound, locus_normal_part parts[LOCUS_COORDINATES_MAX]);
    /* NULL: keys can move if the term's operators promise to be a homomorphism, with factor 1. */
    locus_moving (*moving)(const void *bound);
};

/* Fields of an encoding's info: an array of its options. */
#define LOCUS_OPTIONS(list) .options = (list), .option_count = sizeof(list) / sizeof(list)[0]

/* The class as a name with options. */
static inline locus_signature locus_class_signature(const locus_encoding_class *class) {
    const locus_signature signature = {class->info.name, class->info.options, class->info.option_count, class->kept,
                                       class->grids_only};
    return signature;
}

/* ---- the registry ---- */

const locus_encoding_class *locus_class_at(size_t index); /* NULL past the end */

/* All of them, or none. The classes have to live until the process ends. ARGUMENT for a name that is taken. */
locus_status locus_class_register(const locus_encoding_class *const *added, size_t count, locus_error *error);

/* ---- the parsed spec ---- */

struct locus_encoding {
    atomic_size_t owners;
    locus_group *group; /* that positions must be of, owned; NULL: any */
    size_t term_count;
    locus_term terms[LOCUS_TERMS_MAX];
};

unsigned locus_term_sites(const locus_term *term);

/* Whether an option has its default value. */
bool locus_term_is_initial(const locus_term *term, size_t option);

/* The class's option that is a group, or SIZE_MAX. */
size_t locus_class_group_option(const locus_encoding_class *class);

/* The group that a term's positions are of, borrowed; NULL: any. */
const locus_group *locus_term_group(const locus_term *term);

/* All learned tensors of an encoding with their full names; count is at most
 * LOCUS_TERMS_MAX·LOCUS_TERM_PARAMETERS_MAX. */
typedef struct locus_parameter_list {
    size_t count;
    size_t first[LOCUS_TERMS_MAX + 1]; /* where each term's begin */
    locus_parameter items[LOCUS_TERMS_MAX * LOCUS_TERM_PARAMETERS_MAX];
    locus_shape shape; /* as the caller gave it, read */
} locus_parameter_list;
locus_status locus_parameter_list_get(const locus_encoding *encoding, const locus_shape *shape,
                                      locus_parameter_list *list, locus_error *error);

/* Elements of a parameter. */
size_t locus_parameter_elements(const locus_parameter *parameter);

/* The tensors that a caller hands in must be these, contiguous, of any element type. `what` is "parameters" or
 * "gradients". */
locus_status locus_parameter_list_check(const locus_parameter_list *list, const locus_tensor *tensors, size_t count,
                                        const char *what, locus_error *error);

/* tensor[index] += value, for a contiguous tensor: summed in double, rounded once. */
static inline void locus_tensor_add(const locus_tensor *tensor, size_t index, double value) {
    if (tensor->dtype == LOCUS_FLOAT64)
        ((double *)tensor->data)[index] += value;
    else if (tensor->dtype == LOCUS_FLOAT32)
        ((float *)tensor->data)[index] = (float)((double)((float *)tensor->data)[index] + value);
    else
        locus_half_add(tensor->dtype, (uint16_t *)tensor->data + index, value);
}

/* tensor[first + i] += values[i] for `count` of them, as above. */
static inline void locus_tensor_add_numbers(const locus_tensor *tensor, size_t first, size_t count,
                                            const double *values) {
    if (tensor->dtype == LOCUS_FLOAT32) {
        float *data = (float *)tensor->data + first;
        for (size_t i = 0; i < count; i++)
            data[i] = (float)((double)data[i] + values[i]);
        return;
    }
    for (size_t i = 0; i < count; i++)
        locus_tensor_add(tensor, first + i, values[i]);
}

/* Fails with SHAPE unless the shape has what `needs` (LOCUS_NEEDS_…) says; `name` is the encoding. */
locus_status locus_shape_check(const locus_shape *shape, unsigned needs, const char *name, locus_error *error);

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
