/* SPDX-License-Identifier: MIT */
/* Rows of views, for all bodies; the including file defines `real`. */
#ifndef LOCUS_ATTENTION_ROWS_BODY_H
#define LOCUS_ATTENTION_ROWS_BODY_H

#include "attention/attention_work.h"

/* NULL where there are no data, as in a tensor without tokens. */
static real *row_of(const attention_view *view, size_t token, size_t head) {
    real *data = view->data;
    return data ? data + (ptrdiff_t)token * view->token + (ptrdiff_t)head * view->head : NULL;
}

#endif
