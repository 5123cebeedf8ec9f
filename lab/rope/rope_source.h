/* SPDX-License-Identifier: MIT */
/* What the parts of the reader of rotary settings share: rope_read.c, rope_families.c, rope_layers.c, rope_terms.c,
 * rope_scalings.c, rope_attention.c, rope_source.c. */
#ifndef LAB_ROPE_SOURCE_H
#define LAB_ROPE_SOURCE_H

#include "rope/rope_config.h"

#if defined(__GNUC__)
#define LAB_ROPE_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define LAB_ROPE_PRINTF(text, first)
#endif

/* ---- families: what a file leaves unsaid ---- */

#define LAB_ROPE_MISSING_MAX 2

typedef struct lab_rope_family {
    const char *names;     /* model types that leave the same unsaid, "phi|nemotron" */
    bool interleaved;      /* pairs (2i, 2i + 1); else (i, i + r/2) */
    bool sections_mixed;   /* the sections of M-RoPE are interleaved */
    bool other_sections;   /* M-RoPE in an order of its own: refused */
    bool backward;         /* pairs turn the other way */
    bool if_said;          /* no positions, unless position_embedding_type is "rope" or "rotary" */
    bool alibi;            /* no rotary positions, but ALiBi's */
    bool maybe_alibi;      /* ALiBi's scaled with the products, if the file says alibi */
    bool full_scaled;      /* a scaling that is said once is that of layers without a window */
    bool scaled;           /* scaled even where a file does not say so: noted */
    bool yarn_is_longrope; /* type "yarn" is an old name of "longrope" */
    bool first_full;       /* of each interval the first layer is the one without a window, not the last */
    bool sliding_only;     /* layers without a window have no positions, if the others have one */
    bool every_few_bare;   /* every no_rope_layer_interval-th layer has no positions */
    bool window_all;       /* a sliding_window is that of every layer, unless layer_types says otherwise */
    bool window_if;        /* of every layer, if use_sliding_window */
    bool window_early;     /* of every other layer before max_window_layers, if use_sliding_window */
    bool window_late;      /* of layers from max_window_layers on, if use_sliding_window */
    bool both_ways;        /* an encoder: window w means keys at most w away, before and behind */
    bool chunked;          /* layers that turn see chunks, the others have a temperature (Llama 4) */
    bool tempered;         /* llama_4_scaling_beta means something */
    bool logn;             /* use_logn_attn means something */
    bool unscaled;         /* products are not scaled */
    bool uncapped;         /* attn_logit_softcapping means nothing */
    bool sinks;            /* a learned sink for each head */
    double base;           /* 0: 10000 */
    double local;          /* base of layers with a window, where it is another; 0: the same */
    double partial;        /* part of the head that turns; 0: all */
    size_t interval;       /* layers until a pattern begins again; 0: all alike unless layer_types says otherwise */
    size_t sections[3];    /* of M-RoPE, if the file does not say; 0: it is none unless the file says so */
    double scalar, cap, multiplier;            /* query_pre_attn_scalar and such, if the file does not say */
    const char *missing[LAB_ROPE_MISSING_MAX]; /* notes: what no spec can say of it */
} lab_rope_family;

/* Writes the name that is listed into `name`. "": none is, and the family is that of models of which nothing is
 * known. */
enum { LAB_ROPE_NAME = 64 };
const lab_rope_family *lab_rope_family_find(const char *model_type, char name[LAB_ROPE_NAME]);

/* ---- the configuration ---- */

typedef struct lab_rope_source {
    const lab_value *outer, *inner; /* the configuration, and its text_config if it has one, else the same */
    const lab_rope_family *family;
    char name[LAB_ROPE_NAME]; /* the family's; "": it is not listed */
    size_t head_dim,
        rotary_dim; /* of a head, and of its part that turns at all (DeepSeek: qk_rope_head_dim); 0: unknown */
    double length;  /* max_position_embeddings, or 0 */
    bool whole;     /* the spec says of attention whatever a spec can */
    lab_rope_config *config;
    locus_error *error; /* LOCUS_OK until something fails */
} lab_rope_source;

