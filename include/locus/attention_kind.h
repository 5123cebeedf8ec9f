/* SPDX-License-Identifier: MIT */
/* Kinds of attention: how weights are made of scores, as text: `softmax`, `linear`, `soft(landmarks=64)`,
 * `clustered(clusters=100)`.
 *
 *   locus_attention_kind *kind;
 *   status = locus_attention_kind_parse("soft(landmarks=32)", &kind, &error);
 *   options.kind = kind;                                       of locus_attention_options; NULL is softmax
 *   …
 *   locus_attention_kind_destroy(&kind);
 *
 * Operators on queries and keys go with all of them (Kogkalidis et al. 2024, section 3.4.4). A kind's abilities say
 * what else it can do. Linear attention turns behind its feature map, so it cannot take queries that are turned
 * already, and has no scale unless one is given. Definitions in full: docs/encodings.md, src/attention/linear/,
 * soft/, clustered/. */
#ifndef LOCUS_ATTENTION_KIND_H
#define LOCUS_ATTENTION_KIND_H

#include <locus/encoding.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct locus_attention_kind locus_attention_kind; /* opaque, immutable, counted; may be shared by threads */

/* kind := name [ "(" key "=" value ("," key "=" value)* ")" ]. On failure status SPEC, with the offset of the offending
 * place in `text`, what was expected and the nearest name. */
LOCUS_API LOCUS_MUST_USE locus_status locus_attention_kind_parse(const char *text, locus_attention_kind **kind,
                                                                 locus_error *error);
/* One more owner; from any thread. Returns its argument. */
LOCUS_API locus_attention_kind *locus_attention_kind_retain(const locus_attention_kind *kind);
/* Lets go of one owner's share. Accepts NULL; nulls the pointer. */
LOCUS_API void locus_attention_kind_destroy(locus_attention_kind **kind);

/* The canonical text: options that differ from their defaults, in the registry's order; "softmax" for NULL. Cut to
 * `size` bytes with its final NUL; returns the full length. */
LOCUS_API size_t locus_attention_kind_text(const locus_attention_kind *kind, char *text, size_t size);

/* What a kind can do beyond full masks and operators; a mask. */
typedef enum locus_attention_ability {
    LOCUS_ATTENTION_MASKS = 1,         /* masks other than full */
    LOCUS_ATTENTION_SCORES = 2,        /* the score of each query and key: terms that act on scores, caps, windows,
                                          documents and sinks; and caches */
    LOCUS_ATTENTION_DROPS_WEIGHTS = 4, /* dropout of weights; of clustered attention, its centroids' */
    LOCUS_ATTENTION_DROPS_LOGITS = 8   /* dropout of scores */
} locus_attention_ability;

typedef struct locus_attention_kind_info {
    const char *name;
    const char *summary;
    unsigned abilities;               /* mask of locus_attention_ability */
    const char *source;               /* paper */
    const locus_option_info *options; /* [option_count] */
    size_t option_count;
} locus_attention_kind_info;

/* What the registry says of a kind; NULL is softmax. Static storage. */
LOCUS_API const locus_attention_kind_info *locus_attention_kind_entry(const locus_attention_kind *kind);

/* ---- registry: what there is, for listings and completions ---- */

LOCUS_API size_t locus_attention_registry_size(void);
LOCUS_API const locus_attention_kind_info *locus_attention_registry_at(size_t index); /* NULL past the end */

#ifdef __cplusplus
}
#endif
#endif
