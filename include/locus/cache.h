/* SPDX-License-Identifier: MIT */
/* Decoding: keys and values of one attention, kept as the encoding's operators leave them.
 *
 *   create ─→ append (new tokens of every sequence) ─→ attend (their queries) ─→ append …
 *                      truncate, evict, insert: what was kept is moved, not computed again
 *
 * A key is turned once, when it is appended, at its own position: it equals, bit for bit, what locus_apply makes of it
 * in a plan over the whole sequence (on trees and with LieRE, whose products depend on the batch, to rounding).
 * Appending touches nothing that is kept, works in proportion to the new tokens, and takes no memory once as many
 * tokens came at once before, unless on trees, for a new branch; where scores follow distances there, these are
 * prepared anew.
 *
 *   kept      | s0 s0 s0 .  .  . | s1 s1 .  .  .  . |     `capacity` rows for each sequence, one head after the other
 *   new       | s0 | s1 |                                 packed, or [sequences, heads, length, dim] (tensor.h)
 *
 * Limits. Frequencies that depend on the length (dynamic NTK, LongRoPE) are those of `length`, for all tokens and the
 * cache's whole life: a model that recomputes them as it goes disagrees with its own earlier keys, the cache doesn't.
 * Vectors added to tokens (sinusoidal, learned) were added before the projections: no key can be moved to where it
 * would have been made of others. Distances of decays and biases are computed from positions and follow them. */
#ifndef LOCUS_CACHE_H
#define LOCUS_CACHE_H

#include <locus/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct locus_cache locus_cache; /* opaque, counted; one thread at a time */

/* Start from locus_cache_options_default(). */
typedef struct locus_cache_options {
    size_t size;       /* sizeof(locus_cache_options): the struct may grow at its end */
    size_t sequences;  /* 1 */
    size_t capacity;   /* tokens of each sequence; must be given */
    locus_dtype dtype; /* of what is kept: float32 unless asked otherwise */
    size_t length;     /* locus_plan_options.length, fixed for the cache's life; 0: the capacity */
} locus_cache_options;
LOCUS_API locus_cache_options locus_cache_options_default(void);

/* The cache retains the binding, and keeps it when the caller's is updated. UNSUPPORTED for encodings that need what a
 * cache does not keep (queries before the operator, as `rope + relative` would), naming the term. */
LOCUS_API LOCUS_MUST_USE locus_status locus_cache_create(locus_cache **cache, const locus_binding *binding,
                                                         const locus_cache_options *options, locus_error *error);
/* One more owner; from any thread. Returns its argument. */
LOCUS_API locus_cache *locus_cache_retain(const locus_cache *cache);
/* Lets go of one owner's share. Accepts NULL; nulls the pointer. */
LOCUS_API void locus_cache_destroy(locus_cache **cache);

LOCUS_API size_t locus_cache_bytes(const locus_cache *cache);
LOCUS_API size_t locus_cache_length(const locus_cache *cache, size_t sequence); /* tokens kept now */

/* New tokens: sequence s of `positions` goes behind what sequence s of the cache keeps (none is fine).
 * `positions` NULL: one new token for each sequence, at the last position + 1 (0 at first), on `seq` and `cycle`. key
 * [tokens, kv_heads, head_dim], value [tokens, kv_heads, value_dim], packed, or [sequences, kv_heads, length, dim] with
 * its sequences apart, as the projections leave them, of any type: turned
 * in the wider of their type and the cache's (half caches: in float32), and rounded once. ARGUMENT if a sequence would
 * pass the capacity. On failure nothing is appended. What is refused before the encoding is asked, for shapes, group,
 * capacity or positions beyond ±2^40, changes nothing at all: attend and the plan are still those of the tokens before.
 * After every other failure (positions that the encoding refuses, a callback, memory, a call that was cancelled) they
 * wait for a call that succeeds. The cache has memory of its own: here and below
 * `execution` (NULL: by default) says which threads work and who may end the call, and its workspace is not used. */
LOCUS_API LOCUS_MUST_USE locus_status locus_cache_append(locus_cache *cache, const locus_positions *positions,
                                                         const locus_tensor *key, const locus_tensor *value,
                                                         const locus_execution *execution, locus_error *error);

/* Queries that are no kept tokens, as in cross-attention: those of the next attend stand at `positions`, packed by
 * sequence (NULL: one for each, behind the last key). Keeps nothing. Failures are those of append. */
