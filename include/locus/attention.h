/* SPDX-License-Identifier: MIT */
/* Packed multi-head softmax attention with every site of a plan fused, forward and backward.
 *
 *   q' = ⌈p_m⌉ q_m,  k' = ⌈p_n⌉ k_n,  v' = ⌈p_n⌉ v_n  (where the encoding acts on them)
 *   s_mn = scale · q'·k'  (+ content terms), times factors, plus biases, plus the call's bias, then the mask
 *   a_m = softmax_n(s_mn);  o_m = ⌈p_m⌉ᵀ Σ_n dropout(a_mn) v'_n
 *
 * Scores are never stored beyond one tile: memory is linear in tokens (online softmax, Milakov and Gimelshein 2018; the
 * tiling and recomputing backward of Dao et al. 2022).
 *
 * Numbers that are not finite are no error, and go where arithmetic takes them, but not past a mask: a key that a query
 * does not see (by mask, window, document, a bias of −∞, or because it is of another sequence or of none) does not
 * touch the query's row of output, log_sum_exp or dq, whatever the key or its value holds, and the query does not touch
 * the key's rows of dk and dv. Such a row has the same bits as if all that it does not see were finite. A row that does
 * see NaN is NaN, also where dropout takes the weight; infinities may become NaN (0·∞). Queries of softmax-free and of
 * clustered attention see all of their sequence, and share it: there the sequence is the border. Gradients of
 * parameters are sums over all tokens: any of them may make these NaN. */
#ifndef LOCUS_ATTENTION_H
#define LOCUS_ATTENTION_H

#include <locus/attention_kind.h>
#include <locus/plan.h>
#include <locus/random.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum locus_mask {
    LOCUS_MASK_FULL = 0,
    LOCUS_MASK_CAUSAL = 1, /* query i of m sees keys j ≤ i + (n − m): aligned at the ends, so a cache works; by index,
                              not position */
    LOCUS_MASK_PREFIX = 2 /* causal, but the first prefix[s] keys of sequence s are seen by all its queries */
} locus_mask;

typedef enum locus_dropout {
    LOCUS_DROPOUT_WEIGHTS = 0, /* weights are zeroed with probability p, survivors divided by 1 − p */
    LOCUS_DROPOUT_LOGITS = 1   /* scores are set to −10⁸ before the softmax */
} locus_dropout;

/* Start from locus_attention_default(): softmax, full mask, scale 1/sqrt(head_dim), no dropout; or from bytes that are
 * 0 and `size`. What is 0 or NULL is not used, or is what the encoding says of itself (a term `scores`).
 *
 * A query sees a key if the mask, the window and the documents all let it. Aligned at the ends, query i of m stands at
 * index t = i + (n − m) of n keys. */
typedef struct locus_attention_options {
    size_t size; /* sizeof(locus_attention_options): the struct may grow at its end in later versions */
    locus_mask mask;
    const size_t *prefix; /* [sequences], for LOCUS_MASK_PREFIX */
    double scale;         /* 0: 1/sqrt(head_dim) */
    double cap;           /* soft cap: cap·tanh(s/cap) of the scaled product, before factors and biases */
    size_t window;        /* keys with |t − j| < window are seen, by index */
    size_t keep;          /* with a window: the first `keep` keys of a sequence are seen all the same (attention sinks,
                             Xiao et al. 2023) */
    const int32_t *query_documents; /* [tokens of the buffers]: a query sees the keys of its own document; tokens of one
                                       document lie side by side in a sequence */
    const int32_t *key_documents;   /* likewise; both, or neither */
    bool turned; /* queries, keys and values come as locus_apply leaves them, and the output waits for it: operators do
                    not act again */
    const locus_attention_kind *kind; /* how weights are made of scores; NULL: softmax. Read during the call only */
    double dropout;                   /* probability in [0, 1) */
    locus_dropout dropout_on;
    locus_random dropout_key; /* the backward replays the same key */
    const locus_tensor *bias; /* added to scores, or NULL; softmax only. [sequences, heads, queries, keys], or without
                                 sequences, or without both; each dimension may also be 1 for all. Queries and keys are
                                 counted within their sequence, at least as many as the longest one has. Of any element
                                 type and strides. −∞ hides a key from a query as a mask does; finite numbers are added
                                 as they are (rows of scores beyond 10⁷ have few digits left in their log-sum-exp, and
                                 so in their gradients: hide by −∞). Read during the call only */
} locus_attention_options;
LOCUS_API locus_attention_options locus_attention_default(void);

/* T query tokens, N key tokens of the plan's buffers; all of one dtype, last stride 1 (log_sum_exp
 * of half types is float32). Each tensor, gradients too, is packed as below, or has its sequences apart (tensor.h):
 * [sequences, heads, length, dim], log_sum_exp [sequences, heads, length]. Inputs may be views into one
 * fused projection. Output must not overlap an input. A query that sees no key gets output 0 and
 * log-sum-exp −∞ (or the sink, where the encoding has sinks: they are part of every log-sum-exp). */
typedef struct locus_attention_tensors {
    size_t size;                     /* sizeof(locus_attention_tensors): it may grow at its end */
    const locus_tensor *query;       /* [T, heads, head_dim] */
    const locus_tensor *key;         /* [N, kv_heads, head_dim] */
    const locus_tensor *value;       /* [N, kv_heads, value_dim] */
    const locus_tensor *output;      /* [T, heads, value_dim], written by forward, read by backward */
    const locus_tensor *log_sum_exp; /* [T, heads], written by forward (NULL: not wanted), read by backward */
} locus_attention_tensors;

