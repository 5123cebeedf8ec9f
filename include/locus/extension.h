/* SPDX-License-Identifier: MIT */
/* Encodings of your own: described in a struct, registered by name, and from then on parsed, listed, bound, planned,
 * trained and checked like those of the library.
 *
 *   static locus_status window(const locus_extension_batch *batch, double *values, locus_error *error) {
 *       for (size_t i = 0; i < batch->count; i++)
 *           values[i] = -batch->distance[i] * batch->distance[i] / 50;
 *       return LOCUS_OK;
 *   }
 *   static const locus_encoding_description description = {
 *       .size = sizeof description, .name = "window", .summary = "a bias that falls with the squared distance",
 *       .kind = LOCUS_EXTENSION_BIAS, .laws = LOCUS_LAW_RELATIVITY, .values = window};
 *   status = locus_encoding_register(&description, &error);          "window + rope" is a spec now
 *
 * Callbacks compute for many places at a time and are called when plans are made. Their numbers go into tables that
 * attention reads, so that its inner loops call nobody. Gradients are computed once for each head and backward call.
 * A callback runs on the thread that called the library, one callback of a call at a time; several calls may run theirs
 * at once. A number that is not finite fails the call with NUMERIC, naming encoding and place.
 *
 * A shared object with a LOCUS_PLUGIN(…) is loaded by the program: locus --plugin FILE.so COMMAND …; examples/ has
 * two. */
#ifndef LOCUS_EXTENSION_H
#define LOCUS_EXTENSION_H

#include <locus/encoding.h>
#include <locus/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the numbers of a callback are; how many there are for each place is the kind's width. */
typedef enum locus_extension_kind {
    LOCUS_EXTENSION_BIAS = 1,    /* added to the score of a query and a key: 1 */
    LOCUS_EXTENSION_FACTOR = 2,  /* multiplies the score of a query and a key: 1 */
    LOCUS_EXTENSION_ANGLES = 3,  /* by which pairs of a head's dimensions turn at a position, in radians: head_dim / 2,
                                    rounded down; what is in no pair stands still */
    LOCUS_EXTENSION_MATRICES = 4 /* operators of a head at a position: head_dim · head_dim, row-major. Outputs are
                                    multiplied by the transpose */
} locus_extension_kind;

/* A mask. */
typedef enum locus_extension_flag {
    LOCUS_EXTENSION_HEADS_ALIKE = 1, /* all heads have the same numbers: asked for of head 0 alone */
    LOCUS_EXTENSION_HALF_PAIRS = 2,  /* ANGLES: pairs are (i, i + pairs), else (2i, 2i + 1) */
    LOCUS_EXTENSION_VALUES = 4 /* ANGLES, MATRICES (which then have to promise ORTHOGONAL): acts on values too, and
                                  its transpose on the output */
} locus_extension_flag;

/* An option as a callback sees it. */
typedef struct locus_extension_option {
    const char *text;   /* as canonical texts write it, defaults included; "" if it has no default and is not given */
    double number;      /* the number; of a CHOICE its index; NaN where there is none (off) */
    size_t count;       /* of a LIST or NUMBERS */
    const double *list; /* [count] */
} locus_extension_option;

/* A word of a tree: branches from the root, 1 … k and their inverses −1 … −k. */
typedef struct locus_extension_word {
    const int64_t *branches; /* [length] */
    size_t length;
} locus_extension_word;

/* Positions, one row of coordinates for each (group.h): integers, residues, real positions; of a tree the word's
 * length. Residues beyond 2^53 are rounded. */
typedef struct locus_extension_positions {
    const double *values;              /* [count, coordinates] */
    const locus_extension_word *words; /* [count, coordinates], empty but for trees; NULL on groups without trees */
} locus_extension_positions;

/* What a callback is told. Everything in it lives until the callback returns. */
typedef struct locus_extension_batch {
    size_t size;   /* sizeof(locus_extension_batch) as the library knows it: it may grow at its end */
    void *context; /* the description's */
    size_t heads, head_dim;
    size_t head;                           /* whose numbers are asked for */
    size_t length;                         /* locus_plan_options.length */
    size_t option_count;                   /* as described, with what the spec says */
    const locus_extension_option *options; /* [option_count] */
    size_t parameter_count;                /* as described */
    const double *const *parameters;       /* [parameter_count]: all elements of each, of all heads, in C order */
    size_t count, coordinates;             /* places, and coordinates of a position */
    locus_extension_positions query;       /* of operators: the positions */
    locus_extension_positions key;         /* of scores; of operators NULL */
    const double *distance;                /* [count] of scores: the group's distance of query and key; else NULL */
} locus_extension_batch;

/* Writes values [count, width]. Another status than OK fails the call; the callback may write why into error->message
 * (one line). */
typedef locus_status locus_extension_values(const locus_extension_batch *batch, double *values, locus_error *error);

