/* SPDX-License-Identifier: MIT */
/* Operators on whole tensors for locus_apply. Where G query heads go with one of the operator's, the tensor is G
 * interleaved streams, called in batches, in order: gradients are folded in that order. Half types go through float32
 * copies of everything.
 *
 *   workspace   | y or gx | x (if gradients need it) | the operator's own |     the first two for half types only */
#include "kernels/half_rows.h"
#include "plan/apply_job.h"

static size_t batch_of(const locus_apply_site *site, size_t first) {
    const size_t left = site->groups - first;
    return left < LOCUS_WHOLE_STREAMS_MAX ? left : LOCUS_WHOLE_STREAMS_MAX;
}

/* The largest batch, and the last, which may be smaller. */
static size_t operator_bytes(const locus_apply_site *site, locus_dtype dtype, bool backward) {
    const locus_whole_class *class = site->whole->class;
    const size_t counts[] = {batch_of(site, 0), (site->groups - 1) % LOCUS_WHOLE_STREAMS_MAX + 1};
    locus_role roles[LOCUS_WHOLE_STREAMS_MAX];
    for (size_t i = 0; i < LOCUS_WHOLE_STREAMS_MAX; i++)
        roles[i] = site->role;
    const size_t first = class->workspace_bytes(site->whole, dtype, roles, counts[0], backward);
    const size_t last = class->workspace_bytes(site->whole, dtype, roles, counts[1], backward);
    return first > last ? first : last;
}

size_t locus_apply_whole_bytes(const locus_apply_job *job, locus_dtype dtype, bool backward, bool learns) {
    const size_t copy = locus_apply_wide_bytes(&job->site, dtype);
    return (learns ? 2 : 1) * copy + operator_bytes(&job->site, locus_dtype_working(dtype), backward);
}

/* The heads g, G + g, 2·G + g, … */
static locus_token_rows group_rows(locus_token_rows rows, const locus_apply_site *site, size_t g, locus_dtype dtype) {
    if (rows.data)
        rows.data = (char *)rows.data + (ptrdiff_t)g * rows.head * (ptrdiff_t)locus_dtype_size(dtype);
    rows.head *= (ptrdiff_t)site->groups;
    return rows;
}

static locus_whole_stream group_stream(const locus_whole_stream *all, const locus_apply_site *site, size_t g,
                                       locus_dtype dtype) {
    locus_whole_stream stream = *all;
    stream.x = group_rows(all->x, site, g, dtype);
    stream.gy = group_rows(all->gy, site, g, dtype);
    stream.y = group_rows(all->y, site, g, dtype);
    return stream;
}

static void run_streams(const locus_apply_job *job, void *workspace) {
    const locus_whole_operator *whole = job->site.whole;
    locus_whole_stream all;
    locus_apply_stream(job, &all);
    locus_whole_stream streams[LOCUS_WHOLE_STREAMS_MAX];
    for (size_t first = 0; first < job->site.groups; first += LOCUS_WHOLE_STREAMS_MAX) {
        const locus_whole_call call = {.dtype = job->y->dtype,
                                       .count = batch_of(&job->site, first),
                                       .streams = streams,
                                       .parameters = job->learns ? job->parameters + job->site.parameters : NULL,
                                       .workspace = workspace};
        for (size_t i = 0; i < call.count; i++)
            streams[i] = group_stream(&all, &job->site, first + i, job->y->dtype);
        if (job->gy)
            whole->class->backward(whole, &call);
        else
            whole->class->forward(whole, &call);
    }
}

static locus_tensor wide_view(const locus_apply_site *site, void *data) {
    const int64_t shape[] = {(int64_t)site->tokens, (int64_t)site->heads, (int64_t)site->dim};
    return locus_tensor_view(data, LOCUS_FLOAT32, 3, shape);
}

static void run_widened(const locus_apply_job *job) {
    const locus_apply_site *site = &job->site;
    const size_t copy = locus_apply_wide_bytes(site, job->y->dtype);
    float *turned = (float *)(void *)job->workspace, *beside = (float *)(void *)(job->workspace + copy);
    const locus_tensor y = wide_view(site, turned), x = wide_view(site, beside);
    locus_apply_job wide = *job;
    wide.y = &y;
    wide.x = job->gy ? (job->learns ? &x : NULL) : &y;
    wide.gy = job->gy ? &y : NULL;
    locus_apply_convert(site, job->gy ? job->gy : job->x, turned, false);
    if (job->gy && job->learns)
        locus_apply_convert(site, job->x, beside, false);
    run_streams(&wide, job->workspace + (job->gy && job->learns ? 2 : 1) * copy);
    locus_apply_convert(site, job->y, turned, true);
}

void locus_apply_whole_run(const locus_apply_job *job) {
    if (locus_dtype_is_half(job->y->dtype))
        run_widened(job);
    else
        run_streams(job, job->workspace);
}
