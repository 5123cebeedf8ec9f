/* SPDX-License-Identifier: MIT */
/* Where the rows of a tensor of tokens lie, in either layout. Element d of token t and head h stands at
 *
 *   packed  [tokens, heads, dim]               data + t·token + h·head + d
 *   apart   [sequences, heads, length, dim]    data + s·sequence + (t − first)·token + h·head + d
 *
 * t counts packed tokens in both: s is the sequence of the plan's that t is of, `first` its first token. So a run of
 * tokens of one sequence is rows that follow one another at `token` elements, wherever they are, and whoever works on
 * such runs adds the sequence's shift once. */
#ifndef LOCUS_TOKEN_ROWS_H
#define LOCUS_TOKEN_ROWS_H

#include <locus/tensor.h>
#include <stdbool.h>

typedef struct locus_token_rows {
    void *data;
    ptrdiff_t token, head; /* elements from one to the next */
    ptrdiff_t sequence;    /* the same of sequences; 0 where tokens are packed */
    size_t apart;          /* not 0: they are; a word, like the rest, so that short calls copy rows without waiting */
} locus_token_rows;

/* Of a tensor of heads, rank 3 or 4. */
static inline locus_token_rows locus_token_rows_of(const locus_tensor *tensor) {
    const bool apart = tensor->rank == 4;
    return (locus_token_rows){.data = tensor->data,
                              .token = (ptrdiff_t)tensor->stride[apart ? 2 : 0],
                              .head = (ptrdiff_t)tensor->stride[1],
                              .sequence = apart ? (ptrdiff_t)tensor->stride[0] : 0,
                              .apart = apart};
}

/* Of vectors of models, [tokens, dim] or [sequences, length, dim]. */
static inline locus_token_rows locus_token_rows_of_vectors(const locus_tensor *tensor) {
    const bool apart = tensor->rank == 3;
    return (locus_token_rows){.data = tensor->data,
                              .token = (ptrdiff_t)tensor->stride[apart ? 1 : 0],
                              .sequence = apart ? (ptrdiff_t)tensor->stride[0] : 0,
                              .apart = apart};
}

/* What is to be added to t·token for the tokens of a sequence, whose first is `first`. */
static inline ptrdiff_t locus_token_rows_shift(const locus_token_rows *rows, size_t sequence, size_t first) {
    return rows->apart ? (ptrdiff_t)sequence * rows->sequence - (ptrdiff_t)first * rows->token : 0;
}

#endif
