/* SPDX-License-Identifier: MIT */
/* Encodings: how positions act on a Transformer. Text → encoding → binding (with a shape and parameter values). */
#ifndef LOCUS_ENCODING_H
#define LOCUS_ENCODING_H

#include <locus/execution.h>
#include <locus/group.h>
#include <locus/tensor.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct locus_encoding locus_encoding; /* opaque, immutable, counted: a parsed spec */

/* Where an encoding acts; a mask. */
typedef enum locus_site {
    LOCUS_SITE_EMBEDDING = 1, /* a vector added to a token */
    LOCUS_SITE_QUERY_KEY = 2, /* an operator on queries and keys */
    LOCUS_SITE_VALUE = 4,     /* an operator on values, undone on the output */
    LOCUS_SITE_SCORE = 8,     /* a factor on, or a bias added to, the attention score */
    LOCUS_SITE_ENCODED = 16   /* a vector added to what the encoder gives (chebyshev(site=output)) */
} locus_site;

/* spec := term ("+" term)*;  term := name [ "(" key "=" value ("," key "=" value)* ")" ].
 * On failure status SPEC, with the offset of the offending place in `spec`, what was expected and the nearest name. */
LOCUS_API LOCUS_MUST_USE locus_status locus_encoding_parse(const char *spec, locus_encoding **encoding,
                                                           locus_error *error);
/* One more owner; from any thread. Returns its argument. */
LOCUS_API locus_encoding *locus_encoding_retain(const locus_encoding *encoding);
/* Lets go of one owner's share. Accepts NULL; nulls the pointer. */
LOCUS_API void locus_encoding_destroy(locus_encoding **encoding);

/* Whether both have the same terms with the same values of their options, however they were written. NULL equals NULL
 * only. Equal encodings have equal hashes. */
LOCUS_API int locus_encoding_equal(const locus_encoding *a, const locus_encoding *b);
LOCUS_API uint64_t locus_encoding_hash(const locus_encoding *encoding);

/* The canonical spec: terms in their order, options that differ from their defaults in the registry's order; and,
 * wherever they are given, `deviation` of learned, since a text without it meant 0.02 in version 0.1, and `learned` of
 * rope, which the laboratory's set-ups take for on or off. Cut to `size` bytes with its final NUL; returns the full
 * length. Parsing it gives an equal encoding. */
LOCUS_API size_t locus_encoding_text(const locus_encoding *encoding, char *text, size_t size);
LOCUS_API unsigned locus_encoding_sites(const locus_encoding *encoding); /* mask of locus_site */

/* Laws of a group action; a mask. */
typedef enum locus_law {
    LOCUS_LAW_HOMOMORPHISM = 1, /* ⌈a + b⌉ = ⌈a⌉⌈b⌉ */
    LOCUS_LAW_ORTHOGONAL = 2,   /* ⌈a⌉ is orthogonal, and ⌈−a⌉ its inverse */
    LOCUS_LAW_RELATIVITY = 4    /* scores and outputs depend on −a + b only */
} locus_law;

/* Mask of the locus_law that the encoding promises, whatever its parameters: what all of its terms promise. Terms
 * without an operator on queries and keys break no law of operators. */
LOCUS_API unsigned locus_encoding_laws(const locus_encoding *encoding);

/* What a caller has to know before it uses an encoding; a mask. */
typedef enum locus_trait {
    LOCUS_TRAIT_LEARNS = 1,  /* it has parameters, for shapes that it can take */
    LOCUS_TRAIT_REALS = 2,   /* real-valued positions will do */
    LOCUS_TRAIT_LENGTH = 4,  /* it depends on the length that a plan is made for (locus_plan_options.length) */
    LOCUS_TRAIT_CAUSAL = 8,  /* attention must have the causal mask */
    LOCUS_TRAIT_CACHED = 16, /* keys and values can be kept for decoding (cache.h) */
    LOCUS_TRAIT_OWN = 32     /* a term of it is not the library's, but was registered (extension.h) */
} locus_trait;
LOCUS_API unsigned locus_encoding_traits(const locus_encoding *encoding);

/* The group that positions must be of; NULL if any will do (`none`, `cope`, `scores`). Borrowed from the encoding: it
 * lives as long, and longer if it is retained. */
LOCUS_API const locus_group *locus_encoding_group(const locus_encoding *encoding);

