/* SPDX-License-Identifier: MIT */
/* Operators on whole tensors for locus_apply. Where G query heads go with one of the operator's, the tensor is G
 * interleaved streams, called in batches, in order: gradients are folded in that order. Half types go through float32
 * copies of everything.
 *
 *   workspace   | y or gx | x (if gradients need it) | the operator's own |     the first two for half types only */
#include "kernels/half_rows.h"
#include "plan/apply_job.h"

static ptrdiff_t head_stride(const locus_tensor *tensor) {
    return tensor->rank == 3 ? (ptrdiff_t)tensor->stride[1] : 0;
}

locus_whole_stream locus_apply_stream(const locus_apply_job *job) {
    locus_whole_stream stream = {.role = job->site.role,
                                 .direction = job->direction,
                                 .y = job->y->data,
                                 .y_row = (ptrdiff_t)job->y->stride[0],
                                 .y_head = head_stride(job->y)};
    if (job->x) {
        stream.x = job->x->data;
        stream.x_row = (ptrdiff_t)job->x->stride[0];
        stream.x_head = head_stride(job->x);
    }
    if (job->gy) {
        stream.gy = job->gy->data;
        stream.gy_row = (ptrdiff_t)job->gy->stride[0];
        stream.gy_head = head_stride(job->gy);
    }
    return stream;
}

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

static locus_whole_stream group_stream(const locus_whole_stream *all, const locus_apply_site *site, size_t g,
                                       locus_dtype dtype) {
    const ptrdiff_t size = (ptrdiff_t)locus_dtype_size(dtype), groups = (ptrdiff_t)site->groups, at = (ptrdiff_t)g;
    locus_whole_stream stream = *all;
    stream.y = (char *)all->y + at * all->y_head * size;
    stream.x = all->x ? (const char *)all->x + at * all->x_head * size : NULL;
    stream.gy = all->gy ? (const char *)all->gy + at * all->gy_head * size : NULL;
    stream.y_head *= groups;
    stream.x_head *= groups;
    stream.gy_head *= groups;
    return stream;
}

static void run_streams(const locus_apply_job *job, void *workspace) {
    const locus_whole_operator *whole = job->site.whole;
    const locus_whole_stream all = locus_apply_stream(job);
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
    locus_apply_widen(site, job->gy ? job->gy : job->x, turned);
    if (job->gy && job->learns)
        locus_apply_widen(site, job->x, beside);
    run_streams(&wide, job->workspace + (job->gy && job->learns ? 2 : 1) * copy);
    locus_apply_narrow(site, turned, job->y);
}

void locus_apply_whole_run(const locus_apply_job *job) {
    if (locus_dtype_is_half(job->y->dtype))
        run_widened(job);
    else
        run_streams(job, job->workspace);
}
