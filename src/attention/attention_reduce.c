/* SPDX-License-Identifier: MIT */
/* Folds gradient slots into the parameters' gradients: site after site, head after head, slot after slot. Terms may
 * share a parameter (a generator that acts on queries, keys and values), so they take turns; so do heads, unless the
 * operator says that they have parameters of their own. */
#include "attention/attention_work.h"

#include "spec/class.h"

#include <locus/memory.h>
#include <locus/parallel.h>

enum { TABLE_CHUNK = 1024 }; /* elements of a table that one task folds */

typedef struct table_fold {
    const attention_job *job;
    const locus_tensor *target;
    size_t offset, count; /* of the table in a slot, in bytes; its elements */
} table_fold;

static double slot_element(const attention_job *job, const char *table, size_t index) {
    if (job->dtype == LOCUS_FLOAT32)
        return (double)((const float *)(const void *)table)[index];
    return ((const double *)(const void *)table)[index];
}

static void fold_table_task(void *context, size_t index, size_t worker) {
    const table_fold *fold = context;
    const attention_job *job = fold->job;
    size_t slots = job->heads * job->schedule.group_count, first = index * TABLE_CHUNK;
    size_t end = first + TABLE_CHUNK < fold->count ? first + TABLE_CHUNK : fold->count;
    (void)worker;
    for (size_t i = first; i < end; i++) {
        double sum = 0.0;
        for (size_t slot = 0; slot < slots; slot++)
            sum += slot_element(job, job->slot_data + slot * job->slots.bytes + fold->offset, i);
        locus_tensor_add(fold->target, i, sum);
    }
}

static void fold_table(const attention_job *job, const locus_tensor *target, size_t offset, size_t dim) {
    table_fold fold = {job, target, offset, (2 * job->content->window + 1) * dim};
    locus_parallel_for((fold.count + TABLE_CHUNK - 1) / TABLE_CHUNK, fold_table_task, &fold);
}

static char *head_slots(const attention_job *job, size_t head, size_t offset) {
    return job->slot_data + head * job->schedule.group_count * job->slots.bytes + offset;
}

typedef struct operator_fold {
    const attention_job *job;
    const locus_operator *op;
    size_t offset;
    const locus_tensor *parameters;
} operator_fold;

static void fold_operator_task(void *context, size_t kv, size_t worker) {
    const operator_fold *fold = context;
    const attention_job *job = fold->job;
    (void)worker;
    /* The slots of a group's query heads follow one another. */
    fold->op->class->reduce(fold->op, kv, head_slots(job, kv * job->group, fold->offset),
                            job->group * job->schedule.group_count, job->slots.bytes, fold->parameters);
}

static void reduce_operator(const attention_job *job, const locus_operator *op, size_t offset,
                            const locus_tensor *parameters) {
    if (locus_operator_slot_bytes(op) == 0)
        return;
    operator_fold fold = {job, op, offset, parameters};
    if (op->heads_apart)
        locus_parallel_for(job->kv_heads, fold_operator_task, &fold);
    for (size_t h = 0; !op->heads_apart && h < job->kv_heads; h++)
        fold_operator_task(&fold, h, 0);
}

static void reduce_terms(const attention_job *job, const locus_tensor *parameters) {
    size_t offset = job->slots.terms;
    for (size_t t = 0; t < job->term_count; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        size_t bytes = locus_score_slot_bytes(term);
        const locus_tensor *own = parameters + locus_plan_score_parameters(job->plan, t);
        for (size_t h = 0; bytes > 0 && h < job->heads; h++)
            term->class->reduce(term, h, head_slots(job, h, offset), job->schedule.group_count, job->slots.bytes, own);
        offset += padded(bytes, LOCUS_ALIGNMENT);
    }
}

static void reduce_sinks(const attention_job *job, const locus_tensor *sinks) {
    for (size_t h = 0; h < job->heads; h++) {
        double sum = 0.0;
        for (size_t slot = 0; slot < job->schedule.group_count; slot++)
            sum += *(const double *)(const void *)(head_slots(job, h, job->slots.sinks) + slot * job->slots.bytes);
        locus_tensor_add(sinks, h, sum);
    }
}

void locus_attention_reduce(const attention_job *job, const locus_tensor *parameters) {
    reduce_operator(job, job->query_key, job->slots.query_key, parameters + locus_plan_query_key_parameters(job->plan));
    reduce_operator(job, job->value_operator, job->slots.value, parameters + locus_plan_value_parameters(job->plan));
    reduce_terms(job, parameters);
    if (job->sinks)
        reduce_sinks(job, &parameters[locus_plan_score_settings(job->plan)->sinks_parameter]);
    if (job->content_key)
        fold_table(job, &parameters[job->content->key_parameter], job->slots.content_key, job->head_dim);
    if (job->content_value)
        fold_table(job, &parameters[job->content->value_parameter], job->slots.content_value, job->value_dim);
}
