/* SPDX-License-Identifier: MIT */
/* Rows of views, for all bodies, in one element type (kernels/real.h). */
#ifndef LOCUS_ATTENTION_ROWS_BODY_H
#define LOCUS_ATTENTION_ROWS_BODY_H

#include "attention/attention_work.h"

/* Row of a packed token, which is of a sequence whose first token is `first`. NULL where there are no data, as in a
 * tensor without tokens. */
static real *row_of(const attention_view *view, size_t sequence, size_t first, size_t token, size_t head) {
    real *data = view->data;
    const ptrdiff_t shift = locus_token_rows_shift(view, sequence, first);
    return data ? data + (shift + (ptrdiff_t)token * view->token + (ptrdiff_t)head * view->head) : NULL;
}

#endif
