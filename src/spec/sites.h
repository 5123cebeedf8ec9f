/* SPDX-License-Identifier: MIT */
/* What acts where: the contract between encodings and everything that executes them (plan_sites.h: of one plan).
 *
 * An encoding never includes attention. Attention never knows which encoding it has: it asks the plan for at most one
 * operator, any number of score terms, and at most one content table, and calls them on one head and a run of tokens.
 *
 * Pointers to data are void: `dtype` says whether they hold float or double. Strides are in elements, between the rows
 * of one head; a row's elements are next to each other. All functions are pure in the plan: read-only, no allocation.
 *
 * Gradient slots: backward work is cut into groups by shape, never by thread. Each group adds into a slot of its own
 * (slot_bytes, zeroed by the caller, owned by one head), and `reduce` folds the slots of a head, in order, into
 * the parameters' gradients. So results do not depend on threads. A class without slot_bytes learns nothing. */
#ifndef LOCUS_ENCODING_SITES_H
#define LOCUS_ENCODING_SITES_H

#include "spec/token_rows.h"

#include <locus/plan.h>
#include <stdbool.h>

/* Adds slots 1, 2, … of so many doubles to the first, in order, and returns it; NULL if there are none. */
static inline double *locus_slots_fold(void *slots, size_t count, size_t stride, size_t doubles) {
    double *sum = count > 0 ? slots : NULL;
    for (size_t s = 1; s < count; s++) {
        const double *slot = (const double *)(const void *)((const char *)slots + s * stride);
        for (size_t i = 0; i < doubles; i++)
            sum[i] += slot[i];
    }
    return sum;
}

/* What an object writes its form into (form_writer.h). A class without `form` has none of its own: its effect is then
 * evaluated, position by position or pair by pair (plan/form_evaluate.c). */
typedef struct locus_form_writer locus_form_writer;

/* What the batches of a caller stay within, at most so many of each. A plan of limits (plan/limits.h) has these instead
 * of positions: it executes nothing, but its sizes are no smaller than those of any plan within them. Classes whose
 * sizes depend on positions or on learned values have a `widen`, which makes an object as large as it can get; NULL:
 * they do not. */
typedef struct locus_limits {
    size_t sequences, queries, keys;   /* tokens of the buffers */
    size_t longest_query, longest_key; /* tokens of a sequence */
    size_t depth;                      /* letters of a word on a tree */
    size_t workspace;                  /* locus_plan_options.workspace */
} locus_limits;

/* ---- operators: query-key and value sites ---- */

/* Which coordinates the result is wanted in. Scores only need q'·k', so a common outer basis of queries and keys
 * cancels; INNER leaves it out (and for values: v' INNER goes with OUTPUT INNER). OUTER is the operator itself. */
typedef enum locus_coordinates { LOCUS_OUTER = 0, LOCUS_INNER = 1 } locus_coordinates;

typedef struct locus_operator_call {
    locus_role role; /* QUERY, KEY, VALUE, OUTPUT: selects positions and, for one-sided encodings, whether it acts */
    locus_direction direction; /* FORWARD is what attention does: ⌈p⌉ on queries, keys and values, ⌈p⌉ᵀ on outputs */
    locus_coordinates coordinates;
    locus_dtype dtype;
    size_t head;
    size_t first, count; /* tokens of the role's buffer */
    const void *x;       /* [count] rows of the head's dimension */
    ptrdiff_t x_stride;
    double scale;  /* the result is multiplied by it (the score's scale, folded into queries) */
    void *scratch; /* scratch_bytes(operator, dtype, count), aligned to LOCUS_ALIGNMENT */
    void *entered; /* [count] rows, of an operator that `enters`: a forward leaves in them what a backward of the same
                      rows then reads; NULL: it makes that again */
    ptrdiff_t entered_stride;
} locus_operator_call;

/* Several heads at once. forward_heads: y from call->x. backward_heads: gx (y here) from gy, slots one for each
 * head. */
typedef struct locus_operator_heads {
    size_t count;
    ptrdiff_t x_head; /* elements between neighbouring heads of call->x */
    const void *gy;   /* backward only */
    ptrdiff_t gy_stride, gy_head;
    void *y;
    ptrdiff_t y_stride, y_head;
    void *slots;        /* backward only, or NULL */
    size_t slot_stride; /* bytes between the slots of neighbouring heads */
} locus_operator_heads;