/* What the encoding is used with; everything that is 0 is not used. */
typedef struct locus_shape {
    size_t size;      /* sizeof(locus_shape): the struct may grow at its end. 0: the fields of version 0.2 */
    size_t heads;     /* H, for query-key, value and score sites */
    size_t head_dim;  /* dimension of a query and key head */
    size_t value_dim; /* dimension of a value head; 0 means head_dim */
    size_t model_dim; /* D, for the embedding site */
    size_t kv_heads;  /* heads of keys and values; 0 means heads, which it must divide: query head h goes with key and
                         value head h / (heads / kv_heads). Operators have parameters for each of these */
} locus_shape;
LOCUS_API locus_shape locus_shape_default(void);

/* What every element of a parameter must be, beside finite. Values that training may leave are not moved back: a
 * binding refuses them, so an optimiser has to keep to it. */
typedef enum locus_constraint {
    LOCUS_CONSTRAINT_NONE = 0,
    LOCUS_CONSTRAINT_POSITIVE = 1, /* above 0 */
    LOCUS_CONSTRAINT_NONZERO = 2   /* not 0, nor so small that a product of two is */
} locus_constraint;

/* A learned tensor of an encoding: names as in the spec reference ("generators", "table"), in sums of terms prefixed
 * "0.", "1.", …  Always contiguous. */
typedef struct locus_parameter {
    size_t size; /* given: sizeof(locus_parameter), so much is written: the struct may grow at its end */
    char name[64];
    size_t rank;
    int64_t shape[LOCUS_MAX_RANK];
    locus_constraint constraint;
} locus_parameter;

/* How many tensors the encoding learns for this shape, and what tensor `index` is. Fails with SHAPE if the encoding
 * cannot take the shape (an odd head dimension where pairs are needed). */
LOCUS_API LOCUS_MUST_USE locus_status locus_encoding_parameter_count(const locus_encoding *encoding,
                                                                     const locus_shape *shape, size_t *count,
                                                                     locus_error *error);
LOCUS_API LOCUS_MUST_USE locus_status locus_encoding_parameter(const locus_encoding *encoding, const locus_shape *shape,
                                                               size_t index, locus_parameter *parameter,
                                                               locus_error *error);

/* Fills `parameters` (contiguous, of any element type, in the order above) with initial values drawn from `seed`: drawn
 * in double, rounded once. */
LOCUS_API LOCUS_MUST_USE locus_status locus_encoding_initialise(const locus_encoding *encoding,
                                                                const locus_shape *shape, uint64_t seed,
                                                                const locus_tensor *parameters, size_t count,
                                                                locus_error *error);
/* The same by `execution` (NULL: its defaults; its workspace is not used): the values are the same bits whatever it
 * says. Cancelled, what `parameters` hold is undefined. */
LOCUS_API LOCUS_MUST_USE locus_status locus_encoding_initialise_with(const locus_encoding *encoding,
                                                                     const locus_shape *shape, uint64_t seed,
                                                                     const locus_tensor *parameters, size_t count,
                                                                     const locus_execution *execution,
                                                                     locus_error *error);

/* ---- binding: an encoding with a shape and parameter values, made ready (eigenbases, frequencies, slopes) ---- */

typedef struct locus_binding locus_binding; /* opaque, immutable, counted; may be shared by threads */

/* `parameters`, of any element type, are copied as double; `count` must match locus_encoding_parameter_count. The
 * binding retains the encoding. */
LOCUS_API LOCUS_MUST_USE locus_status locus_binding_create(locus_binding **binding, const locus_encoding *encoding,
                                                           const locus_shape *shape, const locus_tensor *parameters,
                                                           size_t count, locus_error *error);
/* The same by `execution` (NULL: its defaults; its workspace is not used): bases and angle tables are made head by
 * head, and between these the call can be cancelled; *binding is NULL then. */
LOCUS_API LOCUS_MUST_USE locus_status locus_binding_create_with(locus_binding **binding, const locus_encoding *encoding,
                                                                const locus_shape *shape,
                                                                const locus_tensor *parameters, size_t count,
                                                                const locus_execution *execution, locus_error *error);

/* New parameter values, after a step of training: *binding becomes another binding, which shares with the old one what
 * does not depend on parameters, and whole terms whose parameters are the same bit for bit. The caller's share in the
 * old one is let go of; plans, caches and others that retain it keep it with its values. Plans follow by
 * locus_plan_refresh. On failure *binding is as it was. */
