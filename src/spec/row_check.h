/* SPDX-License-Identifier: MIT */
/* Tensors of tokens as a call wants them, in either layout (token_rows.h):
 *
 *   HEADS    [tokens, heads, dim]   or [sequences, heads, length, dim]
 *   NUMBERS  [tokens, heads]        or [sequences, heads, length]
 *   VECTORS  [tokens, dim]          or [sequences, length, dim]
 *
 * with a last stride of 1, and a length that the longest sequence fits into. */
#ifndef LOCUS_ROW_CHECK_H
#define LOCUS_ROW_CHECK_H

#include <locus/tensor.h>
#include <stdbool.h>

typedef enum locus_rows_kind { LOCUS_ROWS_HEADS = 0, LOCUS_ROWS_NUMBERS = 1, LOCUS_ROWS_VECTORS = 2 } locus_rows_kind;

typedef struct locus_rows_wanted {
    const char *name; /* of the argument */
    const locus_tensor *tensor;
    locus_rows_kind kind;
    bool written;
    size_t tokens, heads, dim;
    size_t sequences, longest; /* read where they stand apart */
} locus_rows_wanted;

/* Whether sequences stand apart, by the tensor's rank. `tensor` may be NULL: they do not. */
static inline bool locus_rows_apart(const locus_tensor *tensor, locus_rows_kind kind) {
    return tensor && tensor->rank == (kind == LOCUS_ROWS_HEADS ? 4 : 3);
}

/* Element types are the caller's to compare. */
LOCUS_MUST_USE locus_status locus_rows_check(const locus_rows_wanted *wanted, locus_error *error);

/* A checked tensor as far as any sequence reaches over it: itself where it is packed, as nearly always, else a view in
 * `room`. */
const locus_tensor *locus_rows_reach_apart(const locus_tensor *tensor, locus_rows_kind kind, size_t longest,
                                           locus_tensor *room);
static inline const locus_tensor *locus_rows_reach(const locus_tensor *tensor, locus_rows_kind kind, size_t longest,
                                                   locus_tensor *room) {
    return locus_rows_apart(tensor, kind) ? locus_rows_reach_apart(tensor, kind, longest, room) : tensor;
}

/* Of checked tensors, so far: whether they share an element; the same view. */
bool locus_rows_overlap(const locus_rows_wanted *a, const locus_rows_wanted *b);
bool locus_rows_same(const locus_rows_wanted *a, const locus_rows_wanted *b);

#endif
