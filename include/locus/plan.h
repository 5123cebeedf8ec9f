/* SPDX-License-Identifier: MIT */
/* Plans: a binding prepared for a set of positions. Tables are chosen once, executed often. A plan is read-only while
 * it executes: one plan, many threads, distinct workspaces. It serves tensors of every element type. */
#ifndef LOCUS_PLAN_H
#define LOCUS_PLAN_H

#include <locus/encoding.h>
#include <locus/execution.h>
#include <locus/positions.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct locus_plan locus_plan; /* opaque, immutable, counted */

/* `keys` NULL means that keys stand where the queries stand (self-attention). Queries and keys must have as many
 * sequences, of the encoding's group. The plan retains binding and positions. Fails with POSITION for positions of
 * another group and for a position that the encoding does not have (outside a learned table, beyond ±2^40), naming
 * it, and with NUMERIC for a tree's generator that cannot be made of its parameters. */
LOCUS_API LOCUS_MUST_USE locus_status locus_plan_create(locus_plan **plan, const locus_binding *binding,
                                                        const locus_positions *queries, const locus_positions *keys,
                                                        locus_error *error);

/* Start from locus_plan_options_default(). */
typedef struct locus_plan_options {
    size_t size;   /* sizeof(locus_plan_options): the struct may grow at its end */
    size_t length; /* of the sequences, to encodings that depend on it (dynamic NTK, LongRoPE); 0: the largest position
                      + 1 */
    size_t workspace; /* bytes that the workspace of locus_apply should stay below, with all threads: 2^30. Operators of
                         a tree's nodes are made again and again in chunks rather than kept where they would not fit. */
    const locus_execution *execution; /* how the plan is made; its workspace is not used */
} locus_plan_options;
LOCUS_API locus_plan_options locus_plan_options_default(void);
LOCUS_API LOCUS_MUST_USE locus_status locus_plan_create_with(locus_plan **plan, const locus_binding *binding,
                                                             const locus_positions *queries,
                                                             const locus_positions *keys,
                                                             const locus_plan_options *options, locus_error *error);

/* The same positions with other parameter values, after a step of training: *plan becomes a plan with `binding`, of the
 * same encoding and shape (else ARGUMENT), and equals to the bit what locus_plan_create_with would make anew. What
 * depends on positions alone is shared between both, and so are whole terms whose parameters are the same. The caller's
 * share in the old plan is let go of; who retains it keeps it with its values. On failure *plan is as it was. Not for
 * plans of a cache (ARGUMENT). From any thread, also while others execute the old plan. `execution`: how the plan is
 * made, as in locus_plan_options. */
LOCUS_API LOCUS_MUST_USE locus_status locus_plan_refresh(locus_plan **plan, const locus_binding *binding,
                                                         const locus_execution *execution, locus_error *error);

/* One more owner; from any thread. Returns its argument. A plan of a cache (locus_cache_plan) that is retained keeps
 * the tokens that it has now. */
LOCUS_API locus_plan *locus_plan_retain(const locus_plan *plan);
/* Lets go of one owner's share. Accepts NULL; nulls the pointer. */
LOCUS_API void locus_plan_destroy(locus_plan **plan);

/* Bytes that the plan holds. */
LOCUS_API size_t locus_plan_bytes(const locus_plan *plan);

/* ---- one site at a time ---- */

/* What a tensor of tokens is to the encoding, hence which site acts on it and at whose positions. Packed, as here, or
 * with its sequences apart (tensor.h): [sequences, heads, length, dim], [sequences, length, model_dim]. */
typedef enum locus_role {
    LOCUS_ROLE_TOKEN = 1,  /* [tokens, model_dim]: the embedding site adds its vectors; query positions */
    LOCUS_ROLE_QUERY = 2,  /* [tokens, heads, head_dim]: ⌈p⌉ q */
    LOCUS_ROLE_KEY = 3,    /* [tokens, kv_heads, head_dim]: ⌈p⌉ k, key positions */
    LOCUS_ROLE_VALUE = 4,  /* [tokens, kv_heads, value_dim]: ⌈p⌉ v, key positions */
    LOCUS_ROLE_OUTPUT = 5, /* [tokens, heads, value_dim]: ⌈p⌉ᵀ o, query positions */
    LOCUS_ROLE_ENCODED = 6 /* [tokens, model_dim]: what the encoder gives; query positions */
} locus_role;