LOCUS_API LOCUS_MUST_USE locus_status locus_binding_update(locus_binding **binding, const locus_tensor *parameters,
                                                           size_t count, locus_error *error);
/* The same by `execution`, as in locus_binding_create_with. */
LOCUS_API LOCUS_MUST_USE locus_status locus_binding_update_with(locus_binding **binding, const locus_tensor *parameters,
                                                                size_t count, const locus_execution *execution,
                                                                locus_error *error);
/* One more owner; from any thread. Returns its argument. */
LOCUS_API locus_binding *locus_binding_retain(const locus_binding *binding);
/* Lets go of one owner's share. Accepts NULL; nulls the pointer. */
LOCUS_API void locus_binding_destroy(locus_binding **binding);

/* Whether both are of equal encodings, with equal shapes and the same parameter values bit for bit: plans of equal
 * bindings on equal positions do the same. NULL equals NULL only. Equal bindings have equal hashes; a hash reads all
 * parameters. */
LOCUS_API int locus_binding_equal(const locus_binding *a, const locus_binding *b);
LOCUS_API uint64_t locus_binding_hash(const locus_binding *binding);

/* As locus_encoding_group; borrowed from the binding. */
LOCUS_API const locus_group *locus_binding_group(const locus_binding *binding);

/* ---- registry: what there is, for listings and completions ---- */

/* What values an option takes. The numbers are pinned. */
typedef enum locus_option_kind {
    LOCUS_OPTION_CHOICE = 1,         /* one of `values`, "a|b|c" (also on|off) */
    LOCUS_OPTION_NUMBER = 2,         /* a number in the range */
    LOCUS_OPTION_INTEGER = 3,        /* an integer in the range */
    LOCUS_OPTION_OFF_OR_NUMBER = 4,  /* off, or a number in the range */
    LOCUS_OPTION_ROTATE = 5,         /* an even integer in the range, or proportional:f with f in (0, 1] */
    LOCUS_OPTION_GROUP = 6,          /* a group (group.h) */
    LOCUS_OPTION_LIST = 7,           /* a:b:… of integers in the range */
    LOCUS_OPTION_NUMBERS = 8,        /* a:b:… of numbers in the range */
    LOCUS_OPTION_DECAY = 9,          /* off, a number in the range, or learned: and such a number */
    LOCUS_OPTION_OFF_OR_INTEGER = 10 /* off, or an integer in the range */
} locus_option_kind;

typedef struct locus_option_info {
    const char *name;
    const char *values;  /* "interleaved|half", "number > 0", "integer ≥ 1", "group": for people, but of a CHOICE the
                            words themselves, the first one the default unless `initial` is another */
    const char *initial; /* default as text; "" if the option has none and must be given or is derived */
    const char *meaning;
    locus_option_kind kind;
    double minimum, maximum; /* the range [minimum, maximum]; 0, 0 for kinds without numbers */
    bool open;               /* the minimum itself is not in it */
} locus_option_info;

typedef struct locus_encoding_info {
    const char *name;
    const char *summary;
    unsigned sites;                   /* mask of locus_site over all option values */
    const char *learned;              /* what is learned, "" if nothing */
    const char *source;               /* paper */
    const locus_option_info *options; /* [option_count] */
    size_t option_count;
} locus_encoding_info;

LOCUS_API size_t locus_encoding_registry_size(void);
/* What the library has, then what was registered (extension.h). NULL past the end; lives as long as the process. */
LOCUS_API const locus_encoding_info *locus_encoding_registry_at(size_t index);

/* ---- what a spec says: the terms of its sum, at least 1, and their options ---- */

LOCUS_API size_t locus_encoding_term_count(const locus_encoding *encoding);
/* The registry's entry of term `index`; NULL past the end; static storage. */
LOCUS_API const locus_encoding_info *locus_encoding_term(const locus_encoding *encoding, size_t index);
/* The value of a term's option as canonical text writes it, defaults included: "10000", "half", "off"; "" for one that
 * has no default and was not given. Cut to `size` bytes with its final NUL; returns the full length, or SIZE_MAX,
 * nothing written, if the term has no option of this name. */
LOCUS_API size_t locus_encoding_option(const locus_encoding *encoding, size_t term, const char *name, char *text,
                                       size_t size);

#ifdef __cplusplus
}
#endif
#endif