typedef struct locus_operator locus_operator;
typedef struct locus_operator_class {
    size_t (*scratch_bytes)(const locus_operator *op, locus_dtype dtype, size_t count);
    /* y = scale · op x. `y` may be `x`. */
    void (*forward)(const locus_operator *op, const locus_operator_call *call, void *y, ptrdiff_t y_stride);
    /* gx = scale · opᵀ gy; `gx` may be `gy`. If slot is not NULL, adds the parameters' gradient to it (needs
     * call->x). */
    void (*backward)(const locus_operator *op, const locus_operator_call *call, const void *gy, ptrdiff_t gy_stride,
                     void *gx, ptrdiff_t gx_stride, void *slot);
    size_t (*slot_bytes)(const locus_operator *op); /* 0: nothing is learned; or NULL */
    /* Uses the slots up. `parameters`: the term's own, of any type, accumulated into. Heads may share parameters:
     * call it for one head after the other, unless `heads_apart`. */
    void (*reduce)(const locus_operator *op, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                   const locus_tensor *parameters);
    /* The same for `heads` heads at once, beginning at call->head, for whole tensors of tokens: what heads share is
     * computed once, and a token's row is walked in order. Scratch for it: heads_scratch_bytes. */
    size_t (*heads_scratch_bytes)(const locus_operator *op, locus_dtype dtype, size_t heads);
    void (*forward_heads)(const locus_operator *op, const locus_operator_call *call, const locus_operator_heads *heads);
    void (*backward_heads)(const locus_operator *op, const locus_operator_call *call,
                           const locus_operator_heads *heads);
    void (*form)(const locus_operator *op, locus_form_writer *writer); /* or NULL */
    void (*widen)(locus_operator *op, const locus_limits *limits);     /* or NULL */
} locus_operator_class;
struct locus_operator { /* embedded first in each operator's own struct */
    const locus_operator_class *class;
    bool enters;      /* a backward that learns is shorter where call.entered is given */
    bool heads_apart; /* no two heads share a parameter: reduce may run for several heads at the same time */
    bool causal_only; /* keys behind a query grow without bound (xPos): attention must not look ahead */
    bool heads_alike; /* all heads have the same operator: forward_heads, and backward_heads without slots, take any
                         number of heads at once */
};

/* 0: nothing is learned, or there is no operator. */
static inline size_t locus_operator_slot_bytes(const locus_operator *op) {
    return op && op->class->slot_bytes ? op->class->slot_bytes(op) : 0;
}

/* ---- operators on whole tensors ----
 *
 * Where tokens share work (the operators of a tree's nodes), an operator is not called for a head and a run of tokens
 * but once for everything: all tokens of one or more roles, all heads. It runs its own parallel loops. Executors let it
 * write to buffers of their own and go on without an operator. Tokens in gaps are not touched. */

/* One tensor of the role's tokens; a head's elements next to each other. */
typedef struct locus_whole_stream {
    locus_role role;
    locus_direction direction; /* as in locus_operator_call */
    locus_token_rows x;        /* read. Backward: the input of forward, without data if `parameters` is NULL */
    locus_token_rows gy;       /* read; backward only */
    locus_token_rows y;        /* forward: op x, may be x. Backward: gx = opᵀ gy, may be gy. */
} locus_whole_stream;

#define LOCUS_WHOLE_STREAMS_MAX 5 /* query, key, value, output, and the output's gradient */

typedef struct locus_whole_call {
    locus_dtype dtype;
    size_t count; /* streams: what they share is computed once */
    const locus_whole_stream *streams;
    const locus_tensor *parameters; /* backward: the term's own gradients, accumulated into; NULL: not wanted */
    void *workspace;                /* workspace_bytes, aligned to LOCUS_ALIGNMENT */
} locus_whole_call;

typedef struct locus_whole_operator locus_whole_operator;
typedef struct locus_whole_class {
    /* For streams of these roles, with locus_threads() as it is now. */
    size_t (*workspace_bytes)(const locus_whole_operator *op, locus_dtype dtype, const locus_role *roles, size_t count,
                              bool backward);
    void (*forward)(const locus_whole_operator *op, const locus_whole_call *call);
    void (*backward)(const locus_whole_operator *op, const locus_whole_call *call);
    bool (*learns)(const locus_whole_operator *op);
    void (*form)(const locus_whole_operator *op, locus_form_writer *writer); /* or NULL */
    void (*widen)(locus_whole_operator *op, const locus_limits *limits);     /* or NULL; `limits` outlive it */
} locus_whole_class;
struct locus_whole_operator { /* embedded first in each operator's own struct */
    const locus_whole_class *class;
};