/* What backward reads (output) and writes. Input gradients are overwritten, parameter gradients added to, as in
 * locus_apply_gradients. What is NULL is not wanted: nothing is computed for it alone, and what is wanted has the same
 * bits as if all were. */
typedef struct locus_attention_gradients {
    size_t size;                             /* sizeof(locus_attention_gradients): it may grow at its end */
    const locus_tensor *output;              /* dL/do, [T, heads, value_dim] */
    const locus_tensor *query, *key, *value; /* dL/dq, dL/dk, dL/dv, shaped as their inputs, or NULL */
    const locus_tensor *parameters;          /* [parameter_count], or NULL */
    size_t parameter_count;
    const locus_tensor *log_sum_exp; /* dL/d(log_sum_exp), [T, heads], of its type; read; NULL: 0. Softmax only: partial
                                        attentions over parts of the keys can be merged by it. What a row holds that
                                        sees nothing, and has no sink, goes nowhere */
    const locus_tensor *bias; /* dL/d(options.bias), of its shape and any element type, or NULL; overwritten. Summed up
                                 (in double) over what one element was added to; 0 where that is nothing. Where no
                                 element was added to two scores it is written as the backward goes by; else, and with
                                 `cope`, it costs two of the five matrix products once more */
} locus_attention_gradients;

typedef enum locus_pass { LOCUS_PASS_FORWARD = 0, LOCUS_PASS_BACKWARD = 1 } locus_pass;

/* Bytes of workspace, for the threads of a call that runs like `execution` (NULL: of one by default). It stays good
 * whatever these are by the time of the call, which takes no more threads than the workspace has room for. */
LOCUS_API size_t locus_attention_workspace(const locus_plan *plan, const locus_attention_options *options,
                                           locus_dtype dtype, locus_pass pass, const locus_execution *execution);

/* Whether a pass with tensors of `dtype` computes on copies of them in a wider type, or, forward, of queries and
 * outputs. False for float32 and float64, and where products are of bfloat16 and read such tensors as they are: softmax
 * on a processor with units for them, without content terms, without an operator that acts on all tokens at once
 * (trees, `liere`; it may have acted already, options.turned), and forward unless all sequences are steps of decoding.
 * True also for what a call would refuse. */
LOCUS_API bool locus_attention_widens(const locus_plan *plan, const locus_attention_options *options, locus_dtype dtype,
                                      locus_pass pass);

/* locus_attention_workspace of any batch within limits, without a plan: a bound of it with these options, as
 * locus_apply_workspace_bound is of locus_apply_workspace. Of the options' bias, prefix and documents only whether they
 * are there is looked at. SHAPE also for a shape without heads. */
LOCUS_API LOCUS_MUST_USE locus_status locus_attention_workspace_bound(const locus_encoding *encoding,
                                                                      const locus_workspace_limits *limits,
                                                                      const locus_attention_options *options,
                                                                      locus_pass pass, size_t *bytes,
                                                                      locus_error *error);

/* Thread-safe with distinct workspaces and outputs. Bitwise repeatable, whatever the number of threads. */
LOCUS_API LOCUS_MUST_USE locus_status locus_attention_forward(const locus_plan *plan,
                                                              const locus_attention_options *options,
                                                              const locus_attention_tensors *tensors,
                                                              const locus_execution *execution, locus_error *error);
LOCUS_API LOCUS_MUST_USE locus_status locus_attention_backward(const locus_plan *plan,
                                                               const locus_attention_options *options,
                                                               const locus_attention_tensors *tensors,
                                                               const locus_attention_gradients *gradients,
                                                               const locus_execution *execution, locus_error *error);

/* ---- weights ---- */

/* Whose weights are wanted, of what, and where they go. Begin with bytes that are 0 and `size`. */
typedef struct locus_attention_weights_call {
    size_t size;                     /* sizeof(locus_attention_weights_call) */
    const locus_tensor *query, *key; /* as in locus_attention_tensors: all of the plan's tokens */
    const locus_tensor *weights;     /* [heads chosen, queries chosen, keys of the sequence], of any element type and
                                        strides; must not overlap an input */
    size_t sequence;                 /* of the plan's, from 0 on */
    const size_t *heads;             /* [head_count] query heads, in any order, or NULL: all */
    size_t head_count;
    const size_t *queries; /* [query_count], counted within the sequence, in any order, or NULL: all */
    size_t query_count;
} locus_attention_weights_call;

/* Bytes of workspace, for any choice; else as locus_attention_workspace. 0 where there are no weights. */
LOCUS_API size_t locus_attention_weights_workspace(const locus_plan *plan, const locus_attention_options *options,
                                                   locus_dtype dtype, const locus_execution *execution);

/* Attention weights a_mn after the softmax, with all that acts on scores, and before dropout, which is not looked at.
 * 0 for keys that a query does not see. A row sums to 1; to less by the share of a sink; to 0 where nothing is seen.
 * UNSUPPORTED for kinds without a weight for each pair. */
LOCUS_API LOCUS_MUST_USE locus_status locus_attention_weights(const locus_plan *plan,
                                                              const locus_attention_options *options,
                                                              const locus_attention_weights_call *call,
                                                              const locus_execution *execution, locus_error *error);

#ifdef __cplusplus
}
#endif
#endif