/* Adds Σ upstream[i]·∂values[i]/∂parameter, over all numbers [count, width], to each gradient, which is shaped as its
 * parameter. */
typedef locus_status locus_extension_gradient(const locus_extension_batch *batch, const double *upstream,
                                              double *const *gradients, locus_error *error);

/* Writes initial values over those that stand there already (locus_extension_parameter). count and parameters of the
 * batch are 0 and NULL. */
typedef locus_status locus_extension_initial(const locus_extension_batch *batch, size_t parameter, size_t elements,
                                             double *values, locus_error *error);

/* Sizes of a parameter that follow from shape and options. */
#define LOCUS_EXTENT_HEADS (-1)
#define LOCUS_EXTENT_HEAD_DIM (-2)
#define LOCUS_EXTENT_PAIRS (-3)                    /* head_dim / 2, rounded down */
#define LOCUS_EXTENT_OPTION(index) (-16 - (index)) /* the value of option number `index`, an INTEGER */

/* A learned tensor. */
typedef struct locus_extension_parameter {
    size_t size;                   /* sizeof(locus_extension_parameter): the struct may grow at its end */
    const char *name;              /* letters, digits and '_', begins with a letter, at most 31 */
    size_t rank;                   /* 1 … LOCUS_MAX_RANK */
    int64_t shape[LOCUS_MAX_RANK]; /* at least 1 each, or one of LOCUS_EXTENT_… */
    double initial, deviation;     /* elements begin as draws from N(initial, deviation²) */
    locus_constraint constraint;   /* checked at binding; initial values must keep to it */
} locus_extension_parameter;

/* An encoding. Fields that are 0 or NULL say nothing, but for those marked. */
typedef struct locus_encoding_description {
    size_t size;               /* needed: sizeof(locus_encoding_description): the struct may grow at its end */
    const char *name;          /* needed: small letters, digits and '-', begins with a letter, at most 31 */
    const char *summary;       /* needed: one line */
    const char *source;        /* a paper */
    const char *group;         /* that positions are of; NULL: the one that an option of kind GROUP says, or seq */
    locus_extension_kind kind; /* needed */
    unsigned flags;            /* mask of locus_extension_flag */
    unsigned laws;             /* mask of locus_law that it promises, whatever its parameters: `locus check` measures
                                  them. RELATIVITY of scores makes plans of long sequences small: values are then
                                  asked for once for each difference of positions */
    unsigned traits;           /* mask of LOCUS_TRAIT_REALS (real positions will do), LENGTH (it reads batch->length),
                                  CAUSAL (it is meant for the causal mask: locus_encoding_traits says so) */
    size_t option_count;       /* at most 32 */
    const locus_option_info *options;            /* [option_count], of all kinds but ROTATE and DECAY */
    size_t parameter_count;                      /* at most 16 */
    const locus_extension_parameter *parameters; /* [parameter_count], each as long as its size */
    void *context;                      /* for the callbacks, never touched; has to live until the process ends */
    locus_extension_values *values;     /* needed */
    locus_extension_gradient *gradient; /* needed with parameters */
    locus_extension_initial *initialise;
} locus_encoding_description;

/* Registers an encoding for the rest of the process; everything but `context` is copied. From any thread. ARGUMENT for
 * a description that misses something or contradicts itself, and for a name that is taken: nothing is registered. */
LOCUS_API LOCUS_MUST_USE locus_status locus_encoding_register(const locus_encoding_description *description,
                                                              locus_error *error);

/* ---- plugins ---- */

/* What a shared object exports under the name LOCUS_PLUGIN_SYMBOL. The first field never moves. */
typedef struct locus_plugin {
    int32_t abi;   /* LOCUS_ABI_VERSION that it was built for */
    int32_t count; /* encodings */
    const locus_encoding_description *const *encodings;
} locus_plugin;

#define LOCUS_PLUGIN_SYMBOL "locus_plugin_entry"

#ifdef __cplusplus
#define LOCUS_PLUGIN_EXTERN extern "C"
#else
#define LOCUS_PLUGIN_EXTERN extern
#endif

/* At the end of a plugin's file: LOCUS_PLUGIN(&one, &another); */
#define LOCUS_PLUGIN(...) \
    static const locus_encoding_description *const locus_plugin_encodings[] = {__VA_ARGS__}; \
    LOCUS_PLUGIN_EXTERN LOCUS_API const locus_plugin locus_plugin_entry; \
    const locus_plugin locus_plugin_entry = { \
        LOCUS_ABI_VERSION, (int32_t)(sizeof locus_plugin_encodings / sizeof locus_plugin_encodings[0]), \
        locus_plugin_encodings}

/* Registers all encodings of a plugin, or none. UNSUPPORTED if it was built for another ABI; else as
 * locus_encoding_register. */
LOCUS_API LOCUS_MUST_USE locus_status locus_plugin_register(const locus_plugin *plugin, locus_error *error);

#ifdef __cplusplus
}
#endif
#endif