/* The first failure stays: later ones are not told, nothing is noted any more, and whatever is read on is of no
 * account. ARGUMENT: "<what is wrong>", of which the configuration is the subject: "has a field …". */
LAB_ROPE_PRINTF(2, 3)
void lab_rope_fail(const lab_rope_source *source, const char *format, ...);
void lab_rope_fail_memory(const lab_rope_source *source, const char *purpose);
bool lab_rope_failed(const lab_rope_source *source);
LAB_ROPE_PRINTF(3, 4)
void lab_rope_note_add(const lab_rope_source *source, bool minor, const char *format, ...);

/* A member of the configuration, of its text_config first; NULL if it is not there or null. */
const lab_value *lab_rope_member(const lab_rope_source *source, const char *key);
/* Whether the configuration says null for it, and nothing else. */
bool lab_rope_says_null(const lab_rope_source *source, const char *key);
/* A whole number above 0 of the configuration; 0 if it is not there. */
size_t lab_rope_size(const lab_rope_source *source, const char *key);
size_t lab_rope_either(const lab_rope_source *source, const char *key, const char *other); /* if the first is not */
/* Whether a word of so many bytes is one of those that bars part, "a|b". */
bool lab_rope_among(const char *words, const char *word, size_t bytes);

/* ---- settings of one type of layers ---- */

#define LAB_ROPE_PLACES_MAX 4

typedef struct lab_rope_place {
    const lab_value *object;
    char name[96]; /* "rope_parameters.full_attention" */
} lab_rope_place;

typedef struct lab_rope_settings {
    const lab_rope_source *source;
    const char *kind; /* type of the layers, "full_attention"; "" if all are alike */
    size_t count;
    lab_rope_place places[LAB_ROPE_PLACES_MAX]; /* where settings stand; they must agree */
    bool bare;                                  /* settings of this type are null: no positions */
    size_t rotated;                             /* dimensions that turn; 0: unknown, or none do */
} lab_rope_settings;

/* Finds where settings of a type of layers stand. */
lab_rope_settings lab_rope_settings_open(const lab_rope_source *source, const char *kind);

typedef struct lab_rope_found {
    const lab_value *item; /* NULL: nowhere */
    char name[160];        /* "rope_scaling.factor" */
} lab_rope_found;

/* Looks for `key` in all places, and for the names in `outside` ("a|b", "": none) in the configuration itself. Fails
 * if two of them say different things. */
lab_rope_found lab_rope_find(const lab_rope_settings *settings, const char *key, const char *outside);
/* The same for a number above 0; `usual` if there is none. */
double lab_rope_number(const lab_rope_settings *settings, const char *key, const char *outside, double usual);

/* ---- texts that grow ---- */

typedef struct lab_rope_text {
    const lab_rope_source *source; /* which fails where memory does */
    char *data;
    size_t length, size;
} lab_rope_text;

LAB_ROPE_PRINTF(2, 3)
void lab_rope_put(lab_rope_text *text, const char *format, ...);
void lab_rope_put_number(lab_rope_text *text, const char *before, double value); /* as short as it can be exact */

/* ---- parts ---- */

/* ", scaling=…" with its options; "" where nothing is scaled. */
void lab_rope_put_scaling(const lab_rope_settings *settings, lab_rope_text *text);
/* Settings without a meaning, by name; call it last. */
void lab_rope_note_unknown(const lab_rope_settings *settings);
/* The rope type: a name of its own for each; "mrope" is "default", "su" is "longrope". */
const char *lab_rope_type(const lab_rope_settings *settings);

/* " + temperature(…) + scores(…)", where attention needs them; `bare`: in layers without positions. */
void lab_rope_put_attention(const lab_rope_settings *settings, bool bare, lab_rope_text *text);
/* What the configuration says of attention for all layers. */
void lab_rope_note_attention(const lab_rope_source *source);

/* The spec of one type of layers: rope(…), or what acts without it. */
void lab_rope_put_spec(const lab_rope_source *source, const char *kind, bool bare, lab_rope_text *text);
/* Whether positions are ALiBi's biases. */
bool lab_rope_has_alibi(const lab_rope_source *source);
/* The pattern over all layers. */
void lab_rope_put_pattern(const lab_rope_source *source, lab_rope_text *text);

#endif
