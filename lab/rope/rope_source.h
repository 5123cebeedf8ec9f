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

enum {
    LAB_ROPE_INTERLEAVED = 1,        /* pairs (2i, 2i + 1); else (i, i + r/2) */
    LAB_ROPE_SECTIONS_MIXED = 2,     /* the sections of M-RoPE are interleaved */
    LAB_ROPE_SLIDING_ONLY = 4,       /* layers without a window have no positions, if the others have one */
    LAB_ROPE_FULL_SCALED = 8,        /* a scaling that is said once is that of layers without a window */
    LAB_ROPE_EVERY_FEW_BARE = 16,    /* every no_rope_layer_interval-th layer has no positions */
    LAB_ROPE_FIRST_FULL = 32,        /* of each interval the first layer is the one without a window, not the last */
    LAB_ROPE_YARN_IS_LONGROPE = 64,  /* type "yarn" is an old name of "longrope" */
    LAB_ROPE_SECTIONS = 128,         /* M-RoPE, whether the file says so or not */
    LAB_ROPE_OTHER_SECTIONS = 256,   /* M-RoPE in an order of its own: refused */
    LAB_ROPE_BACKWARD = 512,         /* pairs turn the other way */
    LAB_ROPE_CHUNKED = 1024,         /* layers that turn see chunks, the others have a temperature (Llama 4) */
    LAB_ROPE_TEMPERED = 2048,        /* llama_4_scaling_beta means something */
    LAB_ROPE_LOGN = 4096,            /* use_logn_attn means something */
    LAB_ROPE_WINDOW_ALL = 8192,      /* a sliding_window is that of every layer, unless layer_types says otherwise */
    LAB_ROPE_WINDOW_LATE = 1 << 14,  /* of layers from max_window_layers on, if use_sliding_window */
    LAB_ROPE_BOTH_WAYS = 1 << 15,    /* an encoder: window w means keys at most w away, before and behind */
    LAB_ROPE_UNSCALED = 1 << 16,     /* products are not scaled */
    LAB_ROPE_UNCAPPED = 1 << 17,     /* attn_logit_softcapping means nothing */
    LAB_ROPE_SINKS = 1 << 18,        /* a learned sink for each head */
    LAB_ROPE_ALIBI = 1 << 19,        /* no rotary positions, but ALiBi's */
    LAB_ROPE_MAYBE_ALIBI = 1 << 20,  /* ALiBi's scaled with the products, if the file says alibi */
    LAB_ROPE_WINDOW_IF = 1 << 21,    /* of every layer, if use_sliding_window */
    LAB_ROPE_WINDOW_EARLY = 1 << 24, /* and then only of every other one before max_window_layers */
    LAB_ROPE_IF_SAID = 1 << 22,      /* no positions, unless position_embedding_type is "rope" or "rotary" */
    LAB_ROPE_SCALED = 1 << 23        /* scaled even where a file does not say so: noted */
};

#define LAB_ROPE_MISSING_MAX 2

typedef struct lab_rope_family {
    const char *name; /* model_type */
    unsigned rules;
    double base;        /* 0: 10000 */
    double local;       /* base of layers with a window, where it is another; 0: the same */
    double partial;     /* part of the head that turns; 0: all */
    size_t interval;    /* layers until a pattern begins again; 0: all alike unless layer_types says otherwise */
    size_t sections[3]; /* of M-RoPE, if the file does not say */
    double scalar, cap, multiplier;            /* query_pre_attn_scalar and such, if the file does not say */
    const char *missing[LAB_ROPE_MISSING_MAX]; /* notes: what no spec can say of it */
} lab_rope_family;

/* NULL: a family that is not listed. */
const lab_rope_family *lab_rope_family_find(const char *model_type);

/* ---- the configuration ---- */

typedef struct lab_rope_source {
    const lab_value *outer, *inner; /* the configuration, and its text_config if it has one, else the same */
    const lab_rope_family *family;
    size_t head_dim,
        rotary_dim; /* of a head, and of its part that turns at all (DeepSeek: qk_rope_head_dim); 0: unknown */
    double length;  /* max_position_embeddings, or 0 */
    bool whole;     /* the spec says of attention whatever a spec can */
    lab_rope_config *config;
    locus_error *error;
} lab_rope_source;

/* ARGUMENT: "<what is wrong>", of which the configuration is the subject: "has a field …". */
LAB_ROPE_PRINTF(2, 3)
locus_status lab_rope_fail(const lab_rope_source *source, const char *format, ...);
locus_status lab_rope_fail_memory(const lab_rope_source *source, const char *purpose);
LAB_ROPE_PRINTF(3, 4)
void lab_rope_note_add(const lab_rope_source *source, bool minor, const char *format, ...);

/* A member of the configuration, of its text_config first; NULL if it is not there or null. */
const lab_value *lab_rope_member(const lab_rope_source *source, const char *key);
/* Whether the configuration says null for it, and nothing else. */
bool lab_rope_says_null(const lab_rope_source *source, const char *key);
/* A whole number above 0 of the configuration; 0 if it is not there. */
locus_status lab_rope_size(const lab_rope_source *source, const char *key, size_t *value);

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
} lab_rope_settings;

/* Finds where settings of a type of layers stand. */
locus_status lab_rope_settings_open(lab_rope_settings *settings, const lab_rope_source *source, const char *kind);

typedef struct lab_rope_found {
    const lab_value *item; /* NULL: nowhere */
    char name[160];        /* "rope_scaling.factor" */
} lab_rope_found;

/* Looks for `key` in all places, and for the names in `outside` ("a|b", NULL: none) in the configuration itself. Fails
 * if two of them say different things. */
locus_status lab_rope_find(const lab_rope_settings *settings, const char *key, const char *outside,
                           lab_rope_found *found);
/* The same for a number above 0; *value stays if there is none. */
locus_status lab_rope_number(const lab_rope_settings *settings, const char *key, const char *outside, double *value);

/* ---- texts that grow ---- */

typedef struct lab_rope_text {
    char *data;
    size_t length, size;
    bool failed; /* out of memory */
} lab_rope_text;

LAB_ROPE_PRINTF(2, 3)
void lab_rope_put(lab_rope_text *text, const char *format, ...);
void lab_rope_put_number(lab_rope_text *text, const char *before, double value); /* as short as it can be exact */

/* ---- parts ---- */

/* ", scaling=…" with its options; "" where nothing is scaled. */
locus_status lab_rope_put_scaling(const lab_rope_settings *settings, size_t rotated, lab_rope_text *text);
/* Settings without a meaning, by name; call it last. */
void lab_rope_note_unknown(const lab_rope_settings *settings);
/* The rope type: a name of its own for each; "mrope" is "default", "su" is "longrope". */
locus_status lab_rope_type(const lab_rope_settings *settings, const char **type);

/* " + temperature(…) + scores(…)", where attention needs them; `bare`: in layers without positions. */
locus_status lab_rope_put_attention(const lab_rope_settings *settings, bool bare, lab_rope_text *text);
/* What the configuration says of attention for all layers. */
void lab_rope_note_attention(const lab_rope_source *source);

/* The spec of one type of layers: rope(…), or what acts without it. */
locus_status lab_rope_put_spec(const lab_rope_source *source, const char *kind, bool bare, lab_rope_text *text);
/* Whether positions are ALiBi's biases. */
bool lab_rope_has_alibi(const lab_rope_source *source);
/* The pattern over all layers. */
locus_status lab_rope_put_pattern(const lab_rope_source *source, lab_rope_text *text);

#endif