LOCUS_API LOCUS_MUST_USE locus_status locus_cache_queries(locus_cache *cache, const locus_positions *positions,
                                                          const locus_execution *execution, locus_error *error);

/* The plan of the tokens appended last, or of those queries, for locus_apply at other sites (embeddings): queries and
 * keys stand at these tokens. Borrowed from the cache until its next append, queries, truncate, evict or insert, and
 * its end; who retains it keeps it as it is. Caches of one binding on the same positions may give the same one.
 * NULL: there are none. */
LOCUS_API const locus_plan *locus_cache_plan(const locus_cache *cache);

/* Softmax attention of the tokens appended last (or of locus_cache_queries), packed alike, over everything kept.
 * `options` NULL: locus_attention_default() with the causal mask. query [tokens, heads, head_dim], output [tokens,
 * heads, value_dim], or with their sequences apart, of any type; arithmetic is that of the cache's. With `turned`, the
 * query comes turned and the output is left before its operator. key_documents are by row of the cache, [sequences ·
 * capacity]. After truncate and evict the new tokens are still there if none of them went; after insert they are not:
 * ARGUMENT. */
LOCUS_API LOCUS_MUST_USE locus_status locus_cache_attend(locus_cache *cache, const locus_attention_options *options,
                                                         const locus_tensor *query, const locus_tensor *output,
                                                         const locus_execution *execution, locus_error *error);

/* Keeps the first `length` tokens of a sequence. ARGUMENT if there are fewer. */
LOCUS_API LOCUS_MUST_USE locus_status locus_cache_truncate(locus_cache *cache, size_t sequence, size_t length,
                                                           locus_error *error);

/* Takes `count` tokens from number `first` on out of a sequence. Those behind move up; with `shift`, their positions
 * move by it, too (locus_keys_shift): with −count on `seq` positions close the gap. NULL: they keep their positions.
 * This and insert can be cancelled while they prepare: from the first change on they go through. */
LOCUS_API LOCUS_MUST_USE locus_status locus_cache_evict(locus_cache *cache, size_t sequence, size_t first, size_t count,
                                                        const locus_path *shift, const locus_execution *execution,
                                                        locus_error *error);

/* What locus_cache_insert copies: tokens [first, first + count) that `source` keeps of its sequence `sequence`, moved
 * by `shift` (NULL: not moved). */
typedef struct locus_cache_fragment {
    size_t size; /* sizeof(locus_cache_fragment): the struct may grow at its end */
    const locus_cache *source;
    size_t sequence, first, count;
    const locus_path *shift;
} locus_cache_fragment;

/* Appends the fragment's tokens to a sequence of `cache`. Both caches have equal bindings and the same length; they may
 * be the same cache, and may keep different types. */
LOCUS_API LOCUS_MUST_USE locus_status locus_cache_insert(locus_cache *cache, size_t sequence,
                                                         const locus_cache_fragment *fragment,
                                                         const locus_execution *execution, locus_error *error);

/* Views of what is kept: [tokens, kv_heads, dim], borrowed; true until the next call that changes or destroys the
 * cache. Written to, they change what is kept. */
LOCUS_API locus_tensor locus_cache_keys(const locus_cache *cache, size_t sequence);
LOCUS_API locus_tensor locus_cache_values(const locus_cache *cache, size_t sequence);

/* Re-basing: turned keys (or values, with LOCUS_ROLE_VALUE) [tokens, kv_heads, dim] or [sequences, kv_heads, length,
 * dim] (all of them, to the full length) of any type, in place, from position p to a + p:  ⌈a + p⌉ k = ⌈a⌉ (⌈p⌉ k).
 * Exact but for rounding wherever ⌈·⌉ is a homomorphism, on abelian groups and on trees alike: the shift is composed
 * on the left, so relative paths stay as they are. An attention factor (YaRN, LongRoPE) is in the keys once and stays
 * so. One-sided encodings shift the side that they turn. UNSUPPORTED where no operator leads from one position to the
 * other (LieRE, xPos with a centre). Frequencies that depend on the length (dynamic NTK, LongRoPE) are those of
 * options->length: give the one that the keys were turned with. `a` is a path of the binding's group. A call that was
 * cancelled (options->execution) leaves some keys moved, others not. */
LOCUS_API LOCUS_MUST_USE locus_status locus_keys_shift(const locus_binding *binding, const locus_path *a,
                                                       const locus_plan_options *options, locus_role role,
                                                       const locus_tensor *keys, locus_error *error);

#ifdef __cplusplus
}
#endif
#endif
