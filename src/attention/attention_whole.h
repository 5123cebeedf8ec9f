/* SPDX-License-Identifier: MIT */
/* Operators that act on whole tensors (sites.h), around attention's loops, which then run as if nothing acted there:
 *
 *   forward    q', k', v' into buffers;            loops;   o = ⌈p⌉ᵀ o' in place
 *   backward   q', k', v', do' = ⌈p⌉ do likewise;  loops;   dq, dk, dv from dq', dk', dv' in place, and parameters
 *
 * An operator knows the key-value heads. Where these are fewer than the query heads, queries, outputs and their
 * gradients are one stream for each place g of a head in its group, made of the heads g, group + g, 2·group + g, …;
 * what keys and values share with queries is made with g = 0.
 *
 * Operators are orthogonal: D = do·o = do'·o' comes from the caller's own tensors, and o' = ⌈p⌉ o, the input of the
 * output's operator, is made again where parameters learn. What acts on one site is one call; if the same operator
 * acts on both, there is one for all. */
#ifndef LOCUS_ATTENTION_WHOLE_H
#define LOCUS_ATTENTION_WHOLE_H

#include "attention/attention_work.h"

typedef struct attention_whole_views {
    attention_view query, key, value, output, g_output;
} attention_whole_views;

typedef struct attention_whole {
    const attention_job *job;                      /* for plan and shape; views change in the loops' */
    const locus_whole_operator *query_key, *value; /* NULL: nothing acts there, not on whole tensors, or has acted */
    bool learns;                                   /* backward: o' is needed if parameters are wanted */
    bool learns_query_key;                         /* backward: so are dq' and dk', */
    attention_whole_views given, turned;           /* the caller's tensors, and buffers [heads][tokens][dim] */
    attention_view g_query, g_key, g_value;   /* the caller's, or, where he wants none, those that are learned from */
    bool wants_query, wants_key, wants_value; /* as the job's */
    attention_view own_g_query, own_g_key, own_g_value;
    void *workspace; /* of the operators' calls */
} attention_whole;

void locus_attention_whole_init(attention_whole *whole, const attention_job *job);

/* Lays the buffers out from `base` (NULL: counts only) and returns their bytes: 0 if nothing acts on whole tensors. */
size_t locus_attention_whole_place(attention_whole *whole, void *base);

/* What calls of the operators need, before and after the loops: it may be the memory that the loops work in. */
size_t locus_attention_whole_workspace(const attention_whole *whole);

/* Before the loops: turns the job's inputs and points the job at the buffers. `parameters`: backward with gradients of
 * parameters. */
void locus_attention_whole_begin(attention_whole *whole, attention_job *job, bool parameters);

/* After them. */
void locus_attention_whole_end_forward(const attention_whole *whole);
void locus_attention_whole_end_backward(const attention_whole *whole, const locus_tensor *parameters);

#endif
