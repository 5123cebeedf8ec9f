/* SPDX-License-Identifier: MIT */
/* Masks of linear attention as monotone steps, and the slots of states that they lead to. See attention_linear.h. */
#include "attention/linear/attention_linear.h"

size_t locus_attention_linear_seen(const attention_linear_job *job, size_t sequence, const locus_sequence_span *span,
                                   size_t row) {
    if (job->mask == LOCUS_MASK_FULL)
        return span->key_count;
    const size_t last = row + 1 + span->key_count; /* aligned at the ends */
    size_t seen = last > span->query_count ? last - span->query_count : 0;
    if (job->mask == LOCUS_MASK_PREFIX && job->prefix[sequence] > seen)
        seen = job->prefix[sequence];
    return seen < span->key_count ? seen : span->key_count;
}

size_t locus_attention_linear_first(const attention_linear_job *job, size_t sequence, const locus_sequence_span *span,
                                    size_t key) {
    if (job->mask == LOCUS_MASK_FULL || (job->mask == LOCUS_MASK_PREFIX && key < job->prefix[sequence]))
        return 0;
    const size_t from_end = span->key_count - key; /* as many of the last queries see it, if there are */
    return from_end < span->query_count ? span->query_count - from_end : 0;
}

size_t locus_attention_linear_key_slot(const attention_linear_job *job, size_t sequence,
                                       const locus_sequence_span *span, size_t row) {
    const size_t seen = locus_attention_linear_seen(job, sequence, span, row);
    return seen == span->key_count ? (seen + LINEAR_PIECE - 1) / LINEAR_PIECE : seen / LINEAR_PIECE;
}

size_t locus_attention_linear_query_slot(const attention_linear_job *job, size_t sequence,
                                         const locus_sequence_span *span, size_t key) {
    return (locus_attention_linear_first(job, sequence, span, key) + LINEAR_PIECE - 1) / LINEAR_PIECE;
}
