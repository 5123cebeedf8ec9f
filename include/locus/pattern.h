/* SPDX-License-Identifier: MIT */
/* Patterns: a different encoding for each layer of a model, as text.
 *
 *   pattern := item ("/" item)*;  item := [count "*"] spec
 *
 *   rope                                            every layer
 *   3*rope / none                                   every fourth layer has no positions
 *   5*rope(base=10000) / rope(base=1000000)         five local layers, one global
 *
 * Layers take the items in turn, each `count` times, and begin again when they are used up. All items act on positions
 * of one group. Vectors are added before the first layer and behind the last: only the first item may have terms at the
 * sites `embedding` and `encoded`. Items with equal specs share their parameters. */
#ifndef LOCUS_PATTERN_H
#define LOCUS_PATTERN_H

#include <locus/encoding.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct locus_pattern locus_pattern; /* opaque, immutable, counted */

/* As locus_encoding_parse: status SPEC with the offset of the offending place in `text`. */
LOCUS_API LOCUS_MUST_USE locus_status locus_pattern_parse(const char *text, locus_pattern **pattern,
                                                          locus_error *error);
/* One more owner; from any thread. Returns its argument. */
LOCUS_API locus_pattern *locus_pattern_retain(const locus_pattern *pattern);
/* Lets go of one owner's share. Accepts NULL; nulls the pointer. */
LOCUS_API void locus_pattern_destroy(locus_pattern **pattern);

/* Canonical text, cut as in locus_encoding_text: of a pattern of one item the spec itself. */
LOCUS_API size_t locus_pattern_text(const locus_pattern *pattern, char *text, size_t size);

/* Distinct encodings, in the order in which they appear. NULL past the end. Borrowed from the pattern: one lives as
 * long, and longer if it is retained. */
LOCUS_API size_t locus_pattern_size(const locus_pattern *pattern);
LOCUS_API const locus_encoding *locus_pattern_encoding(const locus_pattern *pattern, size_t index);

/* Index of the encoding of a layer, from 0. */
LOCUS_API size_t locus_pattern_layer(const locus_pattern *pattern, size_t layer);

#ifdef __cplusplus
}
#endif
#endif
