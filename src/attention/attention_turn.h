/* SPDX-License-Identifier: MIT */
/* What the attentions beside softmax share: operators run before and after their loops on whole tensors (locus_apply),
 * into buffers of the workspace with one head after the other ([head][token][dim]); sequences cut into pieces by shape;
 * one line of refusal for everything that such an attention gives no meaning to; and the way that a call takes:
 *
 *   begin         q' = ⌈p⌉ q, k' = ⌈p⌉ k, v' = ⌈p⌉ v; backward: do' = ⌈p⌉ do too
 *   (the loops)   read those views, write the output, or dq', dk', dv', into the caller's tensors
 *   end           o = ⌈p⌉ᵀ o', or dq = ⌈p⌉ᵀ dq' … in place, with the parameters' gradients
 *
 * Where nothing acts, or the caller has turned already, views are the caller's own memory; values are copied all the
 * same unless he has turned them, since products want their rows close together. */
#ifndef LOCUS_ATTENTION_TURN_H
#define LOCUS_ATTENTION_TURN_H

#include "attention/attention_executor.h"
#include "attention/attention_work.h"

/* A run of at most `length` tokens of one sequence. */
typedef struct attention_piece {
    size_t sequence, index; /* the piece's number within its sequence */
    size_t first, count;    /* within the sequence */
} attention_piece;

typedef struct attention_cut {
    size_t count, length;
    attention_piece *pieces; /* [count] */
    size_t *of;              /* [sequences + 1]: where each sequence's begin */
} attention_cut;

/* Carves and fills in the pieces of the plan's queries or keys (with a counting carver: counts). */
void locus_attention_cut(attention_cut *cut, const locus_plan *plan, bool keys, size_t length,
                         attention_carver *carver);

typedef struct attention_loops attention_loops;
typedef struct attention_bodies attention_bodies;

/* First in the struct that a kind keeps its calls in. */
typedef struct attention_turn {
    const attention_loops *loops;
    const attention_bodies *bodies; /* of the element type */
    const attention_call *call;
    const locus_plan *plan;
    locus_dtype dtype;
    locus_pass pass;
    size_t heads, kv_heads, group, head_dim, value_dim; /* group: heads / kv_heads */
    size_t sequences, query_tokens, key_tokens;
    bool without_values; /* nothing is made of values: weights are wanted */
    bool turns, acts_query_key, acts_value, query_key_learns, value_learns; /* to learn: backward */
    bool wants_query, wants_key, wants_value; /* backward: for the caller, or for operators that learn */
    const locus_attention_tensors *given;
    const locus_attention_gradients *gradients;
    locus_tensor query_source, key_source; /* what the operators act on: the caller's, unless changed before begin */
    locus_tensor own_query, own_key, own_value, own_output, own_g_output; /* buffers; data NULL: none */
    locus_tensor own_g_query, own_g_key, own_g_value; /* where operators learn from what the caller does not want */
    const locus_tensor *to_query, *to_key, *to_value; /* the caller's tensors or these; NULL: not wanted */
    locus_workspace around;                           /* for locus_apply */
    attention_view query, key, value, output, log_sum_exp, g_output, g_query, g_key, g_value;
    attention_cut queries, keys; /* into pieces, where the loops ask for that */
    char *workers;               /* scratch [workers] */
    size_t worker_bytes;
} attention_turn;

/* Loops in one element type. */
struct attention_bodies {
    size_t (*scratch)(const attention_turn *turn); /* bytes of a worker */
    void (*before)(attention_turn *turn);          /* ahead of the operators, once tensors are there; or NULL */
    void (*forward)(attention_turn *turn);
    void (*backward)(attention_turn *turn);
    void (*weights)(attention_turn *turn); /* NULL: there are none */
    void (*after)(attention_turn *turn);   /* behind the operators of a backward; or NULL */
};

/* What differs between the attentions that go this way. */
struct attention_loops {
    size_t job_bytes;                   /* of the struct that begins with attention_turn, at most ATTENTION_TURN_JOB */
    size_t piece;                       /* tokens of a piece of queries and keys; 0: they are not cut */
    void (*init)(attention_turn *turn); /* what follows from plan and options */
    void (*place)(attention_turn *turn, attention_carver *carver); /* what there is beside turn's own */
    void (*take)(attention_turn *turn); /* what else a call brings, once tensors are there; or NULL */
    void (*fold)(attention_turn *turn); /* behind the loops of a backward; or NULL */
    const attention_bodies *float32, *float64;
};

enum { ATTENTION_TURN_JOB = 4096 };

/* An executor's workspace and run, by its loops. */
size_t locus_attention_turn_workspace(const attention_call *call);
void locus_attention_turn_run(const attention_call *call);

/* A [tokens, heads, dim] tensor of the workspace, one head after the other. */
locus_tensor locus_attention_turn_buffer(const attention_turn *turn, attention_carver *carver, size_t tokens,
                                         size_t heads, size_t dim);

/* The scale that the caller or a term `scores` asks for; 0 where neither does. */
double locus_attention_asked_scale(const attention_call *call);

/* As attention_executor.check: UNSUPPORTED, naming what the options or the plan ask of a kind without
 * LOCUS_ATTENTION_SCORES that it cannot do. */
locus_status locus_attention_refuse(const attention_call *call, locus_error *error);

#endif
