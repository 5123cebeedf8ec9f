/* SPDX-License-Identifier: MIT */
/* A local operator (sites.h) on whole tensors: tokens in use are cut into pieces by shape, pieces run in parallel, each
 * walks its tokens in order, all heads together. With gradients of parameters each piece has one slot for each head,
 * folded in the order of the pieces: results do not depend on threads. locus_apply and whole products use it. */
#ifndef LOCUS_OPERATE_H
#define LOCUS_OPERATE_H

#include "spec/class.h"

typedef struct locus_operate {
    const locus_operator *op;
    const locus_token_side *side;
    size_t heads, dim; /* of the operator's block */
    size_t groups; /* x and y have heads·groups heads, head h·groups + g goes with the operator's head h; 0: one */
    locus_dtype dtype;              /* of x and y; half types are widened and rounded in small blocks */
    const locus_tensor *parameters; /* backward: the term's own gradients; NULL: not wanted */
} locus_operate;

/* Bytes of workspace, with locus_threads() as it is now. `learns`: backward with gradients of parameters. */
size_t locus_operate_bytes(const locus_operate *operate, bool learns);
void locus_operate_forward(const locus_operate *operate, const locus_whole_stream *stream, void *workspace);
void locus_operate_backward(const locus_operate *operate, const locus_whole_stream *stream, void *workspace);

/* What a stream is that nothing acts on: y = x, or gy in a backward; nothing to do in place. `op` is not looked at. */
void locus_operate_copy(const locus_operate *operate, const locus_whole_stream *stream);

#endif
