/* SPDX-License-Identifier: MIT */
/* The tensors of an application as operators see them, for those that work token by token and those that do not. */
#include "plan/apply_job.h"

/* NULL: no rows. */
static void set_rows(locus_token_rows *rows, const locus_apply_job *job, const locus_tensor *tensor) {
    *rows = tensor ? locus_apply_rows(&job->site, tensor) : (locus_token_rows){0};
}

void locus_apply_stream(const locus_apply_job *job, locus_whole_stream *stream) {
    stream->role = job->site.role;
    stream->direction = job->direction;
    set_rows(&stream->x, job, job->x);
    set_rows(&stream->gy, job, job->gy);
    set_rows(&stream->y, job, job->y);
}