/* Whether an operator of either kind (NULL: there is none) learns. */
static inline bool locus_operator_learns(const locus_operator *op, const locus_whole_operator *whole) {
    return locus_operator_slot_bytes(op) > 0 || (whole && whole->class->learns(whole));
}

/* ---- score terms: factors and biases that depend on two positions and the head ---- */

typedef enum locus_score_kind { LOCUS_SCORE_FACTOR = 0, LOCUS_SCORE_BIAS = 1 } locus_score_kind;

typedef struct locus_score_call {
    locus_dtype dtype;
    size_t head;
    size_t query;            /* token of the query buffer */
    size_t key_first, count; /* tokens of the key buffer */
    const int32_t *steps;    /* [count] the term's `apart` of them, which the caller has made; or NULL */
} locus_score_call;

typedef struct locus_score_term locus_score_term;
typedef struct locus_score_class {
    /* Returns `count` factors or biases of one query against a run of keys: a pointer into a table where positions are
     * consecutive, else `scratch`, filled ([count] of dtype). Executors ask locus_score_term_row. */
    const void *(*row)(const locus_score_term *term, const locus_score_call *call, void *scratch);
    /* Adds to the slot: gradient[j] = dL/d(factor or bias of key j), of dtype. Not called if slot_bytes is 0. */
    void (*row_backward)(const locus_score_term *term, const locus_score_call *call, const void *gradient, void *slot);
    size_t (*slot_bytes)(const locus_score_term *term); /* or NULL */
    void (*reduce)(const locus_score_term *term, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                   const locus_tensor *parameters);
    void (*form)(const locus_score_term *term, locus_form_writer *writer); /* or NULL */
    void (*widen)(locus_score_term *term, const locus_limits *limits);     /* or NULL */
    bool heads_alike;                                                      /* rows are the same for all heads */
} locus_score_class;
struct locus_score_term {
    const locus_score_class *class;
    locus_score_kind kind;
    const struct locus_distance_table *table; /* rows are numbers of distances and read from here, and the class has no
                                                 `row`; or NULL (scores/distance_table.h) */
    const struct locus_distances *apart; /* distances that rows are made of, which no head changes: who asks for several
                                            rows of a query and keys makes them once; NULL: none (scores/distance.h) */
};

/* 0: nothing is learned. */
static inline size_t locus_score_slot_bytes(const locus_score_term *term) {
    return term->class->slot_bytes ? term->class->slot_bytes(term) : 0;
}

/* ---- content tables: Shaw's relative keys and values ---- */

/* s_mn += content_scale · q_m·key[b(m,n)], o_m += Σ_n a_mn value[b(m,n)], b(m,n) = clip(p_n − p_m, −window, window) +
 * window. Tables are shared by heads, [2·window + 1, dim] contiguous. q is the query before any operator. */
typedef struct locus_content_table {
    size_t window;
    bool scaled;                              /* the key term is scaled with the score, or left unscaled */
    const float *key_float32, *value_float32; /* value NULL: no value table */
    const double *key_float64, *value_float64;
    const int64_t *query_positions, *key_positions; /* by token of the buffers */
    size_t key_parameter, value_parameter;          /* index of the tables among the plan's parameters */
} locus_content_table;

/* ---- contextual positions: CoPE (Golovneva et al. 2024) ---- */

/* p_mn = Σ_{j=n..m} sigmoid(q_m·k_j), at most `most`; s_mn += the linear interpolation at p_mn between q_m·table[⌊p⌋]
 * and q_m·table[⌈p⌉]. q is the query before any operator, but the gate sees queries and keys as scores do, turned;
 * `scaled`: it sees the score, else the bare product. */
typedef struct locus_contextual_table {
    size_t most;
    bool scaled;
    const float *float32; /* [most + 1, head_dim] contiguous, shared by heads */
    const double *float64;
    size_t parameter; /* index of the table among the plan's parameters */
} locus_contextual_table;

/* ---- settings of scores: a term `scores` ---- */

/* What a caller's options leave open. */
typedef struct locus_score_settings {
    double scale, cap; /* 0: not said */
    size_t window, keep, chunk;
    const double *sinks;    /* [heads]: a row's softmax has one more key of this score and no value; NULL: none */
    size_t sinks_parameter; /* index of the sinks among the plan's parameters */
} locus_score_settings;

/* ---- sequences ---- */

typedef struct locus_sequence_span {
    size_t query_first, query_count, key_first, key_count;
} locus_sequence_span;

#endif