typedef enum locus_direction { LOCUS_FORWARD = 0, LOCUS_INVERSE = 1 } locus_direction;

/* Bytes of workspace for locus_apply and locus_apply_backward with tensors of `dtype`. Half types are widened in
 * blocks; where an operator acts on whole tensors, and for the gradient of a learned embedding, the workspace holds a
 * float32 copy of these. For the threads of a call that runs like `execution` (NULL: of one by default); it stays good
 * whatever these are by the time of the call, which takes no more threads than the workspace has room for. */
LOCUS_API size_t locus_apply_workspace(const locus_plan *plan, locus_role role, locus_dtype dtype,
                                       const locus_execution *execution);

/* How large a caller's batches get, at most, for bounds of workspaces before there are positions. Begin with bytes that
 * are 0 and `size`. */
typedef struct locus_workspace_limits {
    size_t size;              /* sizeof(locus_workspace_limits): the struct may grow at its end */
    const locus_shape *shape; /* of the bindings; must be given */
    locus_dtype dtype;        /* of the tensors; must be given */
    size_t threads;           /* that a call is made with; 0: as many as the process has now (locus_threads) */
    size_t sequences;         /* of a batch; 0: 1 */
    size_t queries, keys;     /* tokens of the buffers, gaps included; keys 0: as many as queries */
    size_t longest_queries, longest_keys; /* tokens of a sequence; 0: all of them may be of one */
    size_t depth;                         /* on groups with a tree: letters of the longest word; must be given there */
    size_t plan_workspace;                /* locus_plan_options.workspace; 0: its default */
} locus_workspace_limits;

/* A bound of locus_apply_workspace for every plan of the encoding, with any parameters, on any positions within the
 * limits, whether keys stand where queries stand or not: an engine sizes its memory by it when it starts. Of drawn
 * batches that reach their limits half need the very number, nine of ten at least 94 % of it
 * (property.workspace_bounds). Costs a binding's time; no position is looked at. SHAPE where the encoding cannot take
 * the shape, ARGUMENT for limits that make no sense or miss `depth`, UNSUPPORTED beyond any memory. */
LOCUS_API LOCUS_MUST_USE locus_status locus_apply_workspace_bound(const locus_encoding *encoding,
                                                                  const locus_workspace_limits *limits, locus_role role,
                                                                  size_t *bytes, locus_error *error);

/* y = ⌈p⌉ x for every token (LOCUS_INVERSE: ⌈p⌉ᵀ x; for tokens: x − e; for outputs the other way round: forward is
 * ⌈p⌉ᵀ). A role that the encoding does not act on is copied. y may be x itself (same data and strides), but not overlap
 * it otherwise; they may be of different layouts. Tokens in gaps are not touched. */
LOCUS_API LOCUS_MUST_USE locus_status locus_apply(const locus_plan *plan, locus_role role, locus_direction direction,
                                                  const locus_tensor *x, const locus_tensor *y,
                                                  const locus_execution *execution, locus_error *error);

/* Gradients of the same, x, gy and gx of one element type. `x` is the input of locus_apply, `gy` dL/dy, `gx` receives
 * dL/dx and may be `gy` itself. Parameter gradients are added to `gradients` (as many and as shaped as the encoding's
 * parameters, of any element type: sums are made in double and rounded as they are added, once for each head that
 * shares a parameter; NULL: not wanted, and then x may be NULL). */
typedef struct locus_apply_gradients {
    size_t size; /* sizeof(locus_apply_gradients): the struct may grow at its end. 0: the fields of version 0.2 */
    const locus_tensor *x, *gy, *gx;
    const locus_tensor *parameters; /* [count], accumulated into, or NULL */
    size_t parameter_count;
} locus_apply_gradients;
LOCUS_API LOCUS_MUST_USE locus_status locus_apply_backward(const locus_plan *plan, locus_role role,
                                                           locus_direction direction,
                                                           const locus_apply_gradients *gradients,
                                                           const locus_execution *execution, locus_error *error);

#ifdef __cplusplus
}
#endif
#endif
